package io.floatvalve.examples.lab.permits.rabbit;

import com.rabbitmq.client.Connection;
import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.WireTap;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Prefetch and acknowledgements as the broker sees them: A1, A2 and A3. */
final class Wire {
  private static final int WORKERS = 4;
  private static final int FEW = 8;
  private static final Duration HANDLER = Duration.ofMillis(1);
  private static final Duration ONE_WAY = Duration.ofMillis(10);
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int MOST_EVENTS = 400_000;

  private final Bench bench;
  private final Table refills =
      new Table("consumer", "messages/s", "acks", "messages an ack", "most unacked");
  private final Table stalls =
      new Table("consumer", "held while stuck", "sent then", "full rate after ms");

  Wire(Bench bench) {
    this.bench = bench;
  }

  /** Returns how messages were acknowledged, 20 ms away from the broker. */
  Table refills() {
    return refills;
  }

  /** Returns what happened while handlers were stuck. */
  Table stalls() {
    return stalls;
  }

  void run() throws IOException {
    if (!bench.rabbit().plain()) {
      String why = "TLS cannot be watched";
      bench.checks().note("A1", "prefetch and acknowledgements on the wire", why);
      bench.checks().note("A2", "nothing is sent while handlers are stuck", why);
      bench.checks().note("A3", "refill before the queue is dry", why);
      return;
    }
    bench.doing("A1, A3: 4 workers at 1 ms, 20 ms away from the broker");
    refill();
    bench.doing("A2: handlers stuck for " + bench.amount(5, 3) + " s");
    stuck();
  }

  /** A consumer behind a tap, ours or the plain one. */
  private final class Tapped implements AutoCloseable {
    private final FaultProxy proxy;
    private final WireTap tap;
    private final AutoCloseable client;
    private final Member member;

