package io.floatvalve.publish;

import io.floatvalve.publish.PublishOutcome.Verdict;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What it costs to watch a publisher, so that it can be explained and its stalls are told: nothing
 * per message, and this much for each second in which messages flow.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class WatchedPublisherBenchmark {
  private static final int MESSAGES = 100_000;
  private static final int TICKS_A_SECOND = 50;
  private static final long TICK_NANOS = 20_000_000;

  private final PublishLatency latency = new PublishLatency();
  private final PublishWatch watch = new PublishWatch(latency, Duration.ofSeconds(30), 0);
  private long now;
  private long answers;

  /** Fills the histograms as a publisher at work does. */
  @Setup
  public void fill() {
    for (int i = 1; i <= MESSAGES; i++) {
      latency.sent(i * 37L % 10_000_000);
      latency.ended(Verdict.CONFIRMED, 200_000 + i * 7_919L % 50_000_000);
    }
  }

  /** A second of ticks, with the sample that one of them takes. */
  @Benchmark
  public long second() {
    long told = 0;
    for (int i = 0; i < TICKS_A_SECOND; i++) {
      now += TICK_NANOS;
      answers += 2_000;
      told +=
          watch
              .tick(new PublishWatch.Counts(now, answers, 0, 0, 0, answers, false, true, 0), 0)
              .toNanos();
    }
    return told;
  }
}
