package io.floatvalve.examples.lab;

import io.floatvalve.Messaging;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.WireTap;
import io.floatvalve.testkit.WireTap.Event;
import io.floatvalve.testkit.WireTap.Kind;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** What confirms look like on the wire: C1, C2, C5, C6, C7. */
final class WireChecks {
  private static final int BODY_BYTES = 100;
  private static final int EACH = 10;
  private static final int MANY = 5_000;
  private static final int WINDOW = 1_000;

  private final Lab lab;

  WireChecks(Lab lab) {
    this.lab = lab;
  }

  void run() throws IOException {
    lab.doing("C1, C2, C5, C6, C7: frames on the wire");
    waitedFor();
    windowed();
    unbound(false);
    unbound(true);
    full();
  }

  /** A publisher behind a tap. */
  private static final class Tapped implements AutoCloseable {
    private final FaultProxy proxy;
    private final WireTap tap;
    private final Messaging messaging;
    private final Publisher publisher;

    Tapped(Lab lab, PublisherSettings settings) throws IOException {
      proxy = FaultProxy.to(lab.rabbit().host(), lab.rabbit().port());
      tap = WireTap.on(proxy);
      messaging =
          RabbitAtHand.messaging(lab.rabbit().uriAt(proxy.host(), proxy.port()), event -> {});
      publisher = messaging.publisher(settings);
    }

    List<Event> answers() {
      return tap.events(
          e -> e.direction() == Direction.FROM_BROKER && (e.is("basic.ack") || e.is("basic.nack")));
    }

    @Override
    public void close() {
      messaging.close();
      proxy.close();
    }
  }

  private void waitedFor() throws IOException {
    String queue = lab.queues().classic("c1");
    try (Tapped on = new Tapped(lab, PublisherSettings.to(Address.queue(queue)))) {
      for (int i = 0; i < EACH; i++) {
        var unused = on.publisher.publish(Message.of(new byte[BODY_BYTES])).join();
      }
      List<Long> tags = new ArrayList<>();
      long multiple = 0;
      for (Event ack : on.answers()) {
        tags.add(ack.deliveryTag().orElse(-1));
        multiple += ack.multiple() ? 1 : 0;
      }
      int selects = on.tap.methods("confirm.select").size();
      List<Long> expected = new ArrayList<>();
      for (long tag = 1; tag <= EACH; tag++) {
        expected.add(tag);
      }
      lab.check(
          "C1",
          EACH + " publishes, each waited for",
          "Ack tag 1..10, multiple=false",
          "one confirm.select, ack tags 1 to " + EACH + ", none multiple",
          selects + " confirm.select, ack tags " + range(tags) + ", " + multiple + " multiple",
          selects == 1 && tags.equals(expected) && multiple == 0);
    }
  }

  private static String range(List<Long> tags) {
    for (int i = 0; i < tags.size(); i++) {
      if (tags.get(i) != i + 1) {
        return tags.toString();
      }
    }
    return tags.isEmpty() ? "none" : "1.." + tags.size();
  }

  private void windowed() throws IOException {
    String queue = lab.queues().classic("c2");
    var settings = PublisherSettings.to(Address.queue(queue)).withMaxInFlight(WINDOW);
    try (Tapped on = new Tapped(lab, settings)) {
      long began = System.nanoTime();
      for (int i = 0; i < MANY; i++) {
        var unused = on.publisher.publish(Message.of(new byte[BODY_BYTES]));
      }
      Lab.drain(on.publisher);
      double millis = (System.nanoTime() - began) / 1e6;
      Covered covered = Covered.by(on.answers());
      long confirmed = Lab.confirmed(on.publisher);
      lab.check(
          "C2",
          MANY + " async, window " + WINDOW,
          "619 Acks, 603 multiple; per Ack min 1, median 7, max 73; 164 ms",
          MANY + " confirmed, the acks cover each tag once, some of them multiple",
          String.format(
              "%d Acks, %d multiple; per Ack min %d, median %d, max %d; %.0f ms; %d covered,"
                  + " %d confirmed",
              covered.acks(),
              covered.multiple(),
              covered.min(),
              covered.median(),
              covered.max(),
              millis,
              covered.total(),
              confirmed),
          confirmed == MANY && covered.total() == MANY && covered.multiple() > 0);
      lab.findings().figure("c2_acks", covered.acks());
      lab.findings().figure("c2_acks_multiple", covered.multiple());
      lab.findings().figure("c2_run_ms", millis);
    }
  }

