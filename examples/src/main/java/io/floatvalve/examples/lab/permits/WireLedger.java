package io.floatvalve.examples.lab.permits;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.PulsarFrame;
import io.floatvalve.testkit.PulsarTap;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.pulsar.client.api.PulsarClient;

/** Permits on the wire: granted, used, and when. A1, A2, A3. */
final class WireLedger {
  private static final int WORKERS = 4;
  private static final Duration HANDLER = Duration.ofMillis(1);
  private static final Duration ONE_WAY = Duration.ofMillis(10);
  private static final int FEW = 8;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Bench bench;
  private final Table refills =
      new Table("client", "messages/s", "workers busy", "Flow frames", "permits each", "dry");
  private final Table stalls =
      new Table("client", "held while stuck", "sent then", "full rate after ms");

  WireLedger(Bench bench) {
    this.bench = bench;
  }

  /** Returns how permits were refilled, 20 ms away from the broker. */
  Table refills() {
    return refills;
  }

  /** Returns what happened while handlers were stuck. */
  Table stalls() {
    return stalls;
  }

  void run() throws IOException {
    if (!bench.pulsar().isOwn()) {
      String why = "only the clients of a private broker can be led through a tap";
      bench.checks().note("A1", "permits on the wire", why);
      bench.checks().note("A2", "no permits while handlers are stuck", why);
      bench.checks().note("A3", "refill before the queue is dry", why);
      return;
    }
    bench.doing("A1: permits on the wire");
    cap();
    bench.doing("A1, A3: refills, 20 ms away from the broker");
    refill();
    bench.doing("A2: handlers stuck for " + bench.amount(5, 3) + " s");
    stuck();
  }

  /** A consumer behind a tap, ours or the plain one. */
  private final class Tapped implements AutoCloseable {
    private final PulsarTap tap = new PulsarTap();
    private final FaultProxy proxy;
    private final AutoCloseable client;
    private final Member member;

    /**
     * @param queue the receive queue of a plain consumer, or 0 for ours
     */
    Tapped(String topic, int queue, Duration oneWay, int workers, Work work) throws IOException {
      proxy = bench.pulsar().proxy().tap(tap);
      proxy.delay(Direction.TO_BROKER, oneWay).delay(Direction.FROM_BROKER, oneWay);
      if (queue == 0) {
        Messaging messaging = bench.pulsar().messaging(proxy, event -> {});
        client = messaging;
        member = new SdkMember(messaging, Bench.sdk(topic).withWorkers(workers), work);
      } else {
        PulsarClient plain = bench.pulsar().client(proxy);
        client = plain::shutdown;
        member = new PlainMember(Bench.plain(plain, topic).receiverQueueSize(queue), workers, work);
      }
    }

    @Override
    public void close() throws IOException {
      try (proxy) {
        member.close();
        client.close();
      } catch (IOException | RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IOException("a client behind the proxy was not closed", e);
      }
    }
  }

  /** One grant of 5,000 permits is taken as it is, and used up. */
  private void cap() throws IOException {
    int permits = 5_000;
    String topic = bench.topic("cap");
    bench.fill(topic, permits + 500, 100);
    CountDownLatch never = new CountDownLatch(1);
    try (Tapped plain = new Tapped(topic, permits, Duration.ZERO, 1, message -> never.await())) {
      boolean all = Bench.await(PATIENCE, () -> plain.tap.messagesSent() >= permits);
      Bench.pause(Duration.ofMillis(300));
      List<PulsarFrame.Flow> flows = plain.tap.frames(PulsarFrame.Flow.class);
      long sent = plain.tap.messagesSent();
      bench
          .checks()
          .check(
              "A1-cap",
              "one grant of 5,000 permits, 5,500 waiting, nothing taken twice",
              "wrong there: a cap at the broker",
              "all 5,000 sent for it and not one more",
              flows.size() + " Flow of " + flows.get(0).permits() + ", " + sent + " sent",
              all && flows.get(0).permits() == permits && sent == plain.tap.permitsGranted());
    }
  }

  private record Run(
      double rate,
      double busy,
      int flows,
      double each,
      int dry,
      long mostAhead,
      String ledger,
      boolean balanced) {}

