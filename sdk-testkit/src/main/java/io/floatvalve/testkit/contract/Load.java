package io.floatvalve.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Messages that are published under names of their own, and what became of each. Thread-safe. */
final class Load {
  private static final long EACH_NANOS = 500_000; // some thousands a second: faults meet a window

  /** One message. */
  private static final class Sent {
    final String text;
    final long began = System.nanoTime();
    final AtomicInteger ends = new AtomicInteger();
    volatile @Nullable PublishOutcome outcome;
    volatile long nanos;

    Sent(String text) {
      this.text = text;
    }

    void ended(PublishOutcome end) {
      nanos = System.nanoTime() - began;
      outcome = end;
      ends.incrementAndGet();
    }
  }

  private final Queue<Sent> all = new ConcurrentLinkedQueue<>();
  private final Map<Verdict, AtomicInteger> counts = new EnumMap<>(Verdict.class); // then fixed
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean stopped;

  Load() {
    for (Verdict verdict : Verdict.values()) {
      counts.put(verdict, new AtomicInteger());
    }
  }

  static Message message(String text) {
    return Message.of(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Publishes one message. */
  CompletableFuture<PublishOutcome> publish(Publisher publisher, String text) {
    Sent sent = new Sent(text);
    all.add(sent);
    CompletableFuture<PublishOutcome> future = publisher.publish(message(text));
    var unused =
        future.thenAccept(
            end -> {
              sent.ended(end);
              counter(end.verdict()).incrementAndGet();
            });
    return future;
  }

  /** Publishes so many messages, named by what is given and their number from 0. */
  List<CompletableFuture<PublishOutcome>> publish(Publisher publisher, String name, int count) {
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      futures.add(publish(publisher, name + "-" + i));
    }
    return futures;
  }

  /** Publishes on threads of their own until {@link #stop}. */
  void start(Publisher publisher, int threadCount) {
    for (int t = 0; t < threadCount; t++) {
      String name = "t" + t;
      Thread thread =
          new Thread(
              () -> {
                for (int i = 0; !stopped; i++) {
                  var unused = publish(publisher, name + "-" + i);
                  LockSupport.parkNanos(EACH_NANOS);
                }
              },
              "load-" + name);
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
  }

  /** Ends the threads; fails if one hangs. */
  void stop(Duration limit) throws InterruptedException {
    stopped = true;
    for (Thread thread : threads) {
      thread.join(limit.toMillis());
      assertThat(thread.isAlive()).as("%s hangs in publish", thread.getName()).isFalse();
    }
  }

  private AtomicInteger counter(Verdict verdict) {
    return Objects.requireNonNull(counts.get(verdict));
  }

  int count(Verdict verdict) {
    return counter(verdict).get();
  }

  int published() {
    return all.size();
  }

  int settled() {
    return counts.values().stream().mapToInt(AtomicInteger::get).sum();
  }

  /** Returns the longest time from a publish to its outcome. */
  Duration longest() {
    return Duration.ofNanos(all.stream().mapToLong(sent -> sent.nanos).max().orElse(0));
  }

  /** Returns how often a message was tried at most. */
  int mostAttempts() {
    return all.stream()
        .map(sent -> sent.outcome)
        .filter(Objects::nonNull)
        .mapToInt(PublishOutcome::attempts)
        .max()
        .orElse(0);
  }

  /** Waits until each message has its outcome. */
  void awaitOutcomes() {
    await()
        .atMost(Duration.ofSeconds(60))
        .untilAsserted(() -> assertThat(settled()).as("outcomes").isEqualTo(published()));
  }

  /** Holds that each message came to this end, and that there are so many. */
  void assertAll(Verdict verdict, int messages) {
    awaitOutcomes();
    assertThat(count(verdict)).as("%s", verdict).isEqualTo(messages);
    assertThat(published()).isEqualTo(messages);
  }

  /**
   * Holds the outcomes against what is stored: each message has exactly one, the confirmed are all
   * there, those not sent are not, and nothing is there that was never published.
   */
  void assertTrue(List<String> stored) {
    awaitOutcomes();
    Set<String> distinct = new HashSet<>(stored);
    Set<String> texts = new HashSet<>();
    List<String> lost = new ArrayList<>();
    List<String> sentAfterAll = new ArrayList<>();
    for (Sent sent : all) {
      texts.add(sent.text);
      assertThat(sent.ends).as("outcomes of %s", sent.text).hasValue(1);
      Verdict verdict = Objects.requireNonNull(sent.outcome).verdict();
      if (verdict == Verdict.CONFIRMED && !distinct.contains(sent.text)) {
        lost.add(sent.text);
      }
      if (verdict == Verdict.NOT_SENT && distinct.contains(sent.text)) {
        sentAfterAll.add(sent.text);
      }
    }
    assertThat(lost).as("confirmed and not stored").isEmpty();
    assertThat(sentAfterAll).as("not sent and stored").isEmpty();
    assertThat(texts).as("published").containsAll(distinct);
  }

  /** Holds that nothing is stored twice, and what a thread published is stored in its order. */
  static void assertOnceInOrder(List<String> stored) {
    Map<String, Integer> last = new TreeMap<>();
    for (String text : stored) {
      int dash = text.lastIndexOf('-');
      int number = Integer.parseInt(text.substring(dash + 1));
      Integer before = last.put(text.substring(0, dash), number);
      assertThat(before == null ? -1 : before)
          .as("number before %s, stored twice or too late", text)
          .isLessThan(number);
    }
  }
}
