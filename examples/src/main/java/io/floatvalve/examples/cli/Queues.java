package io.floatvalve.examples.cli;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Queues for a run alone: made by a plain connection under names of their own, read back by it, and
 * deleted at the end. Not thread-safe.
 */
public final class Queues implements AutoCloseable {
  private static final int EXPIRE_MILLIS = 600_000;
  private static final long QUIET_MILLIS = 2_000;

  private final Connection connection;
  private final Channel channel;
  private final String prefix;
  private final Map<String, String> made = new LinkedHashMap<>(); // types by name

  private final List<String> exchanges = new ArrayList<>();

  /**
   * Connects, and makes no queue yet.
   *
   * @param prefix of the names
   */
  public Queues(RabbitAtHand rabbit, String prefix) throws IOException {
    connection = rabbit.connection(prefix + " queues");
    channel = connection.createChannel();
    this.prefix =
        prefix + "." + Integer.toHexString(ThreadLocalRandom.current().nextInt() & 0xFFFFFF);
  }

  /** Makes a durable classic queue and returns its name. */
  public String classic(String name) throws IOException {
    return classic(name, Map.of());
  }

  /** Makes a durable classic queue with these arguments and returns its name. */
  public String classic(String name, Map<String, Object> arguments) throws IOException {
    return make(name, "classic", arguments);
  }

  /**
   * Makes a durable queue and returns its name.
   *
   * @param type classic, quorum or stream
   */
  public String make(String name, String type, Map<String, Object> arguments) throws IOException {
    String full = prefix + "." + name;
    Map<String, Object> all = new LinkedHashMap<>(arguments);
    all.put("x-queue-type", type);
    if (!type.equals("stream")) {
      all.put("x-expires", EXPIRE_MILLIS); // should this process be killed
    }
    channel.queueDeclare(full, true, false, false, all);
    made.put(full, type);
    return full;
  }

  /** Makes a direct exchange that nothing is bound to, and returns its name. */
  public String unboundExchange(String name) throws IOException {
    String full = prefix + "." + name;
    channel.exchangeDeclare(full, "direct");
    exchanges.add(full);
    return full;
  }

  /** Deletes a queue that this made. */
  public void delete(String queue) throws IOException {
    channel.queueDelete(queue);
    made.remove(queue);
  }

  /** Returns how many messages are ready in a queue. */
  public long count(String queue) throws IOException {
    return channel.messageCount(queue);
  }

  /**
   * Waits until a queue holds this many messages.
   *
   * @return whether it does
   */
  public boolean awaitStored(String queue, long messages, Duration timeout) throws IOException {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (count(queue) < messages) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      pause();
    }
    return true;
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(20);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw CannotRun.badInput("interrupted");
    }
  }

  /** Takes everything out of a queue and returns the message ids in it. */
  public Set<String> readIds(String queue) throws IOException {
    return new HashSet<>(readAllIds(queue));
  }

  /**
   * Takes everything out of a queue and returns the message ids, those that are there twice twice.
   * It is empty when nothing has come for two seconds and it holds nothing ready.
   */
  public Collection<String> readAllIds(String queue) throws IOException {
    List<String> ids = new ArrayList<>();
    Channel reading = connection.createChannel();
    LinkedBlockingQueue<String> arrived = new LinkedBlockingQueue<>();
    try {
      reading.basicQos(1_000);
      reading.basicConsume(
          queue,
          false,
          "",
          false,
          false,
          "stream".equals(made.get(queue)) ? Map.of("x-stream-offset", "first") : Map.of(),
          new DefaultConsumer(reading) {
            @Override
            public void handleDelivery(
                String tag, Envelope envelope, BasicProperties properties, byte[] body)
                throws IOException {
              reading.basicAck(envelope.getDeliveryTag(), false);
              arrived.add(id(properties));
            }
          });
      while (true) {
        String id = arrived.poll(QUIET_MILLIS, TimeUnit.MILLISECONDS);
        if (id == null) {
          break;
        }
        ids.add(id);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while reading " + queue, e);
    } finally {
      reading.abort();
    }
    return ids;
  }

  private static String id(@Nullable BasicProperties properties) {
    return properties == null || properties.getMessageId() == null ? "" : properties.getMessageId();
  }

  @Override
  public void close() throws IOException {
    try {
      for (String queue : made.keySet()) {
        if (channel.isOpen()) {
          channel.queueDelete(queue);
        }
      }
      for (String exchange : exchanges) {
        if (channel.isOpen()) {
          channel.exchangeDelete(exchange);
        }
      }
    } finally {
      connection.abort();
    }
  }
}
