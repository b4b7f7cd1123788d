package io.floatvalve.examples.tour;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Latencies;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.rabbit.RabbitBroker;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/**
 * The second half of the way: what lies in queues goes on to a topic, each message accepted from
 * its queue when the topic has it, and is handled there.
 */
final class Onward {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int AHEAD = 256;

  private final RabbitAtHand rabbit;
  private final PulsarAtHand pulsar;
  private final Console console;
  private final String topic;
  private final Map<String, Verdict> forwarded = new ConcurrentHashMap<>();
  private final Map<String, AtomicInteger> handlings = new ConcurrentHashMap<>();

  Onward(Brokers brokers, Console console) {
    this.rabbit = brokers.rabbit();
    this.pulsar = brokers.pulsar();
    this.console = console;
    this.topic = pulsar.topic("tour");
  }

  /**
   * What became of the messages that lay in the queues, by their ids.
   *
   * @param forwarded the outcome of publishing each to the topic
   * @param handlings how often each was handled there
   * @param leftInQueues how many the queues still hold
   * @param unsettled how many the consumers did not settle
   * @param sent latencies of publishing to the topic
   * @param handled latencies of consuming from it
   */
  record Went(
      Map<String, Verdict> forwarded,
      Map<String, Integer> handlings,
      long leftInQueues,
      long unsettled,
      LatencySnapshot sent,
      LatencySnapshot handled) {
    Set<String> taken() {
      return forwarded.keySet();
    }

    private long count(Verdict verdict) {
      return forwarded.values().stream().filter(verdict::equals).count();
    }

    private long again() {
      return handlings.values().stream().mapToInt(n -> n - 1).sum();
    }

    void show(Console console, Findings findings) {
      long confirmed = count(Verdict.CONFIRMED);
      long lost =
          forwarded.entrySet().stream()
              .filter(each -> each.getValue() == Verdict.CONFIRMED)
              .filter(each -> !handlings.containsKey(each.getKey()))
              .count();
      Table table = new Table("from the queues to the topic", "lines");
      table.row("taken from the queues", forwarded.size());
      table.row("confirmed by Pulsar", confirmed);
      table.row("handled there", handlings.size());
      table.row("handled again", again());
      table.row("left in the queues", leftInQueues);
      console.say(table);
      console.say("");
      console.say(Latencies.table(sent));
      console.say("");
      console.say(Latencies.table(handled));
      console.say("");
      findings.figure("lines_taken", forwarded.size());
      findings.figure("lines_forwarded", confirmed);
      findings.figure("lines_handled", handlings.size());
      findings.figure("lines_handled_again", again());
      findings.check(
          "forwarded",
          "every line in the queues is taken and confirmed by Pulsar",
          confirmed + " of " + forwarded.size() + ", " + leftInQueues + " left in the queues",
          confirmed == forwarded.size() && leftInQueues == 0);
      findings.check(
          "handled",
          "every line that Pulsar confirmed is handled, none unsettled",
          lost + " are not, " + unsettled + " unsettled",
          lost == 0 && unsettled == 0);
    }
  }

  /** Has all messages of these queues go on, and waits until all are handled. */
  Went run(Queues queues, List<String> names) throws IOException {
    String dead = queues.classic("dead");
    try (Messaging source = rabbit.messaging(this::tell);
        Messaging target = pulsar.messaging(this::tell);
        Consumer consumer = target.consumer(from(topic));
        Publisher publisher =
            target.publisher(
                PublisherSettings.to(Address.topic(topic))
                    .withOpenTimeout(LIMIT)
                    .withMaxWait(Duration.ofMinutes(1)))) {
      consumer.handle(
          delivery -> {
            handlings
                .computeIfAbsent(id(delivery.message()), id -> new AtomicInteger())
                .incrementAndGet();
            return Settlement.accept();
          });
      long unsettled = 0;
      for (String queue : names) {
        long waiting = queues.count(queue);
        try (Consumer taker = source.consumer(from(queue, dead))) {
          taker.handleAsync(delivery -> forward(publisher, delivery.message()));
          if (!await(() -> taker.status().accepted() + taker.status().rejected() >= waiting)) {
            console.warn("not all of " + waiting + " lines in " + queue + " went on in time");
          }
          unsettled += taker.drain(LIMIT);
        }
      }
      boolean unused = await(this::handledAll);
      unsettled += consumer.drain(LIMIT);
      long left = queues.count(dead);
      for (String queue : names) {
        left += queues.count(queue);
      }
      Map<String, Integer> counts = new ConcurrentHashMap<>();
      handlings.forEach((id, count) -> counts.put(id, count.get()));
      return new Went(
          Map.copyOf(forwarded), counts, left, unsettled, publisher.latency(), consumer.latency());
    }
  }

  private void tell(Event event) {
    console.progress("  " + event.who() + ": " + event.what());
  }

  /** What cannot go on is tried again here, and then kept in a queue for that. */
  private static ConsumerSettings from(String queue, String dead) {
    return ConsumerSettings.from(Address.queue(queue))
        .withWorkers(AHEAD)
        .withDeadLetter(Address.queue(dead))
        .withOpenTimeout(LIMIT)
        .withNative(RabbitBroker.ConsumeSettings.defaults().withRetryQueues(false));
  }

  private static ConsumerSettings from(String topic) {
    return ConsumerSettings.from(Address.topic(topic))
        .withGroup("tour")
        .withOpenTimeout(LIMIT)
        .withNative(
            PulsarBroker.ConsumeSettings.defaults()
                .withReceipts(true)
                .withInitialPosition(SubscriptionInitialPosition.Earliest));
  }

  private static String id(Message message) {
    return String.valueOf(message.messageId());
  }

  /** Publishes a message again, to the topic; its queue forgets it when it is there. */
  private CompletableFuture<Settlement> forward(Publisher publisher, Message message) {
    return publisher.publish(message).thenApply(outcome -> note(id(message), outcome));
  }

  private Settlement note(String id, PublishOutcome outcome) {
    forwarded.put(id, outcome.verdict());
    return outcome.verdict() == Verdict.CONFIRMED
        ? Settlement.accept()
        : Settlement.failed("Pulsar: " + outcome.verdict());
  }

  private static boolean await(BooleanSupplier end) {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (!end.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      LockSupport.parkNanos(10_000_000);
    }
    return true;
  }

  private boolean handledAll() {
    return forwarded.entrySet().stream()
        .filter(each -> each.getValue() == Verdict.CONFIRMED)
        .allMatch(each -> handlings.containsKey(each.getKey()));
  }
}
