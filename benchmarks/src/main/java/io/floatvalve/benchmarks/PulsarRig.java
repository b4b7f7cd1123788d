package io.floatvalve.benchmarks;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.PulsarNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.jspecify.annotations.Nullable;

/**
 * A broker with a full-sized JVM, and clients of both sides, near and far: far ones go through a
 * proxy that adds a round trip. Each side has a client of its own, another one feeds.
 */
final class PulsarRig implements AutoCloseable {
  private static final List<String> SETTINGS = List.of("managedLedgerCacheSizeMB=256");
  private static final List<String> JVM =
      List.of(
          "-Xms1g",
          "-Xmx1g",
          "-XX:MaxDirectMemorySize=1g",
          "-XX:TieredStopAtLevel=4",
          "-XX:-UseSerialGC",
          "-XX:+UseParallelGC");
  private static final long FEED_LIMIT_SECONDS = 300;
  private static final int KEYS = 64;

  final PulsarNode node;
  private final FaultProxy proxy;
  private final PulsarClient feeder;
  private final Ends near;
  private final Ends far;
  private int topics;

  /** The clients of both sides over one way to the broker. */
  private record Ends(PulsarClient plain, Messaging messaging) {}

  PulsarRig() throws PulsarClientException {
    node = PulsarNode.start(SETTINGS, JVM);
    proxy = node.openProxy();
    feeder = PulsarClient.builder().serviceUrl(node.serviceUrl()).build();
    near = ends(node.serviceUrl(), null);
    far = ends("pulsar://" + proxy.host() + ":" + proxy.port(), PulsarNode.PROXY_LISTENER);
  }

  private static Ends ends(String url, @Nullable String listener) throws PulsarClientException {
    var plain = PulsarClient.builder().serviceUrl(url);
    if (listener != null) {
      plain.listenerName(listener);
    }
    var broker = PulsarBroker.Settings.at(url).withListenerName(listener);
    return new Ends(plain.build(), Messaging.over(PulsarBroker.connect(broker)));
  }

  /** Sets the round trip of those that are opened far away. */
  void roundTrip(Duration roundTrip) {
    Duration half = roundTrip.dividedBy(2);
    proxy.delay(Direction.TO_BROKER, half).delay(Direction.FROM_BROKER, half);
  }

  Contestant open(Contestant.Side side, boolean away, Contestant.Plan plan)
      throws PulsarClientException {
    return open(side, away, plan, PermitPolicy.adaptive());
  }

  /** Opens one; the permits are Floatvalve's. */
  Contestant open(Contestant.Side side, boolean away, Contestant.Plan plan, PermitPolicy permits)
      throws PulsarClientException {
    Ends ends = away ? far : near;
    return switch (side) {
      case PLAIN -> new PlainPulsar(ends.plain(), plan);
      case FLOATVALVE -> ours(ends.messaging(), plan, permits);
    };
  }

  private static Contestant ours(Messaging messaging, Contestant.Plan plan, PermitPolicy permits) {
    var source =
        ConsumerSettings.from(Address.topic(plan.topic()))
            .withGroup(Contestant.SUBSCRIPTION)
            .withPermits(permits)
            .withNative(
                PulsarBroker.ConsumeSettings.defaults()
                    .withInitialPosition(SubscriptionInitialPosition.Earliest));
    return new FloatvalveContestant(messaging, source, plan);
  }

  /** Opens one with a client of its own, which stays open. */
  static Contestant open(String url, Contestant.Side side, Contestant.Plan plan)
      throws PulsarClientException {
    return switch (side) {
      case PLAIN -> new PlainPulsar(PulsarClient.builder().serviceUrl(url).build(), plan);
      case FLOATVALVE ->
          ours(Messaging.over(PulsarBroker.connect(url)), plan, PermitPolicy.adaptive());
    };
  }

  PulsarClient plain() {
    return near.plain();
  }

  Messaging messaging() {
    return messaging(false);
  }

  Messaging messaging(boolean away) {
    return (away ? far : near).messaging();
  }

  /** Makes a topic that was not there before. */
  String topic(int partitions) {
    String topic = "load-" + ++topics;
    if (partitions > 1) {
      node.rest().createPartitionedTopic(topic, partitions);
    } else {
      node.rest().createTopic(topic);
    }
    return topic;
  }

  /**
   * Makes a topic in which messages wait for the subscription of the contestants.
   *
   * @param batch most messages a batch; 1 for none
   */
  String backlog(int partitions, int count, int size, int batch) throws Exception {
    String topic = topic(partitions);
    node.rest()
        .createSubscriptionFromFirst(topic, Contestant.SUBSCRIPTION); // else it may be trimmed
    feed(topic, count, size, batch);
    return topic;
  }

  /** Sends messages to a topic and waits until they are there. */
  void feed(String topic, int count, int size, int batch) throws Exception {
    ProducerBuilder<byte[]> builder =
        feeder
            .newProducer()
            .topic(topic)
            .enableBatching(batch > 1)
            .blockIfQueueFull(true)
            .sendTimeout(0, TimeUnit.SECONDS);
    if (batch > 1) {
      builder.batchingMaxMessages(batch).batchingMaxBytes(1 << 20);
    }
    if (size >= 1 << 16) {
      builder.maxPendingMessages(16);
    }
    byte[] payload = new byte[size];
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    try (Producer<byte[]> producer = builder.create()) {
      List<CompletableFuture<MessageId>> last = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        var message = producer.newMessage().value(payload);
        if (batch == 1) {
          message.key("k" + i % KEYS);
        }
        CompletableFuture<MessageId> sent = message.sendAsync();
        var unused =
            sent.whenComplete(
                (id, thrown) -> {
                  if (thrown != null) {
                    failure.set(thrown);
                  }
                });
        if (i >= count - 1_000) {
          last.add(sent);
        }
      }
      producer.flush();
      CompletableFuture.allOf(last.toArray(CompletableFuture[]::new))
          .get(FEED_LIMIT_SECONDS, TimeUnit.SECONDS);
    }
    Throwable thrown = failure.get();
    if (thrown != null) {
      throw new IllegalStateException("feeding " + topic, thrown);
    }
  }

  /** Deletes a topic, so that its place on the disk can be used again. */
  void delete(String topic) {
    node.rest().deleteTopic(topic);
  }

  @Override
  public void close() throws PulsarClientException {
    try {
      for (Ends each : List.of(near, far)) {
        each.messaging().close();
        each.plain().close();
      }
      feeder.close();
    } finally {
      proxy.close();
      node.close();
    }
  }
}
