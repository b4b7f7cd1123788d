package io.floatvalve.flow;

/**
 * How many messages a broker may have on its way to a consumer and waiting there, beyond those that
 * handlers hold. Immutable; each {@code with} method returns a changed copy.
 *
 * <p>Permits count messages, so a budget of bytes stands beside them. The worst case is the budget
 * and one largest message for each permit that the broker had already been given.
 */
public final class PermitPolicy {
  private static final int MOST = 100_000;

  private final boolean adaptive;
  private final int least;
  private final int most;
  private final long maxBytes;

  private PermitPolicy(boolean adaptive, int least, int most, long maxBytes) {
    if (least < 1 || most > MOST || least > most) {
      throw new IllegalArgumentException(
          "permits must be from 1 to " + MOST + ", the least first, were " + least + " to " + most);
    }
    if (maxBytes < 1 || maxBytes > 1L << 40) {
      throw new IllegalArgumentException(
          "maxBytes must be from 1 to " + (1L << 40) + ", was " + maxBytes);
    }
    this.adaptive = adaptive;
    this.least = least;
    this.most = most;
    this.maxBytes = maxBytes;
  }

  /**
   * The same number always, but for what the byte budget takes away.
   *
   * @param permits from 1 to 100,000 messages
   * @throws IllegalArgumentException if out of range
   */
  public static PermitPolicy fixed(int permits) {
    return new PermitPolicy(false, permits, permits, 32L << 20);
  }

  /**
   * A number that follows the speed of the handlers: few while they are slow, so that other
   * consumers get the rest and memory stays flat; many while they are fast, so that they never wait
   * for the network. From 2 to 1,000 messages and 32 MiB.
   */
  public static PermitPolicy adaptive() {
    return new PermitPolicy(true, 2, 1_000, 32L << 20);
  }

  /**
   * Sets the bounds of an adaptive number. Raise {@code most} where a fast consumer is far from its
   * broker: throughput is bounded by it over the round trip.
   *
   * @param least from 1 to {@code most} messages
   * @param most to 100,000 messages
   * @throws IllegalArgumentException if out of range
   * @throws IllegalStateException if the policy is fixed
   */
  public PermitPolicy withBounds(int least, int most) {
    if (!adaptive) {
      throw new IllegalStateException("a fixed policy has no bounds");
    }
    return new PermitPolicy(true, least, most, maxBytes);
  }

  /**
   * Sets how many bytes of payload may wait, and as many again be held by handlers and those that
   * are to be handled next. A message that is larger is admitted alone. Before the first message
   * came, each counts as 1 MiB where permits follow it (RabbitMQ, and adaptive ones anywhere):
   * lower the budget where messages are much larger than that.
   *
   * @param maxBytes from 1 byte to 1 TiB; 32 MiB by default
   * @throws IllegalArgumentException if out of range
   */
  public PermitPolicy withMaxBytes(long maxBytes) {
    return new PermitPolicy(adaptive, least, most, maxBytes);
  }

  /** Returns the least number of permits. */
  public int least() {
    return least;
  }

  /** Returns the largest number of permits. */
  public int most() {
    return most;
  }

  /** Returns how many bytes of payload may wait, and as many again be held. */
  public long maxBytes() {
    return maxBytes;
  }

  /** Returns whether the number follows the handlers. */
  public boolean isAdaptive() {
    return adaptive;
  }

  /**
   * Begins a law for one consumer. Applications do not call it.
   *
   * @param workers how many messages may be in handlers at a time, at least 1
   */
  public PermitLaw law(int workers) {
    return adaptive ? new AdaptivePermits(this, workers) : new FixedPermits(this);
  }

  @Override
  public String toString() {
    return (adaptive ? "adaptive " + least + " to " + most : "fixed " + most)
        + ", "
        + maxBytes
        + " bytes";
  }
}
