package io.floatvalve.examples.lab.quota;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.Check;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.RabbitAtHand;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Quotas by the second, on a broker that has them. */
@Command(
    name = "quota",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Quotas by the second on a Pulsar topic with real limits: pacing beside the plain client,"
          + " neighbours of a throttled producer, nested quotas, delays, peak seconds.",
      "With --detector: how often silent throttling is told, on throttled topics and healthy ones,"
          + " and on RabbitMQ, which has no limits, where there is one."
    })
public final class QuotaLab implements Callable<Integer> {
  private static final int MOST_ROUNDS = 1_000;

  @Option(names = "--quick", description = "Less of everything.")
  private boolean quick;

  @Option(names = "--detector", description = "The detector instead, many times for each scene.")
  private boolean detector;

  @Option(names = "--rounds", paramLabel = "N", description = "Of each scene; 20 by default.")
  private int rounds = 20;

  @Option(
      names = "--only",
      split = ",",
      paramLabel = "SCENES",
      description = "Of the detector's scenes those called so, in part: --only known,saturated.")
  private List<String> only = List.of();

  @Mixin private PulsarOptions pulsarOptions = new PulsarOptions();
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    if (rounds < 1 || rounds > MOST_ROUNDS) {
      throw CannotRun.badInput("--rounds", rounds, "must be from 1 to " + MOST_ROUNDS);
    }
    for (String each : only) {
      if (!detector || !DetectorRounds.isKnown(each)) {
        throw CannotRun.badInput("--only", each, "must be part of a scene of --detector");
      }
    }
    Console console = Console.of(spec, common);
    Findings findings = new Findings("lab quota");
    long began = System.nanoTime();
    try (PulsarAtHand pulsar = PulsarAtHand.open(common, pulsarOptions, console)) {
      pulsar.describeTo(findings);
      if (!pulsar.hasAdmin()) {
        throw CannotRun.badInput(
            "--admin-uri",
            String.valueOf(pulsarOptions.adminUri()),
            "must name the admin interface" + " of the broker: limits are set by it");
      }
      try (Bench bench = new Bench(pulsar, findings, console, quick)) {
        run(bench, console);
      }
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    findings.figure("run_s", seconds);
    findings.writeTo(common.json());
    long held = findings.checks().stream().filter(Check::ok).count();
    console.say(
        String.format("%d of %d checks held, in %.0f s", held, findings.checks().size(), seconds));
    return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
  }

  private void run(Bench bench, Console console) throws IOException {
    if (detector) {
      try (RabbitAtHand rabbit = RabbitAtHand.openBeside(console).orElse(null)) {
        DetectorRounds all = new DetectorRounds(bench, rounds, only, rabbit);
        all.run();
        bench.show("Silent throttling, as it was told", all.table());
      }
    } else {
      Bursts bursts = new Bursts(bench);
      bursts.run();
      new Neighbours(bench).run();
      bench.show("Bursts of 2,000 every 4 s, a limit of 1,000 a second", bursts.table());
    }
    bench.showChecks();
  }
}
