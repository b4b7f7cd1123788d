package io.floatvalve.publish;

import io.floatvalve.latency.LatencyRecorder;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What the law costs an answer, and what an answered message costs besides its outcome: its place
 * in the window, its latency, and its part of the law.
 *
 * <p>Run with {@code -prof gc}: nothing may be allocated per operation.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class AdaptiveWindowBenchmark {
  private static final int RUN = 10;
  private static final long ANSWER_NANOS = 400_000; // 25,000 messages a second
  private static final double ROUND_TRIP_NANOS = 4_000_000;
  private static final Object ENTRY = new Object();

  private AdaptiveWindow law = new AdaptiveWindow(10_000);
  private InFlightWindow<Object> window = new InFlightWindow<>(10_000, Long.MAX_VALUE);
  private LatencyRecorder latency = new LatencyRecorder("sent-confirmed");
  private long nanos;
  private long sent;

  /** Begins as a new link does, with some messages in flight. */
  @Setup(Level.Iteration)
  public void begin() {
    law = new AdaptiveWindow(10_000);
    window = new InFlightWindow<>(10_000, Long.MAX_VALUE);
    latency = new LatencyRecorder("sent-confirmed");
    sent = 0;
    for (int i = 0; i < 100; i++) {
      window.tryClaim(ENTRY, 100);
    }
  }

  /** An answer that settles ten messages, as the law is told of it. */
  @Benchmark
  public int law() {
    nanos += ANSWER_NANOS;
    sent += RUN;
    return law.answered(nanos, RUN, RUN * ROUND_TRIP_NANOS, sent + 100, sent, true);
  }

  /** A message of such an answer, from its claim. */
  @Benchmark
  @OperationsPerInvocation(RUN)
  public int settle() {
    for (int i = 0; i < RUN; i++) {
      window.tryClaim(ENTRY, 100);
    }
    nanos += ANSWER_NANOS;
    long last = window.oldest() + RUN - 1;
    double sum = 0;
    int settled = 0;
    while (window.settleOldest(last) != null) {
      latency.record((long) ROUND_TRIP_NANOS);
      sum += ROUND_TRIP_NANOS;
      settled++;
    }
    long claimed = window.next() - 1;
    int limit = law.answered(nanos, settled, sum, claimed, claimed - window.size(), true);
    window.limit(Math.max(limit, 200));
    return limit;
  }
}
