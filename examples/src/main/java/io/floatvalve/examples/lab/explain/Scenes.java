package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.examples.cli.Experiments;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.WindowPolicy;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;

/** The scenes, each with one fault or with none. */
final class Scenes {
  private static final Duration WARM = Duration.ofSeconds(3);
  private static final Duration NO_WAIT = Duration.ZERO;

  private Scenes() {}

  static List<Scene> all() {
    return List.of(
        new Scene("handler turns slow", "handler-slow", "", true, Scenes::handlerSlow),
        new Scene("more than handlers take", "handlers-all-busy", "", false, Scenes::allBusy),
        new Scene("one settlement forgotten", "settlement-forgotten", "", true, Scenes::forgotten),
        new Scene("callers never settle", "blocked-on-unacked", "", true, Scenes::neverSettled),
        new Scene("handler always fails", "redelivery-storm", "", true, Scenes::storm),
        new Scene("keys are missing", "order-contradiction", "", false, Scenes::keyless),
        new Scene("large messages, slow handler", "memory-held", "", false, Scenes::memory),
        new Scene("a window of 2, 40 ms away", "window-too-small", "", false, Scenes::smallWindow),
        new Scene("broker answers nothing", "broker-silent", "", true, Scenes::silent),
        new Scene("memory alarm", "connection-blocked", "rabbit", false, Scenes::blocked),
        new Scene("one queue hangs", "window-waiting-on-one", "rabbit", false, Scenes::oneHangs),
        new Scene("a sibling hoards", "starved-by-siblings", "pulsar", false, Scenes::hoard),
        new Scene(
            "keys move, unacknowledged", "key-shared-draining", "pulsar", false, Scenes::draining),
        new Scene("limit of unacknowledged", "blocked-on-unacked", "pulsar", false, Scenes::limit),
        new Scene(
            "batches partly settled", "partly-acked-batches", "pulsar", false, Scenes::partly),
        new Scene("healthy: fast", "", "", true, Scenes::fast),
        new Scene("healthy: slow, keeping up", "", "", false, Scenes::slowButSteady),
        new Scene("healthy: idle", "", "", true, Scenes::idle),
        new Scene("healthy: bursts", "", "", false, Scenes::bursts));
  }

  /** A consumer with a handler that takes so many milliseconds, and a load. */
  private static final class Line implements AutoCloseable {
    private final Messaging messaging;
    final String place;
    final Consumer consumer;
    final Publisher publisher;
    final Feeder feeder;
    volatile long handlerMillis = 1;
    volatile boolean failing;

    Line(Ground ground, String what, int workers, int perSecond) throws IOException {
      this(ground, perSecond, ground.from(ground.place(what)).withWorkers(workers));
    }

    Line(Ground ground, int perSecond, ConsumerSettings settings) {
      messaging = ground.messaging();
      place = settings.addresses().get(0).name();
      consumer = messaging.consumer(settings);
      publisher = messaging.publisher(ground.to(place));
      feeder = new Feeder(publisher, perSecond);
    }

    Line handled() {
      consumer.handle(
          delivery -> {
            LockSupport.parkNanos(handlerMillis * 1_000_000);
            return failing ? Settlement.retry() : Settlement.accept();
          });
      return this;
    }

    @Override
    public void close() {
      feeder.close();
      failing = false;
      handlerMillis = 0;
      messaging.close();
    }
  }

