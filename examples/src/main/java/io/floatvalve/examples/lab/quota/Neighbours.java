package io.floatvalve.examples.lab.quota;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Metronome;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.Publisher;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.rate.QuotaStatus.ScopeStatus;
import io.floatvalve.testkit.PulsarLimits.Rate;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/** What a limit does to those beside it, and limits of other kinds: B2, B3, B4, B5 and B6. */
final class Neighbours {
  private static final String GROUP = "lab";
  private static final int STEADY = 300;

  private final Bench bench;

  Neighbours(Bench bench) {
    this.bench = bench;
  }

  void run() throws IOException {
    shared();
    dispatched();
    nested();
    soft();
    delays();
  }

  /** When messages came. Thread-safe. */
  private static final class Arrivals {
    private final List<Long> all = new ArrayList<>(); // guarded by this

    private synchronized void one() {
      all.add(System.nanoTime());
    }

    private synchronized int count() {
      return all.size();
    }

    /** Returns the longest silence between two times. */
    private synchronized double longestSilence(long from, long to) {
      long last = from;
      long longest = 0;
      for (long each : all) {
        if (each > from && each <= to) {
          longest = Math.max(longest, each - last);
          last = each;
        }
      }
      return Math.max(longest, to - last) / 1e9;
    }
  }

  // B2

  private void shared() throws IOException {
    int seconds = bench.amount(8, 4);
    bench.doing("B2: a consumer beside a throttled producer, on one connection");
    double plain = silenceOfPlain(seconds);
    bench.doing("B2: the same, with connections of their own");
    double ours = silenceOfOurs(seconds);
    bench.findings().figure("shared_connection_longest_silence_s", plain);
    bench.findings().figure("own_connection_longest_silence_s", ours);
    check(
        "B2",
        "a consumer of 300 messages a second beside a throttled producer of the same client",
        String.format("plain, one connection: silent for up to %.2f s", plain),
        "silent for at most half of that, and half a second",
        String.format("silent for up to %.2f s", ours),
        ours <= plain / 2 && ours <= 0.5);
  }

  @SuppressWarnings("try") // it feeds until its time is over, and is closed again at the end
  private double silenceOfPlain(int seconds) throws IOException {
    String limited = bench.limited("shared", 1_000);
    String steady = bench.topic("steady");
    Arrivals arrivals = new Arrivals();
    try (PulsarClient client = bench.client();
        var consumer =
            client
                .newConsumer()
                .topic(steady)
                .subscriptionName(GROUP)
                .receiverQueueSize(100)
                .messageListener(
                    (from, message) -> {
                      arrivals.one();
                      var unused = from.acknowledgeAsync(message);
                    })
                .subscribe();
        Producer<byte[]> producer = Bench.plain(client, limited, Duration.ofSeconds(30));
        Bench.Steady source = new Bench.Steady(bench.client(), steady, STEADY)) {
      Bench.await(Duration.ofSeconds(20), () -> consumer.isConnected() && arrivals.count() > 50);
      long from = System.nanoTime();
      long to = from + TimeUnit.SECONDS.toNanos(seconds);
      List<CompletableFuture<?>> all = new ArrayList<>();
      Metronome pace = new Metronome(3_000);
      while (System.nanoTime() < to) {
        LockSupport.parkNanos(pace.waitNanos(System.nanoTime()));
        all.add(producer.sendAsync(new byte[Bench.BODY_BYTES]));
      }
      double silence = arrivals.longestSilence(from, to);
      source.close();
      Bench.failures(all);
      return silence;
    }
  }