  private void refill() throws IOException {
    int messages = bench.amount(12_000, 6_000);
    Run small = refill("plain, queue of 10", messages / 6, 10);
    Run plain = refill("plain, queue of 1000", messages, 1_000);
    Run sdk = refill("Floatvalve", messages, 0);
    bench.findings().figure("rtt20_small_queue_msgs_per_s", small.rate());
    bench.findings().figure("rtt20_plain_msgs_per_s", plain.rate());
    bench.findings().figure("rtt20_sdk_msgs_per_s", sdk.rate());
    bench
        .checks()
        .check(
            "A1",
            "permits granted, used and left over, on the wire and in the consumer's own ledger",
            "granted adds up, counts messages",
            "granted - sent = what the consumer says is outstanding; sent = taken",
            sdk.ledger(),
            sdk.balanced());
    bench
        .checks()
        .check(
            "A3",
            "refills 20 ms away, 4 workers at 1 ms",
            String.format(
                "plain: queue of 10 %,.0f/s, of 1000 %,.0f/s", small.rate(), plain.rate()),
            "after the start no refill comes when all permits are used up; at least 0.9 of the"
                + " plain client's rate with a queue of 1000",
            String.format(
                "%,.0f/s, %d of %d refills too late, at most %,d ahead",
                sdk.rate(), sdk.dry(), sdk.flows(), sdk.mostAhead()),
            sdk.flows() > 0 && sdk.dry() == 0 && sdk.rate() >= 0.9 * plain.rate());
  }

  private Run refill(String name, int messages, int queue) throws IOException {
    String topic = bench.topic("refill");
    bench.fill(topic, messages, 100);
    Timeline timeline = new Timeline(messages);
    Work work =
        message -> {
          long began = System.nanoTime();
          timeline.began(began);
          TimeUnit.NANOSECONDS.sleep(HANDLER.toNanos());
          timeline.worked(System.nanoTime() - began);
        };
    try (Tapped tapped = new Tapped(topic, queue, ONE_WAY, WORKERS, work)) {
      if (!Bench.await(PATIENCE, () -> timeline.count() >= messages / 2)) {
        throw new IOException(name + ": " + timeline.count() + " of " + messages + " begun");
      }
      long from = System.nanoTime();
      int countFrom = timeline.count();
      long busyFrom = timeline.busyNanos();
      if (!Bench.await(PATIENCE, () -> timeline.count() >= messages * 9 / 10)) {
        throw new IOException(name + ": " + timeline.count() + " of " + messages + " begun");
      }
      long to = System.nanoTime();
      double busy = (timeline.busyNanos() - busyFrom) / (double) (WORKERS * (to - from));
      double rate = (timeline.count() - countFrom) * 1e9 / (to - from);
      boolean balanced = Bench.await(Duration.ofSeconds(15), () -> isBalanced(tapped, messages));
      Run run = read(tapped, timeline, from, to, rate, busy, balanced);
      refills.row(
          name,
          rate,
          String.format("%.0f %%", 100 * busy),
          run.flows(),
          run.each(),
          (long) run.dry());
      return run;
    }
  }

  private static boolean isBalanced(Tapped tapped, int messages) {
    if (!(tapped.member instanceof SdkMember sdk)) {
      return true;
    }
    ConsumerStatus status = sdk.status();
    return tapped.tap.messagesSent() == messages
        && status.taken() == messages
        && tapped.tap.permitsGranted() - messages == status.outstanding();
  }

  private static Run read(
      Tapped tapped,
      Timeline timeline,
      long from,
      long to,
      double rate,
      double busy,
      boolean balanced) {
    long granted = 0;
    long mostAhead = 0;
    int flows = 0;
    long permits = 0;
    int dry = 0;
    for (PulsarFrame.Flow flow : tapped.tap.frames(PulsarFrame.Flow.class)) {
      long at = flow.seen().nanos();
      long ahead = granted - timeline.by(at);
      if (at >= from && at <= to) {
        flows++;
        permits += flow.permits();
        dry += ahead <= 0 ? 1 : 0;
        mostAhead = Math.max(mostAhead, ahead + flow.permits());
      }
      granted += flow.permits();
    }
    String ledger = String.format("%,d granted, %,d sent", granted, tapped.tap.messagesSent());
    if (tapped.member instanceof SdkMember sdk) {
      ConsumerStatus status = sdk.status();
      ledger += String.format("; %,d outstanding, %,d taken", status.outstanding(), status.taken());
    }
    double each = flows == 0 ? 0 : (double) permits / flows;
    return new Run(rate, busy, flows, each, dry, mostAhead, ledger, balanced);
  }

