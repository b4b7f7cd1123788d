package io.floatvalve.examples.perf;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.MetricsEndpoint;
import io.floatvalve.examples.report.ReadBack;
import io.floatvalve.latency.LatencyLog;
import io.floatvalve.latency.LatencyRecorder;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Puts one load on a broker and measures it. Latency counts from when a message was due by the
 * rate, or from the call where there is none; end to end it is taken from the payload, on one
 * clock.
 */
public final class LoadRun {
  /** A payload begins with when it was due, and the mark of the run. */
  public static final int LEAST_SIZE = 2 * Long.BYTES;

  private static final double NANOS_PER_MICRO = 1e3;
  private static final Duration OPEN = Duration.ofSeconds(30); // a broker may be just started
  private static final Duration DRAIN = Duration.ofSeconds(20);
  private static final String END_TO_END = "due-handled";
  private static final List<String> SHOWN = List.of("due-confirmed", "sent-confirmed", END_TO_END);

  private final Target target;
  private final Load load;
  private final Console console;
  private final Findings findings;
  private final String checkPrefix;
  private final long mark = ThreadLocalRandom.current().nextLong();
  private final LatencyRecorder endToEnd = new LatencyRecorder(END_TO_END);
  private final LongAdder handled = new LongAdder();
  private final ConcurrentLinkedQueue<Event> events = new ConcurrentLinkedQueue<>();
  private final List<Publisher> publishers = new ArrayList<>();
  private final List<Consumer> consumers = new ArrayList<>();
  private final List<Producer> producers = new ArrayList<>();
  private final List<Map<String, Number>> samples = new ArrayList<>();
  private Seen before = new Seen(0, Map.of(), 0, LatencySnapshot.empty());

  /**
   * Makes a run.
   *
   * @param checkPrefix of the ids of its checks
   */
  public LoadRun(Target target, Load load, Console console, Findings findings, String checkPrefix) {
    this.target = target;
    this.load = load;
    this.console = console;
    this.findings = findings;
    this.checkPrefix = checkPrefix;
  }

  /** What had happened at a moment. */
  private record Seen(
      long nanos, Map<Verdict, Long> outcomes, long handled, LatencySnapshot latency) {
    private long outcome(Verdict verdict) {
      return outcomes.getOrDefault(verdict, 0L);
    }
  }

  /**
   * Runs it; returns when all is drained, or sooner if the thread is interrupted: then with what
   * there is, and the interrupt is kept.
   *
   * @param folder for the log of latencies, or null for none
   * @param metrics shows its publishers and consumers; null where nobody watches
   */
  public LoadResult run(@Nullable Path folder, @Nullable MetricsEndpoint metrics)
      throws IOException {
    PublisherSettings place =
        target
            .place(load)
            .withWindow(load.window())
            .withQuota(load.quota())
            .withOpenTimeout(OPEN)
            .withCloseTimeout(DRAIN);
    Instant wallBegin;
    Seen begin;
    Seen end;
    boolean interrupted;
    try (Messaging messaging = target.messaging(events::add);
        LatencyLog log = folder == null ? null : open(folder)) {
      for (int i = 0; i < load.consumers(); i++) {
        Consumer consumer = messaging.consumer(target.consumers().withOpenTimeout(OPEN));
        consumers.add(consumer);
        if (metrics != null) {
          metrics.watch("consumer-" + (i + 1), consumer);
        }
        consumer.handle(delivery -> handle(delivery.message().payload()));
      }
      for (int i = 0; i < load.producers(); i++) {
        Publisher publisher = messaging.publisher(place);
        publishers.add(publisher);
        if (metrics != null) {
          metrics.watch("publisher-" + (i + 1), publisher);
        }
        producers.add(new Producer(publisher, i));
      }
      producers.forEach(Thread::start);
      interrupted = slept(load.warmUp().toNanos());
      wallBegin = Instant.now();
      begin = seen();
      before = begin;
      if (log != null) {
        log.watch("perf", begin.latency(), this::latency);
      }
      interrupted = interrupted || sampled(begin.nanos());
      producers.forEach(Producer::end);
      long behind = producers.stream().mapToLong(Producer::behind).sum();
      sample(begin.nanos());
      Seen stopped = before;
      interrupted |= drained();
      end = seen();
      if (log != null && folder != null) {
        log.flush();
        new ReadBack(folder).check(findings, checkPrefix, end.latency().since(begin.latency()));
      }
      check(end, interrupted);
      return result(begin, stopped, end, behind, wallBegin, folder);
    } finally {
      target.remove();
    }
  }

