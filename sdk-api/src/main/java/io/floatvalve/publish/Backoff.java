package io.floatvalve.publish;

import java.util.concurrent.TimeUnit;

/** How long to wait before opening a lost link again. */
final class Backoff {
  private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(5);

  private Backoff() {}

  /**
   * Returns the wait before an attempt: up to 20 ms before the first, then 100 ms doubling up to 5
   * s, shortened by up to half, so that the clients of a restarted broker do not come all at once.
   *
   * @param attempt from 0
   * @param jitter a random number from 0 to 1
   */
  static long nanos(int attempt, double jitter) {
    if (attempt <= 0) {
      return (long) (FIRST_NANOS * jitter);
    }
    long full = attempt > 20 ? MOST_NANOS : Math.min(MOST_NANOS, STEP_NANOS << (attempt - 1));
    return (long) (full * (1 - jitter / 2));
  }
}
