package io.floatvalve.pulsar;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Finds out whether messages are held for longer than the client's ack timeout, in which case they
 * come again while they are handled. Thread-safe.
 */
final class AckTimeoutWatch {
  /** One in so many may be late. */
  private static final int USUAL = 1_000;

  private final long timeoutNanos;
  private final AtomicLong held = new AtomicLong();
  private final AtomicLong late = new AtomicLong();
  private final AtomicBoolean said = new AtomicBoolean();

  AckTimeoutWatch(long timeoutNanos) {
    this.timeoutNanos = timeoutNanos;
  }

  /**
   * Learns how long a message was held.
   *
   * @return true once: when the timeout is first seen to be below the 99.9th percentile
   */
  boolean saw(long nanos) {
    long all = held.incrementAndGet();
    return nanos > timeoutNanos
        && late.incrementAndGet() * USUAL > all
        && said.compareAndSet(false, true);
  }
}
