package io.floatvalve.examples.lab.permits.rabbit;

import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.flow.PermitPolicy;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Bodies of 1 MB for a slow handler: what waits in the process, in bytes. A4. */
final class LargeMessages {
  private static final int BYTES = 1_000_000;
  private static final long BUDGET = 8L << 20;
  private static final Duration SLOW = Duration.ofMillis(200);

  private final Bench bench;
  private final Table table = new Table("consumer", "most MB waiting", "most permits");

  LargeMessages(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    int messages = bench.amount(150, 60);
    Duration time = Duration.ofSeconds(bench.amount(5, 2));
    String queue = bench.filled("large", messages, BYTES);
    Work slow = number -> TimeUnit.NANOSECONDS.sleep(SLOW.toNanos());
    long worst = 0;
    for (int prefetch : List.of(1, 10, 100, 1_000)) {
      bench.doing("A4: bodies of 1 MB for a handler of 200 ms, " + Bench.name(prefetch));
      long most = 0;
      try (Member member = bench.open(prefetch, queue, 1, slow)) {
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() < end) {
          most = Math.max(most, member.waitingBytes());
          Bench.pause(Duration.ofMillis(2));
        }
      }
      table.row(Bench.name(prefetch), most / 1e6, (long) prefetch);
      bench.findings().figure("waiting_" + Bench.figure(prefetch) + "_bytes", most);
      worst = Math.max(worst, most);
    }
    bench.doing("A4: bodies of 1 MB for a handler of 200 ms, Floatvalve");
    long bytes = 0;
    int permits = 0;
    int first;
    boolean within = true;
    var settings =
        Bench.sdk(queue).withWorkers(1).withPermits(PermitPolicy.adaptive().withMaxBytes(BUDGET));
    try (SdkMember member = new SdkMember(bench.messaging(), settings, slow)) {
      first = member.status().permits();
      long end = System.nanoTime() + time.toNanos();
      while (System.nanoTime() < end) {
        ConsumerStatus status = member.status();
        bytes = Math.max(bytes, status.waitingBytes());
        permits = Math.max(permits, status.permits());
        within &= status.waitingBytes() <= BUDGET + (long) BYTES * permits;
        Bench.pause(Duration.ofMillis(2));
      }
    }
    bench.drop(queue);
    table.row(Bench.name(Bench.ADAPTIVE), bytes / 1e6, (long) permits);
    bench.findings().figure("waiting_adaptive_bytes", bytes);
    bench.findings().figure("waiting_adaptive_first_permits", first);
    bench
        .checks()
        .check(
            "A4-memory",
            "1 MB bodies, 200 ms handler",
            String.format("plain: up to %.0f of %d MB waiting", worst / 1e6, messages),
            "at most the budget of 8 MiB, and one message for each permit",
            String.format("%.0f MB waiting, at most %d permits", bytes / 1e6, permits),
            within && bytes > 0);
  }
}
