/** What every adapter must do, as tests that it runs on its real broker. */
@NullMarked
package io.floatvalve.testkit.contract;

import org.jspecify.annotations.NullMarked;
