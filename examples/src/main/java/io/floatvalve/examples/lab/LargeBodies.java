package io.floatvalve.examples.lab;

import io.floatvalve.examples.cli.Table;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import java.io.IOException;
import java.time.Duration;

/** Bodies larger than a frame. */
final class LargeBodies {
  private static final int KIB = 1_024;

  private final Lab lab;
  private final Table table =
      new Table("body KiB", "messages", "MB/s", "confirm p50 ms", "confirm p99 ms");

  LargeBodies(Lab lab) {
    this.lab = lab;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    long published = 0;
    long confirmed = 0;
    long stored = 0;
    StringBuilder rates = new StringBuilder();
    for (int kib : new int[] {16, 256, 1_024, 8 * 1_024}) {
      lab.doing("bodies of " + kib + " KiB");
      int messages = Math.max(4, lab.amount(96, 24) * 1_024 / kib / (kib < 256 ? 8 : 1));
      String queue = lab.queues().classic("large" + kib);
      var settings =
          PublisherSettings.to(Address.queue(queue)).withConfirmTimeout(Duration.ofMinutes(1));
      try (var messaging = lab.messaging();
          Publisher publisher = messaging.publisher(settings)) {
        Message message = Message.of(new byte[kib * KIB]);
        long began = System.nanoTime();
        for (int i = 0; i < messages; i++) {
          var unused = publisher.publish(message);
        }
        Lab.drain(publisher);
        double seconds = (System.nanoTime() - began) / 1e9;
        double megabytes = (double) messages * kib * KIB / 1e6 / seconds;
        published += messages;
        confirmed += Lab.confirmed(publisher);
        lab.queues().awaitStored(queue, messages, Duration.ofSeconds(10));
        stored += lab.queues().count(queue);
        double p50 = Lab.confirmMillis(publisher.latency(), 50);
        double p99 = Lab.confirmMillis(publisher.latency(), 99);
        table.row((long) kib, (long) messages, megabytes, p50, p99);
        rates.append(rates.isEmpty() ? "" : " / ").append(String.format("%.0f", megabytes));
        lab.findings().figure("body_" + kib + "_kib_mb_per_s", megabytes);
        lab.findings().figure("body_" + kib + "_kib_confirm_p50_us", p50 * 1e3);
      } finally {
        lab.queues().delete(queue);
      }
    }
    lab.check(
        "C8-large",
        "bodies of 16 KiB / 256 KiB / 1 MiB / 8 MiB",
        "left unverified",
        "each of " + published + " messages confirmed and stored",
        rates + " MB/s; " + confirmed + " confirmed, " + stored + " in the queues",
        confirmed == published && stored == published);
  }
}
