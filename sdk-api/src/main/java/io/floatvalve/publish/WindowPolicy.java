package io.floatvalve.publish;

import static io.floatvalve.spi.Bounds.within;

import org.jspecify.annotations.Nullable;

/**
 * How many messages a publisher may have sent and not yet answered. Immutable.
 *
 * <p>Too few starve the broker: throughput is at most the window over the confirm latency. Too many
 * buy nothing but latency, and a lost connection leaves so many more unknown.
 */
public final class WindowPolicy {
  private static final int MOST = 1 << 20;

  private final boolean adaptive;
  private final int most;

  private WindowPolicy(boolean adaptive, int most) {
    this.adaptive = adaptive;
    this.most = within("maxInFlight", most, 1, MOST);
  }

  /**
   * The same number always.
   *
   * @param messages from 1 to 1,048,576 messages
   * @throws IllegalArgumentException if out of range
   */
  public static WindowPolicy fixed(int messages) {
    return new WindowPolicy(false, messages);
  }

  /**
   * A number that follows the confirms: as many as the broker needs to be busy and few more, so
   * that a message waits there for milliseconds. Some 100 to a broker next door, 1,000 to one 20 ms
   * away. It grows only while the window is what holds messages back. At most 10,000 messages.
   */
  public static WindowPolicy adaptive() {
    return new WindowPolicy(true, 10_000);
  }

  /**
   * Sets the most an adaptive number may be. Raise it where much is sent over a long way: rate
   * times round trip, and as much again, must fit.
   *
   * @param messages from 1 to 1,048,576 messages; 10,000 by default
   * @throws IllegalArgumentException if out of range
   * @throws IllegalStateException if the policy is fixed
   */
  public WindowPolicy withMost(int messages) {
    if (!adaptive) {
      throw new IllegalStateException("a fixed policy has one number");
    }
    return new WindowPolicy(true, messages);
  }

  /** Returns the largest number of messages. */
  public int most() {
    return most;
  }

  /** Returns whether the number follows the confirms. */
  public boolean isAdaptive() {
    return adaptive;
  }

  /** Begins a law for one link, or returns null if the number is fixed. */
  @Nullable AdaptiveWindow law() {
    return adaptive ? new AdaptiveWindow(most) : null;
  }

  @Override
  public String toString() {
    return adaptive ? "adaptive" : "fixed " + most;
  }
}
