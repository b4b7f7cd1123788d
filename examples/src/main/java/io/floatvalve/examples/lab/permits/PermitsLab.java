package io.floatvalve.examples.lab.permits;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.Check;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.lab.permits.rabbit.RabbitPermits;
import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** How messages get to consumers: permits, memory, order, redelivery. */
@Command(
    name = "permits",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "How messages get to consumers: permits on the wire, a slow consumer beside a fast one, large"
          + " messages, stuck handlers, order, redelivery.",
      "The plain client runs beside with its defaults; checks are about Floatvalve's consumer."
    })
public final class PermitsLab implements Callable<Integer> {
  @Option(names = "--broker", paramLabel = "B", description = "pulsar (default) or rabbit.")
  private String broker = "pulsar";

  @Option(names = "--quick", description = "Less of everything: under a minute and a half.")
  private boolean quick;

  @Option(
      names = "--only",
      paramLabel = "NAMES",
      split = ",",
      description = "Only some: ${COMPLETION-CANDIDATES}, such as --only slow,order; default: all.")
  private Set<Part> only = EnumSet.allOf(Part.class);

  @Mixin private PulsarOptions pulsarOptions = new PulsarOptions();
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    boolean onRabbit = broker.equals("rabbit");
    if (!onRabbit && !broker.equals("pulsar")) {
      throw CannotRun.badInput("--broker", broker, "must be pulsar or rabbit");
    }
    Console console = Console.of(spec, common);
    Findings findings = new Findings("lab permits");
    long began = System.nanoTime();
    if (onRabbit) {
      onRabbit(findings, console);
    } else {
      onPulsar(findings, console);
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    findings.figure("run_s", seconds);
    findings.writeTo(common.json());
    long held = findings.checks().stream().filter(Check::ok).count();
    console.say(
        String.format("%d of %d checks held, in %.0f s", held, findings.checks().size(), seconds));
    return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
  }

  private void onRabbit(Findings findings, Console console) throws IOException {
    String admin = pulsarOptions.adminUri();
    if (admin != null) {
      throw CannotRun.badInput("--admin-uri", admin, "is for Pulsar");
    }
    try (RabbitAtHand rabbit = RabbitAtHand.open(common, console)) {
      rabbit.describeTo(findings);
      RabbitPermits.run(rabbit, only, quick, findings, console);
    }
  }

  private void onPulsar(Findings findings, Console console) throws IOException {
    try (PulsarAtHand pulsar = PulsarAtHand.open(common, pulsarOptions, console)) {
      pulsar.describeTo(findings);
      try (Bench bench = new Bench(pulsar, findings, console, quick)) {
        run(bench);
      }
    }
  }

  private void run(Bench bench) throws IOException {
    for (Part part : Part.values()) {
      if (!only.contains(part)) {
        continue;
      }
      switch (part) {
        case WIRE -> {
          WireLedger wire = new WireLedger(bench);
          wire.run();
          bench.show("Refills 20 ms away from the broker, 4 workers at 1 ms", wire.refills());
          bench.show("All handlers stuck, then on", wire.stalls());
        }
        case SLOW -> {
          SlowSibling sibling = new SlowSibling(bench);
          sibling.run();
          bench.show("Shared subscription, one worker each", sibling.table());
        }
        case MEMORY -> {
          LargeMessages large = new LargeMessages(bench);
          large.run();
          bench.show("1 MB messages, a handler of 200 ms, a budget of 8 MiB", large.table());
        }
        case THROUGHPUT -> {
          Throughput throughput = new Throughput(bench);
          throughput.run();
          bench.show("Throughput of a handler that does nothing", throughput.table());
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
    bench.showChecks();
  }
}