  private LatencyLog open(Path folder) throws IOException {
    return LatencyLog.open(LatencyLog.Settings.in(folder).withInterval(load.interval()));
  }

  private Settlement handle(byte[] payload) {
    if (payload.length >= LEAST_SIZE) {
      ByteBuffer stamp = ByteBuffer.wrap(payload);
      long due = stamp.getLong();
      if (stamp.getLong() == mark) {
        endToEnd.record(System.nanoTime() - due);
        handled.increment();
      }
    }
    return Settlement.accept();
  }

  /** Returns the latencies of all, as one. */
  private LatencySnapshot latency() {
    LatencySnapshot sum = LatencySnapshot.empty();
    for (Publisher each : publishers) {
      sum = sum.plus(each.latency());
    }
    for (Consumer each : consumers) {
      sum = sum.plus(each.latency());
    }
    return sum.plus(LatencyRecorder.snapshot(List.of(endToEnd)));
  }

  private Seen seen() {
    Map<Verdict, Long> outcomes = new LinkedHashMap<>();
    for (Publisher each : publishers) {
      each.status().outcomes().forEach((verdict, n) -> outcomes.merge(verdict, n, Long::sum));
    }
    return new Seen(System.nanoTime(), outcomes, handled.sum(), latency());
  }

  /** Takes a sample each interval until the time is over; returns whether it was interrupted. */
  private boolean sampled(long begin) {
    long end = begin + load.time().toNanos();
    long next = begin;
    while (true) {
      next += load.interval().toNanos();
      if (next >= end) {
        return slept(end - System.nanoTime());
      }
      if (slept(next - System.nanoTime())) {
        return true;
      }
      sample(begin);
    }
  }

