package io.floatvalve.examples.lab.permits;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.PulsarFrame;
import io.floatvalve.testkit.PulsarTap;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.SubscriptionType;

/** What order is kept, and by which type of subscription: A7. */
final class Orders {
  private static final int KEYS = 20;
  private static final int WORKERS = 4;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Bench bench;
  private final Table table =
      new Table("consumers", "messages", "out of order", "a key in parallel", "keys at a time");

  Orders(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    bench.doing("A7: what order is kept");
    types();
    refusals();
    order();
  }

  private void types() throws IOException {
    if (!bench.pulsar().isOwn()) {
      bench
          .checks()
          .note(
              "A7-types",
              "ordering asked for, type of subscription on the wire",
              "only the clients of a private broker can be led through a tap");
      return;
    }
    Map<Ordering, String> seen = new EnumMap<>(Ordering.class);
    PulsarTap tap = new PulsarTap();
    try (FaultProxy proxy = bench.pulsar().proxy().tap(tap);
        Messaging messaging = bench.pulsar().messaging(proxy, event -> {})) {
      for (Ordering ordering : Ordering.values()) {
        String topic = bench.pulsar().topic("type-" + ordering);
        try (Consumer consumer =
            messaging.consumer(Bench.sdk(topic).withNative(null).withOrdering(ordering))) {
          for (PulsarFrame.Subscribe each : tap.frames(PulsarFrame.Subscribe.class)) {
            if (each.topic().endsWith(topic)) {
              seen.put(ordering, each.type());
            }
          }
          if (consumer.status().taken() != 0) {
            throw new IOException(topic + " is new and has messages");
          }
        }
      }
    }
    bench
        .checks()
        .check(
            "A7-types",
            "ordering asked for, type of subscription on the wire",
            "Shared has no order",
            "NONE Shared, BY_KEY Key_Shared, TOTAL Failover",
            seen.toString(),
            seen.equals(
                Map.of(
                    Ordering.NONE, "Shared",
                    Ordering.BY_KEY, "Key_Shared",
                    Ordering.TOTAL, "Failover")));
  }

  private void refusals() throws IOException {
    record Asked(Ordering ordering, SubscriptionType type) {}
    List<Asked> contradictions =
        List.of(
            new Asked(Ordering.BY_KEY, SubscriptionType.Shared),
            new Asked(Ordering.TOTAL, SubscriptionType.Shared),
            new Asked(Ordering.TOTAL, SubscriptionType.Key_Shared));
    List<String> refused = new ArrayList<>();
    List<String> taken = new ArrayList<>();
    for (Asked each : contradictions) {
      String topic = bench.pulsar().topic("refused-" + refused.size());
      var settings =
          Bench.sdk(topic)
              .withOrdering(each.ordering())
              .withNative(
                  PulsarBroker.ConsumeSettings.defaults().withSubscriptionType(each.type()));
      try (Consumer consumer = bench.messaging().consumer(settings)) {
        taken.add(each + " " + consumer.status().state());
      } catch (MessagingException e) {
        if (e.kind() == MessagingException.Kind.INVALID) {
          refused.add(each.ordering() + " over " + each.type());
        } else {
          taken.add(each + " " + e.kind());
        }
      }
    }
    bench
        .checks()
        .check(
            "A7-refused",
            "a type of subscription that does not keep the order asked for",
            "order under Shared is a classic mistake",
            "refused at opening: " + contradictions.size(),
            "refused: " + String.join(", ", refused) + (taken.isEmpty() ? "" : "; not: " + taken),
            refused.size() == contradictions.size());
  }

  /** Which messages began behind later ones of their key, or beside others of it. Thread-safe. */
  private static final class Watch {
    private final Map<String, Integer> latest = new HashMap<>(); // guarded by this
    private final Map<String, Integer> running = new HashMap<>(); // guarded by this
    private int count; // guarded by this
    private int outOfOrder; // guarded by this
    private int parallel; // guarded by this
    private int mostKeys; // guarded by this

