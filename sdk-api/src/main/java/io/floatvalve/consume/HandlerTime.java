package io.floatvalve.consume;

/**
 * How long a handler holds a message, smoothed.
 *
 * <p>It rises faster than it falls: the price of believing in a fast handler that has become slow
 * is a hoard, that of the reverse one round trip. A pause of all handlers is no slowness, though,
 * and lets as many samples rise at once as there are workers; so where a sample is far below, it
 * falls by half, and a pause of seconds is forgotten after a dozen messages.
 */
final class HandlerTime {
  private static final double RISE = 0.25;
  private static final double FALL = 0.125;
  private static final double FAR_BELOW = 1 / 16.0;
  private static final double FALL_FAR = 0.5;

  private HandlerTime() {}

  /**
   * Returns the smoothed time after one more message.
   *
   * @param mean the smoothed time so far; 0 or less if there is none
   * @param nanos how long this message was held
   */
  static double next(double mean, long nanos) {
    if (mean <= 0) {
      return Math.max(1, nanos);
    }
    double share = nanos > mean ? RISE : nanos < mean * FAR_BELOW ? FALL_FAR : FALL;
    return mean + (nanos - mean) * share;
  }
}
