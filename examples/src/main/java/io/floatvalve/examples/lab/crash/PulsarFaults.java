package io.floatvalve.examples.lab.crash;

import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.testkit.PulsarNode;
import java.io.IOException;

/**
 * The faults of Pulsar: its client makes a lost connection again and sends again what has no
 * answer, so that a fault leaves unknown only what came too late.
 */
final class PulsarFaults extends Faults<PulsarScene> {
  private static final String CAME_BACK = "the connection is lost and there again";

  private final PulsarAtHand pulsar;
  private final PulsarNode node;

  PulsarFaults(
      PulsarAtHand pulsar, PulsarNode node, Findings findings, Console console, boolean quick) {
    super(findings, console, quick);
    this.pulsar = pulsar;
    this.node = node;
  }

  @Override
  PulsarScene scene(String fault) {
    return PulsarScene.open(pulsar, fault);
  }

  @Override
  void run() throws IOException {
    PulsarScene.prepare(pulsar);
    kill(node::kill, node::restart, CAME_BACK, ran -> ran.reopened() > 0);
    cut(CAME_BACK, ran -> ran.reopened() > 0);
    stall();
    close();
    unloaded();
  }

  private void unloaded() throws IOException {
    Ran ran =
        under(
            "unloaded",
            (scene, load) -> {
              for (int times = 0; times < 3; times++) {
                scene.unload();
                load.awaitMore(Verdict.CONFIRMED, 100, PATIENCE);
              }
            });
    check(
        "unloaded",
        "the topic unloaded three times",
        CAME_BACK + "; none refused",
        unloaded -> unloaded.reopened() > 0 && unloaded.account().count(Verdict.NACKED) == 0,
        ran);
  }
}
