/** What a broker adapter implements. Applications do not call it. */
@NullMarked
package io.floatvalve.spi;

import org.jspecify.annotations.NullMarked;
