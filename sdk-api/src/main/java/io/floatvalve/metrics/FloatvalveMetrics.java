package io.floatvalve.metrics;

import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.rate.Usage;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Shows publishers and consumers to a Micrometer registry.
 *
 * <p>Names and tags are stable; {@code docs/operations.md} lists them. Tags are bounded: the name
 * given here, and constants of ours. Everything is read from statuses when the registry is asked,
 * and no message costs anything for it; what is read within 100 ms is one look.
 *
 * <p>Meters of what was closed can be read for another minute, with its last counts, then they go
 * away by themselves at the next read. Needs {@code micrometer-core}, which is optional.
 * Thread-safe.
 */
public final class FloatvalveMetrics implements AutoCloseable {
  private static final Duration SPAN = Duration.ofSeconds(30);
  private static final String PUBLISHER = "publisher";
  private static final String CONSUMER = "consumer";

  private static final List<String> PUBLISHER_STAGES =
      List.of(
          "queued-sent",
          "sent-confirmed",
          "sent-returned",
          "sent-nacked",
          "sent-unknown",
          "due-confirmed",
          "due-returned",
          "due-nacked",
          "due-unknown",
          "due-notsent");
  private static final List<String> CONSUMER_STAGES =
      List.of(
          "published-arrived",
          "stored-arrived",
          "arrived-started",
          "started-handled",
          "handled-settled",
          "published-handled");

  private final MeterRegistry registry;
  private final LongSupplier nanoTime;
  private final Map<String, Watched<?>> watched = new HashMap<>(); // guarded by this, as below
  private boolean closed;

  FloatvalveMetrics(MeterRegistry registry, LongSupplier nanoTime) {
    this.registry = Objects.requireNonNull(registry, "registry");
    this.nanoTime = nanoTime;
  }

  /**
   * Begins to show what it is told to watch.
   *
   * @param registry stays open when this is closed
   */
  public static FloatvalveMetrics on(MeterRegistry registry) {
    return new FloatvalveMetrics(registry, System::nanoTime);
  }

  /**
   * Shows a publisher until it is closed.
   *
   * @param name the value of the tag {@code publisher}; take it from a bounded set
   * @throws IllegalArgumentException if the name is empty, or of a watched publisher that is open
   * @throws IllegalStateException if this is closed
   */
  public void watch(String name, Publisher publisher) {
    Objects.requireNonNull(publisher, PUBLISHER);
    String key = PUBLISHER + " " + name;
    Watched<PublisherStatus> next =
        new Watched<>(
            publisher::status,
            publisher::latency,
            publisher::usage,
            s -> s.state() == PublisherStatus.State.CLOSED,
            SPAN.toNanos(),
            nanoTime,
            () -> forget(key));
    add(key, name, next, () -> register(new Meters<>(registry, next, PUBLISHER, name)));
  }

  /**
   * Shows a consumer until it is closed.
   *
   * @param name the value of the tag {@code consumer}; take it from a bounded set
   * @throws IllegalArgumentException if the name is empty, or of a watched consumer that is open
   * @throws IllegalStateException if this is closed
   */
  public void watch(String name, Consumer consumer) {
    Objects.requireNonNull(consumer, CONSUMER);
    watchConsumer(name, consumer::status, consumer::latency, consumer::usage);
  }

  /**
   * Shows a pull consumer until it is closed.
   *
   * @param name the value of the tag {@code consumer}; take it from a bounded set
   * @throws IllegalArgumentException if the name is empty, or of a watched consumer that is open
   * @throws IllegalStateException if this is closed
   */
  public void watch(String name, PullConsumer consumer) {
    Objects.requireNonNull(consumer, CONSUMER);
    watchConsumer(name, consumer::status, consumer::latency, consumer::usage);
  }

  private void watchConsumer(
      String name,
      Supplier<ConsumerStatus> status,
      Supplier<LatencySnapshot> latency,
      Supplier<Usage> usage) {
    String key = CONSUMER + " " + name;
    Watched<ConsumerStatus> next =
        new Watched<>(
            status,
            latency,
            usage,
            s -> s.state() == ConsumerStatus.State.CLOSED,
            SPAN.toNanos(),
            nanoTime,
            () -> forget(key));
    add(key, name, next, () -> registerConsumer(new Meters<>(registry, next, CONSUMER, name)));
  }

  private synchronized void add(String key, String name, Watched<?> next, Runnable register) {
    if (closed) {
      throw new IllegalStateException("closed");
    }
    if (name.isEmpty()) {
      throw new IllegalArgumentException("name must not be empty");
    }
    Watched<?> before = watched.get(key);
    if (before != null) {
      if (!before.isClosed()) {
        throw new IllegalArgumentException("watched already: " + key);
      }
      forget(key);
    }
    register.run();
    watched.put(key, next);
  }

  private synchronized void forget(String key) {
    Watched<?> gone = watched.remove(key);
    if (gone != null) {
      for (Meter each : gone.meters) {
        registry.remove(each);
      }
    }
  }

  /** Takes all meters away. What was watched, and the registry, stay open. */
  @Override
  public synchronized void close() {
    closed = true;
    new ArrayList<>(watched.keySet()).forEach(this::forget);
  }

