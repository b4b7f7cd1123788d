package io.floatvalve.metrics;

import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.rate.Usage;
import io.micrometer.core.instrument.Meter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A publisher or consumer as its meters read it. One look at it serves all meters that are read
 * together, so that they agree. Thread-safe.
 *
 * @param <S> its status
 */
final class Watched<S> {
  private static final long FRESH_NANOS = 100_000_000L;

  /** How long the last counts of what was closed can still be read. */
  static final long LINGER_NANOS = 60_000_000_000L;

  /** What one look saw. */
  record Seen<S>(S status, LatencySnapshot all, LatencySnapshot recent, Usage usage) {}

  private final Supplier<S> status;
  private final Supplier<LatencySnapshot> latency;
  private final Supplier<Usage> usage;
  private final Predicate<S> isClosed;
  private final LongSupplier nanoTime;
  private final Runnable gone;
  private final RecentLatency recent; // guarded by this, as below
  private @Nullable Seen<S> seen;
  private long seenNanos;
  private boolean closed;
  private long closedNanos;

  /** Of the one who registers them; complete before anybody else sees this. */
  final List<Meter> meters = new ArrayList<>();

  /**
   * Looks at nothing yet.
   *
   * @param spanNanos how far back percentiles look
   * @param gone called once it has been closed for long enough; may be called again
   */
  Watched(
      Supplier<S> status,
      Supplier<LatencySnapshot> latency,
      Supplier<Usage> usage,
      Predicate<S> isClosed,
      long spanNanos,
      LongSupplier nanoTime,
      Runnable gone) {
    this.status = status;
    this.latency = latency;
    this.usage = usage;
    this.isClosed = isClosed;
    this.nanoTime = nanoTime;
    this.gone = gone;
    this.recent = new RecentLatency(spanNanos, nanoTime.getAsLong());
  }

  /** Returns how it stands, or stood a moment ago. */
  Seen<S> seen() {
    long now = nanoTime.getAsLong();
    Seen<S> current;
    boolean over;
    synchronized (this) {
      current = seen;
      if (current == null || now - seenNanos >= FRESH_NANOS) {
        S stands = status.get();
        LatencySnapshot all = latency.get();
        current = new Seen<>(stands, all, recent.at(now, all), usage.get());
        seen = current;
        seenNanos = now;
        if (!closed && isClosed.test(stands)) {
          closed = true;
          closedNanos = now;
        }
      }
      over = closed && now - closedNanos >= LINGER_NANOS;
    }
    if (over) {
      gone.run(); // not under the lock: it takes the registry's
    }
    return current;
  }

  boolean isClosed() {
    return isClosed.test(status.get());
  }
}
