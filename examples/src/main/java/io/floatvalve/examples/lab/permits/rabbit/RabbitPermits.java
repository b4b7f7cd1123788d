package io.floatvalve.examples.lab.permits.rabbit;

import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.lab.permits.Part;
import java.io.IOException;
import java.util.Set;

/** All experiments on one RabbitMQ. */
public final class RabbitPermits {
  private RabbitPermits() {}

  /** Runs some of the experiments, and shows what they find. */
  public static void run(
      RabbitAtHand rabbit, Set<Part> parts, boolean quick, Findings findings, Console console)
      throws IOException {
    try (Bench bench = new Bench(rabbit, findings, console, quick)) {
      for (Part part : Part.values()) {
        if (parts.contains(part)) {
          run(part, bench);
        }
      }
      bench.showChecks();
    }
  }

  private static void run(Part part, Bench bench) throws IOException {
    switch (part) {
      case WIRE -> {
        Wire wire = new Wire(bench);
        wire.run();
        bench.show("Acknowledgements 20 ms away from the broker", wire.refills());
        bench.show("All handlers stuck, then on", wire.stalls());
      }
      case SLOW -> {
        Siblings siblings = new Siblings(bench);
        siblings.run();
        bench.show("Two consumers of a queue, one worker each", siblings.table());
      }
      case MEMORY -> {
        LargeMessages large = new LargeMessages(bench);
        large.run();
        bench.show("1 MB bodies, a handler of 200 ms, a budget of 8 MiB", large.table());
      }
      case THROUGHPUT -> {
        Speeds speeds = new Speeds(bench);
        speeds.run();
        bench.show("Handlers of different speeds, 16 workers", speeds.table());
      }
      case ORDER -> {
        Orders orders = new Orders(bench);
        orders.run();
        bench.show("Order of 20 keys", orders.table());
      }
      case REDELIVERY -> {
        Redelivery redelivery = new Redelivery(bench);
        redelivery.run();
        bench.show("What comes again", redelivery.table());
      }
    }
  }
}