  @SuppressWarnings("try") // it feeds until its time is over, and is closed again at the end
  private double silenceOfOurs(int seconds) throws IOException {
    String limited = bench.limited("apart", 1_000);
    String steady = bench.topic("steady");
    Arrivals arrivals = new Arrivals();
    try (Messaging messaging = bench.messaging();
        Consumer consumer = messaging.consumer(from(steady));
        Publisher publisher = messaging.publisher(Bench.to(limited));
        Bench.Steady source = new Bench.Steady(bench.client(), steady, STEADY)) {
      consumer.handle(
          delivery -> {
            arrivals.one();
            return Settlement.accept();
          });
      Bench.await(Duration.ofSeconds(20), () -> arrivals.count() > 50);
      long from = System.nanoTime();
      long to = from + TimeUnit.SECONDS.toNanos(seconds);
      Metronome pace = new Metronome(3_000);
      while (System.nanoTime() < to) {
        LockSupport.parkNanos(pace.waitNanos(System.nanoTime()));
        var unused = publisher.tryPublish(Message.of(new byte[Bench.BODY_BYTES]));
      }
      double silence = arrivals.longestSilence(from, to);
      source.close();
      return silence;
    }
  }

  private static ConsumerSettings from(String topic) {
    return ConsumerSettings.from(Address.topic(topic))
        .withGroup(GROUP)
        .withOpenTimeout(Duration.ofSeconds(30))
        .withNative(
            PulsarBroker.ConsumeSettings.defaults()
                .withInitialPosition(SubscriptionInitialPosition.Earliest));
  }

  // B3

  private void dispatched() throws IOException {
    int limit = 500;
    int seconds = bench.amount(10, 7);
    bench.doing("B3: a topic that may send 500 messages a second");
    double free = dispatched(limit, seconds, null);
    List<Event.ThrottlingSuspected> told =
        bench.told(Event.ThrottlingSuspected.class).stream()
            .filter(Event.ThrottlingSuspected::likely)
            .toList();
    check(
        "B3",
        "consuming from a topic that may send 500 messages a second",
        "gaps of 940 to 1007 ms",
        "the sawtooth of a second is told as likely throttling",
        String.format("silent for up to %.2f s; ", free)
            + (told.isEmpty() ? "nothing told" : told.get(0).what()),
        !told.isEmpty());
    QuotaPolicy policy =
        QuotaPolicy.none().withConsume(Scope.TOPIC, Quota.messagesPerSecond(limit));
    double paced = dispatched(limit, seconds, policy);
    bench.findings().figure("dispatch_limited_longest_silence_s", free);
    bench.findings().figure("dispatch_paced_longest_silence_s", paced);
    check(
        "B3-paced",
        "the same with a quota for consuming",
        String.format("without: silent for up to %.2f s", free),
        "handled evenly: silent for at most half of that",
        String.format("silent for up to %.2f s", paced),
        paced <= free / 2);
  }

  private double dispatched(
      int limit, int seconds, @org.jspecify.annotations.Nullable QuotaPolicy policy)
      throws IOException {
    String topic = bench.topic("dispatched");
    bench.pulsar().rest().createSubscriptionFromFirst(topic, GROUP);
    fill(topic, limit * (seconds + 4));
    bench.pulsar().rest().topicLimits(topic).setDispatchRate(Rate.ofMessages(limit));
    Arrivals arrivals = new Arrivals();
    try (Messaging messaging = bench.messaging();
        Consumer consumer = messaging.consumer(from(topic).withQuota(policy))) {
      consumer.handle(
          delivery -> {
            arrivals.one();
            return Settlement.accept();
          });
      Bench.await(Duration.ofSeconds(20), () -> arrivals.count() > limit);
      long from = System.nanoTime();
      Bench.pause(Duration.ofSeconds(seconds - 1L));
      return arrivals.longestSilence(from, System.nanoTime());
    }
  }

  private void fill(String topic, int messages) throws IOException {
    try (PulsarClient client = bench.client()) {
      bench.burst(client, topic, messages);
    }
  }

  // B4

