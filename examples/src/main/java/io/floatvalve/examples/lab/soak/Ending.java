package io.floatvalve.examples.lab.soak;

import io.floatvalve.publish.PublishOutcome.Verdict;

/** Verdict and time of a publish in the detail of one entry of the {@link Journal}. */
final class Ending {
  private static final int VERDICT_BITS = 3;
  private static final int STEP_MILLIS = 4;

  /** How many codes there are. */
  static final int CODES = 5;

  private Ending() {}

  /** Returns the detail; the time is kept in steps of 4 ms, rounded up, and to 2 hours. */
  static int of(Verdict verdict, long millis) {
    long steps = (millis + STEP_MILLIS - 1) / STEP_MILLIS;
    long most = Journal.MAX_DETAIL >>> VERDICT_BITS;
    return (int) Math.min(most, steps) << VERDICT_BITS | code(verdict);
  }

  static Verdict verdict(int detail) {
    return ofCode(detail & ((1 << VERDICT_BITS) - 1));
  }

  static Verdict ofCode(int code) {
    return switch (code) {
      case 0 -> Verdict.CONFIRMED;
      case 1 -> Verdict.RETURNED;
      case 2 -> Verdict.NACKED;
      case 3 -> Verdict.UNKNOWN;
      case 4 -> Verdict.NOT_SENT;
      default -> throw new IllegalArgumentException("no verdict has the code " + code);
    };
  }

  /** Returns a number below {@link #CODES}. */
  static int code(Verdict verdict) {
    return switch (verdict) {
      case CONFIRMED -> 0;
      case RETURNED -> 1;
      case NACKED -> 2;
      case UNKNOWN -> 3;
      case NOT_SENT -> 4;
    };
  }

  static long millis(int detail) {
    return (long) (detail >>> VERDICT_BITS) * STEP_MILLIS;
  }
}
