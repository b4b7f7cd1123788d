package io.floatvalve.publish;

import io.floatvalve.model.Message;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A publish that counts in an unusual way in its quotas: as more than one message, or as a delayed
 * one.
 */
final class Paced extends Pending {
  private static final long MS = 1_000_000;

  final long publishedNanos; // from when on the delay runs
  private final int delayedCost;
  private final int plainCost;

  // what is to be sent, as was decided last; guarded by the publisher's lock
  private Message outgoing;
  private boolean delayed;

  /**
   * Makes one that is sent as it is.
   *
   * @param delayedCost how many messages it counts as with its delay
   * @param plainCost how many it counts as without
   */
  Paced(
      Message message,
      long dueNanos,
      WindowedPublisher owner,
      long publishedNanos,
      int delayedCost,
      int plainCost) {
    super(message, dueNanos, owner);
    this.publishedNanos = publishedNanos;
    this.delayedCost = delayedCost;
    this.plainCost = plainCost;
    this.outgoing = message;
    this.delayed = isDelay(message.delay());
  }

  private static boolean isDelay(@Nullable Duration delay) {
    return delay != null && !delay.isNegative() && !delay.isZero();
  }

  @Override
  Message outgoing() {
    return outgoing;
  }

  @Override
  boolean isDelayed() {
    return delayed;
  }

  @Override
  int cost() {
    return delayed ? delayedCost : plainCost;
  }

  /** Returns whether its delay is over, or never was one, at a moment. */
  boolean isDelayOver(long now) {
    Duration delay = message.delay();
    return delay != null && delay.compareTo(Duration.ofNanos(now - publishedNanos)) <= 0;
  }

  /** Has it sent with what is left of its delay at a moment: in whole milliseconds, rounded up. */
  void keepDelay(long now) {
    Duration delay = message.delay();
    long passed = (now - publishedNanos) / MS;
    if (delay != null && passed > 0) {
      outgoing = message.toBuilder().delay(delay.minusMillis(passed)).build();
    }
  }

  /** Has it sent without its delay; returns whether that is news. */
  boolean stripDelay() {
    if (outgoing.delay() == null) {
      return false;
    }
    outgoing = message.toBuilder().delay(null).build();
    delayed = false;
    return true;
  }
}