    Tapped(int prefetch, String queue, Duration oneWay, Work work) throws IOException {
      RabbitAtHand rabbit = bench.rabbit();
      proxy = FaultProxy.to(rabbit.host(), rabbit.port());
      proxy.delay(Direction.TO_BROKER, oneWay).delay(Direction.FROM_BROKER, oneWay);
      tap = WireTap.on(proxy, MOST_EVENTS);
      String uri = rabbit.uriAt(proxy.host(), proxy.port());
      if (prefetch == Bench.ADAPTIVE) {
        Messaging messaging = RabbitAtHand.messaging(uri, event -> {});
        client = messaging;
        member = new SdkMember(messaging, Bench.sdk(queue).withWorkers(WORKERS), work);
      } else {
        Connection connection = RabbitAtHand.connectionAt(URI.create(uri));
        client = connection::abort;
        member = new PlainMember(connection, queue, prefetch, WORKERS, work);
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

  // ----------------------------------------------------------------------- A1, A3

  private record Run(double rate, Seen seen, String status, boolean adds) {}

  private void refill() throws IOException {
    int messages = bench.amount(12_000, 4_000);
    Run ten = refill(10, messages / 4);
    Run thousand = refill(1_000, messages);
    Run ours = refill(Bench.ADAPTIVE, messages);
    for (Map.Entry<Integer, Run> each :
        Map.of(10, ten, 1_000, thousand, Bench.ADAPTIVE, ours).entrySet()) {
      bench
          .findings()
          .figure("rtt20_" + Bench.figure(each.getKey()) + "_msgs_per_s", each.getValue().rate());
    }
    bench
        .checks()
        .check(
            "A1",
            "messages sent, acknowledged and unacknowledged, on the wire and in the consumer's"
                + " ledger",
            "a prefetch counts messages, and adds up over consumers of a channel",
            "never more unacknowledged for a consumer than its prefetch; sent = taken = acknowledged",
            ours.seen() + "; " + ours.status(),
            ours.adds() && ours.seen().aboveAnyPrefetch() == 0);
    bench
        .checks()
        .check(
            "A3",
            "4 workers at 1 ms, 20 ms away from the broker",
            String.format("plain: prefetch 10 %,.0f/s, 1000 %,.0f/s", ten.rate(), thousand.rate()),
            "at least 0.9 of the plain client's rate with a prefetch of 1000",
            String.format("%,.0f/s", ours.rate()),
            ours.rate() >= 0.9 * thousand.rate());
  }

  private Run refill(int prefetch, int messages) throws IOException {
    String queue = bench.filled("refill", messages, 100);
    Timeline timeline = new Timeline(messages);
    Work work =
        number -> {
          timeline.began(System.nanoTime());
          TimeUnit.NANOSECONDS.sleep(HANDLER.toNanos());
        };
    try (Tapped tapped = new Tapped(prefetch, queue, ONE_WAY, work)) {
      int from = messages / 2;
      int to = messages * 9 / 10;
      if (!Bench.await(PATIENCE, () -> timeline.count() >= messages)) {
        throw new IOException(
            Bench.name(prefetch) + ": " + timeline.count() + " of " + messages + " begun");
      }
      double rate = (to - from) * 1e9 / (timeline.at(to) - timeline.at(from));
      boolean adds = Bench.await(Duration.ofSeconds(15), () -> seen(tapped).acked() == messages);
      Seen seen = seen(tapped);
      String status = "";
      if (tapped.member instanceof SdkMember sdk) {
        ConsumerStatus now = sdk.status();
        status = String.format("%,d taken, %,d accepted", now.taken(), now.accepted());
        adds &= seen.sent() == messages && now.taken() == messages && now.accepted() == messages;
      }
      refills.row(
          Bench.name(prefetch),
          rate,
          (long) seen.acks(),
          (double) seen.acked() / Math.max(1, seen.acks()),
          (long) seen.mostUnacked());
      return new Run(rate, seen, status, adds);
    } finally {
      bench.drop(queue);
    }
  }

  /** What went over the wire. */
  private record Seen(int sent, int acks, int acked, int mostUnacked, int aboveAnyPrefetch) {
    @Override
    public String toString() {
      return String.format(
          "%,d sent, %,d acknowledged by %,d frames, at most %,d unacknowledged",
          sent, acked, acks, mostUnacked);
    }
  }

  /** Reads the events of the one channel that consumes, in their order. */
  private static Seen seen(Tapped tapped) {
    Map<String, Integer> prefetches = new HashMap<>(); // by consumer
    Map<String, Integer> unacked = new HashMap<>(); // by consumer
    TreeMap<Long, String> open = new TreeMap<>(); // consumers by delivery tag
    Map<String, Integer> last = new LinkedHashMap<>(); // prefetches by channel
    int sent = 0;
    int acks = 0;
    int acked = 0;
    int most = 0;
    int above = 0;
    for (WireTap.Event each : tapped.tap.events()) {
      if (each.is("basic.qos")) {
        last.put("", Integer.parseInt(each.arguments().getOrDefault("prefetch-count", "0")));
      } else if (each.is("basic.consume") || each.is("basic.consume-ok")) {
        String tag = each.arguments().getOrDefault("consumer-tag", "");
        if (!tag.isEmpty()) {
          prefetches.putIfAbsent(tag, last.getOrDefault("", 0));
        }
      } else if (each.is("basic.deliver")) {
        String consumer = each.arguments().getOrDefault("consumer-tag", "");
        open.put(each.deliveryTag().orElse(0), consumer);
        sent++;
        most = Math.max(most, open.size());
        int now = unacked.merge(consumer, 1, Integer::sum);
        above += now > prefetches.getOrDefault(consumer, Integer.MAX_VALUE) ? 1 : 0;
      } else if (each.is("basic.ack")) {
        acks++;
        long tag = each.deliveryTag().orElse(0);
        var done = each.multiple() ? open.headMap(tag, true) : open.subMap(tag, true, tag, true);
        acked += done.size();
        done.values().forEach(consumer -> unacked.merge(consumer, -1, Integer::sum));
        done.clear();
      }
    }
    return new Seen(sent, acks, acked, most, above);
  }

  // ----------------------------------------------------------------------- A2

  /** What happens on the wire while handlers are stuck, and after. */
  private record Stall(int held, long sent, double fullAfterMillis) {}

  private void stuck() throws IOException {
    Stall plain = stuck(1_000);
    Stall ours = stuck(Bench.ADAPTIVE);
    bench.findings().figure("stuck_adaptive_held_msgs", ours.held());
    bench.findings().figure("stuck_adaptive_full_rate_after_ms", ours.fullAfterMillis());
    bench.findings().figure("stuck_fixed_1000_held_msgs", plain.held());
    bench
        .checks()
        .check(
            "A2",
            "all handlers stuck, from two seconds on",
            String.format("plain, prefetch 1000: %,d held, %,d sent", plain.held(), plain.sent()),
            "the broker sends at most 8 messages more",
            String.format("%,d held at the end, %,d sent", ours.held(), ours.sent()),
            ours.sent() <= FEW);
    bench
        .checks()
        .check(
            "A2-resume",
            "handlers go on after " + bench.amount(5, 3) + " s",
            String.format("plain: after %.0f ms", plain.fullAfterMillis()),
            "full rate within 100 ms",
            String.format("after %.0f ms", ours.fullAfterMillis()),
            ours.fullAfterMillis() <= 100);
  }

  private Stall stuck(int prefetch) throws IOException {
    int messages = 12_000;
    String queue = bench.filled("stuck", messages, 100);
    Timeline timeline = new Timeline(messages);
    AtomicBoolean stuck = new AtomicBoolean();
    CountDownLatch freed = new CountDownLatch(1);
    Work work =
        number -> {
          if (stuck.get()) {
            freed.await();
          }
          timeline.began(System.nanoTime());
          TimeUnit.NANOSECONDS.sleep(HANDLER.toNanos());
        };
    try (Tapped tapped = new Tapped(prefetch, queue, Duration.ZERO, work)) {
      if (!Bench.await(PATIENCE, () -> timeline.count() >= 4_000)) {
        throw new IOException(
            Bench.name(prefetch) + ": " + timeline.count() + " of " + messages + " begun");
      }
      double perNano = 2_000.0 / (timeline.at(3_999) - timeline.at(1_999));
      stuck.set(true);
      long since = System.nanoTime();
      Bench.pause(Duration.ofSeconds(bench.amount(5, 3)));
      int held = tapped.member.held();
      long until = System.nanoTime();
      stuck.set(false);
      freed.countDown();
      boolean on = Bench.await(PATIENCE, () -> timeline.count() >= 7_000);
      long quiet = since + TimeUnit.SECONDS.toNanos(2);
      List<WireTap.Event> sent =
          tapped.tap.events(
              event ->
                  event.is("basic.deliver")
                      && event.nanoTime() >= quiet
                      && event.nanoTime() <= until);
      double full = on ? timeline.fullRateAfter(until, perNano) : Double.POSITIVE_INFINITY;
      stalls.row(Bench.name(prefetch), (long) held, (long) sent.size(), full);
      return new Stall(held, sent.size(), full);
    } finally {
      bench.drop(queue);
    }
  }

  /** When handlers began. Thread-safe. */
  private static final class Timeline {
    private final long[] starts; // guarded by this
    private int count; // guarded by this

    Timeline(int most) {
      starts = new long[most];
    }

    synchronized void began(long nanos) {
      if (count < starts.length) {
        starts[count] = nanos;
        count++;
      }
    }

    synchronized int count() {
      return count;
    }

    synchronized long at(int number) {
      return starts[number];
    }

    private synchronized int by(long nanos) {
      long[] sorted = Arrays.copyOf(starts, count);
      Arrays.sort(sorted);
      int at = Arrays.binarySearch(sorted, nanos);
      return at >= 0 ? at + 1 : -at - 1;
    }

    /** Milliseconds from then until 50 ms begin in which nine tenths of the rate are reached. */
    double fullRateAfter(long then, double perNano) {
      long span = TimeUnit.MILLISECONDS.toNanos(50);
      long step = TimeUnit.MILLISECONDS.toNanos(5);
      for (long at = then; at < then + TimeUnit.SECONDS.toNanos(20); at += step) {
        if (by(at + span) - by(at) >= 0.9 * perNano * span) {
          return (at - then) / 1e6;
        }
      }
      return Double.POSITIVE_INFINITY;
    }
  }
}
