package io.floatvalve.examples.lab.quota;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.rate.PeakSecond;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Scope;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;

/** Bursts against a limit of the topic: B1, B7 and B8. */
final class Bursts {
  private static final int LIMIT = 1_000;
  private static final double HEADROOM = 0.9;
  private static final int BURST = 2_000;
  private static final int BELIEVED = LIMIT + 100; // a second, where the broker allows fewer
  private static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(4);

  private final Bench bench;
  private final Table table =
      new Table("client", "messages", "send-settled p99 s", "publish-settled p99 s", "not sent");

  Bursts(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    int bursts = bench.amount(4, 2);
    double plain = plainBursts(bursts);
    pacedBursts(bursts, plain);
    timeouts();
    sustained();
    peaks();
  }

  private static QuotaPolicy policy(int perSecond) {
    return QuotaPolicy.none()
        .withHeadroom(HEADROOM)
        .withPublish(Scope.TOPIC, Quota.messagesPerSecond(perSecond));
  }

  private double plainBursts(int bursts) throws IOException {
    bench.doing("B1: the plain client, bursts of 2,000 every 4 s to a topic of 1,000 a second");
    String topic = bench.limited("plain", LIMIT);
    long[] took = new long[bursts * BURST];
    List<CompletableFuture<?>> all = new ArrayList<>();
    try (PulsarClient client = bench.client();
        Producer<byte[]> producer = Bench.plain(client, topic, Duration.ofSeconds(30))) {
      long begun = System.nanoTime();
      for (int burst = 0; burst < bursts; burst++) {
        Bench.until(begun + burst * EVERY_NANOS);
        for (int i = 0; i < BURST; i++) {
          int at = burst * BURST + i;
          long sent = System.nanoTime();
          all.add(
              producer
                  .sendAsync(new byte[Bench.BODY_BYTES])
                  .whenComplete((id, failure) -> took[at] = System.nanoTime() - sent));
        }
      }
      int failed = Bench.failures(all);
      double p99 = Bench.percentile(took, 99);
      table.row("plain", (long) took.length, p99, p99, (long) failed);
      bench.findings().figure("plain_send_settled_p99_s", p99);
      return p99;
    }
  }

  private void pacedBursts(int bursts, double plainP99) throws IOException {
    bench.doing("B1: the same bursts, paced");
    String topic = bench.limited("paced", LIMIT);
    int messages = bursts * BURST;
    long stored;
    Map<Verdict, Long> outcomes;
    LatencySnapshot latency;
    PeakSecond.Reading peak;
    try (Messaging messaging = bench.messaging();
        Publisher publisher = messaging.publisher(Bench.to(topic).withQuota(policy(LIMIT)))) {
      long begun = System.nanoTime();
      for (int burst = 0; burst < bursts; burst++) {
        long due = begun + burst * EVERY_NANOS;
        Bench.until(due);
        for (int i = 0; i < BURST; i++) {
          var unused = publisher.publish(Message.of(new byte[Bench.BODY_BYTES]), due);
        }
      }
      publisher.drain(Duration.ofMinutes(1));
      outcomes = publisher.status().outcomes();
      latency = publisher.latency();
      peak = publisher.usage().messages();
      stored = bench.received(topic);
    }
    double sent = latency.stage("sent-confirmed").orElseThrow().nanosAt(99) / 1e9;
    double due = latency.stage("due-confirmed").orElseThrow().nanosAt(99) / 1e9;
    double most = 1.1 * BURST / (LIMIT * HEADROOM);
    table.row(
        "Floatvalve, paced",
        (long) messages,
        sent,
        due,
        messages - outcomes.getOrDefault(Verdict.CONFIRMED, 0L));
    bench.findings().figure("paced_send_settled_p99_s", sent);
    bench.findings().figure("paced_publish_settled_p99_s", due);
    bench.findings().figure("paced_peak_second_msgs", peak.highest());
    boolean all = outcomes.getOrDefault(Verdict.CONFIRMED, 0L) == messages;
    check(
        "B1",
        "bursts of 2,000 every 4 s to a topic of 1,000 a second",
        String.format("plain, send until settled, p99: %.2f s", plainP99),
        String.format(
            "p99 until settled at most a fifth of the plain client's from the send, %.2f s from the"
                + " publish; all confirmed, none twice",
            most),
        String.format(
            "%.3f s from the send, %.2f s from the publish; %d confirmed, %d stored of %d",
            sent, due, outcomes.getOrDefault(Verdict.CONFIRMED, 0L), stored, messages),
        sent <= plainP99 / 5 && due <= most && all && stored == messages);
    check(
        "B1-second",
        "the busiest sliding second of that",
        "-",
        "at most quota x headroom, 900, and what 10 ms more may hold",
        peak.highest() + " messages",
        peak.highest() <= LIMIT * HEADROOM * 1.01);
  }

