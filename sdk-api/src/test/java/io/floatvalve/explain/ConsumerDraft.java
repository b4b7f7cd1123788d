package io.floatvalve.explain;

import io.floatvalve.model.Ordering;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** A snapshot in the making: a healthy consumer with a steady load, until something is changed. */
final class ConsumerDraft {
  ConsumerSnapshot.State state = ConsumerSnapshot.State.RUNNING;
  int slots = 16;
  boolean pulls;
  long maxBytes = 32L << 20;
  Ordering ordering = Ordering.NONE;
  Duration handlerWarning = Duration.ofSeconds(30);
  Duration ackTimeout = Duration.ZERO;
  int window = 64;
  int outstanding = 60;
  int unsent;
  int waiting;
  long waitingBytes;
  int parked;
  int inHandlers = 4;
  int settling;
  long unsettledBytes = 4_000;
  int partlyAcked;
  long reopened;
  String lastLoss = "";
  boolean refusing;
  Duration opened = Duration.ofMinutes(5);
  Duration taken = Duration.ofMillis(20);
  Duration arrived = Duration.ofMillis(20);
  Duration settled = Duration.ofMillis(20);
  Duration queueEmpty = Duration.ofMillis(30);
  Duration length = Duration.ofSeconds(2);
  long took = 800;
  long redelivered;
  long retried;
  long rejected;
  long duplicates;
  long copiesFailed;
  long broken;
  long keyless;
  double busyShare = 0.25;
  Timing handling = timing(800, 10);
  Timing lately = Timing.NONE;
  Timing before = timing(10_000, 10);
  ConsumerSnapshot.Held held = ConsumerSnapshot.Held.NOTHING;
  Duration pause = Duration.ZERO;
  Throttle throttle = Throttle.NONE;
  @Nullable Peaks peaks;
  @Nullable BrokerView view;

  /** Handled at about that many milliseconds. */
  static Timing timing(long count, double millis) {
    return new Timing(
        count,
        millis(millis / 2),
        millis(millis),
        millis(2 * millis),
        millis(3 * millis),
        millis(4 * millis));
  }

  static Duration millis(double millis) {
    return Duration.ofNanos((long) (millis * 1e6));
  }

  /** Nothing comes, and nothing is here. */
  ConsumerDraft idle(Duration since) {
    inHandlers = 0;
    unsettledBytes = 0;
    taken = since;
    arrived = since;
    settled = since;
    queueEmpty = Duration.ZERO;
    took = 0;
    busyShare = 0;
    handling = Timing.NONE;
    return this;
  }

  /** More comes than handlers can take, for so long. */
  ConsumerDraft pressed(Duration since) {
    inHandlers = slots;
    waiting = 4;
    outstanding = 0;
    queueEmpty = since;
    busyShare = 0.99 * Math.min(1, since.toNanos() / (double) length.toNanos());
    return this;
  }

  ConsumerSnapshot snapshot() {
    return new ConsumerSnapshot(
        "orders as 'g'",
        "a broker at localhost",
        state,
        new ConsumerSnapshot.Limits(
            slots, pulls, 1_000, maxBytes, ordering, handlerWarning, ackTimeout),
        new ConsumerSnapshot.Here(
            window,
            outstanding,
            unsent,
            waiting,
            waitingBytes,
            parked,
            inHandlers,
            settling,
            unsettledBytes,
            partlyAcked,
            7,
            reopened,
            lastLoss,
            refusing),
        new ConsumerSnapshot.Since(opened, taken, arrived, settled, queueEmpty),
        new ConsumerSnapshot.Recent(
            length,
            took,
            took,
            took,
            redelivered,
            retried,
            rejected,
            duplicates,
            copiesFailed,
            broken,
            keyless,
            busyShare,
            handling,
            lately,
            timing(took, 1),
            timing(took, 5)),
        before,
        new Timing(
            before.count() + handling.count(),
            before.least(),
            before.p50(),
            before.p99(),
            longer(before.p999(), handling.p999()),
            longer(before.most(), handling.most())),
        held,
        pause,
        throttle,
        peaks,
        view);
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  Explanation explained() {
    return Explanation.of(snapshot());
  }

  /** Makes something healthy of any kind: fast, slow but keeping up, idle, in a burst. */
  static ConsumerDraft healthy(SplittableRandom random) {
    ConsumerDraft d = new ConsumerDraft();
    d.slots = random.nextInt(1, 65);
    d.window = random.nextInt(2, 1_001);
    d.unsent = random.nextInt(0, d.window / 2 + 1);
    d.outstanding = Math.max(1, d.window - d.unsent);
    d.ordering = List.of(Ordering.values()).get(random.nextInt(3));
    d.opened = millis(random.nextInt(1, 1_000_000));
    d.reopened = random.nextInt(4) == 0 ? random.nextInt(5) : 0;
    d.lastLoss = d.reopened > 0 ? "reset by peer" : "";
    d.pulls = random.nextInt(4) == 0;
    d.partlyAcked = random.nextInt(-1, 50);
    double handling = Math.pow(10, random.nextDouble(-2, 2.3));
    d.before = timing(random.nextInt(0, 100_000), handling);
    switch (random.nextInt(4)) {
      case 0 -> d.idle(millis(random.nextInt(0, 100_000_000)));
      case 1 -> { // steady: handlers and the queue have some time left
        d.busyShare = random.nextDouble(0, 0.89);
        d.inHandlers = random.nextInt(0, d.slots + 1);
        d.queueEmpty = millis(random.nextInt(0, 1_900));
        d.waiting = random.nextInt(0, d.window);
        d.took = random.nextInt(1, 100_000);
        d.handling = timing(d.took, handling * random.nextDouble(0.8, 1.3));
        d.settled = millis(random.nextInt(0, 1_900));
        d.arrived = d.settled;
        d.taken = d.settled;
      }
      case 2 -> { // a burst, for less than it takes to be a backlog
        d.pressed(millis(random.nextInt(0, 1_800)));
        d.waiting = random.nextInt(1, d.window);
        d.took = random.nextInt(1, 100_000);
        d.handling = timing(d.took, handling);
        d.settled = millis(random.nextInt(0, 1_500));
      }
      default -> { // fast, never empty, with handlers that wait for messages
        d.queueEmpty = Duration.ofMinutes(1);
        d.waiting = random.nextInt(1, d.window);
        d.busyShare = random.nextDouble(0, 0.8);
        d.inHandlers = random.nextInt(0, d.slots);
        d.took = 100_000;
        d.handling = timing(d.took, Math.min(handling, 0.2));
      }
    }
    d.redelivered = random.nextLong(0, d.took / 3 + 1);
    d.retried = random.nextLong(0, d.redelivered + 1);
    d.waitingBytes = random.nextLong(0, d.maxBytes * 7 / 10);
    d.unsettledBytes = random.nextLong(0, d.maxBytes * 7 / 10);
    d.pause = random.nextInt(10) == 0 ? millis(random.nextInt(0, 3_000)) : Duration.ZERO;
    if (random.nextBoolean()) {
      d.peaks = new Peaks("messages", random.nextDouble(0, 799), 300, 1_000);
    }
    if (random.nextBoolean()) {
      long held = random.nextLong(0, 30);
      d.view = BrokerView.from("admin", millis(random.nextInt(0, 5_000))).withBacklog(held, held);
    }
    return d;
  }
}
