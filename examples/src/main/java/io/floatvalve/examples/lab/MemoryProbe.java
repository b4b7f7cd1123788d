package io.floatvalve.examples.lab;

import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * What a message in flight costs on the heap: confirms are held back, the heap is measured after a
 * collection, with and without the messages. Each message has a future that the caller keeps; all
 * share one payload of 100 bytes, which is not counted.
 */
final class MemoryProbe {
  private final Lab lab;
  private final Table table = new Table("in flight", "bytes each", "MB in all");

  MemoryProbe(Lab lab) {
    this.lab = lab;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    List<Double> each = new ArrayList<>();
    boolean confirmed = true;
    int most = lab.amount(100_000, 20_000);
    for (int inFlight : new int[] {1_000, 10_000, most}) {
      lab.doing("memory of " + inFlight + " messages in flight");
      Held held = held(inFlight);
      confirmed &= held.confirmed() == inFlight;
      double bytes = (double) held.bytes() / inFlight;
      each.add(bytes);
      table.row((long) inFlight, bytes, held.bytes() / 1e6);
      lab.findings().figure("in_flight_" + inFlight + "_bytes_per_message", bytes);
    }
    double middle = each.get(1);
    double last = each.get(2);
    lab.check(
        "C8-memory",
        "heap per message in flight, 1,000 / 10,000 / " + String.format("%,d", most),
        "left unverified above 1,000",
        "at most 1.5 times as much each at the largest as at 10,000; all confirmed in the end",
        String.format(
            "%.0f / %.0f / %.0f bytes; %s",
            each.get(0), middle, last, confirmed ? "all confirmed" : "not all confirmed"),
        confirmed && middle > 0 && last < 1.5 * middle);
  }

  private record Held(long bytes, long confirmed) {}

  private Held held(int inFlight) throws IOException {
    String queue = lab.queues().classic("memory" + inFlight);
    var settings =
        PublisherSettings.to(Address.queue(queue))
            .withMaxInFlight(inFlight)
            .withMaxBlock(Duration.ofMinutes(2))
            .withMaxWait(Duration.ofMinutes(2))
            .withConfirmTimeout(Duration.ofMinutes(5));
    try (FaultProxy proxy = FaultProxy.to(lab.rabbit().host(), lab.rabbit().port());
        var messaging =
            RabbitAtHand.messaging(lab.rabbit().uriAt(proxy.host(), proxy.port()), event -> {});
        Publisher publisher = messaging.publisher(settings)) {
      Message message = Message.of(new byte[100]);
      var unused = publisher.publish(message).join(); // classes, threads and buffers are there
      proxy.stall(Direction.FROM_BROKER);
      List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>(inFlight);
      long before = usedAfterCollection();
      for (int i = 0; i < inFlight; i++) {
        futures.add(publisher.publish(message));
      }
      awaitInFlight(publisher, inFlight);
      long after = usedAfterCollection();
      proxy.unstall(Direction.FROM_BROKER);
      long left = Lab.drain(publisher);
      long confirmed = futures.stream().filter(f -> isConfirmed(f)).count();
      return new Held(after - before, left > 0 ? -left : confirmed);
    } finally {
      lab.queues().delete(queue);
    }
  }

  private static boolean isConfirmed(CompletableFuture<PublishOutcome> future) {
    return future.join().verdict() == PublishOutcome.Verdict.CONFIRMED;
  }

  private static void awaitInFlight(Publisher publisher, int messages) throws IOException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (publisher.status().inFlight() < messages) {
      if (System.nanoTime() > deadline) {
        throw new IOException(
            publisher.status().inFlight() + " of " + messages + " messages in flight after 60 s");
      }
      LockSupport.parkNanos(5_000_000);
    }
  }

  private static long usedAfterCollection() {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 3; i++) {
      System.gc();
      least = Math.min(least, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    }
    return least;
  }
}
