package io.floatvalve.examples.tour;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.RabbitAtHand;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Both brokers of a tour. */
record Brokers(RabbitAtHand rabbit, PulsarAtHand pulsar) implements AutoCloseable {
  /**
   * Finds or starts them; those that are started start at the same time.
   *
   * @throws CannotRun if there is none of a kind, or it cannot be reached
   */
  static Brokers open(CommonOptions options, Console console) {
    RabbitAtHand given = options.rabbitUri() == null ? null : RabbitAtHand.open(options, console);
    CompletableFuture<PulsarAtHand> pulsar =
        CompletableFuture.supplyAsync(() -> PulsarAtHand.openBeside(console));
    RabbitAtHand rabbit = given;
    boolean open = false;
    try {
      if (rabbit == null) {
        rabbit = RabbitAtHand.open(options, console);
      }
      Brokers both = new Brokers(rabbit, pulsar.join());
      open = true;
      return both;
    } catch (CompletionException e) {
      if (e.getCause() instanceof CannotRun why) {
        throw why;
      }
      throw e;
    } finally {
      if (!open) {
        if (rabbit != null) {
          rabbit.close();
        }
        var unused = pulsar.thenAccept(PulsarAtHand::close);
      }
    }
  }

  @Override
  public void close() {
    try {
      pulsar.close();
    } finally {
      rabbit.close();
    }
  }
}
