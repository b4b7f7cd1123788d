package io.floatvalve.examples.lab.permits;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Cut;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;

/** What comes again, and why: A8 and A9. */
final class Redelivery {
  private static final int MESSAGES = 40;
  private static final Duration HANDLER = Duration.ofMillis(80);
  private static final int BATCH = 10;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Bench bench;
  private final Table table = new Table("what", "client", "messages", "handlings");

  Redelivery(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    bench.doing("A8: acknowledgement timeout, redelivery");
    ackTimeout();
    disconnect();
    bench.doing("A9: a batch of which all but one are acknowledged");
    batchIndex();
  }

  /** Which were handled, and how often in all. Thread-safe. */
  private static final class Handled {
    private final BitSet once = new BitSet(); // guarded by this
    private int handlings; // guarded by this

    synchronized void add(Message<?> message) {
      once.set(Bench.number(message));
      handlings++;
    }

    synchronized int distinct() {
      return once.cardinality();
    }

    synchronized int handlings() {
      return handlings;
    }

    @Override
    public synchronized String toString() {
      return once.cardinality() + " messages, " + handlings + " handlings";
    }
  }

  private static Work slowly(Handled handled) {
    return message -> {
      TimeUnit.NANOSECONDS.sleep(HANDLER.toNanos());
      handled.add(message);
    };
  }

  /** One batch that takes 3.2 seconds: the client tracks it as a whole from its first message. */
  private void ackTimeout() throws IOException {
    Handled plain = new Handled();
    String topic = bench.topic("ack-timeout");
    bench.fillBatched(topic, MESSAGES, 100, MESSAGES);
    try (Member member =
        new PlainMember(bench.plain(topic).ackTimeout(1, TimeUnit.SECONDS), 1, slowly(plain))) {
      settle(plain, member);
    }
    Handled ours = new Handled();
    topic = bench.topic("no-ack-timeout");
    bench.fillBatched(topic, MESSAGES, 100, MESSAGES);
    try (Member member =
        new SdkMember(bench.messaging(), Bench.sdk(topic).withWorkers(1), slowly(ours))) {
      settle(ours, member);
    }
    table.row("ack timeout of 1 s", "plain", plain.distinct(), plain.handlings());
    table.row("default: none", "Floatvalve", ours.distinct(), ours.handlings());
    bench
        .checks()
        .check(
            "A8-ack-timeout",
            "a batch of 40 that takes 3.2 s to handle",
            "plain, ack timeout of 1 s: " + plain,
            "each once by default",
            ours.toString(),
            ours.distinct() == MESSAGES && ours.handlings() == MESSAGES);
  }

  /** Waits until all are handled and what was handled no longer grows. */
  private static void settle(Handled handled, Member member) throws IOException {
    if (!Bench.await(PATIENCE, () -> handled.distinct() >= MESSAGES)) {
      throw new IOException(handled + ", " + member.held() + " held");
    }
    int before = -1;
    long deadline = System.nanoTime() + Duration.ofSeconds(12).toNanos();
    while (before != handled.handlings() && System.nanoTime() < deadline) {
      before = handled.handlings();
      Bench.pause(Duration.ofMillis(1_200));
    }
  }

