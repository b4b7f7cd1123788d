package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.examples.cli.Experiments;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.Publisher;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.testkit.PulsarLimits;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.KeyPairGenerator;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.pulsar.client.api.CryptoKeyReader;
import org.apache.pulsar.client.api.EncryptionKeyInfo;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;

/** What goes wrong on Pulsar alone. */
final class PulsarScenes {
  private static final Duration WARM = Duration.ofSeconds(2);
  private static final Duration LONG = Duration.ofSeconds(10);

  private PulsarScenes() {}

  private static PulsarGround pulsar(Ground ground) {
    return (PulsarGround) ground;
  }

  /** Sends messages by the plain client, in batches or one by one. */
  private static void fill(PulsarGround ground, String topic, int count, int batch)
      throws IOException {
    send(
        producer(ground, topic)
            .enableBatching(batch > 1)
            .batchingMaxMessages(Math.max(2, batch))
            .batchingMaxPublishDelay(1, TimeUnit.SECONDS),
        count,
        Duration.ZERO);
  }

  private static ProducerBuilder<byte[]> producer(PulsarGround ground, String topic) {
    return ground.pulsar().client().newProducer().topic(topic);
  }

  private static void send(ProducerBuilder<byte[]> by, int count, Duration delay)
      throws IOException {
    try (var producer = by.create()) {
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        var message = producer.newMessage().key("k" + i % 20).value(new byte[] {(byte) i});
        if (!delay.isZero()) {
          message.deliverAfter(delay.toMillis(), TimeUnit.MILLISECONDS);
        }
        sent.add(message.sendAsync());
      }
      producer.flush();
      CompletableFuture.allOf(sent.toArray(CompletableFuture[]::new)).join();
    }
  }

  /** A plain consumer that takes all it can get into its queue and handles nothing. */
  private static org.apache.pulsar.client.api.Consumer<byte[]> hoarder(
      PulsarGround ground, String topic, SubscriptionType type) throws PulsarClientException {
    return ground
        .pulsar()
        .client()
        .newConsumer()
        .topic(topic)
        .subscriptionName(PulsarGround.GROUP)
        .subscriptionType(type)
        .consumerName("hoarder")
        .subscribe();
  }

  static void hoard(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("hoard");
    try (var hoarder = hoarder(ground, topic, SubscriptionType.Shared)) {
      fill(ground, topic, 500, 1);
      taken(ground, topic, hoarder, 500);
      try (Messaging messaging = ground.messaging()) {
        Consumer consumer = messaging.consumer(ground.from(topic));
        consumer.handle(delivery -> Settlement.accept());
        watch.fromOnset(consumer::explain);
      }
    }
  }

  /** Waits until the broker has sent it so many that are not acknowledged. */
  private static void taken(
      PulsarGround ground,
      String topic,
      org.apache.pulsar.client.api.Consumer<byte[]> by,
      int messages)
      throws IOException {
    Experiments.await(
        LONG,
        () ->
            by.isConnected()
                && ground
                        .pulsar()
                        .rest()
                        .topicStats(topic)
                        .number("subscriptions", PulsarGround.GROUP, "unackedMessages")
                    == messages);
  }

  static void draining(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("draining");
    try (var hoarder = hoarder(ground, topic, SubscriptionType.Key_Shared)) {
      fill(ground, topic, 200, 1);
      taken(ground, topic, hoarder, 200);
      try (Messaging messaging = ground.messaging()) {
        Consumer consumer = messaging.consumer(ground.from(topic).withOrdering(Ordering.BY_KEY));
        consumer.handle(delivery -> Settlement.accept());
        fill(ground, topic, 200, 1);
        watch.fromOnset(consumer::explain);
      }
    }
  }

  static void limit(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("limit");
    ground.pulsar().rest().topicLimits(topic).setMaxUnackedMessagesPerConsumer(50);
    AtomicBoolean ends = new AtomicBoolean();
    try (Messaging messaging = ground.messaging()) {
      PullConsumer consumer = messaging.pullConsumer(ground.from(topic).withMaxUnsettled(1_000));
      fill(ground, topic, 500, 1);
      Thread caller =
          new Thread(
              () -> ConsumerScenes.receive(consumer, new AtomicBoolean(), ends), "lab-caller");
      caller.setDaemon(true);
      caller.start();
      watch.fromOnset(consumer::explain);
      ends.set(true);
    }
  }

  static void partly(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("partly");
    AtomicBoolean forget = new AtomicBoolean();
    try (Messaging messaging = ground.messaging()) {
      Consumer consumer = messaging.consumer(ground.from(topic).withWorkers(64));
      consumer.handleAsync(
          delivery ->
              forget.get() && delivery.message().payload()[0] % 10 == 0
                  ? new CompletableFuture<>()
                  : CompletableFuture.completedFuture(Settlement.accept()));
      fill(ground, topic, 100, 10);
      watch.calmly(WARM, consumer::explain);
      forget.set(true);
      fill(ground, topic, 100, 10);
      watch.fromOnset(consumer::explain);
    }
  }

  static void ackTimeout(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    ConsumerSettings settings =
        ground
            .from(ground.place("timeout"))
            .withNative(
                PulsarBroker.ConsumeSettings.defaults()
                    .withInitialPosition(SubscriptionInitialPosition.Earliest)
                    .withAckTimeout(Duration.ofSeconds(1)));
    try (Line line = new Line(ground, 50, settings).handled()) {
      watch.calmly(WARM, line.consumer::explain);
      line.feeder.rate(3);
      line.handlerMillis = 1_500;
      watch.fromOnset(line.consumer::explain);
    }
  }

  static void dispatchLimit(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("dispatch");
    ground.pulsar().rest().topicLimits(topic).setDispatchRate(PulsarLimits.Rate.ofMessages(100));
    try (Line line = new Line(ground, 30, ground.from(topic)).handled()) {
      watch.calmly(WARM, line.consumer::explain);
      line.feeder.rate(400);
      watch.fromOnset(line.consumer::explain);
    }
  }

  static void publishLimit(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("publish");
    ground.pulsar().rest().topicLimits(topic).setPublishRate(PulsarLimits.Rate.ofMessages(100));
    try (Messaging messaging = ground.messaging()) {
      Publisher publisher = messaging.publisher(ground.to(topic));
      try (Feeder feeder = new Feeder(publisher, 30)) {
        watch.calmly(WARM, publisher::explain);
        feeder.rate(400);
        watch.fromOnset(publisher::explain);
      }
    }
  }

  /** Messages for later: the broker has them, and permits, and sends none. */
  static void delayed(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("delayed");
    try (Line line = new Line(ground, 50, ground.from(topic)).handled()) {
      watch.calmly(WARM, line.consumer::explain);
      line.feeder.rate(0);
      send(producer(ground, topic).enableBatching(false), 50, Duration.ofMinutes(1));
      watch.fromOnset(line.consumer::explain);
    }
  }

  /** Nobody here can read what comes, and the client returns no permits for it. */
  static void unreadable(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("unreadable");
    ConsumerSettings settings = ground.from(topic).withPermits(PermitPolicy.fixed(20));
    try (Line line = new Line(ground, 50, settings).handled()) {
      watch.calmly(WARM, line.consumer::explain);
      line.feeder.rate(0);
      send(
          producer(ground, topic)
              .enableBatching(false)
              .addEncryptionKey("lab")
              .cryptoKeyReader(new OneKey()),
          100,
          Duration.ZERO);
      watch.fromOnset(line.consumer::explain);
    }
  }

  /** A key for this run, which consumers do not have. */
  private static final class OneKey implements CryptoKeyReader {
    private static final long serialVersionUID = 1;
    private static final int BITS = 2_048;

    private final byte[] pem;

    OneKey() throws IOException {
      try {
        KeyPairGenerator keys = KeyPairGenerator.getInstance("RSA");
        keys.initialize(BITS);
        byte[] der = keys.generateKeyPair().getPublic().getEncoded();
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
        pem =
            ("-----BEGIN PUBLIC KEY-----\n" + text + "\n-----END PUBLIC KEY-----\n")
                .getBytes(StandardCharsets.US_ASCII);
      } catch (NoSuchAlgorithmException e) {
        throw new IOException("no RSA here", e);
      }
    }

    @Override
    public EncryptionKeyInfo getPublicKey(String name, Map<String, String> metadata) {
      return new EncryptionKeyInfo(pem, Map.of());
    }

    @Override
    public EncryptionKeyInfo getPrivateKey(String name, Map<String, String> metadata) {
      throw new UnsupportedOperationException("nobody is to read it");
    }
  }
}
