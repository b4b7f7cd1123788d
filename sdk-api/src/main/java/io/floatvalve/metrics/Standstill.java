package io.floatvalve.metrics;

/**
 * How long nothing came to an end although something was there. Not thread-safe; knows no clock.
 */
final class Standstill {
  /*
   * Looks may be far apart. If something was there at two looks and nothing came to an end between
   * them, it was there all the time: so the standstill began with the first of the two at least.
   */
  private long ended = -1;
  private boolean still;
  private long sinceNanos;

  /**
   * Returns how long it has lasted, in nanoseconds, at least.
   *
   * @param nowEnded how many came to an end so far
   * @param some whether something is there that should
   */
  long at(long now, long nowEnded, boolean some) {
    if (!some || nowEnded != ended || !still) {
      still = some;
      ended = nowEnded;
      sinceNanos = now;
    }
    return still ? now - sinceNanos : 0;
  }
}
