package io.floatvalve.examples.lab.permits.rabbit;

import io.floatvalve.examples.cli.Table;
import io.floatvalve.model.Ordering;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** What order is kept: A7. */
final class Orders {
  private static final int KEYS = 20;
  private static final int WORKERS = 8;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Bench bench;
  private final Table table =
      new Table("order asked for", "messages", "out of order", "a key in parallel", "at a time");

  Orders(Bench bench) {
    this.bench = bench;
  }

  Table table() {
    return table;
  }

  /** When handlers began and ended. Thread-safe. */
  private static final class Watch {
    private final Map<Integer, Integer> last = new HashMap<>(); // by key; guarded by this
    private final Set<Integer> running = new HashSet<>(); // keys; guarded by this
    private final boolean total;
    private int outOfOrder; // guarded by this
    private int inParallel; // guarded by this
    private int now; // guarded by this
    private int most; // guarded by this
    private int done; // guarded by this

    Watch(boolean total) {
      this.total = total;
    }

    private int sequence(int number) {
      return total ? 0 : number % KEYS;
    }

    synchronized void began(int number) {
      Integer before = last.put(sequence(number), number);
      outOfOrder += before != null && before > number ? 1 : 0;
      inParallel += running.add(sequence(number)) ? 0 : 1;
      now++;
      most = Math.max(most, now);
    }

    synchronized void ended(int number) {
      running.remove(sequence(number));
      now--;
      done++;
    }

    synchronized int done() {
      return done;
    }
  }

  void run() throws IOException {
    bench.doing("A7: what order is kept");
    Watch none = watch(Ordering.NONE);
    Watch byKey = watch(Ordering.BY_KEY);
    Watch total = watch(Ordering.TOTAL);
    String reference = String.format("without: %,d out of order", none.outOfOrder);
    bench
        .checks()
        .check(
            "A7-by-key",
            "order by key, 20 keys, 8 workers",
            reference,
            "no key out of order nor beside itself, several keys at a time",
            text(byKey),
            byKey.outOfOrder == 0 && byKey.inParallel == 0 && byKey.most > 1);
    bench
        .checks()
        .check(
            "A7-total",
            "total order, 8 workers asked for",
            reference,
            "one at a time, none out of order",
            text(total),
            total.outOfOrder == 0 && total.most == 1);
  }

  private static String text(Watch watch) {
    return String.format(
        "%,d out of order, %,d beside themselves, %d at a time",
        watch.outOfOrder, watch.inParallel, watch.most);
  }

  private Watch watch(Ordering ordering) throws IOException {
    int messages = bench.amount(4_000, 1_000);
    String queue = bench.filled("order", messages, 100, KEYS);
    Watch watch = new Watch(ordering == Ordering.TOTAL);
    Work work =
        number -> {
          watch.began(number);
          TimeUnit.MICROSECONDS.sleep(200 + number % 7 * 200L);
          watch.ended(number);
        };
    var settings = Bench.sdk(queue).withOrdering(ordering).withWorkers(WORKERS);
    try (SdkMember member = new SdkMember(bench.messaging(), settings, work)) {
      if (!Bench.await(PATIENCE, () -> watch.done() >= messages)) {
        throw new IOException(watch.done() + " of " + messages + " handled: " + member.status());
      }
    }
    bench.drop(queue);
    table.row(
        ordering,
        (long) messages,
        (long) watch.outOfOrder,
        (long) watch.inParallel,
        (long) watch.most);
    bench
        .findings()
        .figure(
            "order_" + ordering.name().toLowerCase(java.util.Locale.ROOT) + "_out_of_order_msgs",
            watch.outOfOrder);
    return watch;
  }
}
