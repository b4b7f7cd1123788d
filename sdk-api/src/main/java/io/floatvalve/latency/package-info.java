/** Latency histograms that never throw into messaging code. */
@NullMarked
package io.floatvalve.latency;

import org.jspecify.annotations.NullMarked;
