package io.floatvalve.rate;

import io.floatvalve.model.Address;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.Scope;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a message costs in its quotas, with the reading of the clock, where it passes at once.
 *
 * <p>Run with {@code -prof gc}. The time is that of one message on one thread. Where four threads
 * contend, divide it by four for what a message costs all of them.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class PacerBenchmark {
  private static final int RUN = 100;
  private static final Address ADDRESS = Address.topic("t");

  /** The clock is made to run fast, so that the largest quota admits all that a thread can ask. */
  private static final int FAST = 64;

  private static final Quota LARGE = Quota.messagesPerSecond(10_000_000);

  /** One quota, of messages. */
  @State(org.openjdk.jmh.annotations.Scope.Benchmark)
  public static class One {
    private final Pacer pacer = QuotaPolicy.none().withPublish(Scope.CLUSTER, LARGE).pacer();
    private final long start = System.nanoTime();
  }

  /** Three quotas, each of messages and bytes. */
  @State(org.openjdk.jmh.annotations.Scope.Benchmark)
  public static class Three {
    private static final Quota BOTH = LARGE.withBytesPerSecond(1L << 40);
    private final Pacer pacer =
        QuotaPolicy.none()
            .withPublish(Scope.CLUSTER, BOTH)
            .withPublish(Scope.TOPIC, BOTH)
            .withPublish(Scope.PARTITION, BOTH)
            .pacer();
    private final long start = System.nanoTime();
  }

  /** One publisher a thread. */
  @State(org.openjdk.jmh.annotations.Scope.Thread)
  public static class Publisher {
    private @Nullable Gate one;
    private @Nullable Gate three;

    /** Makes its ways. */
    @org.openjdk.jmh.annotations.Setup
    public void open(One of, Three ofThree) {
      one = of.pacer.gate();
      three = ofThree.pacer.gate();
    }
  }

  private static long take(@Nullable Gate given, long start) {
    Gate gate = Objects.requireNonNull(given);
    long passed = 0;
    for (int i = 0; i < RUN; i++) {
      long now = start + (System.nanoTime() - start) * FAST;
      if (gate.take(Kind.PUBLISH, ADDRESS, Gate.ANY_PARTITION, 1, 100, now) == 0) {
        passed++;
      }
    }
    if (passed == 0) {
      throw new IllegalStateException("nothing passes: this measures refusals");
    }
    return passed;
  }

  /** One quota, one thread. */
  @Benchmark
  @OperationsPerInvocation(RUN)
  public long oneScope(Publisher publisher, One of) {
    return take(publisher.one, of.start);
  }

  /** One quota, four threads. */
  @Benchmark
  @Threads(4)
  @OperationsPerInvocation(RUN)
  public long oneScope_fourThreads(Publisher publisher, One of) {
    return take(publisher.one, of.start);
  }

  /** Three quotas, one thread. */
  @Benchmark
  @OperationsPerInvocation(RUN)
  public long threeScopes(Publisher publisher, Three of) {
    return take(publisher.three, of.start);
  }

  /** Three quotas, four threads. */
  @Benchmark
  @Threads(4)
  @OperationsPerInvocation(RUN)
  public long threeScopes_fourThreads(Publisher publisher, Three of) {
    return take(publisher.three, of.start);
  }
}