    synchronized void begins(String key, int number) {
      Integer before = latest.put(key, number);
      if (before != null && before > number) {
        outOfOrder++;
      }
      if (running.merge(key, 1, Integer::sum) > 1) {
        parallel++;
      }
      mostKeys = Math.max(mostKeys, running.size());
    }

    synchronized void ends(String key) {
      running.computeIfPresent(key, (same, many) -> many == 1 ? null : many - 1);
      count++;
    }

    synchronized int count() {
      return count;
    }

    synchronized boolean held(int messages) {
      return count >= messages && outOfOrder == 0 && parallel == 0;
    }

    synchronized int mostKeys() {
      return mostKeys;
    }

    synchronized void row(Table table, String name) {
      table.row(name, count, outOfOrder, parallel, mostKeys);
    }

    @Override
    public synchronized String toString() {
      return String.format(
          "%,d handled, %,d out of order, %,d in parallel, %d keys at a time",
          count, outOfOrder, parallel, mostKeys);
    }
  }

  private static Work watching(Watch watch, boolean oneKey) {
    AtomicLong turn = new AtomicLong();
    return (Message<?> message) -> {
      String key = oneKey ? "" : String.valueOf(message.getKey());
      watch.begins(key, Bench.number(message));
      TimeUnit.MICROSECONDS.sleep(200 + 700 * (turn.incrementAndGet() % 3)); // uneven on purpose
      watch.ends(key);
    };
  }

  private void order() throws IOException {
    int messages = bench.amount(4_000, 1_500);
    Watch shared = new Watch();
    String topic = bench.topic("order-shared");
    bench.fillKeyed(topic, messages, KEYS);
    Work work = watching(shared, false);
    try (Member one = bench.open(Member.Side.PLAIN, topic, WORKERS, work);
        Member two = bench.open(Member.Side.PLAIN, topic, WORKERS, work)) {
      awaitAll(shared, messages, one, two);
    }
    shared.row(table, "plain, Shared, 2 with 4 threads each");

    Watch byKey = new Watch();
    topic = bench.pulsar().topic("order-key");
    Work keyed = watching(byKey, false);
    var settings = Bench.sdk(topic).withOrdering(Ordering.BY_KEY).withWorkers(WORKERS);
    try (Member one = new SdkMember(bench.messaging(), settings, keyed);
        Member two = new SdkMember(bench.messaging(), settings, keyed)) {
      bench.fillKeyed(topic, messages, KEYS);
      awaitAll(byKey, messages, one, two);
    }
    byKey.row(table, "Floatvalve, BY_KEY, 2 with 4 workers each");

    Watch total = new Watch();
    int fewer = messages / 3;
    topic = bench.pulsar().topic("order-total");
    Work single = watching(total, true);
    settings = Bench.sdk(topic).withOrdering(Ordering.TOTAL).withWorkers(WORKERS);
    try (Member one = new SdkMember(bench.messaging(), settings, single);
        Member two = new SdkMember(bench.messaging(), settings, single)) {
      bench.fillKeyed(topic, fewer, KEYS);
      awaitAll(total, fewer, one, two);
    }
    total.row(table, "Floatvalve, TOTAL, 2 with 4 workers each");
    bench
        .checks()
        .check(
            "A7-key",
            KEYS + " keys, two consumers with 4 workers each, uneven handlers",
            "plain, Shared: " + shared,
            "all handled, none out of order, no key in parallel, several keys at a time",
            byKey.toString(),
            byKey.held(messages) && byKey.mostKeys() > 1);
    bench
        .checks()
        .check(
            "A7-total",
            "the same with total order",
            "Exclusive and Failover keep order",
            "all handled one by one, none out of order",
            total.toString(),
            total.held(fewer));
  }

  private static void awaitAll(Watch watch, int messages, Member one, Member two)
      throws IOException {
    if (!Bench.await(PATIENCE, () -> watch.count() >= messages)) {
      throw new IOException(
          watch.count()
              + " of "
              + messages
              + " handled, held "
              + one.held()
              + " and "
              + two.held());
    }
  }
}
