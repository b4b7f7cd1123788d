package io.floatvalve.publish;

import java.time.Duration;

/**
 * How long nothing got on although something was there. Not thread-safe; knows no clock. The
 * engine's; applications do not call it.
 */
public final class Standstill {
  /*
   * Looks may be far apart. If something was there at two looks and nothing got on between them, it
   * was there all the time: so the standstill began with the first of the two at least.
   */
  private long progress = -1;
  private boolean still;
  private boolean told;
  private long sinceNanos;

  /** Begins with nothing there. */
  public Standstill() {}

  /**
   * Looks.
   *
   * @param nowProgress counts what got on so far
   * @param some whether something is there that should get on
   * @return how long it has lasted, in nanoseconds, at least
   */
  public long at(long nowNanos, long nowProgress, boolean some) {
    if (!some || nowProgress != progress || !still) {
      still = some;
      told = false;
      progress = nowProgress;
      sinceNanos = nowNanos;
    }
    return still ? nowNanos - sinceNanos : 0;
  }

  /**
   * Returns how long it has lasted by the last look, if that is to be told: once for each, when it
   * was long enough.
   *
   * @param enough how long that is; zero for never
   * @param paused of that time this process stood still
   * @return zero if nothing is to be told
   */
  public Duration toTell(long nowNanos, long enough, long paused) {
    long lasted = still ? nowNanos - sinceNanos : 0;
    if (enough == 0 || told || lasted - paused < enough) {
      return Duration.ZERO;
    }
    told = true;
    return Duration.ofNanos(lasted);
  }
}
