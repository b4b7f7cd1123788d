package io.floatvalve.latency;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.HdrHistogram.Histogram;

/** Latencies by stage, as they were at one moment. Immutable and thread-safe. */
public final class LatencySnapshot {
  private final Map<String, Stage> stages;

  LatencySnapshot(Map<String, Stage> stages) {
    this.stages = Map.copyOf(new LinkedHashMap<>(stages));
  }

  /** Returns the stages that have samples, by name, such as {@code sent-confirmed}. */
  public Map<String, Stage> stages() {
    return stages;
  }

  /** Returns a stage, or empty if it has no sample. */
  public Optional<Stage> stage(String name) {
    return Optional.ofNullable(stages.get(name));
  }

  /** The latencies of one stage. */
  public static final class Stage {
    private final Histogram histogram;
    private final long clamped;

    Stage(Histogram histogram, long clamped) {
      this.histogram = histogram;
      this.clamped = clamped;
    }

    /** Returns how many samples there are, at least 1. */
    public long count() {
      return histogram.getTotalCount();
    }

    /**
     * Returns the latency, in nanoseconds, that this share of the samples does not exceed.
     *
     * @param percentile from 0 to 100
     */
    public long nanosAt(double percentile) {
      return histogram.getValueAtPercentile(percentile);
    }

    /** Returns the largest sample, in nanoseconds. */
    public long maxNanos() {
      return histogram.getMaxValue();
    }

    /** Returns the mean, in nanoseconds. */
    public double meanNanos() {
      return histogram.getMean();
    }

    /** Returns how many samples were below or above the range and were counted at its edge. */
    public long clamped() {
      return clamped;
    }

    /** Returns a copy of the histogram; values are nanoseconds. */
    public Histogram histogram() {
      return histogram.copy();
    }
  }
}
