package io.floatvalve.consume;

import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import java.time.Duration;

/**
 * One attempt at one message. Thread-safe: it may be settled from any thread, and the first call
 * wins.
 */
public interface Delivery {
  /** What a call of {@link #settle} came to. */
  enum Answer {
    /**
     * This call settled it. An acknowledgement is on its way, not yet confirmed: if the process
     * dies now, the broker may deliver the message again.
     */
    ACCEPTED,
    /** It was settled before; this call changed nothing. */
    ALREADY,
    /**
     * The way it came by is gone, or the consumer is closed: nothing can be told the broker, which
     * delivers it again.
     */
    STALE
  }

  /** Returns the message. */
  Message message();

  /**
   * Returns which attempt this is, from 1: as our retries count. They are counted in a header of
   * the copy, or in this process where order demands that the message stays where it is.
   */
  int attempt();

  /**
   * Returns how often the broker says it delivered the message, from 1; 0 where it does not count.
   * Other than {@link #attempt} it also counts what was given back without being handled.
   */
  int deliveryCount();

  /** Returns whether it may have been delivered before, here or to another consumer. */
  boolean redelivered();

  /** Returns how long ago it arrived in this process. */
  Duration sinceArrival();

  /** Settles it. Returns at once; what is to be sent is sent afterwards. */
  Answer settle(Settlement settlement);

  /** Settles it as done. */
  default Answer accept() {
    return settle(Settlement.accept());
  }

  /** Settles it to be handled again after the consumer's {@code retryDelays}. */
  default Answer retry() {
    return settle(Settlement.retry());
  }

  /** Settles it to be handled again after this delay at least. */
  default Answer retryAfter(Duration delay) {
    return settle(Settlement.retryAfter(delay));
  }

  /** Settles it as never to be handled again. */
  default Answer reject(String reason) {
    return settle(Settlement.reject(reason));
  }

  /**
   * Returns the client library's message, such as Pulsar's {@code Message}. Settling it by the
   * client library takes it away from our ledger: do not.
   *
   * @throws ClassCastException if it is of another type
   */
  <T> T unwrap(Class<T> type);
}