  private static void register(Meters<PublisherStatus> meters) {
    for (Verdict each : List.of(Verdict.CONFIRMED, Verdict.RETURNED, Verdict.NACKED)) {
      outcomes(meters, each, "none", s -> s.outcomes().getOrDefault(each, 0L));
    }
    for (Unknown.Cause each : Unknown.Cause.values()) {
      outcomes(
          meters, Verdict.UNKNOWN, Meters.word(each), s -> s.unknownBy().getOrDefault(each, 0L));
    }
    for (NotSent.Reason each : NotSent.Reason.values()) {
      outcomes(
          meters, Verdict.NOT_SENT, Meters.word(each), s -> s.notSentBy().getOrDefault(each, 0L));
    }
    meters.counter("retries", "Further attempts at a message", PublisherStatus::retried);
    meters.counter(
        "late.answers",
        "Answers after the confirm timeout",
        Tags.of("answer", "confirm"),
        PublisherStatus::lateConfirms);
    meters.counter(
        "late.answers",
        "Answers after the confirm timeout",
        Tags.of("answer", "nack"),
        PublisherStatus::lateNacks);
    meters.counter(
        "dropped.answers",
        "Answers that belong to nothing open",
        Tags.of("kind", "stale"),
        PublisherStatus::staleAnswers);
    meters.counter(
        "dropped.answers",
        "Answers that belong to nothing open",
        Tags.of("kind", "stray_answer"),
        PublisherStatus::strayAnswers);
    meters.counter(
        "dropped.answers",
        "Answers that belong to nothing open",
        Tags.of("kind", "stray_return"),
        PublisherStatus::strayReturns);
    meters.counter("reopened", "How often its link was opened again", PublisherStatus::reopened);
    meters.gauge("queued", "Messages that wait to be sent", PublisherStatus::queued);
    meters.bytes("queued.size", "Their payloads", PublisherStatus::queuedBytes);
    meters.gauge("in.flight", "Messages sent and not yet answered", PublisherStatus::inFlight);
    meters.bytes("in.flight.size", "Their payloads", PublisherStatus::inFlightBytes);
    meters.gauge("window", "How many may be in flight", PublisherStatus::window);
    meters.age(
        "oldest.in.flight",
        "Age of the oldest message that is sent and not yet answered",
        seen -> seen.status().oldestInFlight());
    meters.age(
        "oldest.unsettled",
        "Age of the oldest message without an outcome",
        seen -> seen.all().oldestUnsettled());
    meters.state(PublisherStatus.State.values(), PublisherStatus::state);
    meters.gauge(
        "blocked",
        "1 while the broker blocks its connection",
        s -> s.flow() == PublisherStatus.Flow.BLOCKED ? 1 : 0);
    meters.quota();
    meters.latency(PUBLISHER_STAGES);
  }

  private static void outcomes(
      Meters<PublisherStatus> meters,
      Verdict verdict,
      String reason,
      java.util.function.ToDoubleFunction<PublisherStatus> count) {
    meters.counter(
        "outcomes",
        "Messages that came to an end",
        Tags.of("verdict", Meters.word(verdict), "reason", reason),
        count);
  }

  private static void registerConsumer(Meters<ConsumerStatus> meters) {
    meters.counter("taken", "Messages taken from the client", ConsumerStatus::taken);
    meters.counter("redelivered", "Of these, delivered before, maybe", ConsumerStatus::redelivered);
    settlements(meters, "accepted", ConsumerStatus::accepted);
    settlements(meters, "retried", ConsumerStatus::retried);
    settlements(meters, "retried_in_place", ConsumerStatus::retriedInPlace);
    settlements(meters, "rejected", ConsumerStatus::rejected);
    meters.counter("given.back", "Given back without being handled", ConsumerStatus::givenBack);
    meters.counter("stale", "Could not be settled any more", ConsumerStatus::stale);
    meters.counter("duplicates", "Dropped: a handler had the same one", ConsumerStatus::duplicates);
    meters.counter("copies.failed", "Copies that were not confirmed", ConsumerStatus::copiesFailed);
    meters.counter("broken", "Messages that could not be read", ConsumerStatus::broken);
    meters.counter("reopened", "How often its link was opened again", ConsumerStatus::reopened);
    meters.gauge("permits", "Messages that may be on their way or wait", ConsumerStatus::permits);
    meters.gauge(
        "outstanding", "Permits that the broker has not used", ConsumerStatus::outstanding);
    meters.gauge("waiting", "Messages that wait for a handler", ConsumerStatus::waiting);
    meters.bytes("waiting.size", "Payloads that wait in the client", ConsumerStatus::waitingBytes);
    meters.gauge("parked", "Of those waiting, taken from the client", ConsumerStatus::parked);
    meters.gauge("in.handlers", "Messages in handlers", ConsumerStatus::inHandlers);
    meters.gauge("settling", "Messages of which a copy is on its way", ConsumerStatus::settling);
    meters.gauge(
        "unsettled",
        "Messages taken and not settled",
        s -> (double) s.parked() + s.inHandlers() + s.settling());
    meters.bytes("unsettled.size", "Their payloads", ConsumerStatus::unsettledBytes);
    meters.gauge(
        "partly.acked",
        "Batches acknowledged in part; NaN where not known",
        s -> s.partlyAcked() < 0 ? Double.NaN : s.partlyAcked());
    meters.age(
        "oldest.unsettled",
        "Age of the oldest message that is taken and not settled",
        seen -> seen.status().oldestUnsettled());
    meters.state(ConsumerStatus.State.values(), ConsumerStatus::state);
    meters.quota();
    meters.latency(CONSUMER_STAGES);
  }

  private static void settlements(
      Meters<ConsumerStatus> meters,
      String settlement,
      java.util.function.ToDoubleFunction<ConsumerStatus> count) {
    meters.counter(
        "settlements",
        "What handlers decided of messages",
        Tags.of("settlement", settlement),
        count);
  }
}