  private void timeouts() throws IOException {
    bench.doing("B1: sends that time out while the broker throttles");
    int messages = bench.amount(5_000, 3_000);
    String topic = bench.limited("timeouts", LIMIT);
    int failed;
    try (PulsarClient client = bench.client();
        Producer<byte[]> producer = Bench.plain(client, topic, Duration.ofSeconds(1))) {
      List<CompletableFuture<?>> all = new ArrayList<>();
      for (int i = 0; i < messages; i++) {
        all.add(producer.sendAsync(new byte[Bench.BODY_BYTES]));
      }
      failed = Bench.failures(all);
      Bench.await(Duration.ofSeconds(20), () -> bench.received(topic) >= messages);
    }
    long arrived = bench.received(topic);
    int unknown;
    String ours = bench.limited("unknown", LIMIT);
    try (Messaging messaging = bench.messaging();
        Publisher publisher =
            messaging.publisher(
                Bench.to(ours)
                    .withWindow(io.floatvalve.publish.WindowPolicy.fixed(10_000))
                    .withConfirmTimeout(Duration.ofSeconds(1)))) {
      List<CompletableFuture<PublishOutcome>> all = new ArrayList<>();
      for (int i = 0; i < messages; i++) {
        all.add(publisher.publish(Message.of(new byte[Bench.BODY_BYTES])));
      }
      Bench.failures(all);
      unknown = publisher.status().outcomes().getOrDefault(Verdict.UNKNOWN, 0L).intValue();
    }
    check(
        "B1-timeout",
        messages + " sends at once, a timeout of 1 s, nothing paced",
        String.format("plain: %d TimeoutExceptions, of which all arrived", failed),
        "the plain client fails sends that arrive; here none fails, those late are Unknown",
        String.format(
            "plain: %d failed, %d of %d arrived; here %d Unknown",
            failed, arrived, messages, unknown),
        failed > 0 && arrived == messages && unknown > 0);
  }

  private void sustained() throws IOException {
    int seconds = bench.amount(30, 6);
    bench.doing("B1: as much as the quota lets pass, for " + seconds + " s");
    String topic = bench.topic("sustained");
    try (Messaging messaging = bench.messaging();
        Publisher publisher = messaging.publisher(Bench.to(topic).withQuota(policy(LIMIT)))) {
      long begun = System.nanoTime();
      long end = begun + TimeUnit.SECONDS.toNanos(seconds);
      while (System.nanoTime() < end) {
        if (publisher.status().queued() < 500) {
          var unused = publisher.publish(Message.of(new byte[Bench.BODY_BYTES]));
        } else {
          Bench.pause(Duration.ofMillis(1));
        }
      }
      PeakSecond.Reading used = publisher.usage().messages();
      double perSecond = used.total() * 1e9 / (System.nanoTime() - begun);
      bench.findings().figure("sustained_msgs_per_s", perSecond);
      check(
          "B1-sustained",
          "a quota of 1,000 a second, headroom 0.9, always more to send",
          "-",
          "no sliding second above 900 and what 10 ms more may hold, at least 855 a second on average",
          String.format("%.0f a second, at most %d in one", perSecond, used.highest()),
          used.highest() <= LIMIT * HEADROOM * 1.01 && perSecond >= 0.95 * LIMIT * HEADROOM);
    }
  }