  private void nested() throws IOException {
    int seconds = bench.amount(8, 4);
    bench.doing("B4: a quota of the cluster and one of each topic");
    QuotaPolicy policy =
        QuotaPolicy.none()
            .withPublish(Scope.CLUSTER, Quota.messagesPerSecond(1_000).withBytesPerSecond(1 << 20))
            .withPublish(Scope.TOPIC, Quota.messagesPerSecond(400));
    long busiestOfTopic = 0;
    long busiestOfAll = 0;
    long sum = 0;
    try (Messaging messaging = bench.messaging()) {
      List<Publisher> publishers = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        publishers.add(messaging.publisher(Bench.to(bench.topic("nested")).withQuota(policy)));
      }
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
      while (System.nanoTime() < end) {
        for (Publisher each : publishers) {
          while (each.status().queued() < 100) {
            var unused = each.publish(Message.of(new byte[Bench.BODY_BYTES]));
          }
        }
        for (ScopeStatus each : policy.status().scopes()) {
          if (each.scope() == Scope.CLUSTER) {
            busiestOfAll = Math.max(busiestOfAll, each.lastSecondCost());
          }
        }
        Bench.pause(Duration.ofMillis(5));
      }
      for (Publisher each : publishers) {
        busiestOfTopic = Math.max(busiestOfTopic, each.usage().messages().highest());
        sum += each.usage().messages().total();
      }
    }
    double perSecond = (double) sum / seconds;
    check(
        "B4",
        "three topics of 400 a second each in a cluster of 1,000; headroom 0.9",
        "two levels, messages and bytes",
        "no topic above 360 and not all together above 900 in a second; at least 0.9 of that used",
        String.format(
            "topic at most %d, all at most %d, %.0f a second",
            busiestOfTopic, busiestOfAll, perSecond),
        busiestOfTopic <= 360 && busiestOfAll <= 900 && perSecond >= 0.9 * 900);
  }

  // B5

  private void soft() {
    SoftQuota quota = new SoftQuota(5, 1_000, 750);
    int passed = quota.passed(100);
    check(
        "B5",
        "5 nodes, a limit of 1,000, 750 used; all are offered more at once",
        "150 + 250 = 400 each, 2,000 in one window",
        "the arithmetic of that: 400 and 2,000",
        String.format("%d each, %,d in one window", quota.threshold(), passed),
        quota.threshold() == 400 && passed == 2_000);
  }

  // B6

  private void delays() throws IOException {
    bench.doing("B6: delays that are none");
    String topic = bench.topic("delays");
    QuotaPolicy policy =
        QuotaPolicy.none()
            .withPublish(Scope.TOPIC, Quota.messagesPerSecond(1_000))
            .withDelayedPublish(Scope.TOPIC, Quota.messagesPerSecond(100));
    int each = 50;
    try (Messaging messaging = bench.messaging();
        Publisher publisher = messaging.publisher(Bench.to(topic).withQuota(policy))) {
      for (Duration delay : List.of(Duration.ZERO, Duration.ofSeconds(2))) {
        for (int i = 0; i < each; i++) {
          var unused =
              publisher.publish(Message.builder(new byte[Bench.BODY_BYTES]).delay(delay).build());
        }
      }
      publisher.drain(Duration.ofSeconds(30));
      long stripped = publisher.usage().delaysStripped();
      long delayed = passed(policy, Kind.DELAYED_PUBLISH);
      long plain = passed(policy, Kind.PUBLISH);
      check(
          "B6",
          "50 messages with a delay of 0, and 50 with one of 2 s",
          "a delay set at all counts against another quota, even 0",
          "50 sent without their delay, 50 counted as delayed",
          String.format(
              "%d stripped, %d counted as plain, %d as delayed", stripped, plain, delayed),
          stripped == each && plain == each && delayed == each);
    }
  }

  private static long passed(QuotaPolicy policy, Kind kind) {
    return policy.status().scopes().stream()
        .filter(scope -> scope.kind() == kind)
        .mapToLong(ScopeStatus::messages)
        .sum();
  }

  private void check(
      String id, String experiment, String reference, String expected, String here, boolean ok) {
    bench.checks().check(id, experiment, reference, expected, here, ok);
  }
}