  /** What happens on the wire while handlers are stuck, and after. */
  private record Stall(int held, long sent, long granted, double fullAfterMillis) {}

  private void stuck() throws IOException {
    Stall plain = stuck("plain, queue of 1000", 1_000);
    Stall sdk = stuck("Floatvalve", 0);
    bench.findings().figure("stuck_sdk_held_msgs", sdk.held());
    bench.findings().figure("stuck_sdk_full_rate_after_ms", sdk.fullAfterMillis());
    bench.findings().figure("stuck_plain_held_msgs", plain.held());
    bench
        .checks()
        .check(
            "A2",
            "all handlers stuck, from half a second on",
            String.format("plain: %,d held, %,d sent", plain.held(), plain.sent()),
            "the broker sends at most 8 messages more, and at most 8 wait here",
            String.format(
                "%,d held at the end, %,d sent, %,d permits granted",
                sdk.held(), sdk.sent(), sdk.granted()),
            sdk.sent() <= FEW && sdk.granted() <= FEW && sdk.held() <= WORKERS + FEW);
    bench
        .checks()
        .check(
            "A2-resume",
            "handlers go on after " + bench.amount(5, 3) + " s",
            String.format("plain: after %.0f ms", plain.fullAfterMillis()),
            "full rate within 100 ms",
            String.format("after %.0f ms", sdk.fullAfterMillis()),
            sdk.fullAfterMillis() <= 100);
  }

  private Stall stuck(String name, int queue) throws IOException {
    int messages = 12_000;
    String topic = bench.topic("stuck");
    bench.fill(topic, messages, 100);
    Timeline timeline = new Timeline(messages);
    AtomicBoolean stuck = new AtomicBoolean();
    CountDownLatch freed = new CountDownLatch(1);
    Work work =
        message -> {
          if (stuck.get()) {
            freed.await();
          }
          timeline.began(System.nanoTime());
          TimeUnit.NANOSECONDS.sleep(HANDLER.toNanos());
        };
    try (Tapped tapped = new Tapped(topic, queue, Duration.ZERO, WORKERS, work)) {
      boolean begun = Bench.await(PATIENCE, () -> timeline.count() >= 2_000);
      long rateFrom = System.nanoTime();
      int countFrom = timeline.count();
      begun &= Bench.await(PATIENCE, () -> timeline.count() >= 4_000);
      if (!begun) {
        throw new IOException(name + ": " + timeline.count() + " of " + messages + " begun");
      }
      double perNano = (timeline.count() - countFrom) / (double) (System.nanoTime() - rateFrom);
      stuck.set(true);
      long since = System.nanoTime();
      Bench.pause(Duration.ofSeconds(bench.amount(5, 3)));
      int held = tapped.member.held();
      long until = System.nanoTime();
      stuck.set(false);
      freed.countDown();
      boolean on = Bench.await(PATIENCE, () -> timeline.count() >= 7_000);
      long quiet = since + TimeUnit.MILLISECONDS.toNanos(500);
      long sent = 0;
      long granted = 0;
      for (PulsarFrame frame : tapped.tap.frames()) {
        long at = frame.seen().nanos();
        if (at < quiet || at > until) {
          continue;
        }
        if (frame instanceof PulsarFrame.Message message) {
          sent += message.messages();
        } else if (frame instanceof PulsarFrame.Flow flow) {
          granted += flow.permits();
        }
      }
      double full = on ? fullRateAfter(timeline, until, perNano) : Double.POSITIVE_INFINITY;
      Stall stall = new Stall(held, sent, granted, full);
      stalls.row(name, (long) held, sent, full);
      return stall;
    }
  }

  /** Milliseconds from then until 50 ms begin in which nine tenths of the rate are reached. */
  private static double fullRateAfter(Timeline timeline, long then, double perNano) {
    long span = TimeUnit.MILLISECONDS.toNanos(50);
    long step = TimeUnit.MILLISECONDS.toNanos(5);
    for (long at = then; at < then + TimeUnit.SECONDS.toNanos(20); at += step) {
      if (timeline.by(at + span) - timeline.by(at) >= 0.9 * perNano * span) {
        return (at - then) / 1e6;
      }
    }
    return Double.POSITIVE_INFINITY;
  }
}
