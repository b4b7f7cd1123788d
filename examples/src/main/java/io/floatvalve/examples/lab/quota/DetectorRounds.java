package io.floatvalve.examples.lab.quota;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The detector on a real broker, throttled and not, many times each. */
final class DetectorRounds {
  private static final int LIMIT = 1_000;
  private static final int SECONDS = 12;

  private final Bench bench;
  private final int rounds;
  private final Table table = new Table("scene", "rounds", "suspected", "likely", "should be");

  /** What a round is about. */
  private enum Scene {
    THROTTLED("throttled, quota not known", true),
    THROTTLED_KNOWN("throttled, quota known", true),
    HEALTHY("healthy, paced", false),
    COLLECTIONS("healthy, garbage collections", false),
    STOPPED("healthy, SIGSTOP 200 ms", false),
    STALLS("healthy, random stalls of the way", false),
    SATURATED("saturated broker", false);

    private final String words;
    private final boolean throttled;

    Scene(String words, boolean throttled) {
      this.words = words;
      this.throttled = throttled;
    }
  }

  DetectorRounds(Bench bench, int rounds) {
    this.bench = bench;
    this.rounds = rounds;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    for (Scene scene : Scene.values()) {
      int suspected = 0;
      int likely = 0;
      for (int round = 0; round < rounds; round++) {
        bench.doing(scene.words + ", round " + (round + 1) + " of " + rounds);
        round(scene, round);
        List<Event.ThrottlingSuspected> told = bench.told(Event.ThrottlingSuspected.class);
        suspected += told.isEmpty() ? 0 : 1;
        likely += told.stream().anyMatch(Event.ThrottlingSuspected::likely) ? 1 : 0;
      }
      boolean known = scene == Scene.THROTTLED_KNOWN;
      String expected =
          known ? "likely in 90 %" : scene.throttled ? "suspected in 90 %" : "never likely";
      int seen = known ? likely : suspected;
      boolean ok = scene.throttled ? seen >= 0.9 * rounds : likely == 0;
      table.row(scene.words, rounds, suspected, likely, expected);
      bench
          .checks()
          .check(
              "detector-" + scene.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-'),
              scene.words,
              "-",
              expected,
              String.format("%d of %d suspected, %d likely", suspected, rounds, likely),
              ok);
    }
  }

  private void round(Scene scene, int round) throws IOException {
    String topic = scene.throttled ? bench.limited("detector", LIMIT) : bench.topic("detector");
    FaultProxy proxy =
        scene == Scene.STALLS && bench.pulsar().isOwn() ? bench.pulsar().proxy() : null;
    try (Messaging messaging =
            proxy == null ? bench.messaging() : bench.pulsar().messaging(proxy, bench.listener());
        Publisher publisher = messaging.publisher(settings(scene, topic))) {
      Random random = new Random(round);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
      long disturb = System.nanoTime();
      while (System.nanoTime() < end) {
        if (publisher.status().queued() < 1_000) {
          var unused = publisher.tryPublish(Message.of(new byte[Bench.BODY_BYTES]));
        } else {
          Bench.pause(Duration.ofMillis(1));
        }
        if (System.nanoTime() > disturb) {
          disturb(scene, proxy, random);
          disturb = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(500 + random.nextInt(1_500));
        }
      }
    } finally {
      if (proxy != null) {
        proxy.close();
      }
    }
  }

  private static PublisherSettings settings(Scene scene, String topic) {
    QuotaPolicy policy =
        switch (scene) {
          case THROTTLED, SATURATED -> null;
          case THROTTLED_KNOWN ->
              QuotaPolicy.none()
                  .withHeadroom(1)
                  .withPublish(Scope.TOPIC, Quota.messagesPerSecond(LIMIT * 109 / 100));
          case HEALTHY, COLLECTIONS, STOPPED, STALLS ->
              QuotaPolicy.none().withPublish(Scope.TOPIC, Quota.messagesPerSecond(LIMIT));
        };
    return Bench.to(topic).withQuota(policy);
  }

  private static void disturb(Scene scene, @Nullable FaultProxy proxy, Random random)
      throws IOException {
    switch (scene) {
      case COLLECTIONS -> {
        byte[][] waste = new byte[64][];
        for (int i = 0; i < waste.length; i++) {
          waste[i] = new byte[1 << 20];
        }
        System.gc();
      }
      case STOPPED -> {
        String pid = String.valueOf(ProcessHandle.current().pid());
        Process unused =
            new ProcessBuilder("sh", "-c", "kill -STOP $0; sleep 0.2; kill -CONT $0", pid).start();
      }
      case STALLS -> {
        if (proxy != null) {
          proxy.stall(Direction.FROM_BROKER);
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100 + random.nextInt(500)));
          proxy.unstall(Direction.FROM_BROKER);
        }
      }
      case THROTTLED, THROTTLED_KNOWN, HEALTHY, SATURATED -> {}
    }
  }
}
