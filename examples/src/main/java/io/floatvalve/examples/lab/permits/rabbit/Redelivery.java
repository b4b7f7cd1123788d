package io.floatvalve.examples.lab.permits.rabbit;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.Delivery.Answer;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Cut;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/** What comes again after a loss, and what an answer from before it is worth: A8. */
final class Redelivery {
  private static final int MESSAGES = 40;
  private static final int IN_HAND = 10;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Bench bench;
  private final Table table =
      new Table("what", "messages", "in hand when it was cut", "stale", "redelivered", "left");

  Redelivery(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    RabbitAtHand rabbit = bench.rabbit();
    if (!rabbit.plain()) {
      bench.checks().note("A8", "a connection is cut", "TLS cannot be led through a proxy");
      return;
    }
    bench.doing("A8: a connection is cut with messages in hand");
    String queue = bench.filled("redelivery", MESSAGES, 100);
    BitSet accepted = new BitSet();
    BitSet unmarked = new BitSet();
    int stale = 0;
    int redelivered = 0;
    int twice = 0;
    try (FaultProxy proxy = FaultProxy.to(rabbit.host(), rabbit.port());
        Messaging messaging =
            RabbitAtHand.messaging(rabbit.uriAt(proxy.host(), proxy.port()), event -> {});
        PullConsumer consumer =
            messaging.pullConsumer(Bench.sdk(queue).withMaxUnsettled(IN_HAND))) {
      List<Delivery> hand = new ArrayList<>();
      while (hand.size() < IN_HAND) {
        hand.add(received(consumer).orElseThrow(() -> new IOException("nothing comes")));
      }
      proxy.cut(Cut.RESET);
      if (!Bench.await(PATIENCE, () -> consumer.status().reopened() > 0)) {
        throw new IOException("not connected again: " + consumer.status());
      }
      BitSet before = new BitSet();
      for (Delivery each : hand) {
        before.set(number(each));
        stale += each.accept() == Answer.STALE ? 1 : 0;
      }
      while (accepted.cardinality() < MESSAGES) {
        Optional<Delivery> next = received(consumer);
        if (next.isEmpty()) {
          break;
        }
        int number = number(next.get());
        redelivered += next.get().redelivered() ? 1 : 0;
        if (before.get(number) && !next.get().redelivered()) {
          unmarked.set(number);
        }
        twice += accepted.get(number) ? 1 : 0;
        accepted.set(number);
        next.get().accept();
      }
      consumer.drain(PATIENCE);
    }
    long left = bench.ready(queue);
    bench.drop(queue);
    table.row(
        "cut, then settled",
        (long) MESSAGES,
        (long) IN_HAND,
        (long) stale,
        (long) redelivered,
        left);
    bench.findings().figure("cut_stale_msgs", stale);
    bench.findings().figure("cut_redelivered_msgs", redelivered);
    bench
        .checks()
        .check(
            "A8",
            "a connection is cut with " + IN_HAND + " messages in hand, then they are accepted",
            "an old acknowledgement closes the channel, or acknowledges another message",
            "each answer is STALE; all messages come again, marked as redelivered; none twice, none"
                + " left",
            String.format(
                "%d stale, %d redelivered, %d unmarked, %d twice, %d of %d accepted, %d left",
                stale,
                redelivered,
                unmarked.cardinality(),
                twice,
                accepted.cardinality(),
                MESSAGES,
                left),
            stale == IN_HAND
                && unmarked.isEmpty()
                && twice == 0
                && accepted.cardinality() == MESSAGES
                && left == 0);
  }

  private static int number(Delivery delivery) {
    return Bench.number(delivery.message().payload());
  }

  private static Optional<Delivery> received(PullConsumer consumer) throws IOException {
    try {
      return consumer.receive(PATIENCE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
