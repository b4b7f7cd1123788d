package io.floatvalve.examples.readme;

import io.floatvalve.latency.LatencyLog;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/** The examples of the page on latency. */
final class LatencyExample {
  private LatencyExample() {}

  static void interval(Publisher publisher) {
    // tag::interval
    LatencySnapshot before = publisher.latency();
    publishSome(publisher);
    LatencySnapshot interval = publisher.latency().since(before);
    interval
        .stage("due-confirmed")
        .ifPresent(stage -> log("p99 " + stage.nanosAt(99) / 1e6 + " ms"));
    // end::interval
  }

  static void log(Publisher publisher, Path folder) throws IOException {
    // tag::log
    try (LatencyLog log = LatencyLog.open(LatencyLog.Settings.in(folder))) {
      log.watch("orders", publisher::latency);
      publishSome(publisher);
    }
    // end::log
  }

  private static void publishSome(Publisher publisher) {
    for (int i = 0; i < 100; i++) {
      var unused = publisher.publish(Message.of(new byte[100]));
    }
    long left = publisher.drain(Duration.ofSeconds(10));
    log(left + " have no outcome");
  }

  private static void log(String text) {
    System.out.println(text);
  }
}