  private void peaks() throws IOException {
    bench.doing("B7: seconds that an average hides");
    int quota = 1_000;
    int burst = 850;
    int bursts = bench.amount(6, 3);
    String topic = bench.topic("peaks");
    QuotaPolicy policy =
        QuotaPolicy.none().withHeadroom(1).withPublish(Scope.TOPIC, Quota.messagesPerSecond(quota));
    try (Messaging messaging = bench.messaging();
        Publisher publisher = messaging.publisher(Bench.to(topic).withQuota(policy))) {
      long begun = System.nanoTime();
      for (int i = 0; i < bursts; i++) {
        Bench.until(begun + TimeUnit.MILLISECONDS.toNanos(3_000L * i));
        for (int k = 0; k < burst; k++) {
          var unused = publisher.publish(Message.of(new byte[Bench.BODY_BYTES]));
        }
      }
      publisher.drain(Duration.ofSeconds(30));
      Bench.until(begun + TimeUnit.MILLISECONDS.toNanos(3_000L * bursts));
      PeakSecond.Reading used = publisher.usage().messages();
      List<Event.QuotaWarning> warnings = bench.told(Event.QuotaWarning.class);
      check(
          "B7",
          "850 messages every 3 s, a quota of 1,000",
          "minute averages hide peak seconds",
          "the busiest second seen to 99 %, at least twice the average",
          String.format(
              "busiest %d, %.0f a second on average, %.1f times",
              used.peak(), used.average(), used.peakToAverage()),
          used.peak() >= 0.99 * burst && used.peak() <= quota && used.peakToAverage() >= 2);
      check(
          "B8",
          "the same: above 80 % of the quota",
          "alarm at 80 %, and at any throttling",
          "a warning with the second as evidence",
          warnings.isEmpty() ? "no warning" : warnings.get(0).what(),
          warnings.stream().anyMatch(each -> each.second() >= 0.8 * quota));
    }
    throttled();
  }

  /*
   * A topic's limit of 1,000 is a bucket that holds 1,000 and is filled at 1,000 a second: more than
   * that passes until it is empty, which 100 a second too many take 10 s for.
   */
  private void throttled() throws IOException {
    bench.doing("B8: a broker that throttles without a word");
    String topic = bench.limited("throttled", LIMIT);
    QuotaPolicy policy =
        QuotaPolicy.none()
            .withHeadroom(1)
            .withPublish(Scope.TOPIC, Quota.messagesPerSecond(BELIEVED));
    try (Messaging messaging = bench.messaging();
        Publisher publisher = messaging.publisher(Bench.to(topic).withQuota(policy))) {
      long before = bench.limitedTimes(topic);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(bench.amount(30, 25));
      while (System.nanoTime() < end && likely().isEmpty()) {
        if (publisher.status().queued() < 2_000) {
          var unused = publisher.publish(Message.of(new byte[Bench.BODY_BYTES]));
        } else {
          Bench.pause(Duration.ofMillis(1));
        }
      }
      List<Event.ThrottlingSuspected> all = bench.told(Event.ThrottlingSuspected.class);
      long word = bench.limitedTimes(topic) - before;
      check(
          "B8-throttled",
          "a quota of 1,100 a second for a topic that the broker limits to 1,000",
          "alarm when throttled at all",
          "likely throttling told, as the broker's own counter confirms",
          (all.isEmpty() ? "nothing told" : all.get(all.size() - 1).what())
              + "; publishRateLimitedTimes "
              + word,
          !likely().isEmpty() && word > 0);
    }
  }

  private List<Event.ThrottlingSuspected> likely() {
    return bench.told(Event.ThrottlingSuspected.class).stream()
        .filter(Event.ThrottlingSuspected::likely)
        .toList();
  }

  private void check(
      String id, String experiment, String reference, String expected, String here, boolean ok) {
    bench.checks().check(id, experiment, reference, expected, here, ok);
  }
}
