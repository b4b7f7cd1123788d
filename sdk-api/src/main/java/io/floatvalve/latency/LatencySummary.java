package io.floatvalve.latency;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Says when a line on the latencies of an interval is due, and what is in it. Not thread-safe. */
public final class LatencySummary {
  private final long intervalNanos;
  private long dueNanos;
  private @Nullable LatencySnapshot before;

  /**
   * Begins an interval.
   *
   * @param interval how long each is
   * @param now by {@link System#nanoTime}
   */
  public LatencySummary(Duration interval, long now) {
    this.intervalNanos = interval.toNanos();
    this.dueNanos = now + intervalNanos;
  }

  /**
   * Returns the line for the interval that has ended, or empty if none has or nothing happened in
   * it and nothing is pending.
   *
   * @param latency asked only when an interval has ended
   */
  public Optional<String> lineAt(long now, Supplier<LatencySnapshot> latency) {
    if (now - dueNanos < 0) {
      return Optional.empty();
    }
    dueNanos = now + intervalNanos;
    LatencySnapshot all = latency.get();
    LatencySnapshot interval = before == null ? all : all.since(before);
    before = all;
    return interval.stages().isEmpty() && interval.oldestUnsettled().isZero()
        ? Optional.empty()
        : Optional.of(interval.summary());
  }
}
