package io.floatvalve.examples.lab.permits.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Experiments;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.rabbit.RabbitBroker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** What the experiments share: a broker, queues with something in them, consumers, checks. */
final class Bench extends Experiments implements AutoCloseable {
  /** Stands for our consumer with adaptive permits, where else a prefetch is fixed. */
  static final int ADAPTIVE = 0;

  private static final int CONFIRM_EVERY = 500;

  private final RabbitAtHand rabbit;
  private final Messaging messaging;
  private final Queues queues;
  private final Connection plain;
  private final AtomicInteger names = new AtomicInteger();

  Bench(RabbitAtHand rabbit, Findings findings, Console console, boolean quick) throws IOException {
    super(findings, console, quick);
    this.rabbit = rabbit;
    this.messaging = rabbit.messaging(event -> {});
    this.queues = new Queues(rabbit, "floatvalve.permits");
    this.plain = rabbit.connection("floatvalve lab plain");
  }

  RabbitAtHand rabbit() {
    return rabbit;
  }

  Messaging messaging() {
    return messaging;
  }

  /** Returns how a consumer is called in tables. */
  static String name(int prefetch) {
    return prefetch == ADAPTIVE ? "Floatvalve, adaptive" : "plain, prefetch " + prefetch;
  }

  /** Returns how a consumer is called in figures. */
  static String figure(int prefetch) {
    return prefetch == ADAPTIVE ? "adaptive" : "fixed_" + prefetch;
  }

  // Queues

  /** Makes a classic queue with messages in it, numbered from 0, their keys in turn. */
  String filled(String what, int messages, int bytes, int keys) throws IOException {
    String queue = queues.classic(what + "-" + names.incrementAndGet());
    try (Connection connection = rabbit.connection("floatvalve lab filler")) {
      Channel channel = connection.createChannel();
      channel.confirmSelect();
      for (int i = 0; i < messages; i++) {
        byte[] body = ByteBuffer.allocate(Math.max(4, bytes)).putInt(i).array();
        BasicProperties properties =
            new BasicProperties.Builder()
                .deliveryMode(2)
                .headers(Map.of("x-floatvalve-key", "key-" + i % keys))
                .build();
        channel.basicPublish("", queue, properties, body);
        if (i % CONFIRM_EVERY == CONFIRM_EVERY - 1 || i == messages - 1) {
          channel.waitForConfirmsOrDie(60_000);
        }
      }
    } catch (TimeoutException e) {
      throw new IOException("the queue could not be filled", e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    return queue;
  }

  String filled(String what, int messages, int bytes) throws IOException {
    return filled(what, messages, bytes, 1);
  }

  /** Returns how many messages are ready in a queue. */
  long ready(String queue) throws IOException {
    return queues.count(queue);
  }

  /** Deletes a queue that is needed no more. */
  void drop(String queue) throws IOException {
    queues.delete(queue);
  }

  /** Returns the number that a message was sent with, from 0. */
  static int number(byte[] body) {
    return ByteBuffer.wrap(body).getInt();
  }

  // Consumers

  /** Returns settings with our defaults, but for the retry queues, which would be left behind. */
  static ConsumerSettings sdk(String queue) {
    return ConsumerSettings.from(Address.queue(queue))
        .withPermits(PermitPolicy.adaptive())
        .withNative(RabbitBroker.ConsumeSettings.defaults().withRetryQueues(false));
  }

  /** Opens a plain consumer with this prefetch, or ours for {@link #ADAPTIVE}. */
  Member open(int prefetch, String queue, int workers, Work work) throws IOException {
    return prefetch == ADAPTIVE
        ? new SdkMember(messaging, sdk(queue).withWorkers(workers), work)
        : new PlainMember(plain, queue, prefetch, workers, work);
  }

  // Waiting

  @Override
  public void close() throws IOException {
    messaging.close();
    plain.abort();
    queues.close();
  }
}
