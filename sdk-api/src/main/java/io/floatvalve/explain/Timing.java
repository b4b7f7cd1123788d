package io.floatvalve.explain;

import io.floatvalve.latency.LatencySnapshot;
import java.time.Duration;
import java.util.Optional;

/**
 * Some latencies in a few numbers.
 *
 * @param count samples; where it is zero, so is all else
 * @param least the smallest, to within 1 %
 * @param p50 half of them are no longer
 * @param p99 99 % are no longer
 * @param p999 99.9 % are no longer
 * @param most the largest, to within 1 %
 */
public record Timing(
    long count, Duration least, Duration p50, Duration p99, Duration p999, Duration most) {
  /** Without a sample. */
  public static final Timing NONE =
      new Timing(0, Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ZERO);

  /** Returns the numbers of a stage; {@link #NONE} if it has no sample. */
  public static Timing of(LatencySnapshot latencies, String stage) {
    Optional<LatencySnapshot.Stage> found = latencies.stage(stage);
    if (found.isEmpty() || found.get().count() == 0) {
      return NONE;
    }
    LatencySnapshot.Stage some = found.get();
    return new Timing(
        some.count(),
        Duration.ofNanos(some.nanosAt(0)),
        Duration.ofNanos(some.nanosAt(50)),
        Duration.ofNanos(some.nanosAt(99)),
        Duration.ofNanos(some.nanosAt(99.9)),
        Duration.ofNanos(some.maxNanos()));
  }
}
