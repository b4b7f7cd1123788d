package io.floatvalve.rate;

import java.util.OptionalLong;

/**
 * How much may pass in any second: messages, bytes of payload, or both. Immutable.
 *
 * <p>It is the broker's figure, as its operator gives it; what is kept clear of it is {@link
 * QuotaPolicy#headroom()}'s matter.
 */
public final class Quota {
  private static final long MOST_MESSAGES = 10_000_000;
  private static final long MOST_BYTES = 1L << 40;
  private static final Quota NONE = new Quota(0, 0);

  private final long messages; // 0 for as many as there are
  private final long bytes; // 0 for as many as there are

  private Quota(long messages, long bytes) {
    this.messages = messages;
    this.bytes = bytes;
  }

  /** Returns what lets everything pass. */
  public static Quota none() {
    return NONE;
  }

  /**
   * Returns a quota of messages alone.
   *
   * @param perSecond from 1 to 10,000,000 messages a second, each counted by its {@linkplain
   *     QuotaPolicy#withCost cost}
   * @throws IllegalArgumentException if out of range
   */
  public static Quota messagesPerSecond(long perSecond) {
    return NONE.withMessagesPerSecond(perSecond);
  }

  /**
   * Returns a quota of bytes alone.
   *
   * @param perSecond from 1 byte to 1 TiB of payload a second
   * @throws IllegalArgumentException if out of range
   */
  public static Quota bytesPerSecond(long perSecond) {
    return NONE.withBytesPerSecond(perSecond);
  }

  /**
   * Sets how many messages may pass in any second.
   *
   * @param perSecond from 1 to 10,000,000 messages a second, each counted by its {@linkplain
   *     QuotaPolicy#withCost cost}
   * @throws IllegalArgumentException if out of range
   */
  public Quota withMessagesPerSecond(long perSecond) {
    return new Quota(within("messagesPerSecond", perSecond, MOST_MESSAGES), bytes);
  }

  /**
   * Sets how many bytes of payload may pass in any second.
   *
   * @param perSecond from 1 byte to 1 TiB of payload a second
   * @throws IllegalArgumentException if out of range
   */
  public Quota withBytesPerSecond(long perSecond) {
    return new Quota(messages, within("bytesPerSecond", perSecond, MOST_BYTES));
  }

  private static long within(String name, long value, long most) {
    if (value < 1 || value > most) {
      throw new IllegalArgumentException(name + " must be from 1 to " + most + ", was " + value);
    }
    return value;
  }

  /** Returns how many messages may pass in any second; empty for as many as there are. */
  public OptionalLong messagesPerSecond() {
    return messages == 0 ? OptionalLong.empty() : OptionalLong.of(messages);
  }

  /** Returns how many bytes of payload may pass in any second; empty for as many as there are. */
  public OptionalLong bytesPerSecond() {
    return bytes == 0 ? OptionalLong.empty() : OptionalLong.of(bytes);
  }

  /** Returns whether it lets everything pass. */
  public boolean isNone() {
    return messages == 0 && bytes == 0;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Quota quota && messages == quota.messages && bytes == quota.bytes;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(31 * messages + bytes);
  }

  @Override
  public String toString() {
    if (isNone()) {
      return "none";
    }
    return (messages == 0 ? "" : messages + " messages/s")
        + (messages == 0 || bytes == 0 ? "" : ", ")
        + (bytes == 0 ? "" : bytes + " bytes/s");
  }
}
