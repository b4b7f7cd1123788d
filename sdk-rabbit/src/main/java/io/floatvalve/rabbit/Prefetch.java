package io.floatvalve.rabbit;

/**
 * How many messages a broker may have outstanding at a consumer, and how many acknowledgements may
 * be kept back. Pure.
 */
final class Prefetch {
  /** AMQP counts in 16 bits; and 0, which we never say, would mean without bound. */
  private static final int MOST = 0xFFFF;

  /** How large a message is taken to be before the first one was seen. */
  static final double UNSEEN_BYTES = 1 << 20;

  private static final int SHARE_OF_BATCH = 5;
  private static final int FEWEST_OF_LARGEST_BATCH = 32;
  private static final int LARGEST_BATCH = 256;

  private Prefetch() {}

  /**
   * Returns the prefetch: permits, what handlers hold, and what was acknowledged and not told; but
   * no more than the budget of bytes holds, once for what waits and once for what handlers hold.
   *
   * @param peakBytes how large messages are; 0 sets no bound
   */
  static int of(int permits, int slots, long maxBytes, double peakBytes) {
    int held = permits + slots;
    long most = peakBytes < 1 ? MOST : (long) Math.max(1, 2 * (double) maxBytes / peakBytes);
    return (int)
        Math.min(Math.min(most, MOST), (long) held + largest(held / SHARE_OF_BATCH, slots));
  }

  /** Returns how many acknowledgements may be kept back, well below the prefetch. */
  static int batch(int prefetch, int slots) {
    return largest(prefetch / (SHARE_OF_BATCH + 1), slots);
  }

  private static int largest(int wanted, int slots) {
    int most = Math.max(FEWEST_OF_LARGEST_BATCH, Math.min(LARGEST_BATCH, 4 * slots));
    return Math.max(1, Math.min(most, wanted));
  }

  /**
   * Returns a prefetch that is never changed, for permits that are: some times what handlers hold,
   * which is where a larger one gains little.
   */
  static int fixedPermits(int permits, int maxPermits, int slots) {
    return Math.max(permits, Math.min(maxPermits, Math.max(32, 4 * slots)));
  }

  /**
   * Whether a change may begin while this many messages of consumers that were cancelled are still
   * outstanding. They add to the new prefetch, so the sum must not pile up; what handlers hold is
   * no reason to go on asking for too much.
   */
  static boolean mayChange(int from, int to, int draining, int slots) {
    return to < from ? draining <= slots : draining == 0;
  }

  /** Returns how large messages are after one more of this size: up at once, down slowly. */
  static double peak(double peak, int size) {
    return size > peak ? size : peak + (size - peak) * 0.02;
  }
}
