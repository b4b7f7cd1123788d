/** Floatvalve over Apache Pulsar: {@link io.floatvalve.pulsar.PulsarBroker}. */
@NullMarked
package io.floatvalve.pulsar;

import org.jspecify.annotations.NullMarked;
