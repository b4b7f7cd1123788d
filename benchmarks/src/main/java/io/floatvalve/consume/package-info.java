/** Micro-benchmarks of consuming. */
@NullMarked
package io.floatvalve.consume;

import org.jspecify.annotations.NullMarked;
