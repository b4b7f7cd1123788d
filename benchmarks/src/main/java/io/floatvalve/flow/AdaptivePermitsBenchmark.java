package io.floatvalve.flow;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What the law costs: for each message, for each look that finds none, and 20 times a second.
 *
 * <p>Run with {@code -prof gc}: nothing may be allocated per message.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class AdaptivePermitsBenchmark {
  private static final double HANDLER_NANOS = 100_000;
  private static final long TICK_NANOS = 50_000_000;

  private final PermitLaw law = PermitPolicy.adaptive().law(16);
  private long nanos;
  private long taken;

  /** A message is taken. */
  @Benchmark
  public void taken() {
    law.taken(100);
  }

  /** A handler finds nothing, a hundred messages after the last time. */
  @Benchmark
  public int ranEmpty() {
    nanos += 1_000_000;
    taken += 100;
    return law.ranEmpty(nanos, taken, 0, 0, HANDLER_NANOS);
  }

  /** A tick, with a surplus that goes. */
  @Benchmark
  public int tick() {
    nanos += TICK_NANOS;
    taken += 1_000;
    return law.tick(new PermitLaw.Seen(nanos, taken, 0, 100, false, 100_000));
  }
}