  /**
   * How many messages acks covered.
   *
   * @param acks frames
   * @param multiple how many of them were multiple
   * @param total messages covered
   * @param min messages by one ack
   */
  record Covered(int acks, int multiple, long total, long min, long median, long max) {
    /** Counts, for each ack, the open tags that it settles; tags are given out from 1 on. */
    static Covered by(List<Event> answers) {
      long[] perAck = new long[answers.size()];
      int multiple = 0;
      java.util.TreeSet<Long> settledAhead = new java.util.TreeSet<>();
      long settledUpTo = 0;
      int n = 0;
      for (Event ack : answers) {
        long tag = ack.deliveryTag().orElse(0);
        long covered = 0;
        if (ack.multiple()) {
          multiple++;
          if (tag > settledUpTo) {
            covered = tag - settledUpTo - settledAhead.headSet(tag, true).size();
            settledUpTo = tag;
            settledAhead.headSet(tag, true).clear();
          }
        } else if (tag > settledUpTo && settledAhead.add(tag)) {
          covered = 1;
        }
        while (!settledAhead.isEmpty() && settledAhead.first() == settledUpTo + 1) {
          settledAhead.pollFirst();
          settledUpTo++;
        }
        perAck[n++] = covered;
      }
      long total = Arrays.stream(perAck).sum();
      Arrays.sort(perAck);
      return n == 0
          ? new Covered(0, 0, 0, 0, 0, 0)
          : new Covered(n, multiple, total, perAck[0], perAck[n / 2], perAck[n - 1]);
    }
  }

  private void unbound(boolean mandatory) throws IOException {
    String exchange = lab.queues().unboundExchange(mandatory ? "c6" : "c5");
    var settings = PublisherSettings.to(Address.exchange(exchange, "nowhere"));
    try (Tapped on = new Tapped(lab, settings)) {
      on.tap.clear();
      PublishOutcome outcome =
          on.publisher
              .publish(Message.builder(new byte[BODY_BYTES]).mandatory(mandatory).build())
              .join();
      List<String> frames = frames(on.tap);
      if (mandatory) {
        int code = outcome instanceof PublishOutcome.Returned returned ? returned.replyCode() : 0;
        lab.check(
            "C6",
            "exchange without binding, mandatory on",
            "Publish -> Return, header, body -> Ack",
            "frames publish, return, header, body, ack; outcome RETURNED 312",
            String.join(", ", frames) + "; " + outcome.verdict() + " " + code,
            frames.equals(List.of("publish", "return", "header", "body", "ack"))
                && outcome.verdict() == Verdict.RETURNED
                && code == 312);
      } else {
        lab.check(
            "C5",
            "exchange without binding, mandatory off",
            "Publish -> Ack",
            "frames publish, ack; outcome CONFIRMED",
            String.join(", ", frames) + "; " + outcome.verdict(),
            frames.equals(List.of("publish", "ack")) && outcome.verdict() == Verdict.CONFIRMED);
      }
    }
  }

  /** The publish as the client sent it, and all that the broker sent, in short. */
  private static List<String> frames(WireTap tap) {
    List<String> names = new ArrayList<>();
    for (Event event : tap.events()) {
      if (event.is("basic.publish")) {
        names.add("publish");
      } else if (event.direction() == Direction.FROM_BROKER) {
        if (event.kind() == Kind.METHOD) {
          names.add(event.method().replace("basic.", ""));
        } else if (event.kind() == Kind.HEADER) {
          names.add("header");
        } else if (event.kind() == Kind.BODY) {
          names.add("body");
        }
      }
    }
    return names;
  }

  private void full() throws IOException {
    int keeps = 3;
    int publishes = 5;
    String queue =
        lab.queues().classic("c7", Map.of("x-max-length", keeps, "x-overflow", "reject-publish"));
    try (Tapped on = new Tapped(lab, PublisherSettings.to(Address.queue(queue)))) {
      List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
      for (int i = 0; i < publishes; i++) {
        futures.add(on.publisher.publish(Message.of(new byte[BODY_BYTES])));
      }
      int confirmed = 0;
      int nacked = 0;
      for (CompletableFuture<PublishOutcome> future : futures) {
        Verdict verdict = future.join().verdict();
        confirmed += verdict == Verdict.CONFIRMED ? 1 : 0;
        nacked += verdict == Verdict.NACKED ? 1 : 0;
      }
      lab.queues().awaitStored(queue, keeps, Duration.ofSeconds(10));
      long stored = lab.queues().count(queue);
      List<String> nacks = new ArrayList<>();
      for (Event answer : on.answers()) {
        if (answer.is("basic.nack")) {
          nacks.add(
              answer.deliveryTag().orElse(-1)
                  + (answer.multiple() ? " multiple" : "")
                  + (answer.requeue() ? " requeue" : ""));
        }
      }
      lab.check(
          "C7",
          "x-max-length=3, reject-publish, 5 publishes",
          "ack x3, nack x2 (multiple, requeue bits set), 3 in queue",
          "3 CONFIRMED, 2 NACKED, 3 in the queue",
          confirmed
              + " CONFIRMED, "
              + nacked
              + " NACKED, "
              + stored
              + " in the queue; nack frames: "
              + nacks,
          confirmed == keeps && nacked == publishes - keeps && stored == keeps);
    }
  }
}
