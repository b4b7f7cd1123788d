package io.floatvalve.consume;

import io.floatvalve.explain.Explanation;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.spi.ReceiveLink;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
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
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a message costs from the link to its acknowledgement, over a link in memory, on one thread:
 * taken, handled by nothing, accepted.
 *
 * <p>Run with {@code -prof gc}: nothing may be allocated but the {@link Delivery} itself. What that
 * is tells {@link #deliveryAlone}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class HandledMessageBenchmark {
  private static final int RUN = 1_000;
  private static final int LOOKS_A_SECOND = 20;

  /** How the order is kept. */
  @Param({"NONE", "BY_KEY", "TOTAL"})
  private Ordering ordering = Ordering.NONE;

  private final MemoryBroker broker = new MemoryBroker();
  private @Nullable ConsumeSide side;
  private @Nullable Consumer consumer;
  private @Nullable ConsumeWatch watch;
  private @Nullable Taken some;
  private long now;

  /** Opens a consumer whose handlers run on the thread that wakes them. */
  @Setup(Level.Trial)
  public void open() {
    side = new ConsumeSide(broker, event -> {});
    consumer =
        side.open(
            ConsumerSettings.from(Address.queue("memory"))
                .withOrdering(ordering)
                .withExecutor(Runnable::run));
    consumer.handle(
        delivery -> {
          if (some == null) {
            some = (Taken) delivery;
          }
          return Settlement.accept();
        });
    broker.arrive(100_000); // as one that has been at work
    now = System.nanoTime();
    Reception reception = ((HandledConsumer) consumer).reception();
    watch = new ConsumeWatch(reception, Duration.ofSeconds(30), now);
  }

  /** Closes it. */
  @TearDown(Level.Trial)
  public void close() {
    Objects.requireNonNull(side).close();
  }

  /** A thousand messages arrive and are handled. */
  @Benchmark
  @OperationsPerInvocation(RUN)
  public long handled() {
    return broker.arrive(RUN);
  }

  /** What an explanation costs, snapshot and rules; not per message, but when asked. */
  @Benchmark
  public Explanation explained() {
    return Objects.requireNonNull(consumer).explain();
  }

  /**
   * What it costs to watch a consumer for a second in which messages flow: twenty looks, and the
   * sample that one of them takes. Nothing of it is per message.
   */
  @Benchmark
  public long watchedForASecond() {
    long told = 0;
    for (int i = 0; i < LOOKS_A_SECOND; i++) {
      now += PermitLoop.TICK_NANOS;
      told += Objects.requireNonNull(watch).tick(now, null, broker.link.observe(), true).toNanos();
    }
    broker.arrive(1); // else there is nothing to be sampled
    return told;
  }

  /** What a delivery weighs. */
  @Benchmark
  public Object deliveryAlone() {
    return new Taken(Objects.requireNonNull(some));
  }

  /** A broker of one link. */
  private static final class MemoryBroker implements Broker {
    private final MemoryLink link = new MemoryLink();
    private ReceiveLink.@Nullable Listener listener;

    long arrive(int count) {
      link.waiting += count;
      while (link.waiting > 0) {
        Objects.requireNonNull(listener).available();
      }
      return link.acknowledged;
    }

    @Override
    public String describe() {
      return "memory";
    }

    @Override
    public PublishLink openPublish(PublishRequest request, PublishLink.Listener listener) {
      throw new UnsupportedOperationException();
    }

    @Override
    public ReceiveLink openReceive(ReceiveRequest request, ReceiveLink.Listener listener) {
      this.listener = listener;
      return link;
    }

    @Override
    public void close(Duration timeout) {}
  }

  /** A link that hands out the same message as often as it is told. */
  private static final class MemoryLink implements ReceiveLink {
    private final Traits traits = new Traits(true, Duration.ZERO, 0, true, true, true, "");
    private final Received message = new MemoryMessage();
    private int waiting;
    private long acknowledged;

    @Override
    public Traits traits() {
      return traits;
    }

    @Override
    public void window(int permits, int parked) {}

    @Override
    public @Nullable Received poll() {
      if (waiting == 0) {
        return null;
      }
      waiting--;
      return message;
    }

    @Override
    public int waiting() {
      return waiting;
    }

    @Override
    public Observation observe() {
      return new Observation(true, RUN, waiting, waiting * 100L, 0, 0, acknowledged, 0, 0);
    }

    @Override
    public boolean ack(Received message) {
      acknowledged++;
      return true;
    }

    @Override
    public boolean reject(Received message) {
      return true;
    }

    @Override
    public void giveBack(List<Received> messages) {}

    @Override
    public int giveBackWaiting(int keep) {
      return 0;
    }

    @Override
    public void copy(Received original, Copy copy, CopyDone done) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int flush(Duration timeout) {
      return 0;
    }

    @Override
    public void stop(Duration timeout) {}

    @Override
    public void close(Duration timeout) {}
  }

  /** The message. */
  private static final class MemoryMessage implements ReceiveLink.Received {
    private final Message content = Message.of(new byte[100]);

    @Override
    public Message message() {
      return content;
    }

    @Override
    public Object nativeMessage() {
      return content;
    }

    @Override
    public @Nullable String key() {
      return "key";
    }

    @Override
    public int size() {
      return 100;
    }

    @Override
    public long arrivedNanos() {
      return 0;
    }

    @Override
    public int attempts() {
      return 0;
    }

    @Override
    public int deliveryCount() {
      return 1;
    }

    @Override
    public boolean redelivered() {
      return false;
    }

    @Override
    public @Nullable Object identity() {
      return null;
    }

    @Override
    public String describe() {
      return "the message";
    }
  }
}
