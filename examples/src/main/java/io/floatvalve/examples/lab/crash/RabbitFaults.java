package io.floatvalve.examples.lab.crash;

import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The faults of RabbitMQ: what is in flight on a channel that is lost is unknown. */
final class RabbitFaults extends Faults<RabbitScene> {
  private final RabbitAtHand rabbit;

  RabbitFaults(RabbitAtHand rabbit, Findings findings, Console console, boolean quick) {
    super(findings, console, quick);
    this.rabbit = rabbit;
  }

  @Override
  RabbitScene scene(String fault) throws IOException {
    return RabbitScene.open(rabbit, fault);
  }

  @Override
  void run() throws IOException {
    Optional<RabbitNode> node = rabbit.node();
    if (node.isPresent()) {
      RabbitNode there = node.get();
      kill(() -> killSynced(there), there::restart, "some unknown", Faults::someUnknown);
    } else {
      notTried("kill", "SIGKILL under load, then a restart");
    }
    cut("some unknown", Faults::someUnknown);
    stall();
    notFound();
    blocked();
    close();
    deleted();
  }

  private static void killSynced(RabbitNode node) {
    node.syncDeclared(); // a kill may lose a queue, with all that is in it
    node.kill();
  }

  private void notFound() throws IOException {
    Ran ran =
        under(
            "notfound",
            (scene, load) -> {
              for (int times = 0; times < 3; times++) {
                var unused = load.publish(Address.exchange("floatvalve.crash.none", "k"));
                load.awaitMore(Verdict.UNKNOWN, 1, PATIENCE);
                load.awaitMore(Verdict.CONFIRMED, 100, PATIENCE);
              }
            });
    check(
        "notfound",
        "three messages to an exchange that does not exist: 404, the channel is closed",
        "these three unknown",
        three -> three.account().count(Verdict.UNKNOWN) >= 3,
        ran);
  }

  private void blocked() throws IOException {
    Duration alarm = shorter(10, 4);
    String fault = "memory alarm for " + alarm.toSeconds() + " s";
    Optional<RabbitNode> node = rabbit.node();
    if (node.isEmpty()) {
      notTried("blocked", fault);
      return;
    }
    List<Event> seen = new ArrayList<>();
    Ran ran =
        under(
            "blocked",
            (scene, load) -> {
              node.get().memoryAlarm(true);
              try {
                Load.await(() -> has(scene, Event.Blocked.class), PATIENCE);
                Load.pass(alarm);
              } finally {
                node.get().memoryAlarm(false);
              }
              Load.await(() -> has(scene, Event.Unblocked.class), PATIENCE);
              seen.addAll(scene.events());
            });
    boolean told =
        seen.stream().anyMatch(event -> event instanceof Event.Blocked)
            && seen.stream().noneMatch(event -> event instanceof Event.LinkLost);
    check(
        "blocked",
        fault,
        "the alarm is told, the connection stays, some not sent",
        blocked -> told && blocked.account().count(Verdict.NOT_SENT) > 0,
        ran);
  }

  private static boolean has(Scene scene, Class<? extends Event> type) {
    return scene.events().stream().anyMatch(type::isInstance);
  }

  private void deleted() throws IOException {
    Ran ran =
        under(
            "deleted",
            (scene, load) -> {
              scene.deleteQueue();
              load.awaitMore(Verdict.RETURNED, 100, PATIENCE);
              scene.declare();
            });
    check(
        "deleted",
        "the queue deleted under load, and declared again",
        "some returned; what was confirmed before the queue was deleted went with it",
        gone -> gone.account().count(Verdict.RETURNED) > 0,
        ran);
  }
}
