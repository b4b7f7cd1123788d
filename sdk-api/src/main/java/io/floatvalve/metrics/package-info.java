/**
 * What other tools show and follow: metrics and traces. Needs their libraries, which are optional.
 */
@NullMarked
package io.floatvalve.metrics;

import org.jspecify.annotations.NullMarked;
