package io.floatvalve.flow;

/**
 * Decides the permits of one consumer from what was seen. Knows no clock and no broker; not
 * thread-safe. Made by {@link PermitPolicy#law}; applications do not call it.
 */
public sealed interface PermitLaw permits AdaptivePermits, FixedPermits {
  /** Returns how many permits there shall be now. */
  int permits();

  /**
   * Returns how many permits there shall be now, if they may be no more than so many.
   *
   * @param most messages, from 1
   * @param bytes of messages as large as those of late, from 1
   */
  int permits(int most, long bytes);

  /** Learns the size of a message, in bytes, as it is taken. Called for each one. */
  void taken(int bytes);

  /**
   * Learns how long it can take until a broker hears of another number: what is seen before that is
   * due to the number before.
   *
   * @param nanos 0 or more
   */
  void heardAfter(long nanos);

  /**
   * Learns that a handler wanted a message and none was waiting.
   *
   * @param nanos now, by any clock that only goes on
   * @param taken how many messages were taken so far
   * @param unsettled how many of them are not settled
   * @param busyNanos how long handlers were at work so far, all together; zero where that is not
   *     known
   * @param handlerNanos how long a handler holds a message, smoothed; zero, negative or NaN while
   *     that is not known
   * @return {@link #permits()}
   */
  int ranEmpty(long nanos, long taken, int unsettled, long busyNanos, double handlerNanos);

  /**
   * Learns how things stand, some 50 ms after the last time.
   *
   * @return {@link #permits()}
   */
  int tick(Seen seen);

  /**
   * Learns that handlers have become so slow that what waits is given back.
   *
   * @return {@link #permits()}
   */
  int turnedSlow();

  /**
   * Learns that all handlers have been at the same messages for so long that what waits is given
   * back. How fast they are after that is not known.
   *
   * @return {@link #permits()}
   */
  int stuck();

  /**
   * How things stand at a tick.
   *
   * @param nanos now, by the clock of {@link #ranEmpty}
   * @param taken how many messages were taken so far
   * @param leastWaiting the least number that was waiting when a handler looked, since the last
   *     tick; -1 if none looked
   * @param busyNanos as in {@link #ranEmpty}
   * @param ranEmpty whether a handler found nothing since the last tick
   * @param waitingBytes payloads that wait now
   */
  record Seen(
      long nanos,
      long taken,
      long busyNanos,
      int leastWaiting,
      boolean ranEmpty,
      long waitingBytes) {}
}
