package io.floatvalve.examples.lab.explain;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.Check;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.explain.Stage;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Stages what goes wrong, and looks whether it is named, first and soon. */
@Command(
    name = "explain",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Stages what goes wrong, one thing at a time, and looks whether explain() names it first and"
          + " within 5 s; and that nothing is named where nothing is wrong.",
      "Some scenes need a private broker: give no --uri for these."
    })
public final class ExplainLab implements Callable<Integer> {
  @Option(
      names = "--broker",
      paramLabel = "B",
      description = "pulsar, rabbit or both (default: rabbit).")
  private String broker = "rabbit";

  @Option(
      names = "--rounds",
      paramLabel = "N",
      description = "How often each scene is staged (default: 1).")
  private int rounds = 1;

  @Option(names = "--quick", description = "A few scenes only, once: under a minute a broker.")
  private boolean quick;

  @Option(
      names = "--only",
      paramLabel = "SCENES",
      split = ",",
      description =
          "Only scenes that expect such a finding or are called so: --only handler-slow,idle.")
  private List<String> only = List.of();

  @Option(
      names = "--within",
      paramLabel = "S",
      description = "How many seconds after onset it must be found (default: 5).")
  private int within = 5;

  @Mixin private PulsarOptions pulsarOptions = new PulsarOptions();
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  private final List<Staged> all = new ArrayList<>();

  /** What became of a scene. */
  private record Staged(String broker, Scene scene, Watch watch) {
    boolean right() {
      return watch.first().equals(scene.expected())
          && (scene.expected().isEmpty() || !watch.isFalseAlarm());
    }
  }

  @Override
  public Integer call() throws IOException {
    boolean onRabbit = broker.equals("rabbit") || broker.equals("both");
    boolean onPulsar = broker.equals("pulsar") || broker.equals("both");
    if (!onRabbit && !onPulsar) {
      throw CannotRun.badInput("--broker", broker, "must be pulsar, rabbit or both");
    }
    if (rounds < 1 || rounds > 100) {
      throw CannotRun.badInput("--rounds", Integer.toString(rounds), "must be from 1 to 100");
    }
    if (within < 1 || within > 60) {
      throw CannotRun.badInput("--within", Integer.toString(within), "must be from 1 to 60");
    }
    Console console = Console.of(spec, common);
    Findings findings = new Findings("lab explain");
    long began = System.nanoTime();
    if (onRabbit) {
      try (RabbitAtHand rabbit = RabbitAtHand.open(common, console)) {
        rabbit.describeTo(findings);
        try (Ground ground = new RabbitGround(rabbit)) {
          run(ground, rabbit.node().isPresent(), console);
        }
      }
    }
    if (onPulsar) {
      try (PulsarAtHand pulsar =
          onRabbit
              ? PulsarAtHand.openBeside(console)
              : PulsarAtHand.open(common, pulsarOptions, console)) {
        pulsar.describeTo(findings);
        try (Ground ground = new PulsarGround(pulsar)) {
          run(ground, pulsar.isOwn(), console);
        }
      }
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    findings.figure("run_s", seconds);
    report(findings, console);
    findings.writeTo(common.json());
    long held = findings.checks().stream().filter(Check::ok).count();
    console.say(
        String.format("%d of %d checks held, in %.0f s", held, findings.checks().size(), seconds));
    return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
  }

  private void run(Ground ground, boolean own, Console console) throws IOException {
    Duration calm = Duration.ofSeconds(quick ? 5 : 10);
    for (int round = 1; round <= (quick ? 1 : rounds); round++) {
      for (Scene each : Scenes.all()) {
        boolean here = each.broker().isEmpty() || each.broker().equals(ground.name());
        boolean wanted =
            only.isEmpty()
                || only.stream()
                    .anyMatch(o -> each.expected().equals(o) || each.cause().endsWith(o));
        if (!here || !wanted || (quick && !each.quick()) || (!own && !each.broker().isEmpty())) {
          continue;
        }
        console.progress(ground.name() + ", round " + round + ": " + each.cause() + " ...");
        Watch watch = new Watch(calm, Duration.ofSeconds(within));
        each.staging().stage(ground, watch);
        all.add(new Staged(ground.name(), each, watch));
      }
    }
  }

  private void report(Findings findings, Console console) {
    Table table =
        new Table("broker", "staged", "expected first", "found first", "after s", "right");
    Map<String, Map<String, Integer>> confusion = new TreeMap<>();
    double slowest = 0;
    for (Staged each : all) {
      String found = shown(each.watch.first());
      boolean calm = each.scene.expected().isEmpty();
      table.row(
          each.broker,
          each.scene.cause(),
          shown(each.scene.expected()),
          found + (each.watch.isFalseAlarm() && !calm ? " (before)" : ""),
          calm ? "-" : String.format(Locale.ROOT, "%.1f", each.watch.seconds()),
          each.right() ? "yes" : "no");
      confusion
          .computeIfAbsent(each.scene.cause(), cause -> new TreeMap<>())
          .merge(found, 1, Integer::sum);
      slowest = Math.max(slowest, each.watch.slowestMillis());
      if (!each.right()) {
        findings.note("wrong: " + each.broker + ", " + each.scene.cause(), each.watch.text());
      }
    }
    console.say("");
    console.say("What was staged and what was found first");
    console.say(table);
    confusion.forEach((cause, found) -> findings.note("found first: " + cause, found.toString()));
    findings.figure("explain_slowest_ms", slowest);
    checks(findings);
    Table checks = new Table("check", "expected", "observed", "ok");
    for (Check each : findings.checks()) {
      checks.row(each.id(), each.expected(), each.observed(), each.ok() ? "yes" : "no");
    }
    console.say("");
    console.say("Checks");
    console.say(checks);
  }

  private static String shown(String finding) {
    return finding.isEmpty() ? "none" : finding;
  }

  private void checks(Findings findings) {
    List<Staged> calm = all.stream().filter(each -> each.scene.expected().isEmpty()).toList();
    List<Staged> faults = all.stream().filter(each -> !each.scene.expected().isEmpty()).toList();
    check(findings, "A5", "idle, fast, slow and bursty: no finding", calm, 1);
    check(
        findings,
        "A10",
        "a forgotten settlement is found",
        faults.stream()
            .filter(each -> each.scene.expected().equals("settlement-forgotten"))
            .toList(),
        0.95);
    long walked =
        faults.stream()
            .filter(
                each ->
                    List.of(Stage.values()).stream()
                        .allMatch(
                            stage ->
                                each.watch
                                    .text()
                                    .contains("\n  " + stage.name().toLowerCase(Locale.ROOT))))
            .count();
    findings.check(
        "A11",
        "each explanation shows all stages, client to ledger",
        walked + " of " + faults.size(),
        walked == faults.size() && walked > 0);
    check(
        findings,
        "A12",
        "the cause is found first, within " + within + " s, in 95 %",
        faults,
        0.95);
  }

  private static void check(
      Findings findings, String id, String expected, List<Staged> of, double least) {
    long right = of.stream().filter(Staged::right).count();
    findings.check(
        id, expected, right + " of " + of.size(), !of.isEmpty() && right >= least * of.size());
  }
}
