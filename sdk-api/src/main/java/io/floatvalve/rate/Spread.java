package io.floatvalve.rate;

/**
 * Spreads over a second what may pass in it: after each size comes a pause of 0.8 of its even part
 * of the second. So a limit that is used up late in a second stays spread in all that follow, and
 * nothing is lost where somebody comes late. Knows no clock; not thread-safe.
 */
final class Spread {
  private static final double PAUSE_NANOS = 0.8e9;

  private final long limit;
  private final long aheadNanos;
  private long free; // when the pauses so far are over

  /**
   * Begins without a pause.
   *
   * @param limit what may pass in a second
   * @param aheadNanos by how much pauses may be anticipated: what a timer cannot tell apart
   */
  Spread(long limit, long aheadNanos) {
    this.limit = limit;
    this.aheadNanos = aheadNanos;
  }

  /** Returns in how many nanoseconds something may pass; 0 or less for now. */
  long nanosUntil(long now) {
    return free - aheadNanos - now;
  }

  /** Enters what passes now. */
  void enter(long size, long now) {
    double part = (double) Math.min(size, limit) / limit;
    free = Math.max(free, now) + (long) (part * PAUSE_NANOS);
  }
}
