package io.floatvalve.examples.lab.quota;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The detector on real brokers, throttled and not, many times each. What is disturbed here, such as
 * this process, is so for publishers of both brokers at once.
 */
final class DetectorRounds {
  private static final int LIMIT = 1_000;

  /** What is believed to be the limit where the quota is known: the broker's is within a tenth. */
  private static final int BELIEVED = LIMIT + 100;

  /** As long as the detector remembers; a throttled round ends as soon as it is told. */
  private static final long SECONDS = 10;

  /**
   * The broker lets a second's worth more pass before it throttles: ten seconds of what is above.
   */
  private static final long SECONDS_KNOWN = 25;

  private static final int AT_ONCE = 100;

  /** What a throttled broker has not taken yet is of no interest. */
  private static final Duration NO_PATIENCE = Duration.ofMillis(100);

  private static final int LIVE_OBJECTS = 2_000_000;

  private final Bench bench;
  private final int rounds;
  private final List<String> only;
  private final @Nullable RabbitAtHand rabbit;
  private final Table table =
      new Table("broker", "scene", "rounds", "suspected", "likely", "should be", "s a round");
  private long longestStop;
  private long collections;
  private long collectedMillis;

  /** What a round is about. */
  private enum Scene {
    THROTTLED("throttled, quota not known", true, false),
    THROTTLED_KNOWN("throttled, 9 % below the quota that is known", true, false),
    HEALTHY("healthy, paced at 0.9 of the known quota", false, true),
    COLLECTIONS("the same, garbage collections", false, true),
    STOPPED("the same, this process stopped for 200 ms", false, true),
    STALLS("the same, answers stall at random as behind a disk", false, true),
    SATURATED("saturated, quota not known", false, true);

    private final String words;
    private final boolean throttled;
    private final boolean ofBoth;

    Scene(String words, boolean throttled, boolean ofBoth) {
      this.words = words;
      this.throttled = throttled;
      this.ofBoth = ofBoth;
    }
  }

  /** How often something was told at one broker. */
  private static final class Tally {
    private final String broker;
    private int suspected;
    private int likely;
    private double seconds;

    private Tally(String broker) {
      this.broker = broker;
    }
  }

  /** A publisher that always has more to send. */
  private static final class Subject implements AutoCloseable {
    private final Tally tally;
    private final Queue<Event.ThrottlingSuspected> told = new ConcurrentLinkedQueue<>();
    private final Messaging messaging;
    private final Publisher publisher;

    private Subject(Tally tally, Opening opening, PublisherSettings settings) {
      this.tally = tally;
      this.messaging =
          opening.open(
              event -> {
                if (event instanceof Event.ThrottlingSuspected suspected) {
                  told.add(suspected);
                }
              });
      try {
        this.publisher = messaging.publisher(settings);
      } catch (RuntimeException e) {
        messaging.close();
        throw e;
      }
    }

    /** Returns whether there was more to be sent. */
    private boolean feed() {
      if (publisher.status().queued() > LIMIT) {
        return false;
      }
      for (int i = 0; i < AT_ONCE; i++) {
        var unused = publisher.tryPublish(Message.of(new byte[Bench.BODY_BYTES]));
      }
      return true;
    }

    private boolean isLikely() {
      return told.stream().anyMatch(Event.ThrottlingSuspected::likely);
    }

    @Override
    public void close() {
      messaging.close();
    }
  }

  /** Begins messaging whose events somebody hears. */
  @FunctionalInterface
  private interface Opening {
    Messaging open(java.util.function.Consumer<Event> listener);
  }

  /**
   * Prepares it.
   *
   * @param only parts of the scenes' names, in lower case; none for all
   */
  DetectorRounds(Bench bench, int rounds, List<String> only, @Nullable RabbitAtHand rabbit) {
    this.bench = bench;
    this.rounds = rounds;
    this.only = only;
    this.rabbit = rabbit;
  }

