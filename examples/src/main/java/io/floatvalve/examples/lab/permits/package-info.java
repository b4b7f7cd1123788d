/** Experiments on how Pulsar delivers, plain client and SDK side by side. */
@NullMarked
package io.floatvalve.examples.lab.permits;

import org.jspecify.annotations.NullMarked;
