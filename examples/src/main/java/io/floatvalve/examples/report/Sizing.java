package io.floatvalve.examples.report;

/** How large a quota has to be: by the busiest second and the fan-out, not by an average. Pure. */
final class Sizing {
  private static final long HEADROOM_PERCENT = 90;

  private Sizing() {}

  /**
   * Returns the smallest quota of which a busy second uses 90 % at most.
   *
   * @param busiest messages in the busiest second
   * @param fanOut how many places each of them goes to, from 1
   */
  static long quota(long busiest, int fanOut) {
    return -Math.floorDiv(-busiest * fanOut * 100, HEADROOM_PERCENT);
  }
}
