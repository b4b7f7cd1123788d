package io.floatvalve.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.rate.PeakSecond.Reading;
import io.floatvalve.rate.ThrottleDetector;
import io.floatvalve.rate.Usage;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

final class FloatvalveMetricsTest {
  private static final long SECOND = 1_000_000_000L;

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final StubPublisher publisher = new StubPublisher();
  private final StubConsumer consumer = new StubConsumer();
  private long now;
  private final FloatvalveMetrics metrics = new FloatvalveMetrics(registry, () -> now);

  private double gauge(String name, String... tags) {
    now += SECOND; // a look of its own
    return registry.get(name).tags(tags).gauge().value();
  }

  private double counter(String name, String... tags) {
    now += SECOND;
    return registry.get(name).tags(tags).functionCounter().count();
  }

  @Test
  void documentedTable_holdsEveryMeterAndItsTags_andNoOther() throws IOException {
    metrics.watch("p", publisher);
    metrics.watch("c", consumer);
    Map<String, String> registered = new TreeMap<>();
    for (Meter each : registry.getMeters()) {
      String tags =
          each.getId().getTags().stream().map(Tag::getKey).sorted().collect(Collectors.joining());
      assertThat(registered.merge(each.getId().getName(), tags, (a, b) -> a)).isEqualTo(tags);
    }

    Pattern row =
        Pattern.compile("^\\| `(floatvalve\\.[a-z.]+)` \\| `\\w+` \\| ([^|]+) \\| .*\\|$");
    Map<String, String> documented = new TreeMap<>();
    for (String line : Files.readAllLines(Path.of("..", "docs", "operations.md"))) {
      Matcher matcher = row.matcher(line);
      if (matcher.matches()) {
        String tags =
            Pattern.compile("\\W+")
                .splitAsStream(matcher.group(2))
                .filter(tag -> !tag.isEmpty())
                .sorted()
                .collect(Collectors.joining());
        documented.put(matcher.group(1), tags);
      }
    }
    assertThat(documented).isEqualTo(registered).isNotEmpty();
  }

  @Test
  void outcomes_areCountedByVerdictAndReason() {
    metrics.watch("orders", publisher);
    publisher.outcomes.put(Verdict.CONFIRMED, 7L);
    publisher.unknown.put(Unknown.Cause.CONFIRM_TIMEOUT, 2L);
    publisher.notSent.put(NotSent.Reason.QUEUE_FULL, 3L);
    String name = "floatvalve.publisher.outcomes";

    assertThat(counter(name, "publisher", "orders", "verdict", "confirmed", "reason", "none"))
        .isEqualTo(7);
    assertThat(counter(name, "verdict", "unknown", "reason", "confirm_timeout")).isEqualTo(2);
    assertThat(counter(name, "verdict", "unknown", "reason", "connection_lost")).isZero();
    assertThat(counter(name, "verdict", "not_sent", "reason", "queue_full")).isEqualTo(3);
  }

  @Test
  void publisher_isShownAsItStands() {
    metrics.watch("orders", publisher);
    publisher.queued = 42;

    assertThat(gauge("floatvalve.publisher.queued")).isEqualTo(42);
    assertThat(gauge("floatvalve.publisher.queued.size")).isEqualTo(200);
    assertThat(gauge("floatvalve.publisher.in.flight")).isEqualTo(3);
    assertThat(gauge("floatvalve.publisher.window")).isEqualTo(16);
    assertThat(counter("floatvalve.publisher.retries")).isEqualTo(4);
    assertThat(counter("floatvalve.publisher.late.answers", "answer", "confirm")).isEqualTo(5);
    assertThat(counter("floatvalve.publisher.late.answers", "answer", "nack")).isEqualTo(6);
    assertThat(counter("floatvalve.publisher.dropped.answers", "kind", "stale")).isEqualTo(7);
    assertThat(counter("floatvalve.publisher.reopened")).isEqualTo(10);
    assertThat(
            registry
                .get("floatvalve.publisher.oldest.unsettled")
                .timeGauge()
                .value(TimeUnit.MILLISECONDS))
        .isEqualTo(1_500);

    assertThat(gauge("floatvalve.publisher.blocked")).isZero();
    publisher.state = PublisherStatus.State.BLOCKED;
    publisher.flow = PublisherStatus.Flow.BLOCKED;
    assertThat(gauge("floatvalve.publisher.blocked")).isEqualTo(1);
    assertThat(gauge("floatvalve.publisher.state", "state", "blocked")).isEqualTo(1);
    assertThat(gauge("floatvalve.publisher.state", "state", "open")).isZero();
  }