  /** The connection is cut in the middle: what was unsettled comes again, nothing is lost. */
  private void disconnect() throws IOException {
    if (!bench.pulsar().isOwn()) {
      bench
          .checks()
          .note(
              "A8-disconnect",
              "the connection is cut in the middle",
              "only the clients of a private broker can be led through a proxy");
      return;
    }
    int messages = 3_000;
    String topic = bench.topic("disconnect");
    bench.fill(topic, messages, 100);
    Handled handled = new Handled();
    int cut;
    long dropped;
    try (FaultProxy proxy = bench.pulsar().proxy();
        Messaging messaging = bench.pulsar().messaging(proxy, event -> {});
        SdkMember member =
            new SdkMember(
                messaging,
                Bench.sdk(topic).withWorkers(4),
                message -> {
                  TimeUnit.MILLISECONDS.sleep(1);
                  handled.add(message);
                })) {
      boolean half = Bench.await(PATIENCE, () -> handled.distinct() >= messages / 2);
      cut = proxy.cut(Cut.RESET);
      if (!half || !Bench.await(PATIENCE, () -> handled.distinct() >= messages)) {
        throw new IOException(handled + " after " + cut + " connections were cut");
      }
      dropped = member.status().duplicates();
    }
    int again = handled.handlings() - handled.distinct();
    table.row("connection cut", "Floatvalve", handled.distinct(), handled.handlings());
    bench.findings().figure("disconnect_handled_again_msgs", again);
    bench
        .checks()
        .check(
            "A8-disconnect",
            "the connection is cut in the middle of " + messages,
            "redelivery on disconnect",
            "every message is handled; those again are what was not acknowledged yet",
            String.format("%s; %,d again, %,d dropped unhandled", handled, again, dropped),
            cut > 0 && handled.distinct() == messages && again < messages / 2);
  }

  /** All but one of a batch are acknowledged, then the consumer goes away. */
  private void batchIndex() throws IOException {
    int without = plainBatch(false);
    int with = plainBatch(true);
    String topic = bench.topic("batch-sdk");
    bench.fillBatched(topic, BATCH, 100, BATCH);
    List<Integer> again = new ArrayList<>();
    try {
      try (PullConsumer consumer = bench.messaging().pullConsumer(Bench.sdk(topic))) {
        for (int i = 0; i < BATCH; i++) {
          Optional<Delivery> next = consumer.receive(Duration.ofSeconds(30));
          Delivery delivery =
              next.orElseThrow(() -> new IOException("a batch of " + BATCH + " did not come"));
          if (Bench.number(delivery.unwrap(Message.class)) != BATCH / 2) {
            delivery.accept();
          }
        }
      }
      try (PullConsumer consumer = bench.messaging().pullConsumer(Bench.sdk(topic))) {
        Optional<Delivery> next = consumer.receive(Duration.ofSeconds(10));
        while (next.isPresent()) {
          again.add(Bench.number(next.get().unwrap(Message.class)));
          next.get().accept();
          next = consumer.receive(Duration.ofSeconds(2));
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
    String what = "1 of a batch of 10 unsettled";
    table.row(what, "plain, without batch indexes", BATCH, BATCH + without);
    table.row(what, "plain", BATCH, BATCH + with);
    table.row(what, "Floatvalve", BATCH, BATCH + again.size());
    bench
        .checks()
        .check(
            "A9",
            "a batch of 10, all but one acknowledged, then a new consumer",
            "plain: " + with + " come again, without batch indexes " + without,
            "that one comes again, and no other",
            again.size() + " come again: " + again,
            again.equals(List.of(BATCH / 2)));
  }

  private int plainBatch(boolean indexes) throws IOException {
    String topic = bench.topic("batch-plain");
    bench.fillBatched(topic, BATCH, 100, BATCH);
    try (Consumer<byte[]> consumer =
        bench.plain(topic).enableBatchIndexAcknowledgment(indexes).subscribe()) {
      for (int i = 0; i < BATCH; i++) {
        Message<byte[]> message = consumer.receive(30, TimeUnit.SECONDS);
        if (message == null) {
          throw new IOException("a batch of " + BATCH + " did not come");
        }
        if (Bench.number(message) != BATCH / 2) {
          consumer.acknowledge(message);
        }
      }
    }
    int again = 0;
    try (Consumer<byte[]> consumer =
        bench.plain(topic).enableBatchIndexAcknowledgment(indexes).subscribe()) {
      while (consumer.receive(again < BATCH ? 1_000 : 100, TimeUnit.MILLISECONDS) != null) {
        again++;
      }
    }
    return again;
  }
}
