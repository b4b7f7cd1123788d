package io.floatvalve.rate;

/**
 * Keeps what passes in any second at or under a limit, exactly: bytes, or anything else that is
 * counted. Knows no clock; not thread-safe.
 *
 * <pre>
 * time is cut into buckets of 10 ms; the window is the current one and the 100 before it
 * admit when  sum of the window + size &lt;= limit
 * </pre>
 *
 * <p>The same holds of longer spans, cut into as many buckets, for limits below one a second.
 *
 * <p>Any second touches at most 101 buckets, all of which are in the window of the last of them, so
 * no second ever holds more than the limit. The window covers up to 1.01 s: at least 99 % of the
 * limit can be used, however it is spread. (21 buckets of 50 ms would do for the first, but leave
 * 95 % of the limit.)
 *
 * <p>What is larger than the limit passes, if at all, when the window is empty, and nothing passes
 * before it has left the window.
 */
final class ByteGuard {
  private static final int BUCKETS = 101;

  private final long spanNanos;
  private final long bucketNanos;
  private final long[] ring = new long[BUCKETS];
  private long limit;
  private long sum;
  private long bucket; // the current one, counted from time 0
  private int at; // its place in the ring

  /**
   * Makes an empty window.
   *
   * @param limit from 1, of what may pass in each span
   * @param spanNanos a second, or more where less than 1 may pass in a second
   */
  ByteGuard(long limit, long spanNanos) {
    this.limit = limit;
    this.spanNanos = spanNanos;
    this.bucketNanos = spanNanos / (BUCKETS - 1);
  }

  /** Sets the most that may pass in each span; what is in the window counts on. */
  void limit(long limit) {
    this.limit = limit;
  }

  long spanNanos() {
    return spanNanos;
  }

  long limit() {
    return limit;
  }

  /** Returns what passed in the last second, or up to 10 ms more. */
  long sum(long now) {
    advance(now);
    return sum;
  }

  /**
   * Returns in how many nanoseconds the size may pass if nothing else does before; 0 for now.
   *
   * @param size from 0; larger than the limit means: alone
   * @param now nanoseconds since some moment, not negative; a step back is taken for no step
   */
  long nanosUntil(long size, long now) {
    advance(now);
    if (size <= limit - sum || (sum == 0 && size > limit)) {
      return 0;
    }
    long most = size > limit ? 0 : limit - size;
    long left = sum;
    int oldest = at;
    for (long each = bucket - BUCKETS + 1; each < bucket; each++) {
      oldest = oldest + 1 == BUCKETS ? 0 : oldest + 1;
      left -= ring[oldest];
      if (left <= most) {
        return (each + BUCKETS) * bucketNanos - now;
      }
    }
    return (bucket + BUCKETS) * bucketNanos - now;
  }

  /** Enters what passes now. */
  void enter(long size, long now) {
    advance(now);
    ring[at] += size;
    sum += size;
  }

  private void advance(long now) {
    long current = now / bucketNanos;
    if (current <= bucket) {
      return;
    }
    long steps = Math.min(BUCKETS, current - bucket);
    for (long i = 0; i < steps; i++) {
      at = at + 1 == BUCKETS ? 0 : at + 1;
      sum -= ring[at];
      ring[at] = 0;
    }
    bucket = current;
  }
}