  @Test
  void quotas_areShownAsPartsOfThem_andNaNWhereThereIsNone() {
    metrics.watch("orders", publisher);
    metrics.watch("orders", consumer);
    Usage used =
        Usages.of(
            new Reading(300, 450, 600, 100, 9_000, 500, 7, 1),
            ThrottleDetector.Verdict.LIKELY,
            Duration.ofMillis(2_500),
            3);
    publisher.usage = used;
    consumer.usage = used;

    for (String kind : List.of("floatvalve.publisher.", "floatvalve.consumer.")) {
      assertThat(gauge(kind + "quota.used", "of", "messages")).isEqualTo(0.6);
      assertThat(gauge(kind + "quota.peak", "of", "messages")).isEqualTo(0.9);
      assertThat(gauge(kind + "busiest.second", "of", "messages")).isEqualTo(450);
      assertThat(gauge(kind + "quota.used", "of", "bytes")).isNaN();
      assertThat(gauge(kind + "quota.peak", "of", "bytes")).isNaN();
      assertThat(gauge(kind + "busiest.second", "of", "bytes")).isEqualTo(80);
      assertThat(counter(kind + "quota.busy", "of", "messages")).isEqualTo(7);
      assertThat(counter(kind + "quota.held")).isEqualTo(2.5);
      assertThat(counter(kind + "quota.refused")).isEqualTo(3);
      assertThat(gauge(kind + "throttling", "verdict", "likely")).isEqualTo(1);
      assertThat(gauge(kind + "throttling", "verdict", "none")).isZero();
    }
  }

  @Test
  void consumer_isShownAsItStands() {
    metrics.watch("orders", consumer);

    assertThat(gauge("floatvalve.consumer.permits", "consumer", "orders")).isEqualTo(10);
    assertThat(gauge("floatvalve.consumer.outstanding")).isEqualTo(2);
    assertThat(gauge("floatvalve.consumer.waiting")).isEqualTo(3);
    assertThat(gauge("floatvalve.consumer.waiting.size")).isEqualTo(30);
    assertThat(gauge("floatvalve.consumer.parked")).isEqualTo(4);
    assertThat(gauge("floatvalve.consumer.in.handlers")).isEqualTo(5);
    assertThat(gauge("floatvalve.consumer.settling")).isEqualTo(6);
    assertThat(gauge("floatvalve.consumer.unsettled")).isEqualTo(15);
    assertThat(gauge("floatvalve.consumer.unsettled.size")).isEqualTo(70);
    assertThat(
            registry
                .get("floatvalve.consumer.oldest.unsettled")
                .timeGauge()
                .value(TimeUnit.MILLISECONDS))
        .isEqualTo(250);
    assertThat(counter("floatvalve.consumer.taken")).isEqualTo(100);
    assertThat(counter("floatvalve.consumer.redelivered")).isEqualTo(11);
    String settlements = "floatvalve.consumer.settlements";
    assertThat(counter(settlements, "settlement", "accepted")).isEqualTo(12);
    assertThat(counter(settlements, "settlement", "retried")).isEqualTo(13);
    assertThat(counter(settlements, "settlement", "retried_in_place")).isEqualTo(14);
    assertThat(counter(settlements, "settlement", "rejected")).isEqualTo(15);
    assertThat(counter("floatvalve.consumer.given.back")).isEqualTo(16);
    assertThat(counter("floatvalve.consumer.stale")).isEqualTo(17);
    assertThat(counter("floatvalve.consumer.duplicates")).isEqualTo(18);
    assertThat(counter("floatvalve.consumer.copies.failed")).isEqualTo(19);
    assertThat(counter("floatvalve.consumer.broken")).isEqualTo(20);
    assertThat(counter("floatvalve.consumer.reopened")).isEqualTo(21);
    assertThat(gauge("floatvalve.consumer.partly.acked")).isNaN();
    consumer.partlyAcked = 2;
    assertThat(gauge("floatvalve.consumer.partly.acked")).isEqualTo(2);
    consumer.state = ConsumerStatus.State.FAILED;
    assertThat(gauge("floatvalve.consumer.state", "state", "failed")).isEqualTo(1);
    assertThat(gauge("floatvalve.consumer.state", "state", "running")).isZero();
  }