  /** Returns whether a scene is called so, in part. */
  static boolean isKnown(String part) {
    return Stream.of(Scene.values()).anyMatch(each -> each.words.contains(part));
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    if (rabbit == null) {
      scenes(null);
    } else {
      try (Queues queues = new Queues(rabbit, "floatvalve.lab")) {
        scenes(queues);
      }
    }
    bench.findings().figure("longest_stop_ms", longestStop / 1e6);
    if (collections > 0) {
      bench.findings().figure("mean_collection_ms", (double) collectedMillis / collections);
    }
  }

  private void scenes(@Nullable Queues queues) throws IOException {
    for (Scene scene : Scene.values()) {
      if (!only.isEmpty() && only.stream().noneMatch(scene.words::contains)) {
        continue;
      }
      Tally pulsar = new Tally("Pulsar");
      Tally other = new Tally("RabbitMQ");
      for (int round = 0; round < rounds; round++) {
        bench.doing(scene.words + ", round " + (round + 1) + " of " + rounds);
        if (scene == Scene.SATURATED) { // one after the other: each has all of the machine
          round(scene, round, pulsar, null, null);
          round(scene, round, null, other, queues);
        } else {
          round(scene, round, pulsar, scene.ofBoth ? other : null, queues);
        }
      }
      conclude(scene, pulsar);
      if (scene.ofBoth && queues != null) {
        conclude(scene, other);
      }
    }
  }

  private void conclude(Scene scene, Tally tally) {
    boolean known = scene == Scene.THROTTLED_KNOWN;
    String expected =
        known ? "likely in 90 %" : scene.throttled ? "suspected in 90 %" : "never likely";
    int seen = known ? tally.likely : tally.suspected;
    boolean ok = scene.throttled ? seen >= 0.9 * rounds : tally.likely == 0;
    table.row(
        tally.broker,
        scene.words,
        rounds,
        tally.suspected,
        tally.likely,
        expected,
        tally.seconds / rounds);
    bench
        .checks()
        .check(
            "detector-"
                + (tally.broker + "-" + scene.name()).toLowerCase(Locale.ROOT).replace('_', '-'),
            tally.broker + ": " + scene.words,
            "-",
            expected,
            String.format("%d of %d suspected, %d likely", tally.suspected, rounds, tally.likely),
            ok);
  }

  private void round(
      Scene scene,
      int round,
      @Nullable Tally pulsar,
      @Nullable Tally other,
      @Nullable Queues queues)
      throws IOException {
    List<FaultProxy> proxies = new ArrayList<>();
    List<Subject> subjects = new ArrayList<>();
    try {
      if (pulsar != null) {
        String topic = scene.throttled ? bench.limited("detector", LIMIT) : bench.topic("detector");
        subjects.add(new Subject(pulsar, pulsar(scene, proxies), settings(scene, topic)));
      }
      RabbitAtHand at = rabbit;
      if (other != null && at != null && queues != null) {
        String queue =
            queues.classic("detector-" + scene.name().toLowerCase(Locale.ROOT) + "-" + round);
        subjects.add(
            new Subject(
                other,
                rabbit(scene, at, proxies),
                Bench.common(PublisherSettings.to(Address.queue(queue)))
                    .withQuota(policy(scene))
                    .withCloseTimeout(NO_PATIENCE)));
      }
      long began = System.nanoTime();
      run(scene, new Random(round), subjects, proxies);
      double seconds = (System.nanoTime() - began) / 1e9;
      for (Subject each : subjects) {
        each.tally.suspected += each.told.isEmpty() ? 0 : 1;
        each.tally.likely += each.isLikely() ? 1 : 0;
        each.tally.seconds += seconds;
        if (!scene.throttled && !each.told.isEmpty()) {
          each.told.forEach(told -> bench.say(each.tally.broker + ": " + told.what()));
        }
      }
    } finally {
      subjects.forEach(Subject::close);
      proxies.forEach(FaultProxy::close);
    }
  }

