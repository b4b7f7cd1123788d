/** Micro-benchmarks of the latency package. */
@NullMarked
package io.floatvalve.latency;

import org.jspecify.annotations.NullMarked;
