/** Floatvalve testkit. */
@NullMarked
package io.floatvalve.testkit;

import org.jspecify.annotations.NullMarked;
