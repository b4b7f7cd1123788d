package io.floatvalve.benchmarks;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What a careful programmer writes over amqp-client: a fixed prefetch, and acknowledgements. */
final class PlainRabbit implements Contestant {
  private static final long END_SECONDS = 5;

  /**
   * How it consumes.
   *
   * @param prefetch messages unacknowledged at most
   * @param ackEvery messages acknowledged at once; 1 for each by itself
   * @param pooled whether messages are handled on threads of their own, as many as the plan has
   *     workers, or else one by one where the client delivers them
   */
  record Way(int prefetch, int ackEvery, boolean pooled) {}

  private final Channel channel;
  private final Plan plan;
  private final Way way;
  private final @Nullable ExecutorService pool;
  private final AtomicInteger delivered = new AtomicInteger();
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();
  private final Object lock = new Object();
  private final boolean[] handled; // by delivery tag; guarded by lock
  private long prefix; // all up to this tag are handled; guarded by lock
  private long acknowledged; // guarded by lock

  PlainRabbit(Connection connection, Plan plan, Way way) throws IOException {
    this.plan = plan;
    this.way = way;
    this.pool = way.pooled() ? Executors.newFixedThreadPool(plan.workers()) : null;
    this.handled = new boolean[Integer.highestOneBit(way.prefetch()) * 4];
    this.channel = connection.createChannel();
    channel.basicQos(way.prefetch());
  }

  @Override
  public void start() {
    try {
      channel.basicConsume(
          plan.topic(),
          false,
          new DefaultConsumer(channel) {
            @Override
            public void handleDelivery(
                String tag, Envelope envelope, BasicProperties properties, byte[] body) {
              long number = envelope.getDeliveryTag();
              delivered.incrementAndGet();
              if (pool == null) {
                handle(number);
              } else {
                pool.execute(() -> handle(number));
              }
            }
          });
    } catch (IOException e) {
      throw new IllegalStateException("consuming", e);
    }
  }

  private void handle(long tag) {
    try {
      begun.incrementAndGet();
      plan.work().handle();
      ended.incrementAndGet();
      if (way.ackEvery() == 1) {
        channel.basicAck(tag, false);
      } else {
        settle(tag);
      }
    } catch (InterruptedException | IOException | RuntimeException e) {
      if (channel.isOpen()) {
        throw new IllegalStateException("the plain consumer failed", e);
      }
    }
  }

  /** Acknowledges all that were handled without a gap, when they are enough. */
  private void settle(long tag) throws IOException {
    int mask = handled.length - 1;
    synchronized (lock) { // over the write, too: acknowledgements must not overtake each other
      handled[(int) tag & mask] = true;
      while (handled[(int) (prefix + 1) & mask]) {
        prefix++;
        handled[(int) prefix & mask] = false;
      }
      if (prefix - acknowledged >= way.ackEvery()) {
        flush();
      }
    }
  }

  // The lock is held.
  private void flush() throws IOException {
    if (prefix > acknowledged) {
      acknowledged = prefix;
      channel.basicAck(prefix, true);
    }
  }

  @Override
  public int waiting() {
    return Math.max(0, delivered.get() - begun.get());
  }

  @Override
  public int held() {
    return Math.max(0, delivered.get() - ended.get());
  }

  @Override
  public long waitingBytes() {
    return -1;
  }

  @Override
  public int permits() {
    return way.prefetch();
  }

  @Override
  public boolean wasDisconnected() {
    return !channel.isOpen();
  }

  @Override
  public void close() {
    try {
      synchronized (lock) {
        if (channel.isOpen()) {
          flush();
        }
      }
      channel.close();
      if (pool != null) {
        pool.shutdownNow();
        pool.awaitTermination(END_SECONDS, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      throw new IllegalStateException("closing the plain consumer", e);
    }
  }
}
