package io.floatvalve.examples.lab.crash;

import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Messages under ids of their own, published by some threads, and what became of each. */
final class Load {
  private static final long EACH_NANOS = 500_000;
  private static final long LOOK_NANOS = 5_000_000;

  /** One message, as it is being published. */
  private static final class Sent {
    final String id;
    final long beganNanos = System.nanoTime();
    final AtomicInteger ends = new AtomicInteger();
    volatile @Nullable PublishOutcome outcome;
    volatile long nanos;

    Sent(String id) {
      this.id = id;
    }

    void ended(PublishOutcome end) {
      nanos = System.nanoTime() - beganNanos;
      outcome = end;
      ends.incrementAndGet();
    }

    Told told() {
      PublishOutcome end = outcome;
      return new Told(id, beganNanos, ends.get(), end == null ? null : end.verdict(), nanos);
    }
  }

  /**
   * What is known of one message.
   *
   * @param beganNanos when it was published, by {@link System#nanoTime}
   * @param ends how many outcomes it had; one is right
   * @param verdict null without an outcome
   * @param nanos the time from the publish to the outcome
   */
  record Told(String id, long beganNanos, int ends, @Nullable Verdict verdict, long nanos) {}

  private final Publisher publisher;
  private final Queue<Sent> all = new ConcurrentLinkedQueue<>();
  private final Map<Verdict, AtomicInteger> counts = new EnumMap<>(Verdict.class); // then fixed
  private final AtomicInteger ids = new AtomicInteger();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean stopped;

  Load(Publisher publisher) {
    this.publisher = publisher;
    for (Verdict verdict : Verdict.values()) {
      counts.put(verdict, new AtomicInteger());
    }
  }

  /** Publishes on so many threads until it is stopped. */
  void start(int threadCount) {
    for (int t = 0; t < threadCount; t++) {
      Thread thread =
          new Thread(
              () -> {
                while (!stopped) {
                  var unused = publish(null);
                  LockSupport.parkNanos(EACH_NANOS);
                }
              },
              "load-" + t);
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
  }

  /** Publishes one message, to another address if one is given. */
  CompletableFuture<PublishOutcome> publish(@Nullable Address address) {
    Sent sent = new Sent("m" + ids.incrementAndGet());
    all.add(sent);
    Message.Builder message =
        Message.builder(sent.id.getBytes(StandardCharsets.UTF_8)).messageId(sent.id);
    if (address != null) {
      message.address(address);
    }
    return publisher
        .publish(message.build())
        .whenComplete(
            (end, failure) -> {
              sent.ended(end);
              counter(end.verdict()).incrementAndGet();
            });
  }

  private AtomicInteger counter(Verdict verdict) {
    return Objects.requireNonNull(counts.get(verdict));
  }

  int count(Verdict verdict) {
    return counter(verdict).get();
  }

  int settled() {
    return counts.values().stream().mapToInt(AtomicInteger::get).sum();
  }

  int published() {
    return all.size();
  }

  List<Told> told() {
    return all.stream().map(Sent::told).toList();
  }

  /** Waits until so many more came to this end; says whether they did. */
  boolean awaitMore(Verdict verdict, int more, Duration limit) {
    int before = count(verdict);
    return await(() -> count(verdict) >= before + more, limit);
  }

  /** Ends the threads; says how many hang. */
  int stop(Duration limit) {
    stopped = true;
    await(() -> threads.stream().noneMatch(Thread::isAlive), limit);
    return (int) threads.stream().filter(Thread::isAlive).count();
  }

  /** Lets time pass, with the load on. */
  static void pass(Duration time) {
    var unused = await(() -> false, time);
  }

  /** Waits until something holds; says whether it does. */
  static boolean await(BooleanSupplier condition, Duration limit) {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > deadline || Thread.currentThread().isInterrupted()) {
        return false;
      }
      LockSupport.parkNanos(LOOK_NANOS);
    }
    return true;
  }
}