  private static boolean slept(long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(Math.max(0, nanos));
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  private void sample(long begin) {
    Seen now = seen();
    double seconds = Math.max(1e-9, (now.nanos() - before.nanos()) / 1e9);
    LatencySnapshot interval = now.latency().since(before.latency());
    Sample sample = new Sample().put("t_s", (now.nanos() - begin) / 1e9);
    for (Verdict each : Verdict.values()) {
      sample.put(
          each.name().toLowerCase(Locale.ROOT) + "_msgs_per_s",
          (now.outcome(each) - before.outcome(each)) / seconds);
    }
    sample.put("handled_msgs_per_s", (now.handled() - before.handled()) / seconds);
    long inFlight = 0;
    long window = 0;
    long queued = 0;
    for (Publisher each : publishers) {
      PublisherStatus status = each.status();
      inFlight += status.inFlight();
      window += status.window();
      queued += status.queued();
    }
    sample.put("window_msgs", window).put("in_flight_msgs", inFlight).put("queued_msgs", queued);
    long permits = 0;
    long waiting = 0;
    for (Consumer each : consumers) {
      ConsumerStatus status = each.status();
      permits += status.permits();
      waiting += status.waiting();
    }
    if (!consumers.isEmpty()) {
      sample.put("permits_msgs", permits).put("waiting_msgs", waiting);
    }
    sample.put("oldest_unsettled_ms", now.latency().oldestUnsettled().toMillis());
    for (String stage : SHOWN) {
      interval
          .stage(stage)
          .filter(of -> of.count() > 0)
          .ifPresent(
              of ->
                  sample
                      .put(named(stage, "p50_us"), of.nanosAt(50) / NANOS_PER_MICRO)
                      .put(named(stage, "p99_us"), of.nanosAt(99) / NANOS_PER_MICRO)
                      .put(named(stage, "max_us"), of.maxNanos() / NANOS_PER_MICRO));
    }
    before = now;
    samples.add(sample.numbers());
    console.progress(line(sample, consumers.isEmpty()));
  }

  private static String line(Sample s, boolean publishOnly) {
    double lost =
        s.number("returned_msgs_per_s")
            + s.number("nacked_msgs_per_s")
            + s.number("unknown_msgs_per_s")
            + s.number("not_sent_msgs_per_s");
    String end = publishOnly ? "due_confirmed" : "due_handled";
    return String.format(
        Locale.ROOT,
        "  %.0f s, %,.0f/s confirmed%s%s, window %,.0f, in flight %,.0f%s, %s p50 %.2f p99 %.2f max"
            + " %.2f ms",
        s.number("t_s"),
        s.number("confirmed_msgs_per_s"),
        lost > 0 ? String.format(Locale.ROOT, ", %,.0f/s not", lost) : "",
        publishOnly
            ? ""
            : String.format(Locale.ROOT, ", %,.0f/s handled", s.number("handled_msgs_per_s")),
        s.number("window_msgs"),
        s.number("in_flight_msgs"),
        publishOnly ? "" : String.format(Locale.ROOT, ", permits %,.0f", s.number("permits_msgs")),
        publishOnly ? "confirm" : "end to end",
        s.number(end + "_p50_us") / 1e3,
        s.number(end + "_p99_us") / 1e3,
        s.number(end + "_max_us") / 1e3);
  }

  private static String named(String stage, String figure) {
    return stage.replace('-', '_') + "_" + figure;
  }

  /** Waits until everything has its end; returns whether it was interrupted. */
  private boolean drained() {
    boolean interrupted = false;
    for (Publisher each : publishers) {
      long left = each.drain(DRAIN);
      if (Thread.interrupted()) {
        interrupted = true;
        left = each.drain(DRAIN);
      }
      if (left > 0) {
        console.warn(left + " messages have no outcome yet");
      }
    }
    long confirmed = seen().outcome(Verdict.CONFIRMED);
    long limit = System.nanoTime() + DRAIN.toNanos();
    while (!consumers.isEmpty()
        && (handled.sum() < confirmed || accepted() < handled.sum())
        && System.nanoTime() < limit) {
      if (slept(10_000_000)) {
        interrupted = true;
        limit = Math.min(limit, System.nanoTime() + 1_000_000_000);
      }
    }
    return interrupted;
  }

  private long accepted() {
    return consumers.stream().mapToLong(each -> each.status().accepted()).sum();
  }

  private void check(Seen end, boolean interrupted) {
    long published = producers.stream().mapToLong(Producer::published).sum();
    long settled = end.outcomes().values().stream().mapToLong(Long::longValue).sum();
    findings.check(
        checkPrefix + "outcomes",
        "every message published has one outcome",
        String.format("%,d published, %,d outcomes", published, settled),
        published == settled);
    long confirmed = end.outcome(Verdict.CONFIRMED);
    findings.check(
        checkPrefix + "confirmed",
        "every message is confirmed",
        String.format("%,d of %,d", confirmed, settled),
        confirmed == settled);
    if (!consumers.isEmpty()) {
      findings.check(
          checkPrefix + "handled",
          "every confirmed message is handled",
          String.format("%,d confirmed, %,d handled", confirmed, handled.sum()),
          handled.sum() >= confirmed);
    }
    if (interrupted) {
      findings.note(checkPrefix + "ended", "when asked to, before its time");
      Thread.currentThread().interrupt();
    }
  }

  private LoadResult result(
      Seen begin, Seen stopped, Seen end, long behind, Instant wallBegin, @Nullable Path folder) {
    double seconds = (stopped.nanos() - begin.nanos()) / 1e9;
    LatencySnapshot latency = end.latency().since(begin.latency());
    Map<String, Number> figures = new LinkedHashMap<>();
    figures.put("run_s", seconds);
    for (Verdict each : Verdict.values()) {
      figures.put(
          each.name().toLowerCase(Locale.ROOT) + "_msgs", end.outcome(each) - begin.outcome(each));
    }
    figures.put(
        "throughput_msgs_per_s",
        (stopped.outcome(Verdict.CONFIRMED) - begin.outcome(Verdict.CONFIRMED)) / seconds);
    if (!consumers.isEmpty()) {
      figures.put("handled_msgs", end.handled() - begin.handled());
      figures.put("handled_msgs_per_s", (stopped.handled() - begin.handled()) / seconds);
    }
    long busiest = publishers.stream().mapToLong(each -> each.usage().messages().highest()).sum();
    figures.put("busiest_second_msgs", busiest); // of several at the same time, at most
    if (load.rate() != null) {
      figures.put("rate_msgs_per_s", load.rate());
      figures.put("due_and_not_published_msgs", behind);
    }
    figures.put("window_at_end_msgs", samples.get(samples.size() - 1).get("window_msgs"));
    latency
        .stages()
        .forEach(
            (name, stage) -> {
              figures.put(named(name, "count"), stage.count());
              if (stage.count() > 0) {
                figures.put(named(name, "p50_us"), stage.nanosAt(50) / NANOS_PER_MICRO);
                figures.put(named(name, "p90_us"), stage.nanosAt(90) / NANOS_PER_MICRO);
                figures.put(named(name, "p99_us"), stage.nanosAt(99) / NANOS_PER_MICRO);
                figures.put(named(name, "p99_9_us"), stage.nanosAt(99.9) / NANOS_PER_MICRO);
                figures.put(named(name, "max_us"), stage.maxNanos() / NANOS_PER_MICRO);
              }
              if (stage.negative() > 0) {
                figures.put(named(name, "negative_count"), stage.negative());
              }
            });
    List<Map<String, Object>> told = new ArrayList<>();
    for (Event each : events) {
      Map<String, Object> event = new LinkedHashMap<>();
      event.put("t_s", Duration.between(wallBegin, each.at()).toNanos() / 1e9);
      event.put("who", each.who());
      event.put("what", each.what());
      told.add(event);
    }
    return new LoadResult(load, latency, figures, List.copyOf(samples), told, folder);
  }

  /** Publishes by its plan. */
  private final class Producer extends Thread {
    private final Publisher publisher;
    private final double periodNanos;
    private final long first;
    private volatile boolean ended;
    private volatile long published;
    private volatile long begun;
    private volatile long endNanos;

    private Producer(Publisher publisher, int index) {
      super("floatvalve-producer-" + index);
      setDaemon(true);
      this.publisher = publisher;
      Double rate = load.rate();
      this.periodNanos = rate == null ? 0 : 1e9 * load.producers() / rate;
      this.first = (long) (periodNanos * index / load.producers());
    }

    @Override
    @SuppressWarnings("NonAtomicVolatileUpdate") // by this thread alone
    public void run() {
      long begin = System.nanoTime() + first;
      begun = begin;
      while (!ended) {
        long due;
        if (periodNanos > 0) {
          due = begin + (long) (published * periodNanos);
          if (!waitedUntil(due)) {
            return;
          }
        } else {
          due = System.nanoTime();
        }
        byte[] payload = new byte[load.size()];
        ByteBuffer.wrap(payload).putLong(due).putLong(mark);
        var unused = publisher.publish(Message.of(payload), due);
        published++;
      }
    }

    private boolean waitedUntil(long due) {
      long left = due - System.nanoTime();
      while (left > 0) {
        LockSupport.parkNanos(left);
        if (ended) {
          return false;
        }
        left = due - System.nanoTime();
      }
      return true;
    }

    /** Lets it publish no more, and waits for the call that it is in: at most maxBlock. */
    private void end() {
      endNanos = System.nanoTime();
      ended = true;
      boolean interrupted = false;
      while (isAlive()) {
        try {
          join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }

    private long published() {
      return published;
    }

    /** Returns how many were due when it was ended and had not been published. */
    private long behind() {
      return periodNanos == 0
          ? 0
          : Math.max(0, (long) ((endNanos - begun) / periodNanos) + 1 - published);
    }
  }
}
