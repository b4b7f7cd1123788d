package io.floatvalve.flow;

/** How large messages are: jumps up to the largest at once, forgets it over some hundred. */
final class SizePeak {
  private static final double FORGET = 0.02;

  private static final long UNSEEN_BYTES = 1 << 20;

  private double bytes;

  /** Returns how many messages the budget holds while the size of none is known: at least 1. */
  static int fittingUnseen(long budget) {
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, budget / UNSEEN_BYTES));
  }

  void saw(int size) {
    bytes = size > bytes ? size : bytes + (size - bytes) * FORGET;
  }

  /** Returns how many such messages the budget holds: at least 1, at most {@code most}. */
  int fitting(long budget, int most) {
    if (bytes < 1) {
      return most; // nothing was seen, or empty payloads only
    }
    return (int) Math.max(1, Math.min(most, budget / bytes));
  }
}
