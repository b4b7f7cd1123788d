/** Floatvalve pulsar. */
@NullMarked
package io.floatvalve.pulsar;

import org.jspecify.annotations.NullMarked;
