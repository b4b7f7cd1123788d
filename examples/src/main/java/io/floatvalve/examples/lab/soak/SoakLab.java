package io.floatvalve.examples.lab.soak;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Soaks one broker, and says what became of every message. */
public final class SoakLab {
  private final SoakOptions options;
  private final CommonOptions common;
  private final Console console;
  private final Findings findings;

  /** Begins with nothing done. */
  public SoakLab(SoakOptions options, CommonOptions common, Console console, Findings findings) {
    this.options = options;
    this.common = common;
    this.console = console;
    this.findings = findings;
  }

  /** Soaks a RabbitMQ of its own. */
  public int onRabbit() throws IOException {
    boolean quorum = options.quorum();
    String kind = "rabbit " + options.nodes() + (quorum ? " quorum" : " classic");
    if (options.nodes() > 1) {
      return onCluster(kind);
    }
    try (RabbitAtHand rabbit = RabbitAtHand.open(common, console)) {
      rabbit.describeTo(findings);
      RabbitNode node =
          rabbit
              .node()
              .orElseThrow(
                  () -> CannotRun.badInput("a soak kills its broker: name none, it has its own"));
      try (RabbitStage stage = new RabbitStage(List.of(node), quorum)) {
        return run("soak-rabbit", kind, stage);
      }
    }
  }

  private int onCluster(String kind) throws IOException {
    if (common.rabbitUri() != null) {
      throw CannotRun.badInput("a soak kills its broker: name none, it has its own");
    }
    Optional<String> missing = RabbitNode.whyNoProcess();
    if (missing.isPresent()) {
      throw CannotRun.unreachable("no RabbitMQ can be started here: " + missing.get());
    }
    console.progress("starting a cluster of private RabbitMQ nodes ...");
    List<RabbitNode> nodes = RabbitNode.startCluster(options.nodes());
    try {
      String version = "RabbitMQ " + nodes.get(0).version();
      String how = "a cluster of " + nodes.size() + " private nodes";
      findings.broker("rabbitmq", version, how);
      console.say("broker: " + version + ", " + how);
      try (RabbitStage stage = new RabbitStage(nodes, true)) {
        return run("soak-rabbit", kind, stage);
      }
    } finally {
      nodes.forEach(RabbitNode::close);
    }
  }

  /** Soaks a Pulsar of its own. */
  public int onPulsar() throws IOException {
    try (PulsarAtHand pulsar = PulsarAtHand.open(common, new PulsarOptions(), console)) {
      pulsar.describeTo(findings);
      if (pulsar.node().isEmpty()) {
        throw CannotRun.badInput("a soak kills its broker: name none, it has its own");
      }
      try (PulsarStage stage = new PulsarStage(pulsar)) {
        return run("soak-pulsar", "pulsar", stage);
      }
    }
  }

  private int run(String check, String kind, Stage stage) throws IOException {
    Path resume = options.resume();
    SoakState state = resume == null ? new SoakState(kind) : SoakState.read(resume, kind);
    long left = options.messages() - state.total("published_msgs");
    if (left <= 0) {
      throw CannotRun.badInput("--messages", options.messages(), "the runs before had as many");
    }
    Long given = options.seed();
    long seed = given == null ? new Random().nextInt() : given + state.seeds().size();
    Soak soak = new Soak(stage, plan(stage, seed, (int) left), console);
    console.say("seed: " + seed);
    try {
      soak.run();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("asked to end", e);
    }
    Map<String, Long> figures = figures(soak);
    state.add(seed, figures);
    if (resume != null) {
      state.write(resume);
    }
    return report(check, soak, state, figures, seed);
  }

  private Soak.Plan plan(Stage stage, long seed, int messages) {
    Path folder =
        Path.of(System.getProperty("floatvalve.scratch", "target"), "soak").toAbsolutePath();
    return new Soak.Plan(
        seed,
        messages,
        options.limit(),
        options.rate(),
        options.every(),
        chosen(stage.faults(), options.faults()),
        options.plant(),
        folder);
  }

