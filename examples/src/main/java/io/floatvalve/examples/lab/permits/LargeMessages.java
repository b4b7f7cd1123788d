package io.floatvalve.examples.lab.permits;

import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.flow.PermitPolicy;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Large messages for a slow handler: what waits in the process, in bytes. A1 and A4. */
final class LargeMessages {
  private static final int BYTES = 1_000_000;
  private static final long BUDGET = 8L << 20;
  private static final Duration SLOW = Duration.ofMillis(200);

  private final Bench bench;
  private final Table table = new Table("partitions", "client", "most MB waiting", "most permits");

  LargeMessages(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    bench.doing("A4: 1 MB messages for a handler of 200 ms");
    compare(0);
    if (bench.pulsar().hasAdmin()) {
      compare(4);
    } else {
      bench.checks().note("A4-memory-4", "1 MB messages, 4 partitions", "no admin interface");
    }
  }

  private record Watched(long bytes, int permits, boolean within) {}

  private void compare(int partitions) throws IOException {
    int messages = bench.amount(150, 60);
    Duration time = Duration.ofSeconds(bench.amount(5, 2));
    String name = partitions == 0 ? "memory" : "memory-parts";
    String topic = partitions == 0 ? bench.topic(name) : bench.partitioned(name, partitions);
    bench.fill(topic, messages, BYTES);
    Work slow = message -> TimeUnit.NANOSECONDS.sleep(SLOW.toNanos());
    Watched sdk;
    var settings =
        Bench.sdk(topic).withWorkers(1).withPermits(PermitPolicy.adaptive().withMaxBytes(BUDGET));
    try (SdkMember member = new SdkMember(bench.messaging(), settings, slow)) {
      sdk = watch(member, time);
    }
    long plain = 0;
    try (Member member = bench.open(Member.Side.PLAIN, topic, 1, slow)) {
      long end = System.nanoTime() + time.toNanos();
      while (System.nanoTime() < end) {
        plain = Math.max(plain, member.waitingBytes());
        Bench.pause(Duration.ofMillis(2));
      }
    }
    table.row((long) partitions, "plain", plain / 1e6, "1,000");
    table.row((long) partitions, "Floatvalve", sdk.bytes() / 1e6, (long) sdk.permits());
    bench.findings().figure("waiting_plain_p" + partitions + "_bytes", plain);
    bench.findings().figure("waiting_sdk_p" + partitions + "_bytes", sdk.bytes());
    bench
        .checks()
        .check(
            partitions == 0 ? "A4-memory" : "A4-memory-" + partitions,
            "1 MB messages, 200 ms handler, "
                + (partitions == 0 ? "one topic" : partitions + " partitions"),
            String.format("plain: %.0f of %d MB waiting", plain / 1e6, messages),
            "at most the budget of 8 MiB, and one message for each outstanding permit",
            String.format("%.0f MB waiting, at most %d permits", sdk.bytes() / 1e6, sdk.permits()),
            sdk.within() && sdk.bytes() > 0);
  }

  private static Watched watch(SdkMember member, Duration time) throws IOException {
    long bytes = 0;
    int permits = 0;
    boolean within = true;
    long end = System.nanoTime() + time.toNanos();
    while (System.nanoTime() < end) {
      ConsumerStatus status = member.status();
      bytes = Math.max(bytes, status.waitingBytes());
      permits = Math.max(permits, status.permits());
      within &= status.waitingBytes() <= BUDGET + (long) BYTES * permits;
      Bench.pause(Duration.ofMillis(2));
    }
    return new Watched(bytes, permits, within);
  }
}
