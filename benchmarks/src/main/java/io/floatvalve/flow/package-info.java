/** Micro-benchmarks of permits. */
@NullMarked
package io.floatvalve.flow;

import org.jspecify.annotations.NullMarked;
