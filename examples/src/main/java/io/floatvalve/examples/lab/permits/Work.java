package io.floatvalve.examples.lab.permits;

import org.apache.pulsar.client.api.Message;

/** What a handler does with a message. */
@FunctionalInterface
interface Work {
  /** Handles a message; it is acknowledged afterwards. */
  void on(Message<?> message) throws InterruptedException;
}
