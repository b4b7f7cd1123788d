package io.floatvalve.spi;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What was last heard of things that are asked for again and again. Asking never waits: it returns
 * what is known and has it asked anew where that is due, so a first one finds nothing. What nobody
 * asks for is not asked after. Thread-safe.
 *
 * @param <K> names a thing
 * @param <V> what is known of it
 */
public final class LastKnown<K, V> {
  private static final int MOST = 10_000;

  /**
   * What is known.
   *
   * @param value as it was heard
   * @param age how long ago
   */
  public record Heard<V>(V value, Duration age) {}

  private record At<V>(V value, long nanos) {}

  private static final class Entry<V> {
    private long askedNanos; // guarded by this, as below
    private boolean asking;
    private boolean asked;
    private volatile @Nullable At<V> last;
  }

  private final Duration every;
  private final Duration oldest;
  private final Function<K, CompletableFuture<V>> ask;
  private final LongSupplier nanoTime;
  private final Map<K, Entry<V>> entries = new ConcurrentHashMap<>();
  private volatile String lastFailure = "";

  /**
   * Asks for nothing yet.
   *
   * @param every how often a thing is asked after at most
   * @param oldest how old an answer may be and still be known
   * @param ask asks for a thing without waiting
   */
  public LastKnown(Duration every, Duration oldest, Function<K, CompletableFuture<V>> ask) {
    this(every, oldest, ask, System::nanoTime);
  }

  LastKnown(
      Duration every,
      Duration oldest,
      Function<K, CompletableFuture<V>> ask,
      LongSupplier nanoTime) {
    this.every = every;
    this.oldest = oldest;
    this.ask = ask;
    this.nanoTime = nanoTime;
  }

  /** Returns what is known of a thing. */
  public Optional<Heard<V>> of(K key) {
    Entry<V> entry = entries.get(key);
    if (entry == null) {
      if (entries.size() >= MOST) {
        return Optional.empty();
      }
      entry = entries.computeIfAbsent(key, k -> new Entry<>());
    }
    long now = nanoTime.getAsLong();
    askIfDue(key, entry, now);
    At<V> last = entry.last;
    if (last == null) {
      return Optional.empty();
    }
    Duration age = Duration.ofNanos(Math.max(0, nanoTime.getAsLong() - last.nanos()));
    return age.compareTo(oldest) > 0
        ? Optional.empty()
        : Optional.of(new Heard<>(last.value(), age));
  }

  private void askIfDue(K key, Entry<V> entry, long now) {
    synchronized (entry) {
      if (entry.asking || (entry.asked && now - entry.askedNanos < every.toNanos())) {
        return;
      }
      entry.asking = true;
      entry.asked = true;
      entry.askedNanos = now;
    }
    CompletableFuture<V> answer;
    try {
      answer = ask.apply(key);
    } catch (RuntimeException e) { // such as a supplier of secrets that fails
      answer = CompletableFuture.failedFuture(e);
    }
    var unused =
        answer.whenComplete(
            (value, error) -> {
              if (error == null) {
                entry.last = new At<>(value, now);
              } else {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                lastFailure = String.valueOf(cause.getMessage());
              }
              synchronized (entry) {
                entry.asking = false;
              }
            });
  }

  /** Returns why there was no answer the last time there was none, or empty. */
  public String lastFailure() {
    return lastFailure;
  }
}
