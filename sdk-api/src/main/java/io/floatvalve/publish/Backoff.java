package io.floatvalve.publish;

import java.util.concurrent.TimeUnit;

/** How long to wait before something is tried again. */
final class Backoff {
  private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(5);

  private Backoff() {}

  /**
   * Returns the wait before a lost link is opened again: up to 20 ms before the first attempt, then
   * 100 ms doubling up to 5 s, shortened by up to half, so that the clients of a restarted broker
   * do not come all at once.
   *
   * @param attempt from 0
   * @param jitter a random number from 0 to 1
   */
  static long nanos(int attempt, double jitter) {
    return attempt <= 0
        ? (long) (FIRST_NANOS * jitter)
        : nanos(STEP_NANOS, MOST_NANOS, attempt, jitter);
  }

  /**
   * Returns a wait that doubles with each attempt, shortened by up to half.
   *
   * @param first before the first attempt, in nanoseconds
   * @param most the longest, in nanoseconds
   * @param attempt from 1
   * @param jitter a random number from 0 to 1
   */
  static long nanos(long first, long most, int attempt, double jitter) {
    double full = Math.min((double) most, first * Math.pow(2, attempt - 1));
    return (long) (full * (1 - jitter / 2));
  }
}
