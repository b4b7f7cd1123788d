package io.floatvalve.examples.lab.soak;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Takes what is in a queue of its own, to which every message is routed as well. */
final class RabbitWitness implements Witness {
  private static final int PREFETCH = 1_000;
  private static final int ACKNOWLEDGED_AT = 250;
  private static final int QUIET_MILLIS = 200;
  private static final int AGAIN_MILLIS = 300;

  private final RabbitStage stage;
  private final Book book;
  private final Thread thread;
  private int[] lives = new int[1 << 16]; // in which life of the channel each was seen last
  private int life;
  private volatile boolean closed;
  private volatile boolean quiet;

  /** A message as it came. */
  private record Came(int id, long tag, boolean again) {}

  RabbitWitness(RabbitStage stage, Book book) {
    this.stage = stage;
    this.book = book;
    thread = new Thread(this::readOn, "soak-witness");
    thread.setDaemon(true);
    thread.start();
  }

  private void readOn() {
    while (!closed) {
      try (Connection connection = stage.connect()) {
        life++;
        read(connection.createChannel());
      } catch (IOException | AlreadyClosedException e) {
        quiet = false; // the broker is gone; it is tried again
        try {
          TimeUnit.MILLISECONDS.sleep(AGAIN_MILLIS);
        } catch (InterruptedException interrupt) {
          return;
        }
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private void read(Channel channel) throws IOException, InterruptedException {
    BlockingQueue<Came> came = new LinkedBlockingQueue<>();
    channel.basicQos(PREFETCH);
    channel.basicConsume(
        stage.witnessed(),
        false,
        new DefaultConsumer(channel) {
          @Override
          public void handleDelivery(
              String consumer, Envelope envelope, BasicProperties properties, byte[] body) {
            came.add(
                new Came(
                    ByteBuffer.wrap(body).getInt(),
                    envelope.getDeliveryTag(),
                    envelope.isRedeliver()));
          }
        });
    List<Came> some = new ArrayList<>();
    while (!closed) {
      Came first = came.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS);
      if (first == null) {
        if (!channel.isOpen()) {
          throw new IOException("the channel is gone");
        }
        quiet = channel.messageCount(stage.witnessed()) == 0;
        continue;
      }
      quiet = false;
      some.add(first);
      came.drainTo(some, ACKNOWLEDGED_AT);
      for (Came each : some) {
        saw(each);
      }
      channel.basicAck(some.get(some.size() - 1).tag(), true);
      some.clear();
    }
  }

  /** One channel is given no copy of a message again without being told so. */
  private void saw(Came came) {
    int id = came.id();
    if (id >= lives.length) {
      lives = Arrays.copyOf(lives, Math.max(id + 1, lives.length + (lives.length >> 1)));
    }
    if (lives[id] == life && !came.again()) {
      book.storedAgain(id);
    }
    lives[id] = life;
    book.stored(id);
  }

  @Override
  public boolean awaitAll(Duration limit) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (true) {
      quiet = false;
      TimeUnit.MILLISECONDS.sleep(2 * QUIET_MILLIS);
      if (quiet) {
        return true;
      }
      if (System.nanoTime() > deadline) {
        return false;
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    try {
      thread.join(TimeUnit.SECONDS.toMillis(5));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    thread.interrupt();
  }
}
