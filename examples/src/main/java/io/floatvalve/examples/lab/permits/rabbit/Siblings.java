package io.floatvalve.examples.lab.permits.rabbit;

import io.floatvalve.examples.cli.Table;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** A slow consumer beside a fast one, and one that turns slow: A6. One worker each. */
final class Siblings {
  private static final int WAITING = 2_000;
  private static final int TURNING = 15_000;
  private static final int TURNS_AT = 5_000;
  private static final Duration SLOW = Duration.ofMillis(50);
  private static final Duration TURNED_SLOW = Duration.ofMillis(20);

  private final Bench bench;
  private final Table table =
      new Table("experiment", "consumers", "all done in s", "left then", "most held by the slow");

  Siblings(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  private record Ran(double seconds, int left, int held) {
    String text() {
      return left == 0
          ? String.format("%.2f s, %,d held", seconds, held)
          : String.format("not in %.0f s (%,d left), %,d held", seconds, left, held);
    }
  }

  void run() throws IOException {
    Duration patient = Duration.ofSeconds(bench.amount(60, 6));
    String reference = "";
    for (int prefetch : List.of(1, 10, 100, 1_000, Bench.ADAPTIVE)) {
      bench.doing("A6: one slow and one fast consumer, " + Bench.name(prefetch));
      Ran ran = oneSlow(prefetch, patient);
      row("one at 50 ms, one fast", "two_consumers_", prefetch, ran);
      if (prefetch != Bench.ADAPTIVE) {
        reference += (reference.isEmpty() ? "" : "; ") + prefetch + ": " + ran.text();
        continue;
      }
      bench
          .checks()
          .check(
              "A6",
              WAITING + " waiting, one consumer at 50 ms, one fast",
              reference,
              "all done within 1.5 s",
              ran.text(),
              ran.left() == 0 && ran.seconds() <= 1.5);
    }
    turning(patient);
  }

  private void row(String experiment, String figure, int prefetch, Ran ran) {
    table.row(experiment, Bench.name(prefetch), ran.seconds(), ran.left(), ran.held());
    bench.findings().figure(figure + Bench.figure(prefetch) + "_s", ran.seconds());
    bench.findings().figure(figure + Bench.figure(prefetch) + "_left_msgs", ran.left());
    bench.findings().figure(figure + Bench.figure(prefetch) + "_held_msgs", ran.held());
  }

  private Ran oneSlow(int prefetch, Duration limit) throws IOException {
    String queue = bench.filled("slow", WAITING, 100);
    AtomicInteger done = new AtomicInteger();
    long began = System.nanoTime();
    Work slowly =
        number -> {
          TimeUnit.NANOSECONDS.sleep(SLOW.toNanos());
          done.incrementAndGet();
        };
    Ran ran;
    try (Member slow = bench.open(prefetch, queue, 1, slowly);
        Member fast = bench.open(prefetch, queue, 1, number -> done.incrementAndGet())) {
      ran = watched(began, slow, WAITING, done, limit);
      bench.findings().figure("two_consumers_last_fast_held_msgs", fast.held());
    }
    bench.drop(queue);
    return ran;
  }

  private void turning(Duration limit) throws IOException {
    bench.doing("A6: a fast consumer turns slow while another joins");
    Ran plain = turning(1_000, limit);
    Ran ours = turning(Bench.ADAPTIVE, limit);
    row("fast turns to 20 ms, another joins", "turned_slow_", 1_000, plain);
    row("fast turns to 20 ms, another joins", "turned_slow_", Bench.ADAPTIVE, ours);
    double alone = alone();
    bench.findings().figure("turned_slow_sibling_alone_s", alone);
    bench
        .checks()
        .check(
            "A6-turned-slow",
            TURNING + " waiting, a fast consumer turns to 20 ms, a sibling joins",
            "plain, prefetch 1000: " + plain.text(),
            "all done within 2 s of what the sibling alone needs",
            String.format("%s; the sibling alone %.2f s", ours.text(), alone),
            ours.left() == 0 && ours.seconds() <= alone + 2);
  }

  private Ran turning(int prefetch, Duration limit) throws IOException {
    String queue = bench.filled("turning", TURNING, 100);
    AtomicInteger done = new AtomicInteger();
    AtomicBoolean turned = new AtomicBoolean();
    Work turning =
        number -> {
          if (turned.get()) {
            TimeUnit.NANOSECONDS.sleep(TURNED_SLOW.toNanos());
          } else if (done.get() >= TURNS_AT) {
            turned.set(true);
          }
          done.incrementAndGet();
        };
    Ran ran;
    try (Member first = bench.open(prefetch, queue, 1, turning)) {
      if (!Bench.await(Duration.ofSeconds(30), turned::get)) {
        throw new IOException(
            Bench.name(prefetch) + ": " + done + " of " + TURNS_AT + " handled in 30 s");
      }
      long began = System.nanoTime();
      try (Member sibling = bench.open(prefetch, queue, 1, number -> done.incrementAndGet())) {
        ran = watched(began, first, TURNING, done, limit);
        bench.findings().figure("turned_slow_sibling_held_msgs", sibling.held());
      }
    }
    bench.drop(queue);
    return ran;
  }

  /** What a fast consumer alone needs for what is left when the other turns slow. */
  private double alone() throws IOException {
    String queue = bench.filled("alone", TURNING - TURNS_AT, 100);
    AtomicInteger done = new AtomicInteger();
    long began = System.nanoTime();
    try (Member only = bench.open(Bench.ADAPTIVE, queue, 1, number -> done.incrementAndGet())) {
      boolean all = Bench.await(Duration.ofSeconds(30), () -> done.get() >= TURNING - TURNS_AT);
      if (!all) {
        throw new IOException("a fast consumer alone holds " + only.held() + " and stands still");
      }
      return (System.nanoTime() - began) / 1e9;
    } finally {
      bench.drop(queue);
    }
  }

  private static Ran watched(long began, Member slow, int all, AtomicInteger done, Duration limit)
      throws IOException {
    AtomicInteger most = new AtomicInteger();
    boolean ended =
        Bench.await(
            limit,
            () -> {
              most.accumulateAndGet(slow.held(), Math::max);
              return done.get() >= all;
            });
    double seconds = (System.nanoTime() - began) / 1e9;
    return new Ran(seconds, ended ? 0 : all - done.get(), most.get());
  }
}
