package io.floatvalve.examples.lab.explain;

import java.util.List;

/** The scenes, each with one fault or with none. */
final class Scenes {
  private static final String ANY = "";
  private static final String RABBIT = "rabbit";
  private static final String PULSAR = "pulsar";
  private static final String NOTHING = "";

  private Scenes() {}

  static List<Scene> all() {
    return List.of(
        new Scene("handler turns slow", "handler-slow", ANY, true, ConsumerScenes::handlerSlow),
        new Scene("more than handlers take", "handlers-all-busy", ANY, ConsumerScenes::allBusy),
        new Scene(
            "one settlement forgotten",
            "settlement-forgotten",
            ANY,
            true,
            ConsumerScenes::forgotten),
        new Scene(
            "callers never settle", "blocked-on-unacked", ANY, true, ConsumerScenes::neverSettled),
        new Scene("handler always fails", "redelivery-storm", ANY, true, ConsumerScenes::storm),
        new Scene("keys are missing", "order-contradiction", ANY, ConsumerScenes::keyless),
        new Scene("large messages, slow handler", "memory-held", ANY, ConsumerScenes::memory),
        new Scene("link lost", "not-connected", ANY, true, ConsumerScenes::linkLost),
        new Scene("dead letters go nowhere", "copies-failing", ANY, ConsumerScenes::copiesFail),
        new Scene(
            "a window of 2, 40 ms away", "window-too-small", ANY, PublisherScenes::smallWindow),
        new Scene("broker answers nothing", "broker-silent", ANY, true, PublisherScenes::silent),
        new Scene("a busy second", "quota-near", ANY, PublisherScenes::quotaNear),
        new Scene(
            "a gateway limits by the second",
            "throttled-publish",
            RABBIT,
            PublisherScenes::limitedOnTheWay),
        new Scene("memory alarm", "connection-blocked", RABBIT, PublisherScenes::blocked),
        new Scene("one queue hangs", "window-waiting-on-one", RABBIT, PublisherScenes::oneHangs),
        new Scene(
            "deliveries stuck on the way", "held-by-broker", RABBIT, ConsumerScenes::stuckOnTheWay),
        new Scene("publishing is limited", "throttled-publish", PULSAR, PulsarScenes::publishLimit),
        new Scene("dispatch is limited", "throttled-dispatch", PULSAR, PulsarScenes::dispatchLimit),
        new Scene("messages for later", "held-by-broker", PULSAR, PulsarScenes::delayed),
        new Scene("nobody can read them", "permits-starved", PULSAR, PulsarScenes::unreadable),
        new Scene(
            "ack timeout below handling",
            "ack-timeout-too-short",
            PULSAR,
            PulsarScenes::ackTimeout),
        new Scene("a sibling hoards", "starved-by-siblings", PULSAR, PulsarScenes::hoard),
        new Scene(
            "keys move, unacknowledged", "key-shared-draining", PULSAR, PulsarScenes::draining),
        new Scene("limit of unacknowledged", "blocked-on-unacked", PULSAR, PulsarScenes::limit),
        new Scene("batches partly settled", "partly-acked-batches", PULSAR, PulsarScenes::partly),
        new Scene("healthy: fast", NOTHING, ANY, true, CalmScenes::fast),
        new Scene("healthy: slow, keeping up", NOTHING, ANY, CalmScenes::slowButSteady),
        new Scene("healthy: idle", NOTHING, ANY, true, CalmScenes::idle),
        new Scene("healthy: bursts", NOTHING, ANY, CalmScenes::bursts),
        new Scene("healthy: standby", NOTHING, ANY, CalmScenes::standby));
  }
}
