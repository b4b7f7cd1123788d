package io.floatvalve.model;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What shall become of a message that was delivered. Immutable and thread-safe.
 *
 * <p>Accepting allocates nothing.
 */
public final class Settlement {
  /** The ends of a delivery. */
  public enum Kind {
    /** It is done: the broker forgets it. */
    ACCEPT,
    /** It is to be handled again, later. */
    RETRY,
    /** It is never to be handled again: it goes to the dead letters. */
    REJECT
  }

  private static final Settlement ACCEPT = new Settlement(Kind.ACCEPT, null, "");
  private static final Settlement RETRY = new Settlement(Kind.RETRY, null, "asked for");

  private final Kind kind;
  private final @Nullable Duration delay;
  private final String reason;

  private Settlement(Kind kind, @Nullable Duration delay, String reason) {
    this.kind = kind;
    this.delay = delay;
    this.reason = Objects.requireNonNull(reason, "reason");
  }

  /** It is done. */
  public static Settlement accept() {
    return ACCEPT;
  }

  /**
   * It is to be handled again, after the consumer's {@code retryDelays}; once its {@code
   * maxAttempts} are used up it is rejected.
   */
  public static Settlement retry() {
    return RETRY;
  }

  /**
   * It is to be handled again after this delay at least; once the consumer's {@code maxAttempts}
   * are used up it is rejected.
   *
   * <p>Where it waits in this process (with an order, and where the broker has no step as long), it
   * stays unsettled. On RabbitMQ keep the delay well below the broker's acknowledgement timeout, 30
   * minutes unless told otherwise: a longer one ends the link, and the message comes again then.
   *
   * @param delay from 0 to 1 day; where the broker has steps only, the next longer one
   * @throws IllegalArgumentException if out of range
   */
  public static Settlement retryAfter(Duration delay) {
    if (delay.isNegative() || delay.compareTo(Duration.ofDays(1)) > 0) {
      throw new IllegalArgumentException("delay must be from 0 to 1 day, was " + delay);
    }
    return new Settlement(Kind.RETRY, delay, RETRY.reason);
  }

  /**
   * It is never to be handled again.
   *
   * @param reason in words, for whoever looks through the dead letters; no secret
   */
  public static Settlement reject(String reason) {
    return new Settlement(Kind.REJECT, null, reason);
  }

  /**
   * It is to be handled again, as by {@link #retry()}, because handling it failed.
   *
   * @param reason in words; goes with a copy of the message, so no secret
   */
  public static Settlement failed(String reason) {
    return new Settlement(Kind.RETRY, null, reason);
  }

  /** Returns which end it is. */
  public Kind kind() {
    return kind;
  }

  /** Returns the delay of a retry, or null for the consumer's own, and for the other kinds. */
  public @Nullable Duration delay() {
    return delay;
  }

  /** Returns why, in words; empty where it is accepted. */
  public String reason() {
    return reason;
  }

  @Override
  public String toString() {
    return kind
        + (delay == null ? "" : " after " + delay)
        + (reason.isEmpty() ? "" : ": " + reason);
  }
}
