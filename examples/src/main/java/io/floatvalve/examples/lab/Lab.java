package io.floatvalve.examples.lab;

import io.floatvalve.Messaging;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Experiments;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import java.time.Duration;

/** What the experiments of a lab share. */
final class Lab extends Experiments {
  private static final double NANOS_PER_MILLI = 1e6;

  private final RabbitAtHand rabbit;
  private final Queues queues;

  Lab(RabbitAtHand rabbit, Queues queues, Findings findings, Console console, boolean quick) {
    super(findings, console, quick);
    this.rabbit = rabbit;
    this.queues = queues;
  }

  RabbitAtHand rabbit() {
    return rabbit;
  }

  Queues queues() {
    return queues;
  }

  /** Adds a check to the findings and to the table. */
  void check(
      String id, String experiment, String reference, String expected, String here, boolean ok) {
    checks().check(id, experiment, reference, expected, here, ok);
  }

  /** Adds to the table something that could not be tried, and why; it is no check. */
  void note(String id, String experiment, String why) {
    checks().note(id, experiment, why);
  }

  /** Begins messaging without anything in between. */
  Messaging messaging() {
    return rabbit.messaging(event -> {});
  }

  /** Returns how many of a publisher's messages were confirmed. */
  static long confirmed(Publisher publisher) {
    return publisher.status().outcomes().getOrDefault(Verdict.CONFIRMED, 0L);
  }

  /** Waits until all have their outcome; says how many have none in time. */
  static long drain(Publisher publisher) {
    return publisher.drain(Duration.ofSeconds(60));
  }

  /** Returns a percentile of the time from send to confirm, in milliseconds; 0 without samples. */
  static double confirmMillis(LatencySnapshot latency, double percentile) {
    return latency
        .stage("sent-confirmed")
        .map(stage -> stage.nanosAt(percentile) / NANOS_PER_MILLI)
        .orElse(0.0);
  }
}