  @Test
  void latency_isCountedFromTheBeginning_andItsPercentilesAreOfLately() {
    metrics.watch("orders", publisher);
    String[] stage = {"stage", "due-confirmed"};
    String recent = "floatvalve.publisher.latency.recent";
    assertThat(gauge(recent, "stage", "due-confirmed", "quantile", "0.5")).isNaN();

    for (int i = 0; i < 100; i++) {
      publisher.confirmed.record(i < 60 ? 1_000_000 : 9_000_000);
    }

    assertThat(gauge(recent, "stage", "due-confirmed", "quantile", "0.5"))
        .isCloseTo(0.001, within(0.000_02));
    assertThat(gauge(recent, "stage", "due-confirmed", "quantile", "1"))
        .isCloseTo(0.009, within(0.000_1));
    FunctionTimer all = registry.get("floatvalve.publisher.latency").tags(stage).functionTimer();
    assertThat(all.count()).isEqualTo(100);
    assertThat(all.totalTime(TimeUnit.MILLISECONDS)).isCloseTo(60 + 40 * 9, within(5.0));

    now += 31 * SECOND;
    double unused = gauge(recent, "stage", "due-confirmed", "quantile", "0.5");
    now += 31 * SECOND;
    assertThat(gauge(recent, "stage", "due-confirmed", "quantile", "0.5")).isNaN();
    assertThat(all.count()).isEqualTo(100);
  }

  @Test
  void metersReadTogether_shareOneLook() {
    metrics.watch("orders", publisher);
    now += SECOND;
    registry.getMeters().forEach(each -> each.measure().forEach(m -> m.getValue()));

    assertThat(publisher.looks).isEqualTo(1);
  }

  @Test
  void closed_canBeReadForAMinute_thenItsMetersGoAway() {
    metrics.watch("orders", publisher);
    metrics.watch("orders", consumer);
    int both = registry.getMeters().size();
    publisher.close();
    publisher.outcomes.put(Verdict.RETURNED, 1L);

    String outcomes = "floatvalve.publisher.outcomes";
    assertThat(counter(outcomes, "verdict", "returned")).isEqualTo(1);
    assertThat(gauge("floatvalve.publisher.state", "state", "closed")).isEqualTo(1);
    now += 57 * SECOND;
    assertThat(counter(outcomes, "verdict", "returned")).isEqualTo(1);
    assertThat(registry.getMeters()).hasSize(both);
    now += 2 * SECOND;
    assertThat(counter(outcomes, "verdict", "returned")).isEqualTo(1);

    assertThat(registry.find(outcomes).meters()).isEmpty();
    assertThat(registry.getMeters())
        .isNotEmpty()
        .allMatch(each -> "orders".equals(each.getId().getTag("consumer")));
  }

  @Test
  void name_isFreeAgainAtOnce_whenItsOwnerIsClosed() {
    metrics.watch("orders", publisher);
    assertThatThrownBy(() -> metrics.watch("orders", new StubPublisher()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("orders");
    publisher.close();
    var next = new StubPublisher();
    next.queued = 5;

    metrics.watch("orders", next);

    assertThat(gauge("floatvalve.publisher.queued", "publisher", "orders")).isEqualTo(5);
  }

  @Test
  void closing_takesAllMetersAway_andNothingElse() {
    registry.counter("of.others");
    metrics.watch("p", publisher);
    metrics.watch("c", consumer);

    metrics.close();

    assertThat(registry.getMeters()).hasSize(1);
    assertThat(publisher.state).isEqualTo(PublisherStatus.State.OPEN);
    assertThatThrownBy(() -> metrics.watch("q", publisher))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void emptyName_isRefused() {
    assertThatThrownBy(() -> metrics.watch("", publisher))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
