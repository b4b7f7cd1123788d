package io.floatvalve.latency;

import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * Records latencies of one stage under a lock that its owner holds anyway: it costs a few stores,
 * and as much memory as the largest latency seen needs, some KB. Never throws. Not thread-safe.
 *
 * <p>Values are kept as {@link LatencyRecorder} keeps them.
 */
public final class LatencyTally {
  private final Histogram histogram;
  private final String name;
  private long clamped;

  /**
   * Makes an empty one.
   *
   * @param name of the stage
   */
  public LatencyTally(String name) {
    this.name = name;
    this.histogram =
        new Histogram(
            LatencyRecorder.LOWEST_NANOS, 2 * LatencyRecorder.LOWEST_NANOS, LatencyRecorder.DIGITS);
    histogram.setAutoResize(true);
  }

  /** Records a latency in nanoseconds. */
  public void record(long nanos) {
    long value = nanos;
    if (nanos < 0) {
      value = 0;
      clamped++;
    } else if (nanos > LatencyRecorder.HIGHEST_NANOS) {
      value = LatencyRecorder.HIGHEST_NANOS;
      clamped++;
    }
    histogram.recordValue(value);
  }

  /** Returns what was recorded so far; those without samples are left out. */
  public static LatencySnapshot snapshot(Iterable<LatencyTally> tallies) {
    Map<String, LatencySnapshot.Stage> stages = new LinkedHashMap<>();
    for (LatencyTally each : tallies) {
      if (each.histogram.getTotalCount() > 0) {
        stages.put(each.name, new LatencySnapshot.Stage(each.histogram.copy(), each.clamped));
      }
    }
    return new LatencySnapshot(stages);
  }
}
