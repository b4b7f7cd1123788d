/** Quotas by the second: pacing, peaks, and brokers that throttle without a word. */
@NullMarked
package io.floatvalve.examples.lab.quota;

import org.jspecify.annotations.NullMarked;
