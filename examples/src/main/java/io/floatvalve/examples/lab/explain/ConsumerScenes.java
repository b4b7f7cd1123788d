package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** What goes wrong with a consumer, on any broker. */
final class ConsumerScenes {
  private static final Duration WARM = Duration.ofSeconds(2);

  private ConsumerScenes() {}

  static void handlerSlow(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "slow", 4, 200).handled()) {
      watch.calmly(WARM, line.consumer::explain);
      line.handlerMillis = 400;
      watch.fromOnset(line.consumer::explain);
    }
  }

  static void allBusy(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "busy", 4, 50).handled()) {
      line.handlerMillis = 20;
      watch.calmly(WARM, line.consumer::explain);
      line.feeder.rate(1_000);
      watch.fromOnset(line.consumer::explain);
    }
  }

  static void forgotten(Ground ground, Watch watch) throws IOException {
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

  static void neverSettled(Ground ground, Watch watch) throws IOException {
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

  static void storm(Ground ground, Watch watch) throws IOException {
    ConsumerSettings settings =
        ground
            .from(ground.place("storm"))
            .withMaxAttempts(1_000)
            .withRetryDelays(List.of(Duration.ofMillis(100)));
    try (Line line = new Line(ground, 100, settings).handled()) {
      watch.calmly(Duration.ofMillis(5_200), line.consumer::explain); // a new link is not judged
      line.failing = true;
      watch.fromOnset(line.consumer::explain);
    }
  }

  static void keyless(Ground ground, Watch watch) throws IOException {
    ConsumerSettings settings = ground.from(ground.place("keys")).withOrdering(Ordering.BY_KEY);
    try (Line line = new Line(ground, 200, settings).handled()) {
      watch.calmly(WARM, line.consumer::explain);
      line.feeder.withoutKeys();
      watch.fromOnset(line.consumer::explain);
    }
  }

  static void memory(Ground ground, Watch watch) throws IOException {
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

  static void receive(PullConsumer from, AtomicBoolean settles, AtomicBoolean ends) {
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

  static void linkLost(Ground ground, Watch watch) throws IOException {
    String place = ground.place("lost");
    try (FaultProxy proxy = ground.proxy();
        Messaging messaging = ground.messaging(proxy)) {
      Consumer consumer = messaging.consumer(ground.from(place));
      consumer.handle(delivery -> Settlement.accept());
      watch.calmly(WARM, consumer::explain);
      proxy.refuse();
      proxy.cut(FaultProxy.Cut.RESET);
      watch.fromOnset(consumer::explain);
      proxy.accept(); // else closing would wait for a link
    }
  }

  static void copiesFail(Ground ground, Watch watch) throws IOException {
    AtomicBoolean rejects = new AtomicBoolean();
    ConsumerSettings settings =
        ground.from(ground.place("copies")).withDeadLetter(ground.refusing("dead"));
    try (Line line = new Line(ground, 20, settings)) {
      line.consumer.handle(
          delivery -> rejects.get() ? Settlement.reject("no use") : Settlement.accept());
      watch.calmly(WARM, line.consumer::explain);
      rejects.set(true);
      watch.fromOnset(line.consumer::explain);
      rejects.set(false);
    }
  }

  /** What the broker has sent is stuck on its way, and more waits there. */
  static void stuckOnTheWay(Ground ground, Watch watch) throws IOException {
    String place = ground.place("stuck");
    try (FaultProxy proxy = ground.proxy();
        Messaging direct = ground.messaging();
        Messaging messaging = ground.messaging(proxy)) {
      Consumer consumer =
          messaging.consumer(ground.from(place).withPermits(PermitPolicy.fixed(20)));
      consumer.handle(delivery -> Settlement.accept());
      try (Feeder feeder = new Feeder(direct.publisher(ground.to(place)), 0)) {
        feeder.rate(200);
        watch.calmly(WARM, consumer::explain);
        proxy.stall(FaultProxy.Direction.FROM_BROKER);
        watch.fromOnset(consumer::explain);
      } finally {
        proxy.unstall();
      }
    }
  }
}
