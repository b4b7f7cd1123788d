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
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
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
    String words() {
      String found = shown(watch.first());
      return scene.isCalm()
          ? scene.cause() + ": " + found
          : String.format(
              Locale.ROOT,
              "%s%s after %.1f s",
              found,
              watch.isFalseAlarm() ? ", before it was staged," : "",
              watch.seconds());
    }

    boolean right() {
      return watch.first().equals(scene.expected())
          && (scene.isCalm() ? watch.looks() > 0 : !watch.isFalseAlarm());
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
      try (RabbitAtHand rabbit = RabbitAtHand.openManaged(common, console)) {
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
    List<Scene> scenes =
        Scenes.all().stream()
            .filter(each -> each.broker().isEmpty() || (own && each.broker().equals(ground.name())))
            .filter(each -> !quick || each.quick())
            .filter(each -> only.isEmpty() || only.stream().anyMatch(each::isCalled))
            .toList();
    for (int round = 1; round <= (quick ? 1 : rounds); round++) {
      String where = ground.name() + ", round " + round + ": ";
      for (Scene each : scenes) {
        if (!each.isCalm()) {
          console.progress(where + each.cause() + " ...");
          try {
            Staged now = staged(ground, each);
            all.add(now);
            console.progress("  " + now.words());
          } catch (UnsupportedOperationException e) {
            console.progress("left out, it needs a private broker: " + e.getMessage());
          }
        }
      }
      List<Scene> calm = scenes.stream().filter(Scene::isCalm).toList();
      if (!calm.isEmpty()) {
        console.progress(where + "what is healthy, side by side ...");
        List<Staged> now = sideBySide(ground, calm);
        all.addAll(now);
        now.forEach(each -> console.progress("  " + each.words()));
      }
    }
  }

  private Staged staged(Ground ground, Scene scene) throws IOException {
    Watch watch = new Watch(Duration.ofSeconds(quick ? 5 : 10), Duration.ofSeconds(within));
    try {
      scene.staging().stage(ground, watch);
    } catch (IOException | RuntimeException e) {
      if (Thread.currentThread().isInterrupted() || e instanceof UnsupportedOperationException) {
        throw e;
      }
      watch.failed(e); // the others are staged all the same
    }
    return new Staged(ground.name(), scene, watch);
  }

  private List<Staged> sideBySide(Ground ground, List<Scene> scenes) throws IOException {
    ExecutorService threads = Executors.newFixedThreadPool(scenes.size());
    try {
      List<Staged> ended = new ArrayList<>();
      List<Future<Staged>> running = new ArrayList<>();
      for (Scene each : scenes) {
        running.add(threads.submit(() -> staged(ground, each)));
      }
      for (Future<Staged> each : running) {
        ended.add(each.get());
      }
      return ended;
    } catch (ExecutionException e) {
      throw new IOException("a scene could not be staged", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } finally {
      threads.shutdownNow();
    }
  }

  private void report(Findings findings, Console console) {
    Table table =
        new Table("broker", "staged", "expected first", "found first, times", "right", "latest, s");
    for (List<Staged> same : byScene()) {
      Staged one = same.get(0);
      Map<String, Integer> found = new TreeMap<>();
      double latest = 0;
      for (Staged each : same) {
        boolean early = each.watch.isFalseAlarm() && !each.scene.isCalm();
        found.merge(shown(each.watch.first()) + (early ? " (before)" : ""), 1, Integer::sum);
        latest = Math.max(latest, each.watch.seconds());
        if (!each.right()) {
          findings.note("wrong: " + each.broker + ", " + each.scene.cause(), each.watch.text());
        }
      }
      String words =
          found.entrySet().stream()
              .map(each -> each.getKey() + " " + each.getValue())
              .collect(Collectors.joining(", "));
      table.row(
          one.broker,
          one.scene.cause(),
          shown(one.scene.expected()),
          words,
          same.stream().filter(Staged::right).count() + " of " + same.size(),
          one.scene.isCalm() ? "-" : String.format(Locale.ROOT, "%.1f", latest));
      findings.note("found first: " + one.broker + ", " + one.scene.cause(), words);
    }
    console.say("");
    console.say("What was staged and what was found first");
    console.say(table);
    List<Long> looks =
        all.stream().flatMap(each -> each.watch.lookNanos().stream()).sorted().toList();
    if (!looks.isEmpty()) {
      findings.figure("explain_p50_ms", looks.get(looks.size() / 2) / 1e6);
      findings.figure("explain_p99_ms", looks.get((int) (looks.size() * 0.99)) / 1e6);
    }
    checks(findings);
    Table checks = new Table("check", "expected", "observed", "ok");
    for (Check each : findings.checks()) {
      checks.row(each.id(), each.expected(), each.observed(), each.ok() ? "yes" : "no");
    }
    console.say("");
    console.say("Checks");
    console.say(checks);
  }

  /** Returns all rounds of a scene together, in the order of the first round. */
  private Collection<List<Staged>> byScene() {
    return all.stream()
        .collect(
            Collectors.groupingBy(
                each -> each.broker + each.scene.cause(), LinkedHashMap::new, Collectors.toList()))
        .values();
  }

  private static String shown(String finding) {
    return finding.isEmpty() ? "none" : finding;
  }

  private void checks(Findings findings) {
    List<Staged> calm = all.stream().filter(each -> each.scene.isCalm()).toList();
    List<Staged> faults = all.stream().filter(each -> !each.scene.isCalm()).toList();
    check(findings, "A5", "fast, slow, idle, bursty, standing by: no finding", calm, 1);
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
