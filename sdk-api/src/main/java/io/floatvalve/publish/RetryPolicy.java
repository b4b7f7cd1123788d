package io.floatvalve.publish;

import static io.floatvalve.spi.Bounds.within;

import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import java.time.Duration;
import java.util.Objects;

/**
 * Which outcomes make a publisher send a message again by itself. Immutable; the default is {@link
 * #never}.
 *
 * <p>A message that is sent again keeps its message id, headers and payload, and may be <b>stored
 * twice</b> where {@link PublishOutcome#retry()} says so: after {@code Unknown} the first copy may
 * have arrived, after {@code Nacked} another queue may have kept it. It may also come after
 * messages that were published later. Consumers must cope with both.
 *
 * <p>{@code Returned}, and what is {@code NotSent} because of the message itself, is never sent
 * again: it would fail again. Of several attempts the outcome is {@code Confirmed} if any was, else
 * {@code Unknown} if any was, else {@code Nacked} if any was, else that of the last one.
 */
public final class RetryPolicy {
  private static final RetryPolicy NEVER =
      new RetryPolicy(1, false, false, false, Duration.ofMillis(100), Duration.ofSeconds(5));

  private final int maxAttempts;
  private final boolean nacked;
  private final boolean unknown;
  private final boolean notSent;
  private final Duration first;
  private final Duration most;

  private RetryPolicy(
      int maxAttempts,
      boolean nacked,
      boolean unknown,
      boolean notSent,
      Duration first,
      Duration most) {
    Objects.requireNonNull(first, "first");
    Objects.requireNonNull(most, "most");
    if (first.compareTo(Duration.ofMillis(1)) < 0
        || most.compareTo(first) < 0
        || most.compareTo(Duration.ofHours(1)) > 0) {
      throw new IllegalArgumentException(
          "back-off must be from 1 ms up to at most 1 hour, was " + first + " to " + most);
    }
    this.maxAttempts = within("maxAttempts", maxAttempts, 1, 100);
    this.nacked = nacked;
    this.unknown = unknown;
    this.notSent = notSent;
    this.first = first;
    this.most = most;
  }

  /** Nothing is sent again. */
  public static RetryPolicy never() {
    return NEVER;
  }

  /**
   * Begins a policy that sends a message so many times at most; say after what.
   *
   * @param maxAttempts from 1 to 100, the first one among them
   * @throws IllegalArgumentException if out of range
   */
  public static RetryPolicy upTo(int maxAttempts) {
    return new RetryPolicy(maxAttempts, false, false, false, NEVER.first, NEVER.most);
  }

  /** Sends it again after {@code Nacked}: may duplicate where it is routed to several queues. */
  public RetryPolicy afterNacked() {
    return new RetryPolicy(maxAttempts, true, unknown, notSent, first, most);
  }

  /** Sends it again after {@code Unknown}: may duplicate. */
  public RetryPolicy afterUnknown() {
    return new RetryPolicy(maxAttempts, nacked, true, notSent, first, most);
  }

  /**
   * Goes on waiting after {@code NotSent}, where it waited too long in the queue: for another
   * {@code maxWait}.
   */
  public RetryPolicy afterNotSent() {
    return new RetryPolicy(maxAttempts, nacked, unknown, true, first, most);
  }

  /**
   * Sets how long it waits before an attempt: doubling, and shortened by up to half at random.
   *
   * @param first before the second attempt, from 1 ms; 100 ms by default
   * @param most the longest, up to 1 hour; 5 s by default
   * @throws IllegalArgumentException if out of range
   */
  public RetryPolicy withBackoff(Duration first, Duration most) {
    return new RetryPolicy(maxAttempts, nacked, unknown, notSent, first, most);
  }

  /** Returns how often a message is sent at most. */
  public int maxAttempts() {
    return maxAttempts;
  }

  /** Returns whether a message that came to this end is sent again. */
  boolean again(PublishOutcome outcome) {
    if (outcome.attempts() >= maxAttempts) {
      return false;
    }
    return switch (outcome.verdict()) {
      case CONFIRMED, RETURNED -> false;
      case NACKED -> nacked;
      case UNKNOWN -> unknown && ((Unknown) outcome).cause() != Unknown.Cause.PUBLISHER_CLOSED;
      case NOT_SENT ->
          notSent
              && outcome.retry() == PublishOutcome.Retry.SAFE
              && ((NotSent) outcome).reason() != NotSent.Reason.CLOSED;
    };
  }

  /** Returns how long to wait after so many attempts. */
  long delayNanos(int attempts, double jitter) {
    return Backoff.nanos(first.toNanos(), most.toNanos(), attempts, jitter);
  }

  @Override
  public String toString() {
    return maxAttempts == 1
        ? "never"
        : "up to "
            + maxAttempts
            + " attempts after"
            + (nacked ? " NACKED" : "")
            + (unknown ? " UNKNOWN" : "")
            + (notSent ? " NOT_SENT" : "");
  }
}
