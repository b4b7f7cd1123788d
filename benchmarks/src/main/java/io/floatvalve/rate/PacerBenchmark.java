package io.floatvalve.rate;

import io.floatvalve.model.Address;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.Scope;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a message costs in its quotas, with the reading of the clock, where it passes at once.
 *
 * <p>Run with {@code -prof gc}. The score is of all threads together: one over it is the time of a
 * message, also where four contend, on however many cores. {@code cpuNanos} over {@code messages}
 * is what a message takes of the processors, waiting for the lock included.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
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
    @Setup
    public void open(One of, Three ofThree) {
      one = of.pacer.gate();
      three = ofThree.pacer.gate();
    }
  }

  /** What the threads take of the processors. */
  @AuxCounters(AuxCounters.Type.EVENTS)
  @State(org.openjdk.jmh.annotations.Scope.Thread)
  public static class Taken {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private long begun; // JMH sets what is public to zero after the setup

    /** Nanoseconds on a processor. */
    public long cpuNanos;

    /** Messages that passed. */
    public long messages;

    /** Begins to count; on the thread that is counted. */
    @Setup(Level.Iteration)
    public void begin() {
      begun = THREADS.getCurrentThreadCpuTime();
    }

    /** Ends. */
    @TearDown(Level.Iteration)
    public void end() {
      cpuNanos = THREADS.getCurrentThreadCpuTime() - begun;
    }
  }

  private static long take(@Nullable Gate given, long start, Taken taken) {
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
    taken.messages += RUN;
    return passed;
  }

  /** One quota, one thread. */
  @Benchmark
  @OperationsPerInvocation(RUN)
  public long oneScope(Publisher publisher, One of, Taken taken) {
    return take(publisher.one, of.start, taken);
  }

  /** One quota, four threads. */
  @Benchmark
  @Threads(4)
  @OperationsPerInvocation(RUN)
  public long oneScope_fourThreads(Publisher publisher, One of, Taken taken) {
    return take(publisher.one, of.start, taken);
  }

  /** Three quotas, one thread. */
  @Benchmark
  @OperationsPerInvocation(RUN)
  public long threeScopes(Publisher publisher, Three of, Taken taken) {
    return take(publisher.three, of.start, taken);
  }

  /** Three quotas, four threads. */
  @Benchmark
  @Threads(4)
  @OperationsPerInvocation(RUN)
  public long threeScopes_fourThreads(Publisher publisher, Three of, Taken taken) {
    return take(publisher.three, of.start, taken);
  }
}
