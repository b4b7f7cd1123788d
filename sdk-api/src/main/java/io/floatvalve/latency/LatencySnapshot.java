package io.floatvalve.latency;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Latencies by stage, from the beginning to one moment, or {@linkplain #since between two}.
 * Immutable and thread-safe: whoever keeps one keeps what it said.
 */
public final class LatencySnapshot {
  private static final double NANOS_PER_MILLI = 1e6;

  private final Map<String, Stage> stages;
  private final long oldestNanos;

  LatencySnapshot(Map<String, Stage> stages, long oldestNanos) {
    this.stages = Collections.unmodifiableMap(new LinkedHashMap<>(stages));
    this.oldestNanos = Math.max(0, oldestNanos);
  }

  /**
   * Returns the stages that have samples, by name, such as {@code sent-confirmed}, in the order in
   * which a message passes them.
   */
  public Map<String, Stage> stages() {
    return stages;
  }

  /** Returns a stage, or empty if it has no sample. */
  public Optional<Stage> stage(String name) {
    return Optional.ofNullable(stages.get(name));
  }

  /**
   * Returns how long ago the oldest message began that has not come to its end yet, or zero if
   * there is none. No stage holds such a message: where nothing comes to an end, this alone grows.
   */
  public Duration oldestUnsettled() {
    return Duration.ofNanos(oldestNanos);
  }

  /**
   * Returns what came after an earlier snapshot of the same publisher or consumer. Taken one after
   * the other, intervals hold every sample once, however many readers take them. A stage without a
   * sample in between is left out: it has no percentile.
   *
   * @param earlier of the same; what is in it and not here is ignored
   */
  public LatencySnapshot since(LatencySnapshot earlier) {
    Map<String, Stage> between = new LinkedHashMap<>();
    stages.forEach(
        (name, stage) -> {
          Stage rest = stage.since(earlier.stages.get(name));
          if (rest.count() > 0 || rest.negative() > 0) {
            between.put(name, rest);
          }
        });
    return new LatencySnapshot(between, oldestNanos);
  }

  /** Returns the samples of both together, stage by stage: of several publishers, for one. */
  public LatencySnapshot plus(LatencySnapshot other) {
    Map<String, Stage> sum = new LinkedHashMap<>(stages);
    other.stages.forEach((name, stage) -> sum.merge(name, stage, Stage::plus));
    return new LatencySnapshot(sum, Math.max(oldestNanos, other.oldestNanos));
  }

  /** Returns one without samples. */
  public static LatencySnapshot empty() {
    return new LatencySnapshot(Map.of(), 0);
  }

  /** Returns it in one line for a log: samples, p50, p99 and maximum of each stage. */
  public String summary() {
    StringBuilder line = new StringBuilder();
    stages.forEach(
        (name, stage) -> {
          line.append(line.isEmpty() ? "" : "; ").append(name);
          if (stage.count() > 0) {
            line.append(
                String.format(
                    Locale.ROOT,
                    " n=%d p50=%.3f p99=%.3f max=%.3f ms",
                    stage.count(),
                    stage.nanosAt(50) / NANOS_PER_MILLI,
                    stage.nanosAt(99) / NANOS_PER_MILLI,
                    stage.maxNanos() / NANOS_PER_MILLI));
          }
          if (stage.clamped() > 0) {
            line.append(" clamped=").append(stage.clamped());
          }
          if (stage.negative() > 0) {
            line.append(" negative=").append(stage.negative());
          }
        });
    if (line.isEmpty()) {
      line.append("no samples");
    }
    if (oldestNanos > 0) {
      line.append(
          String.format(Locale.ROOT, "; oldest unsettled %.0f ms", oldestNanos / NANOS_PER_MILLI));
    }
    return line.toString();
  }

  @Override
  public String toString() {
    return summary();
  }

  /**
   * The latencies of one stage. It has a sample, or {@linkplain #negative negative} ones at least:
   * then there is no percentile, and asking for one throws.
   */
  public static final class Stage {
    private final Histogram histogram;
    private final long clamped;
    private final long negative;

    Stage(Histogram histogram, long clamped, long negative) {
      this.histogram = histogram;
      this.clamped = clamped;
      this.negative = negative;
    }

    private Stage since(@Nullable Stage earlier) {
      if (earlier == null) {
        return this;
      }
      Histogram rest = histogram.copy();
      rest.subtract(earlier.histogram);
      return new Stage(rest, clamped - earlier.clamped, negative - earlier.negative);
    }

    private Stage plus(Stage other) {
      boolean smaller =
          histogram.getHighestTrackableValue() < other.histogram.getHighestTrackableValue();
      Histogram sum = (smaller ? other : this).histogram.copy();
      sum.add((smaller ? this : other).histogram);
      return new Stage(sum, clamped + other.clamped, negative + other.negative);
    }

    /** Returns how many samples there are, without the negative ones. */
    public long count() {
      return histogram.getTotalCount();
    }

    /**
     * Returns the latency, in nanoseconds, that this share of the samples does not exceed.
     *
     * @param percentile from 0 to 100
     * @throws IllegalStateException if there is no sample
     */
    public long nanosAt(double percentile) {
      return some().getValueAtPercentile(percentile);
    }

    /**
     * Returns the largest sample, in nanoseconds, to within 1 %.
     *
     * @throws IllegalStateException if there is no sample
     */
    public long maxNanos() {
      return some().getMaxValue();
    }

    /**
     * Returns the mean, in nanoseconds.
     *
     * @throws IllegalStateException if there is no sample
     */
    public double meanNanos() {
      return some().getMean();
    }

    private Histogram some() {
      if (count() == 0) {
        throw new IllegalStateException("no sample: there is no percentile");
      }
      return histogram;
    }

    /** Returns how many samples were above the range and were counted at its edge. */
    public long clamped() {
      return clamped;
    }

    /**
     * Returns how many were below zero, because the clocks of two machines differ or one was set
     * back. They are in no other figure.
     */
    public long negative() {
      return negative;
    }

    /** Returns a copy of the histogram; values are nanoseconds. */
    public Histogram histogram() {
      return histogram.copy();
    }
  }
}
