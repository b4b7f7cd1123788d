/**
 * Floatvalve over RabbitMQ: {@link io.floatvalve.rabbit.RabbitBroker}, and nothing else that an
 * application needs.
 */
@NullMarked
package io.floatvalve.rabbit;

import org.jspecify.annotations.NullMarked;