  private static List<Fault> chosen(List<Fault> all, @Nullable List<String> wanted) {
    if (wanted == null) {
      return all;
    }
    List<Fault> chosen = new ArrayList<>();
    for (String name : wanted) {
      List<String> names =
          switch (name) {
            case "none" -> List.of();
            case "cut" -> List.of("rst", "fin");
            default -> List.of(name);
          };
      for (String each : names) {
        chosen.add(
            all.stream()
                .filter(fault -> fault.name().equals(each))
                .findFirst()
                .orElseThrow(
                    () ->
                        CannotRun.badInput(
                            "--faults",
                            each,
                            "there are " + new TreeSet<>(all.stream().map(Fault::name).toList()))));
      }
    }
    return chosen;
  }

  private static Map<String, Long> figures(Soak soak) {
    Book.Figures all = soak.book().figures();
    Map<String, Long> figures = new LinkedHashMap<>();
    figures.put("runs", 1L);
    figures.put("run_s", soak.took().toSeconds());
    figures.put("published_msgs", all.published());
    for (Verdict verdict : Verdict.values()) {
      figures.put(
          verdict.name().toLowerCase(Locale.ROOT) + "_msgs",
          all.outcomes().getOrDefault(verdict, 0L));
    }
    figures.put("outcome_unheard_msgs", all.cutOff());
    figures.put("stored_msgs", all.stored());
    figures.put("handled_msgs", all.handled());
    figures.put("handlings", all.handlings());
    figures.put("handlers_thrown", all.thrown());
    figures.put("repeated_handlings", all.repeats());
    figures.put("longest_outcome_ms", all.longestMillis());
    figures.put("gone_with_deleted_queue_msgs", all.excusedDeleted());
    figures.put("unconfirmed_in_one_queue_msgs", all.excusedKilled());
    figures.put("unconfirmed_came_late_msgs", all.late());
    figures.put("came_again_behind_others_msgs", all.outOfHeadOrder());
    figures.put("faults", soak.made().values().stream().mapToLong(Integer::longValue).sum());
    soak.made().forEach((name, times) -> figures.put("faults_" + name, (long) times));
    figures.put("violations", all.violations());
    return figures;
  }

  private int report(
      String check, Soak soak, SoakState state, Map<String, Long> figures, long seed) {
    Map<String, Long> totals = state.totals();
    Table table =
        state.seeds().size() == 1
            ? new Table("what", "this run")
            : new Table("what", "this run", "all " + state.seeds().size() + " runs");
    totals.forEach(
        (name, total) -> {
          long here = figures.getOrDefault(name, 0L);
          if (state.seeds().size() == 1) {
            table.row(name, here);
          } else {
            table.row(name, here, total);
          }
          findings.figure(name, total);
        });
    findings.note("seeds", state.seeds().toString());
    soak.notMade().forEach((name, why) -> findings.note("not made: " + name, why));

    Table laws = new Table("law", "what it demands", "violations");
    Book book = soak.book();
    for (Law law : Law.values()) {
      laws.row(law.id(), law.words(), book.violations(law));
      findings.check(
          check + "-" + law.id(),
          law.words(),
          book.violations(law) + " violations",
          book.violations(law) == 0);
    }
    Book.Figures all = book.figures();
    boolean ok = all.violations() == 0 && all.handled() > 0;
    String observed =
        String.format(
            "seed %d: %,d published, %,d confirmed, %,d stored, %,d handled, %d faults, %d"
                + " violations%s",
            seed,
            all.published(),
            all.outcomes().getOrDefault(Verdict.CONFIRMED, 0L),
            all.stored(),
            all.handled(),
            figures.getOrDefault("faults", 0L),
            all.violations(),
            book.examples().isEmpty() ? "" : ": " + String.join("; ", book.examples()));
    findings.check(
        check,
        "every message accounted for, " + Law.values().length + " laws, none violated",
        observed,
        ok);
    findings.writeTo(common.json());

    console.say("");
    console.say("What became of the messages");
    console.say(table);
    console.say("");
    console.say("Laws");
    console.say(laws);
    book.examples().forEach(each -> console.say("NO: " + each));
    console.say("");
    console.say(
        (ok ? "held: " : "VIOLATED: ")
            + observed.lines().limit(1).toList().get(0)
            + (state.seeds().size() > 1 ? "; seeds of all runs: " + state.seeds() : ""));
    if (!soak.notMade().isEmpty()) {
      console.say("not made: " + Arrays.toString(soak.notMade().entrySet().toArray()));
    }
    return ok ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
  }
}
