package io.floatvalve.examples.cli;

/**
 * Says when the next message is due at a steady rate. Knows no clock. After a pause it does not
 * make up for more than a tenth of a second.
 */
public final class Metronome {
  private static final long CATCH_UP_NANOS = 100_000_000;

  private final double nanosEach;
  private double due = Double.NaN;

  /**
   * Begins at the first question.
   *
   * @param perSecond above 0
   */
  public Metronome(double perSecond) {
    nanosEach = 1e9 / perSecond;
  }

  /** Returns how long to wait, from now, before sending the next. */
  public long waitNanos(long now) {
    if (Double.isNaN(due) || now - due > CATCH_UP_NANOS) {
      due = now;
    }
    long wait = Math.max(0, (long) (due - now));
    due += nanosEach;
    return wait;
  }
}