  private void run(Scene scene, Random random, List<Subject> subjects, List<FaultProxy> proxies)
      throws IOException {
    byte[][] alive = scene == Scene.COLLECTIONS ? new byte[LIVE_OBJECTS][1] : null;
    long began = System.nanoTime();
    long seconds = scene == Scene.THROTTLED_KNOWN ? SECONDS_KNOWN : SECONDS;
    long end = began + TimeUnit.SECONDS.toNanos(seconds);
    long disturb = began;
    long stallEnd = Long.MAX_VALUE;
    long last = began;
    for (long now = began; now < end && !isSeen(scene, subjects); now = System.nanoTime()) {
      longestStop = scene == Scene.STOPPED ? Math.max(longestStop, now - last) : longestStop;
      last = now;
      boolean more = false;
      for (Subject each : subjects) {
        more |= each.feed();
      }
      if (!more) {
        Bench.pause(Duration.ofMillis(1));
      }
      if (now >= stallEnd) {
        proxies.forEach(proxy -> proxy.unstall(Direction.FROM_BROKER));
        stallEnd = Long.MAX_VALUE;
      }
      if (now >= disturb) {
        disturb(scene, proxies);
        if (scene == Scene.STALLS) {
          stallEnd = now + TimeUnit.MILLISECONDS.toNanos(100 + random.nextInt(500));
        }
        disturb = now + TimeUnit.MILLISECONDS.toNanos(700 + random.nextInt(1_500));
      }
    }
    if (alive != null && alive[0].length == 0) {
      throw new IllegalStateException("never: it keeps the objects alive");
    }
  }

  private static boolean isSeen(Scene scene, List<Subject> subjects) {
    return switch (scene) {
      case THROTTLED -> subjects.stream().noneMatch(each -> each.told.isEmpty());
      case THROTTLED_KNOWN -> subjects.stream().allMatch(Subject::isLikely);
      default -> false;
    };
  }

  private Opening pulsar(Scene scene, List<FaultProxy> proxies) {
    if (scene != Scene.STALLS || !bench.pulsar().isOwn()) {
      return bench.pulsar()::messaging;
    }
    FaultProxy proxy = bench.pulsar().proxy();
    proxies.add(proxy);
    return listener -> bench.pulsar().messaging(proxy, listener);
  }

  private static Opening rabbit(Scene scene, RabbitAtHand at, List<FaultProxy> proxies)
      throws IOException {
    if (scene != Scene.STALLS || !at.plain()) {
      return at::messaging;
    }
    FaultProxy proxy = FaultProxy.to(at.host(), at.port());
    proxies.add(proxy);
    return listener -> RabbitAtHand.messaging(at.uriAt(proxy.host(), proxy.port()), listener);
  }

  private static PublisherSettings settings(Scene scene, String topic) {
    return Bench.to(topic).withQuota(policy(scene)).withCloseTimeout(NO_PATIENCE);
  }

  private static @Nullable QuotaPolicy policy(Scene scene) {
    QuotaPolicy known = QuotaPolicy.none().withPublish(Scope.TOPIC, Quota.messagesPerSecond(LIMIT));
    return switch (scene) {
      case THROTTLED, SATURATED -> null;
      case THROTTLED_KNOWN ->
          QuotaPolicy.none()
              .withHeadroom(1)
              .withPublish(Scope.TOPIC, Quota.messagesPerSecond(BELIEVED));
      case HEALTHY, COLLECTIONS, STOPPED, STALLS -> known;
    };
  }

  private void disturb(Scene scene, List<FaultProxy> proxies) throws IOException {
    switch (scene) {
      case COLLECTIONS -> {
        long count = 0;
        long millis = 0;
        for (GarbageCollectorMXBean each : ManagementFactory.getGarbageCollectorMXBeans()) {
          count -= each.getCollectionCount();
          millis -= each.getCollectionTime();
        }
        System.gc();
        for (GarbageCollectorMXBean each : ManagementFactory.getGarbageCollectorMXBeans()) {
          count += each.getCollectionCount();
          millis += each.getCollectionTime();
        }
        collections += count;
        collectedMillis += millis;
      }
      case STOPPED -> {
        String pid = String.valueOf(ProcessHandle.current().pid());
        Process unused =
            new ProcessBuilder("sh", "-c", "kill -STOP $0; sleep 0.2; kill -CONT $0", pid).start();
      }
      case STALLS -> proxies.forEach(proxy -> proxy.stall(Direction.FROM_BROKER));
      case THROTTLED, THROTTLED_KNOWN, HEALTHY, SATURATED -> {}
    }
  }
}
