/** The experiments of {@code lab permits} on RabbitMQ. */
@NullMarked
package io.floatvalve.examples.lab.permits.rabbit;

import org.jspecify.annotations.NullMarked;
