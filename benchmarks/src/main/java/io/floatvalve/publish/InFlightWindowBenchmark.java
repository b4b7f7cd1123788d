package io.floatvalve.publish;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What one message costs in the window: claimed once, settled once, with so many others in flight.
 *
 * <p>Run with {@code -prof gc}: nothing may be allocated per operation.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class InFlightWindowBenchmark {
  private static final int RUN = 10;
  private static final Object ENTRY = new Object();

  /** Messages in flight while measuring. */
  @Param({"10", "100", "1000", "10000", "100000", "1000000"})
  private int inFlight;

  private InFlightWindow<Object> window = new InFlightWindow<>(1, 1);

  /** Fills the window. */
  @Setup(Level.Trial)
  public void fill() {
    window = new InFlightWindow<>(inFlight + RUN, Long.MAX_VALUE);
    for (int i = 0; i < inFlight; i++) {
      window.tryClaim(ENTRY, 100);
    }
  }

  /** Each is answered by itself, in order. */
  @Benchmark
  public @Nullable Object single() {
    window.tryClaim(ENTRY, 100);
    return window.settle(window.oldest());
  }

  /** One answer for ten. */
  @Benchmark
  @OperationsPerInvocation(RUN)
  public long multiple() {
    for (int i = 0; i < RUN; i++) {
      window.tryClaim(ENTRY, 100);
    }
    long upTo = window.next() - 1 - inFlight;
    long settled = 0;
    while (window.settleOldest(upTo) != null) {
      settled++;
    }
    return settled;
  }

  /** Ten answers, the last first. */
  @Benchmark
  @OperationsPerInvocation(RUN)
  public long outOfOrder() {
    for (int i = 0; i < RUN; i++) {
      window.tryClaim(ENTRY, 100);
    }
    long oldest = window.oldest();
    long settled = 0;
    for (long s = oldest + RUN - 1; s >= oldest; s--) {
      if (window.settle(s) != null) {
        settled++;
      }
    }
    return settled;
  }
}
