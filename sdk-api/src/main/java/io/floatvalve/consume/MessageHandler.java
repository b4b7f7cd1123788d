package io.floatvalve.consume;

import io.floatvalve.model.Settlement;

/** Handles messages, one call each. Called by as many threads at once as there are workers. */
@FunctionalInterface
public interface MessageHandler {
  /**
   * Handles a message and says what shall become of it.
   *
   * <p>It may block: it runs on a thread for handlers, and nothing but the limit of workers waits
   * for it. It may settle the delivery itself before it returns; what it returns then changes
   * nothing.
   *
   * @return what shall become of the message, never null
   * @throws Exception means a retry after the consumer's {@code retryDelays}, or a reject once its
   *     {@code maxAttempts} are used up. An error means the same, and is an event
   */
  Settlement handle(Delivery delivery) throws Exception;
}
