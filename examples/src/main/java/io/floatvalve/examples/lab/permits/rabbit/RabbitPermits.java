package io.floatvalve.examples.lab.permits.rabbit;

import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import java.io.IOException;
import java.util.Set;

/** All experiments on one RabbitMQ. */
public final class RabbitPermits {
  /** The experiments, in the order in which they run. */
  public enum Part {
    /** Prefetch and acknowledgements on the wire. */
    WIRE,
    /** A slow consumer beside a fast one. */
    SLOW,
    /** Large messages. */
    MEMORY,
    /** Handlers of different speeds. */
    THROUGHPUT,
    /** Order. */
    ORDER,
    /** What comes again. */
    REDELIVERY
  }

  private RabbitPermits() {}

  /** Runs some of the experiments, and shows what they find. */
  public static void run(
      RabbitAtHand rabbit, Set<Part> parts, boolean quick, Findings findings, Console console)
      throws IOException {
    try (Bench bench = new Bench(rabbit, findings, console, quick)) {
      for (Part part : Part.values()) {
        if (parts.contains(part)) {
          run(part, bench, console);
        }
      }
      console.say("");
      console.say("Checks");
      console.say(bench.checks());
      console.say("");
    }
  }

  private static void run(Part part, Bench bench, Console console) throws IOException {
    switch (part) {
      case WIRE -> {
        Wire wire = new Wire(bench);
        wire.run();
        show(console, "Acknowledgements 20 ms away from the broker", wire.refills());
        show(console, "All handlers stuck, then on", wire.stalls());
      }
      case SLOW -> {
        Siblings siblings = new Siblings(bench);
        siblings.run();
        show(console, "Two consumers of a queue, one worker each", siblings.table());
      }
      case MEMORY -> {
        LargeMessages large = new LargeMessages(bench);
        large.run();
        show(console, "1 MB bodies, a handler of 200 ms, a budget of 8 MiB", large.table());
      }
      case THROUGHPUT -> {
        Speeds speeds = new Speeds(bench);
        speeds.run();
        show(console, "Handlers of different speeds, 16 workers", speeds.table());
      }
      case ORDER -> {
        Orders orders = new Orders(bench);
        orders.run();
        show(console, "Order of 20 keys", orders.table());
      }
      case REDELIVERY -> {
        Redelivery redelivery = new Redelivery(bench);
        redelivery.run();
        show(console, "What comes again", redelivery.table());
      }
    }
  }

  private static void show(Console console, String title, Table table) {
    console.say("");
    console.say(title);
    console.say(table);
  }
}
