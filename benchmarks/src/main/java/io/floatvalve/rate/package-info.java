/** Micro-benchmarks of pacing. */
@NullMarked
package io.floatvalve.rate;

import org.jspecify.annotations.NullMarked;
