package io.floatvalve.examples.lab.permits;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Experiments;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.pulsar.PulsarBroker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;

/** What the experiments share: a broker, topics with something in them, consumers, checks. */
final class Bench extends Experiments implements AutoCloseable {
  /** The subscription of every experiment. */
  static final String GROUP = "lab";

  private static final int MOST_OPEN = 1_000;

  private final PulsarAtHand pulsar;
  private final Messaging messaging;
  private final AtomicInteger topics = new AtomicInteger();
  private final List<String> made = new ArrayList<>(); // guarded by itself

  Bench(PulsarAtHand pulsar, Findings findings, Console console, boolean quick) {
    super(findings, console, quick);
    this.pulsar = pulsar;
    this.messaging = pulsar.messaging(event -> {});
  }

  PulsarAtHand pulsar() {
    return pulsar;
  }

  Messaging messaging() {
    return messaging;
  }

  // Topics

  /** Returns a new topic that has the subscription of the experiments, and nothing in it. */
  String topic(String what) throws IOException {
    String topic = pulsar.topic(what + "-" + topics.incrementAndGet());
    synchronized (made) {
      made.add(topic);
    }
    plain(topic).subscribe().close();
    return topic;
  }

  /** Makes a topic with partitions; needs the admin interface. */
  String partitioned(String what, int partitions) throws IOException {
    String topic = pulsar.topic(what + "-" + topics.incrementAndGet());
    synchronized (made) {
      made.add(topic);
    }
    pulsar.rest().createPartitionedTopic(topic, partitions);
    plain(topic).subscribe().close();
    return topic;
  }

  /** Sends messages, each an entry of its own. */
  void fill(String topic, int messages, int bytes) throws IOException {
    send(
        pulsar.client().newProducer().topic(topic).enableBatching(false),
        messages,
        bytes,
        messages);
  }

  /** Sends messages in batches. */
  void fillBatched(String topic, int messages, int bytes, int batch) throws IOException {
    send(
        pulsar
            .client()
            .newProducer()
            .topic(topic)
            .batchingMaxMessages(batch)
            .batchingMaxPublishDelay(1, TimeUnit.SECONDS),
        messages,
        bytes,
        messages);
  }

  /** Sends messages with so many keys, one after the other, each an entry of its own. */
  void fillKeyed(String topic, int messages, int keys) throws IOException {
    send(pulsar.client().newProducer().topic(topic).enableBatching(false), messages, 100, keys);
  }

  private static void send(ProducerBuilder<byte[]> builder, int messages, int bytes, int keys)
      throws IOException {
    int open = Math.max(1, Math.min(MOST_OPEN, (32 << 20) / bytes));
    try (Producer<byte[]> producer =
        builder.maxPendingMessages(open).blockIfQueueFull(true).create()) {
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = 0; i < messages; i++) {
        byte[] payload = new byte[bytes];
        ByteBuffer.wrap(payload).putInt(i);
        sent.add(producer.newMessage().key("key-" + i % keys).value(payload).sendAsync());
      }
      producer.flush();
      CompletableFuture.allOf(sent.toArray(CompletableFuture[]::new)).get(1, TimeUnit.MINUTES);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException("the topic could not be filled", e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  /** Returns the number that a message was sent with, from 0. */
  static int number(Message<?> message) {
    return ByteBuffer.wrap(message.getData()).getInt();
  }

  // Consumers

  /** Returns a builder with the defaults of the client, but for where it begins. */
  ConsumerBuilder<byte[]> plain(String topic) {
    return plain(pulsar.client(), topic);
  }

  static ConsumerBuilder<byte[]> plain(PulsarClient client, String topic) {
    return client
        .newConsumer()
        .topic(topic)
        .subscriptionName(GROUP)
        .subscriptionType(SubscriptionType.Shared)
        .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest);
  }

  /** Returns settings with our defaults, but for where it begins. */
  static ConsumerSettings sdk(String topic) {
    return ConsumerSettings.from(Address.topic(topic))
        .withGroup(GROUP)
        .withNative(
            PulsarBroker.ConsumeSettings.defaults()
                .withInitialPosition(SubscriptionInitialPosition.Earliest));
  }

  /** Opens a consumer of a Shared subscription with the defaults of its side. */
  Member open(Member.Side side, String topic, int workers, Work work) throws IOException {
    return switch (side) {
      case PLAIN -> new PlainMember(plain(topic), workers, work);
      case SDK -> new SdkMember(messaging, sdk(topic).withWorkers(workers), work);
    };
  }

  // Waiting

  @Override
  public void close() {
    messaging.close();
    if (!pulsar.isOwn() && pulsar.hasAdmin()) {
      List<String> all;
      synchronized (made) {
        all = List.copyOf(made);
      }
      for (String topic : all) {
        try {
          pulsar.rest().deleteTopic(topic);
        } catch (IllegalStateException e) {
          console().warn("the topic " + topic + " could not be deleted: " + e.getMessage());
        }
      }
    }
  }
}
