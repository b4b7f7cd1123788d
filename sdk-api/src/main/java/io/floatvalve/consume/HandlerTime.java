package io.floatvalve.consume;

/**
 * How long a handler holds a message, smoothed. Not thread-safe; knows no clock.
 *
 * <ol>
 *   <li>It rises faster than it falls: the price of believing in a fast handler that has become
 *       slow is a hoard, that of the reverse one round trip.
 *   <li>Handlers that hung for a second and more, once and at most all at the same time, are not
 *       counted: they say nothing about the speed after it, and full speed is wanted at once.
 *   <li>Shorter pauses of all handlers let as many samples rise at once as there are workers. So
 *       where a sample is far below, it falls by half, and a pause is forgotten after a dozen
 *       messages.
 * </ol>
 */
final class HandlerTime {
  private static final double RISE = 0.25;
  private static final double FALL = 0.125;
  private static final double FAR_BELOW = 1 / 16.0;
  private static final double FALL_FAR = 0.5;
  private static final double HUNG_NANOS = 1e9;
  private static final double HUNG_FACTOR = 16;
  private static final int USUAL_BETWEEN = 16;

  private final int slots;
  private double mean;
  private int usual; // messages held for a usual time, in a row
  private int hung; // messages held far longer, and not counted, since there were many usual ones

  /**
   * Begins without a sample.
   *
   * @param slots how many messages may be in handlers at a time, at least 1
   */
  HandlerTime(int slots) {
    this.slots = slots;
  }

  /** Learns how long a message was held; returns the smoothed time. */
  double saw(long nanos) {
    if (nanos < HUNG_NANOS) {
      usual++;
      if (usual >= USUAL_BETWEEN * slots) {
        hung = 0;
      }
    } else {
      usual = 0;
      if (mean > 0 && nanos > HUNG_FACTOR * mean && hung < slots) {
        hung++;
        return mean;
      }
    }
    if (mean <= 0) {
      mean = Math.max(1, nanos);
    } else {
      double share = nanos > mean ? RISE : nanos < mean * FAR_BELOW ? FALL_FAR : FALL;
      mean += (nanos - mean) * share;
    }
    return mean;
  }
}
