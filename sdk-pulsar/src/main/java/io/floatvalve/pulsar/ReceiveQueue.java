package io.floatvalve.pulsar;

import java.util.Set;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;

/**
 * The receive queue of one client consumer: what the broker was granted, and what waits.
 *
 * <p>Thread-safe. Nothing here waits for the network. {@code size = outstanding + unsent + depth}
 * holds, where outstanding permits are those that the broker has and has not used.
 */
sealed interface ReceiveQueue permits PermitBridge, PlainQueue {
  /** Returns whether {@link #resize} does anything. */
  boolean resizable();

  /** Returns how much may be on its way and waiting. */
  int size();

  /** Returns how many messages wait. A field's cost. */
  int depth();

  /** Returns the payload bytes of what waits. */
  long bytes();

  /** Returns the permits not yet told to the broker; negative after a shrink. */
  int unsent();

  /**
   * Returns whether the permits of a consumer that was started paused are there. Subscribing ends a
   * moment before; a resize in between would be lost, for ever.
   */
  boolean primed();

  /** Returns whether the consumer ended by itself and will not connect again. */
  boolean ended();

  /**
   * Moves the size towards a target: up at once, down by at most what is here. Call again until
   * {@link #size} says it.
   *
   * @param target at least 1
   */
  void resize(int target);

  /**
   * Grants again what was lost, if less than nothing is left: more may be granted than was lost.
   *
   * @return how many permits were granted, 0 if none were lost
   */
  int repair();

  /** Puts acknowledgements that the client holds back on the wire; may need a moment. */
  void flushAcknowledgements();

  /** Asks the broker to deliver these again, to whoever may have them. */
  void redeliver(Set<MessageId> entries, Iterable<Message<byte[]>> messages);

  /** Runs something on a client thread, after what is arriving now has been put in the queue. */
  void afterArrival(Runnable next);
}
