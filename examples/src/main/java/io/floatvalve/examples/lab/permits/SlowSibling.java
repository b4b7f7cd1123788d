package io.floatvalve.examples.lab.permits;

import io.floatvalve.examples.cli.Table;
import io.floatvalve.examples.lab.permits.Member.Side;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.api.Message;

/** A slow consumer beside a fast one on a Shared subscription: A6. One worker each. */
final class SlowSibling {
  private static final int WAITING = 2_000;
  private static final int BATCH = 50;
  private static final Duration SLOW = Duration.ofMillis(50);
  private static final int TURNING = 15_000;
  private static final int TURNS_AT = 5_000;
  private static final Duration TURNED_SLOW = Duration.ofMillis(20);
  private static final int WORKERS = 1;
  private static final int MOST_BEYOND_WORKERS = 8;

  private final Bench bench;
  private final Table table =
      new Table(
          "experiment",
          "client",
          "all done in s",
          "left then",
          "most held by the slow one",
          "by the other");

  SlowSibling(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  /** How it went: seconds, messages not handled by then, the most that each held. */
  private record Ran(double seconds, int left, int held, int heldByOther) {
    String text() {
      return left == 0
          ? String.format("%.2f s, %,d held", seconds, held)
          : String.format("not in %.0f s (%,d left), %,d held", seconds, left, held);
    }
  }

  void run() throws IOException {
    bench.doing("A6: one slow and one fast consumer, " + WAITING + " messages waiting");
    Duration patient = Duration.ofSeconds(bench.amount(60, 8));
    Ran single = oneSlow(Side.SDK, 1, patient);
    Ran batched = oneSlow(Side.SDK, BATCH, patient);
    bench.doing("A6: a fast consumer turns slow while another joins");
    double alone = alone();
    Ran turned = turning(Side.SDK, patient);
    bench.doing("A6: the same with the plain client, for up to " + patient.toSeconds() + " s");
    List<CompletableFuture<Ran>> plain = new ArrayList<>();
    plain.add(apart(() -> oneSlow(Side.PLAIN, 1, patient)));
    plain.add(apart(() -> oneSlow(Side.PLAIN, BATCH, patient)));
    plain.add(apart(() -> turning(Side.PLAIN, patient)));
    Ran plainSingle = joined(plain.get(0));
    Ran plainBatched = joined(plain.get(1));
    Ran plainTurned = joined(plain.get(2));

    row("one slow, one fast", "shared", single, plainSingle);
    row("one slow, one fast, batches of " + BATCH, "shared_batched", batched, plainBatched);
    row("fast turns slow, another joins", "turned_slow", turned, plainTurned);
    bench.findings().figure("turned_slow_sibling_alone_s", alone);
    bench
        .checks()
        .check(
            "A6",
            WAITING + " waiting, one consumer at 50 ms, one fast",
            "plain: " + plainSingle.text(),
            "all done within 1.5 s; the slow one holds at most 8 beyond its worker",
            single.text(),
            single.left() == 0
                && single.seconds() <= 1.5
                && single.held() <= WORKERS + MOST_BEYOND_WORKERS);
    bench
        .checks()
        .check(
            "A6-batched",
            "the same in batches of " + BATCH,
            "plain: " + plainBatched.text(),
            "all done; the slow one holds at most 8 and one batch beyond its worker, and that is"
                + " what it takes",
            batched.text(),
            batched.left() == 0
                && batched.held() <= WORKERS + MOST_BEYOND_WORKERS + BATCH
                && batched.seconds() <= 1.5 + (batched.held() + 1) * SLOW.toMillis() / 1e3);
    bench
        .checks()
        .check(
            "A6-turned-slow",
            TURNING + " waiting, a fast consumer turns to 20 ms, a sibling joins",
            "plain: " + plainTurned.text(),
            "all done within 2 s of what the sibling alone needs",
            String.format("%s; the sibling alone %.2f s", turned.text(), alone),
            turned.left() == 0 && turned.seconds() <= alone + 2);
  }

  private void row(String experiment, String figure, Ran sdk, Ran plain) {
    table.row(
        experiment, "plain", plain.seconds(), plain.left(), plain.held(), plain.heldByOther());
    table.row(experiment, "Floatvalve", sdk.seconds(), sdk.left(), sdk.held(), sdk.heldByOther());
    bench.findings().figure(figure + "_plain_s", plain.seconds());
    bench.findings().figure(figure + "_plain_left_msgs", plain.left());
    bench.findings().figure(figure + "_plain_held_msgs", plain.held());
    bench.findings().figure(figure + "_sdk_s", sdk.seconds());
    bench.findings().figure(figure + "_sdk_held_msgs", sdk.held());
  }

  private Ran oneSlow(Side side, int batch, Duration limit) throws IOException {
    String topic = bench.topic("slow");
    if (batch == 1) {
      bench.fill(topic, WAITING, 100);
    } else {
      bench.fillBatched(topic, WAITING, 100, batch);
    }
    AtomicInteger done = new AtomicInteger();
    long began = System.nanoTime();
    try (Member slow =
            bench.open(
                side,
                topic,
                WORKERS,
                message -> {
                  TimeUnit.NANOSECONDS.sleep(SLOW.toNanos());
                  done.incrementAndGet();
                });
        Member fast = bench.open(side, topic, WORKERS, message -> done.incrementAndGet())) {
      return watched(began, slow, WAITING, done, limit, fast);
    }
  }

  private Ran turning(Side side, Duration limit) throws IOException {
    String topic = bench.topic("turning");
    bench.fill(topic, TURNING, 100);
    AtomicInteger done = new AtomicInteger();
    AtomicBoolean turned = new AtomicBoolean();
    Work turning =
        message -> {
          if (turned.get()) {
            TimeUnit.NANOSECONDS.sleep(TURNED_SLOW.toNanos());
          } else if (done.get() >= TURNS_AT) {
            turned.set(true);
          }
          done.incrementAndGet();
        };
    try (Member first = bench.open(side, topic, WORKERS, turning)) {
      if (!Bench.await(Duration.ofSeconds(30), turned::get)) {
        return new Ran(30, TURNING - done.get(), first.held(), 0);
      }
      long began = System.nanoTime();
      try (Member sibling = bench.open(side, topic, WORKERS, message -> done.incrementAndGet())) {
        return watched(began, first, TURNING, done, limit, sibling);
      }
    }
  }

  /** What a fast consumer alone needs for what is left when the other turns slow. */
  private double alone() throws IOException {
    String topic = bench.topic("alone");
    bench.fill(topic, TURNING - TURNS_AT, 100);
    AtomicInteger done = new AtomicInteger();
    Work work = (Message<?> message) -> done.incrementAndGet();
    long began = System.nanoTime();
    try (Member only = bench.open(Side.SDK, topic, WORKERS, work)) {
      boolean all = Bench.await(Duration.ofSeconds(30), () -> done.get() >= TURNING - TURNS_AT);
      if (!all) {
        throw new IOException("a fast consumer alone holds " + only.held() + " and stands still");
      }
      return (System.nanoTime() - began) / 1e9;
    }
  }

  private static Ran watched(
      long began, Member slow, int all, AtomicInteger done, Duration limit, Member other)
      throws IOException {
    AtomicInteger most = new AtomicInteger();
    AtomicInteger mostOther = new AtomicInteger();
    boolean ended =
        Bench.await(
            limit,
            () -> {
              most.accumulateAndGet(slow.held(), Math::max);
              mostOther.accumulateAndGet(other.held(), Math::max);
              return done.get() >= all;
            });
    double seconds = (System.nanoTime() - began) / 1e9;
    return new Ran(seconds, ended ? 0 : all - done.get(), most.get(), mostOther.get());
  }

  private interface Experiment {
    Ran run() throws IOException;
  }

  private static CompletableFuture<Ran> apart(Experiment experiment) {
    CompletableFuture<Ran> future = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                future.complete(experiment.run());
              } catch (IOException e) {
                future.completeExceptionally(new UncheckedIOException(e));
              } catch (RuntimeException e) {
                future.completeExceptionally(e);
              }
            },
            "lab-apart");
    thread.setDaemon(true);
    thread.start();
    return future;
  }

  private static Ran joined(CompletableFuture<Ran> future) throws IOException {
    try {
      return future.join();
    } catch (CompletionException e) {
      throw new IOException("an experiment with the plain client failed", e.getCause());
    }
  }
}
