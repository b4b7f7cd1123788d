package io.floatvalve.examples.lab.permits.rabbit;

import io.floatvalve.examples.cli.Table;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Handlers of different speeds: fixed prefetches against adaptive permits. A3 and A4. */
final class Speeds {
  private static final List<Integer> ALL = List.of(1, 10, 100, 1_000, Bench.ADAPTIVE);
  private static final int WORKERS = 16;
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int MOST_HELD_PER_WORKER = 6;

  private final Bench bench;
  private final Table table =
      new Table("handler", "consumer", "messages/s, median", "most held", "typically held");

  Speeds(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  private record Run(double rate, int mostHeld, int held) {}

  void run() throws IOException {
    compare("noop", "nothing", Duration.ZERO, bench.amount(40_000, 8_000), 0.95);
    compare("1ms", "1 ms", Duration.ofMillis(1), bench.amount(12_000, 4_000), 0.88);
    compare("50ms", "50 ms", Duration.ofMillis(50), bench.amount(800, 320), 0.88);
  }

  private void compare(String id, String handler, Duration time, int messages, double least)
      throws IOException {
    int rounds = bench.amount(3, 1);
    Map<Integer, List<Run>> runs = new LinkedHashMap<>();
    for (int round = 0; round < rounds; round++) {
      for (int prefetch : ALL) {
        bench.doing("A4: a handler that takes " + handler + ", " + Bench.name(prefetch));
        int some = prefetch == 1 ? Math.max(100, messages / 10) : messages;
        runs.computeIfAbsent(prefetch, p -> new ArrayList<>()).add(run(prefetch, some, time));
      }
    }
    double best = 0;
    for (int prefetch : ALL) {
      Run median = median(runs.getOrDefault(prefetch, List.of()));
      table.row(handler, Bench.name(prefetch), median.rate(), median.mostHeld(), median.held());
      String name = "handler_" + id + "_" + Bench.figure(prefetch);
      bench.findings().figure(name + "_msgs_per_s", median.rate());
      bench.findings().figure(name + "_most_held_msgs", median.mostHeld());
      if (prefetch != Bench.ADAPTIVE) {
        best = Math.max(best, median.rate());
      }
    }
    Run ours = median(runs.getOrDefault(Bench.ADAPTIVE, List.of()));
    boolean slow = !time.isZero();
    bench
        .checks()
        .check(
            "A4-" + id,
            "16 workers, a handler that takes " + handler,
            String.format("best of the fixed: %,.0f msg/s", best),
            String.format("at least %.2f of the best fixed prefetch", least)
                + (slow ? ", typically at most 6 held for each worker" : ""),
            String.format("%.2f of it, typically %,d held", ours.rate() / best, ours.held()),
            ours.rate() >= least * best
                && (!slow || ours.held() <= MOST_HELD_PER_WORKER * WORKERS));
  }

  private static Run median(List<Run> runs) {
    List<Run> sorted = runs.stream().sorted((a, b) -> Double.compare(a.rate(), b.rate())).toList();
    return sorted.get(sorted.size() / 2);
  }

  private Run run(int prefetch, int messages, Duration time) throws IOException {
    String queue = bench.filled("speed", messages, 100);
    AtomicInteger done = new AtomicInteger();
    AtomicLong began = new AtomicLong();
    AtomicLong ended = new AtomicLong();
    Work work =
        number -> {
          if (!time.isZero()) {
            TimeUnit.NANOSECONDS.sleep(time.toNanos());
          }
          int count = done.incrementAndGet();
          if (count == 1) {
            began.set(System.nanoTime());
          } else if (count == messages) {
            ended.set(System.nanoTime());
          }
        };
    List<Integer> held = new ArrayList<>();
    try (Member member = bench.open(prefetch, queue, WORKERS, work)) {
      boolean all =
          Bench.await(
              PATIENCE,
              () -> {
                held.add(member.held());
                return ended.get() != 0;
              });
      if (!all) {
        throw new IOException(
            Bench.name(prefetch) + ": " + done + " of " + messages + " handled in " + PATIENCE);
      }
    }
    bench.drop(queue);
    held.sort(null);
    double rate = (messages - 1) * 1e9 / Math.max(1, ended.get() - began.get());
    return new Run(rate, held.get(held.size() - 1), held.get(held.size() / 2));
  }
}
