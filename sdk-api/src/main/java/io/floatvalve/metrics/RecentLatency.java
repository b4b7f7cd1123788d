package io.floatvalve.metrics;

import io.floatvalve.latency.LatencySnapshot;

/**
 * What was recorded lately, of latencies that count from the beginning. Not thread-safe; knows no
 * clock.
 */
final class RecentLatency {
  /*
   * Two snapshots are kept. When the newer one is a span old it becomes the older one, and what is
   * there now the newer. So what is told covers one span at least, and at most two and the time
   * between two reads twice.
   */
  private final long spanNanos;
  private LatencySnapshot older = LatencySnapshot.empty();
  private LatencySnapshot newer = LatencySnapshot.empty();
  private long newerNanos;

  /**
   * Begins with nothing recorded.
   *
   * @param spanNanos how far back it looks at least, once it is that old
   */
  RecentLatency(long spanNanos, long now) {
    this.spanNanos = spanNanos;
    this.newerNanos = now;
  }

  /**
   * Returns what was recorded lately.
   *
   * @param all what was recorded from the beginning to now
   */
  LatencySnapshot at(long now, LatencySnapshot all) {
    if (now - newerNanos >= spanNanos) {
      older = newer;
      newer = all;
      newerNanos = now;
    }
    return all.since(older);
  }
}
