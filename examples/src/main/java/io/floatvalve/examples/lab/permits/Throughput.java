package io.floatvalve.examples.lab.permits;

import io.floatvalve.examples.cli.Table;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.client.api.Message;

/**
 * A handler that does nothing: a fixed queue of 1000 of the plain client against adaptive permits.
 * In each round both read the same topic, one after the other, the plain client twice: what lies
 * between those two is chance.
 */
final class Throughput {
  private static final int LONGEST_SECONDS = 60;

  private final Bench bench;
  private final Table table =
      new Table("messages", "rounds", "plain msg/s", "ratio", "lowest", "highest", "plain twice");

  Throughput(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    compare("batched", "100 B in batches", bench.amount(400_000, 100_000), true);
    compare("unbatched", "1 KB, one an entry", bench.amount(20_000, 6_000), false);
  }

  private void compare(String name, String what, int messages, boolean batched) throws IOException {
    bench.doing("A4: throughput, " + what);
    String topic = bench.topic("throughput");
    if (batched) {
      bench.fillBatched(topic, messages, 100, 1_000);
    } else {
      bench.fill(topic, messages, 1_000);
    }
    int rounds = bench.amount(9, 3);
    List<Double> plain = new ArrayList<>();
    List<Double> ratio = new ArrayList<>();
    List<Double> control = new ArrayList<>();
    for (int round = -1; round < rounds; round++) {
      double before = rate(Member.Side.PLAIN, topic, "p" + round, messages);
      double ours = rate(Member.Side.SDK, topic, "s" + round, messages);
      double after = rate(Member.Side.PLAIN, topic, "c" + round, messages);
      if (round >= 0) { // the one before warms up
        plain.add((before + after) / 2);
        ratio.add(ours / ((before + after) / 2));
        control.add(after / before);
      }
    }
    double median = median(ratio);
    double least = Math.min(Collections.min(control), 1 / Collections.max(control));
    String spread =
        String.format("%.2f to %.2f", Collections.min(control), Collections.max(control));
    table.row(
        what,
        (long) rounds,
        median(plain),
        median,
        Collections.min(ratio),
        Collections.max(ratio),
        spread);
    bench.findings().figure("throughput_" + name + "_plain_msgs_per_s", median(plain));
    bench.findings().figure("throughput_" + name + "_ratio", median);
    bench.findings().figure("throughput_" + name + "_ratio_lowest", Collections.min(ratio));
    bench.findings().figure("throughput_" + name + "_control_lowest_ratio", least);
    bench
        .checks()
        .check(
            "A4-throughput-" + name,
            "no-op handler, " + what,
            String.format("plain, 1000 fixed: %,.0f msg/s", median(plain)),
            "at least 0.95 of it, and not outside of what two runs of the plain client differ by",
            String.format("%.2f of it; plain twice %s", median, spread),
            median >= 0.95 && median >= least);
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int middle = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(middle)
        : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
  }

  /** Messages a second, from the first to the last. */
  private double rate(Member.Side side, String topic, String group, int messages)
      throws IOException {
    AtomicInteger done = new AtomicInteger();
    AtomicLong began = new AtomicLong();
    AtomicLong ended = new AtomicLong();
    Work work =
        (Message<?> message) -> {
          int count = done.incrementAndGet();
          if (count == 1) {
            began.set(System.nanoTime());
          } else if (count == messages) {
            ended.set(System.nanoTime());
          }
        };
    try (Member member =
        side == Member.Side.PLAIN
            ? new PlainMember(bench.plain(topic).subscriptionName(group), 1, work)
            : new SdkMember(
                bench.messaging(), Bench.sdk(topic).withGroup(group).withWorkers(1), work)) {
      if (!Bench.await(Duration.ofSeconds(LONGEST_SECONDS), () -> ended.get() != 0)) {
        throw new IOException(
            side + ": " + done + " of " + messages + " handled, " + member.held() + " held");
      }
    }
    return (messages - 1) * 1e9 / (ended.get() - began.get());
  }
}
