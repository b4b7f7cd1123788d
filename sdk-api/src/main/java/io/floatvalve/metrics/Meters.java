package io.floatvalve.metrics;

import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.rate.PeakSecond;
import io.floatvalve.rate.ThrottleDetector;
import io.floatvalve.rate.Usage;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Registers the meters of one that is watched. None costs a message anything: all are read when
 * somebody asks.
 *
 * @param <S> its status
 */
final class Meters<S> {
  private static final List<Double> QUANTILES = List.of(0.5, 0.99, 0.999, 1.0);

  private final MeterRegistry registry;
  private final Watched<S> watched;
  private final String prefix;
  private final Tags tags;

  /**
   * Registers nothing yet.
   *
   * @param kind what it is, for the names and the tag
   * @param name whose, for the tag
   */
  Meters(MeterRegistry registry, Watched<S> watched, String kind, String name) {
    this.registry = registry;
    this.watched = watched;
    this.prefix = "floatvalve." + kind + ".";
    this.tags = Tags.of(kind, name);
  }

  void gauge(String name, String description, ToDoubleFunction<S> value) {
    gauge(name, description, Tags.empty(), value);
  }

  void gauge(String name, String description, Tags more, ToDoubleFunction<S> value) {
    watched.meters.add(
        Gauge.builder(prefix + name, watched, w -> value.applyAsDouble(w.seen().status()))
            .description(description)
            .tags(tags.and(more))
            .strongReference(true)
            .register(registry));
  }

  void bytes(String name, String description, ToDoubleFunction<S> value) {
    watched.meters.add(
        Gauge.builder(prefix + name, watched, w -> value.applyAsDouble(w.seen().status()))
            .description(description)
            .tags(tags)
            .baseUnit("bytes")
            .strongReference(true)
            .register(registry));
  }

  void age(String name, String description, Function<Watched.Seen<S>, Duration> age) {
    watched.meters.add(
        TimeGauge.builder(
                prefix + name, watched, TimeUnit.NANOSECONDS, w -> age.apply(w.seen()).toNanos())
            .description(description)
            .tags(tags)
            .register(registry));
  }

  void counter(String name, String description, ToDoubleFunction<S> value) {
    counter(name, description, Tags.empty(), value);
  }

  void counter(String name, String description, Tags more, ToDoubleFunction<S> value) {
    watched.meters.add(
        FunctionCounter.builder(prefix + name, watched, w -> value.applyAsDouble(w.seen().status()))
            .description(description)
            .tags(tags.and(more))
            .register(registry));
  }

  /** One gauge for each state, 1 for the one it is in. */
  <E extends Enum<E>> void state(E[] states, Function<S, E> state) {
    for (E each : states) {
      gauge(
          "state",
          "1 for the state it is in, 0 for the others",
          Tags.of("state", word(each)),
          s -> state.apply(s) == each ? 1 : 0);
    }
  }

  /** What it used of its quotas, in messages and in bytes, and what speaks for throttling. */
  void quota() {
    quota("messages", Usage::messages);
    quota("bytes", Usage::bytes);
    watched.meters.add(
        FunctionCounter.builder(
                prefix + "quota.held", watched, w -> w.seen().usage().held().toNanos() / 1e9)
            .description("How long our own quota held the next message")
            .tags(tags)
            .baseUnit("seconds")
            .register(registry));
    watched.meters.add(
        FunctionCounter.builder(prefix + "quota.refused", watched, w -> w.seen().usage().refused())
            .description("Publishes not sent because of a quota")
            .tags(tags)
            .register(registry));
    for (ThrottleDetector.Verdict each : ThrottleDetector.Verdict.values()) {
      watched.meters.add(
          Gauge.builder(
                  prefix + "throttling",
                  watched,
                  w -> w.seen().usage().throttling().verdict() == each ? 1 : 0)
              .description("1 for what the rhythm of the broker says, 0 for the others")
              .tags(tags.and("verdict", word(each)))
              .strongReference(true)
              .register(registry));
    }
  }

  private void quota(String of, Function<Usage, PeakSecond.Reading> reading) {
    ToDoubleFunction<Watched<S>> used = w -> part(reading.apply(w.seen().usage()), false);
    ToDoubleFunction<Watched<S>> peak = w -> part(reading.apply(w.seen().usage()), true);
    gaugeOf("quota.used", "What the last second used of the quota, 1 for all", of, used);
    gaugeOf("quota.peak", "What the busiest second of the last minute used of it", of, peak);
    gaugeOf(
        "busiest.second",
        "What went through in the busiest second of the last minute",
        of,
        w -> reading.apply(w.seen().usage()).peak());
    watched.meters.add(
        FunctionCounter.builder(
                prefix + "quota.busy", watched, w -> reading.apply(w.seen().usage()).secondsBusy())
            .description("Seconds that used at least 80 % of the quota")
            .tags(tags.and("of", of))
            .baseUnit("seconds")
            .register(registry));
  }

  private void gaugeOf(
      String name, String description, String of, ToDoubleFunction<Watched<S>> value) {
    watched.meters.add(
        Gauge.builder(prefix + name, watched, value)
            .description(description)
            .tags(tags.and("of", of))
            .strongReference(true)
            .register(registry));
  }

  private static double part(PeakSecond.Reading reading, boolean peak) {
    return Double.isInfinite(reading.quota())
        ? Double.NaN
        : (peak ? reading.peak() : reading.lastSecond()) / reading.quota();
  }

  /** Counts, sums and recent percentiles of these stages. */
  void latency(List<String> stages) {
    for (String stage : stages) {
      watched.meters.add(
          FunctionTimer.builder(
                  prefix + "latency",
                  watched,
                  w -> count(w.seen().all(), stage),
                  w -> sumNanos(w.seen().all(), stage),
                  TimeUnit.NANOSECONDS)
              .description("Latencies of a stage, since it was opened")
              .tags(tags.and("stage", stage))
              .register(registry));
      for (double quantile : QUANTILES) {
        watched.meters.add(
            TimeGauge.builder(
                    prefix + "latency.recent",
                    watched,
                    TimeUnit.NANOSECONDS,
                    w -> nanosAt(w.seen().recent(), stage, quantile))
                .description("Percentiles of a stage lately; 1 is the largest")
                .tags(tags.and("stage", stage, "quantile", text(quantile)))
                .register(registry));
      }
    }
  }

  private static String text(double quantile) {
    return quantile == 1 ? "1" : Double.toString(quantile);
  }

  private static long count(LatencySnapshot all, String stage) {
    return all.stage(stage).map(LatencySnapshot.Stage::count).orElse(0L);
  }

  private static double sumNanos(LatencySnapshot all, String stage) {
    return all.stage(stage)
        .filter(of -> of.count() > 0)
        .map(of -> of.meanNanos() * of.count())
        .orElse(0.0);
  }

  private static double nanosAt(LatencySnapshot recent, String stage, double quantile) {
    return recent
        .stage(stage)
        .filter(of -> of.count() > 0)
        .map(of -> (double) of.nanosAt(100 * quantile))
        .orElse(Double.NaN);
  }

  /** Returns a constant as a tag's value. */
  static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