  private static void handlerSlow(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "slow", 4, 200).handled()) {
      watch.calmly(WARM, line.consumer::explain);
      line.handlerMillis = 400;
      watch.fromOnset(line.consumer::explain);
    }
  }

  private static void allBusy(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "busy", 4, 50).handled()) {
      line.handlerMillis = 20;
      watch.calmly(WARM, line.consumer::explain);
      line.feeder.rate(1_000);
      watch.fromOnset(line.consumer::explain);
    }
  }

  private static void forgotten(Ground ground, Watch watch) throws IOException {
    AtomicBoolean forget = new AtomicBoolean();
    try (Line line = new Line(ground, "forgotten", 16, 200)) {
      line.consumer.handleAsync(
          delivery ->
              forget.compareAndSet(true, false)
                  ? new CompletableFuture<>()
                  : CompletableFuture.completedFuture(Settlement.accept()));
      watch.calmly(WARM, line.consumer::explain);
      forget.set(true);
      watch.fromOnset(line.consumer::explain);
    }
  }

  private static void neverSettled(Ground ground, Watch watch) throws IOException {
    String place = ground.place("unsettled");
    AtomicBoolean settles = new AtomicBoolean(true);
    AtomicBoolean ends = new AtomicBoolean();
    try (Messaging messaging = ground.messaging()) {
      PullConsumer consumer = messaging.pullConsumer(ground.from(place).withMaxUnsettled(20));
      Feeder feeder = new Feeder(messaging.publisher(ground.to(place)), 200);
      Thread caller = new Thread(() -> receive(consumer, settles, ends), "lab-caller");
      caller.setDaemon(true);
      caller.start();
      watch.calmly(WARM, consumer::explain);
      settles.set(false);
      watch.fromOnset(consumer::explain);
      ends.set(true);
      feeder.close();
    }
  }

  private static void receive(PullConsumer from, AtomicBoolean settles, AtomicBoolean ends) {
    try {
      while (!ends.get()) {
        Optional<Delivery> next = from.receive(Duration.ofMillis(50));
        if (next.isPresent() && settles.get()) {
          var unused = next.get().settle(Settlement.accept());
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void storm(Ground ground, Watch watch) throws IOException {
    ConsumerSettings settings =
        ground
            .from(ground.place("storm"))
            .withMaxAttempts(1_000)
            .withRetryDelays(List.of(Duration.ofMillis(100)));
    try (Line line = new Line(ground, 100, settings).handled()) {
      watch.calmly(Duration.ofSeconds(6), line.consumer::explain); // a new link is not judged
      line.failing = true;
      watch.fromOnset(line.consumer::explain);
    }
  }

  private static void keyless(Ground ground, Watch watch) throws IOException {
    ConsumerSettings settings = ground.from(ground.place("keys")).withOrdering(Ordering.BY_KEY);
    try (Line line = new Line(ground, 200, settings).handled()) {
      watch.calmly(WARM, line.consumer::explain);
      line.feeder.withoutKeys();
      watch.fromOnset(line.consumer::explain);
    }
  }

  private static void memory(Ground ground, Watch watch) throws IOException {
    ConsumerSettings settings =
        ground
            .from(ground.place("memory"))
            .withWorkers(4)
            .withPermits(PermitPolicy.fixed(200).withMaxBytes(1 << 20));
    try (Line line = new Line(ground, 50, settings).handled()) {
      line.feeder.size(32 << 10);
      watch.calmly(WARM, line.consumer::explain);
      line.handlerMillis = 300;
      line.feeder.rate(200);
      watch.fromOnset(line.consumer::explain);
    }
  }

  private static void smallWindow(Ground ground, Watch watch) throws IOException {
    String place = ground.place("window");
    try (FaultProxy proxy = ground.proxy()) {
      proxy.delay(FaultProxy.Direction.TO_BROKER, Duration.ofMillis(20));
      proxy.delay(FaultProxy.Direction.FROM_BROKER, Duration.ofMillis(20));
      try (Messaging messaging = ground.messaging(proxy)) {
        Publisher publisher =
            messaging.publisher(
                ground
                    .to(place)
                    .withWindow(WindowPolicy.fixed(2))
                    .withMaxWait(Duration.ofMinutes(1))
                    .withCloseTimeout(NO_WAIT));
        try (Feeder feeder = new Feeder(publisher, 10)) {
          watch.calmly(WARM, publisher::explain);
          feeder.rate(1_000);
          watch.fromOnset(publisher::explain);
        }
      }
    }
  }

  private static void silent(Ground ground, Watch watch) throws IOException {
    String place = ground.place("silent");
    try (FaultProxy proxy = ground.proxy();
        Messaging messaging = ground.messaging(proxy)) {
      Publisher publisher = messaging.publisher(ground.to(place).withCloseTimeout(NO_WAIT));
      try (Feeder feeder = new Feeder(publisher, 0)) {
        feeder.rate(100);
        watch.calmly(WARM, publisher::explain);
        proxy.stall(FaultProxy.Direction.FROM_BROKER);
        watch.fromOnset(publisher::explain);
        proxy.unstall();
      }
    }
  }

  private static RabbitNode node(Ground ground) throws IOException {
    if (ground instanceof RabbitGround rabbit && rabbit.node().isPresent()) {
      return rabbit.node().get();
    }
    throw new IOException("this scene needs a private node");
  }

  private static void blocked(Ground ground, Watch watch) throws IOException {
    RabbitNode node = node(ground);
    String place = ground.place("alarm");
    try (Messaging messaging = ground.messaging()) {
      Publisher publisher = messaging.publisher(ground.to(place).withCloseTimeout(NO_WAIT));
      try (Feeder feeder = new Feeder(publisher, 0)) {
        feeder.rate(100);
        watch.calmly(WARM, publisher::explain);
        node.memoryAlarm(true);
        watch.fromOnset(publisher::explain);
      } finally {
        node.memoryAlarm(false);
      }
    }
  }

  private static void oneHangs(Ground ground, Watch watch) throws IOException {
    RabbitNode node = node(ground);
    String place = ground.place("lively");
    String hanging = ground.place("hanging");
    try (Messaging messaging = ground.messaging()) {
      Publisher publisher = messaging.publisher(ground.to(place).withCloseTimeout(NO_WAIT));
      try (Feeder feeder = new Feeder(publisher, 0)) {
        feeder.rate(200);
        watch.calmly(WARM, publisher::explain);
        node.ctl("eval", toQueue("sys:suspend", hanging));
        var unused =
            publisher.publish(
                Message.builder(new byte[10]).address(Address.queue(hanging)).build());
        watch.fromOnset(publisher::explain);
      } finally {
        node.ctl("eval", toQueue("sys:resume", hanging));
      }
    }
  }

  private static String toQueue(String call, String queue) {
    return "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\""
        + queue
        + "\">>)), "
        + call
        + "(amqqueue:get_pid(Q)).";
  }

  private static PulsarGround pulsar(Ground ground) {
    return (PulsarGround) ground;
  }

  /** Sends messages by the plain client, in batches or one by one. */
  private static void fill(PulsarGround ground, String topic, int from, int count, int batch)
      throws IOException {
    try (var producer =
        ground
            .pulsar()
            .client()
            .newProducer()
            .topic(topic)
            .enableBatching(batch > 1)
            .batchingMaxMessages(Math.max(2, batch))
            .batchingMaxPublishDelay(1, java.util.concurrent.TimeUnit.SECONDS)
            .create()) {
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = from; i < from + count; i++) {
        sent.add(producer.newMessage().key("k" + i % 20).value(new byte[] {(byte) i}).sendAsync());
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

  private static void hoard(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("hoard");
    try (var hoarder = hoarder(ground, topic, SubscriptionType.Shared)) {
      fill(ground, topic, 0, 500, 1);
      Experiments.await(
          Duration.ofSeconds(10),
          () -> hoarder.getStats() != null && unacked(ground, topic) == 500);
      viewed(ground, topic, Ordering.NONE, 0, watch);
    }
  }

  private static long unacked(PulsarGround ground, String topic) {
    return ground
        .pulsar()
        .rest()
        .topicStats(topic)
        .number("subscriptions", PulsarGround.GROUP, "unackedMessages");
  }

  private static void draining(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("draining");
    try (var hoarder = hoarder(ground, topic, SubscriptionType.Key_Shared)) {
      fill(ground, topic, 0, 200, 1);
      Experiments.await(
          Duration.ofSeconds(10),
          () -> hoarder.getStats() != null && unacked(ground, topic) == 200);
      try (Messaging messaging = ground.messaging()) {
        Consumer consumer = opened(ground, messaging, topic, Ordering.BY_KEY, 0);
        consumer.handle(delivery -> Settlement.accept());
        fill(ground, topic, 0, 200, 1);
        watch.fromOnset(
            () -> {
              ground.ask(topic);
              return consumer.explain();
            });
      }
    }
  }

  private static Consumer opened(
      PulsarGround ground, Messaging messaging, String topic, Ordering ordering, long limit) {
    messaging.viewedBy((addresses, group, name) -> Optional.of(ground.view(topic, name, limit)));
    return messaging.consumer(ground.from(topic).withOrdering(ordering));
  }

  private static void viewed(
      PulsarGround ground, String topic, Ordering ordering, long limit, Watch watch)
      throws IOException {
    try (Messaging messaging = ground.messaging()) {
      Consumer consumer = opened(ground, messaging, topic, ordering, limit);
      consumer.handle(delivery -> Settlement.accept());
      watch.fromOnset(
          () -> {
            ground.ask(topic);
            return consumer.explain();
          });
    }
  }

  private static void limit(Ground any, Watch watch) throws IOException {
    PulsarGround ground = pulsar(any);
    String topic = ground.place("limit");
    ground.pulsar().rest().topicLimits(topic).setMaxUnackedMessagesPerConsumer(50);
    try (Messaging messaging = ground.messaging()) {
      messaging.viewedBy((addresses, group, name) -> Optional.of(ground.view(topic, name, 50)));
      PullConsumer consumer = messaging.pullConsumer(ground.from(topic).withMaxUnsettled(1_000));
      fill(ground, topic, 0, 500, 1);
      AtomicBoolean ends = new AtomicBoolean();
      Thread caller = new Thread(() -> receive(consumer, new AtomicBoolean(), ends), "lab-caller");
      caller.setDaemon(true);
      caller.start();
      watch.fromOnset(
          () -> {
            ground.ask(topic);
            return consumer.explain();
          });
      ends.set(true);
    }
  }

  private static void partly(Ground any, Watch watch) throws IOException {
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
      fill(ground, topic, 0, 100, 10);
      watch.calmly(WARM, consumer::explain);
      forget.set(true);
      fill(ground, topic, 0, 100, 10);
      watch.fromOnset(consumer::explain);
    }
  }

  // Nothing is wrong

  private static void fast(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "fast", 16, 2_000).handled()) {
      line.handlerMillis = 0;
      watch.calmly(line.messaging::explain);
    }
  }

  private static void slowButSteady(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "steady", 16, 20).handled()) {
      line.handlerMillis = 400;
      watch.calmly(line.messaging::explain);
    }
  }

  private static void idle(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "idle", 16, 0).handled()) {
      watch.calmly(line.messaging::explain);
    }
  }

  private static void bursts(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "bursts", 8, 0).handled()) {
      line.handlerMillis = 5;
      long end = 3;
      for (int i = 0; i < end; i++) {
        line.feeder.rate(3_000);
        watch.calmly(Duration.ofMillis(300), line.messaging::explain);
        line.feeder.rate(0);
        watch.calmly(Duration.ofSeconds(2), line.messaging::explain);
      }
    }
  }
}
