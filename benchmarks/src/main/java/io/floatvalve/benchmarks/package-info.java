/** Floatvalve benchmarks. */
@NullMarked
package io.floatvalve.benchmarks;

import org.jspecify.annotations.NullMarked;
