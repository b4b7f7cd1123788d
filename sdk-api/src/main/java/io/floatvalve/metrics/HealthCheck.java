package io.floatvalve.metrics;

import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.publish.Standstill;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Looks whether publishers and consumers do their work: for a readiness probe.
 *
 * <p>What is stuck shows only from one look to the next: ask some times a minute. Costs nothing in
 * between. What was closed by the application is down until it is {@linkplain #forget forgotten}.
 * Needs no further library. Thread-safe.
 */
public final class HealthCheck {
  private static final Duration LEAST = Duration.ofMillis(100);
  private static final Duration MOST = Duration.ofDays(1);

  private final Duration patience;
  private final LongSupplier nanoTime;
  private final Map<String, Supplier<Health>> parts = new LinkedHashMap<>(); // guarded by this

  HealthCheck(Duration patience, LongSupplier nanoTime) {
    if (patience.compareTo(LEAST) < 0 || patience.compareTo(MOST) > 0) {
      throw new IllegalArgumentException(
          "patience must be from " + LEAST + " to " + MOST + ", was " + patience);
    }
    this.patience = patience;
    this.nanoTime = nanoTime;
  }

  /**
   * Begins with nothing to look at.
   *
   * @param patience how long nothing may come to an end although something is there; longer than
   *     any handler takes. From 100 ms to a day
   * @throws IllegalArgumentException if out of range
   */
  public static HealthCheck withPatience(Duration patience) {
    return new HealthCheck(patience, System::nanoTime);
  }

  /**
   * Looks at a publisher from now on.
   *
   * @param name for the reasons; takes the place of what had it before
   */
  public synchronized HealthCheck watch(String name, Publisher publisher) {
    Objects.requireNonNull(publisher, "publisher");
    Standstill standstill = new Standstill();
    parts.put(
        name,
        () -> {
          PublisherStatus status = publisher.status();
          long ended = status.outcomes().values().stream().mapToLong(Long::longValue).sum();
          boolean some = status.queued() > 0 || status.inFlight() > 0;
          long still = standstill.at(nanoTime.getAsLong(), ended, some);
          return Health.of(name, status, Duration.ofNanos(still), patience);
        });
    return this;
  }

  /**
   * Looks at a consumer from now on.
   *
   * @param name for the reasons; takes the place of what had it before
   */
  public HealthCheck watch(String name, Consumer consumer) {
    Objects.requireNonNull(consumer, "consumer");
    return watchConsumer(name, consumer::status);
  }

  /**
   * Looks at a pull consumer from now on.
   *
   * @param name for the reasons; takes the place of what had it before
   */
  public HealthCheck watch(String name, PullConsumer consumer) {
    Objects.requireNonNull(consumer, "consumer");
    return watchConsumer(name, consumer::status);
  }

  private synchronized HealthCheck watchConsumer(String name, Supplier<ConsumerStatus> from) {
    Standstill standstill = new Standstill();
    parts.put(
        name,
        () -> {
          ConsumerStatus status = from.get();
          boolean some =
              status.state() == ConsumerStatus.State.RUNNING
                  && (status.waiting() > 0 || status.inHandlers() > 0 || status.settling() > 0);
          long still = standstill.at(nanoTime.getAsLong(), ended(status), some);
          return Health.of(name, status, Duration.ofNanos(still), patience);
        });
    return this;
  }

  private static long ended(ConsumerStatus status) {
    return status.accepted()
        + status.retried()
        + status.retriedInPlace()
        + status.rejected()
        + status.stale()
        + status.duplicates();
  }

  /** Looks no more at what has this name, if anything has. */
  public synchronized void forget(String name) {
    parts.remove(name);
  }

  /** Returns how things are now. Waits for nothing but short locks. */
  public synchronized Health health() {
    Health all = Health.up();
    for (Supplier<Health> each : parts.values()) {
      all = all.and(each.get());
    }
    return all;
  }
}
