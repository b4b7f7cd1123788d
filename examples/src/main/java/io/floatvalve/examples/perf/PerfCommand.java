package io.floatvalve.examples.perf;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Durations;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Latencies;
import io.floatvalve.examples.cli.MetricsEndpoint;
import io.floatvalve.examples.cli.MetricsOptions;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.Quotas;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.StopSignal;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.examples.report.ReportPage;
import io.floatvalve.examples.report.RunFile;
import io.floatvalve.publish.WindowPolicy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Puts load on a broker and measures it. */
@Command(
    name = "perf",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Puts load on a broker and measures it. Latency counts from when a message was due by --rate,"
          + " so that a stall is not hidden by the sender that it stalls; without a rate, from the"
          + " call.",
      "Several rates or windows, separated by commas, are tried one after the other.",
      "Exit code 0 only if every message is confirmed and, where there are consumers, handled."
    })
public final class PerfCommand implements Callable<Integer> {
  private static final int MOST_LOADS = 50;

  @Option(names = "--broker", paramLabel = "B", required = true, description = "rabbit or pulsar.")
  private String broker = "";

  @Option(
      names = {"-r", "--rate"},
      paramLabel = "N",
      split = ",",
      description = "Messages a second of all producers; default: as many as there is room for.")
  private @Nullable List<Double> rates;

  @Option(
      names = "--quota",
      paramLabel = "N",
      description =
          "So many messages are sent in any second at most, by all producers, whatever --rate"
              + " offers; default: no limit.")
  private @Nullable Double quota;

  @Option(
      names = "--bytes-rate",
      paramLabel = "N",
      description =
          "So many bytes of payload are sent in any second at most, by all producers; default: no"
              + " limit.")
  private @Nullable Long bytesRate;

  @Option(
      names = {"-c", "--confirm"},
      paramLabel = "N",
      split = ",",
      description = "How many may be sent and not yet answered: a number, or adaptive (default).")
  private List<String> confirm = List.of("adaptive");

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "The payload of a message; at least 16, default 100.")
  private int size = 100;

  @Option(
      names = {"-x", "--producers"},
      paramLabel = "N",
      description = "Threads that publish, each by a publisher of its own; default 1.")
  private int producers = 1;

  @Option(
      names = {"-y", "--consumers"},
      paramLabel = "N",
      description = "Consumers; default 1, and 0 measures publishing alone.")
  private int consumers = 1;

  @Option(
      names = {"-z", "--time"},
      paramLabel = "D",
      converter = Durations.class,
      description = "How long each load is measured; default 30s.")
  private Duration time = Duration.ofSeconds(30);

  @Option(
      names = "--warm-up",
      paramLabel = "D",
      converter = Durations.class,
      description = "How long each load runs before it is measured; default 3s.")
  private Duration warmUp = Duration.ofSeconds(3);

  @Option(
      names = {"-i", "--interval"},
      paramLabel = "D",
      converter = Durations.class,
      description = "How often a line is printed and a sample taken; default 1s.")
  private Duration interval = Duration.ofSeconds(1);

  @Option(
      names = "--queue-type",
      paramLabel = "T",
      description = "On RabbitMQ classic (default), quorum or stream.")
  private String queueType = "classic";

  @Option(names = "--no-batching", description = "On Pulsar, send each message alone.")
  private boolean noBatching;

  @Mixin private PulsarOptions pulsarOptions = new PulsarOptions();
  @Mixin private MetricsOptions metricsOptions = new MetricsOptions();
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    Console console = Console.of(spec, common);
    List<Load> loads = loads();
    checkOut();
    Findings findings = new Findings("perf");
    Instant began = Instant.now();
    List<LoadResult> results = new ArrayList<>();
    try (StopSignal stop = new StopSignal();
        MetricsEndpoint endpoint = metricsOptions.open(console);
        Target target = open(console)) {
      target.describeTo(findings);
      boolean one = loads.size() == 1;
      for (int i = 0; i < loads.size() && !stop.asked(); i++) {
        Load load = loads.get(i);
        console.progress("load: " + inWords(load));
        String prefix = one ? "" : load.name() + ".";
        LoadResult result =
            new LoadRun(target, load, console, findings, prefix).run(folder(one, i), endpoint);
        results.add(result);
        result.figuresTo(findings, one ? "" : "load_" + (i + 1) + "_");
        if (stop.asked()) {
          boolean unused = Thread.interrupted(); // it has done what it was for
        }
      }
    }
    show(console, findings, results);
    findings.writeTo(common.json());
    if (common.out() != null) {
      RunWriter.write(common.out(), findings, began, results);
      console.say("report: " + ReportPage.write(common.out()));
    }
    return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
  }

  private @Nullable Path folder(boolean one, int index) {
    Path out = common.out();
    return out == null || one ? out : out.resolve("load-" + (index + 1));
  }

  /** A folder holds one run: two would be read as one. */
  private void checkOut() {
    Path out = common.out();
    if (out != null && Files.exists(out.resolve(RunFile.NAME))) {
      throw CannotRun.badInput("--out", out, "holds a run already");
    }
  }

  private Target open(Console console) throws IOException {
    return broker.equals("pulsar")
        ? new PulsarTarget(PulsarAtHand.open(common, pulsarOptions, console))
        : new RabbitTarget(RabbitAtHand.open(common, console));
  }

  private List<Load> loads() {
    if (!broker.equals("rabbit") && !broker.equals("pulsar")) {
      throw CannotRun.badInput("--broker", broker, "must be rabbit or pulsar");
    }
    within("--size", size, LoadRun.LEAST_SIZE, 4 << 20);
    within("--producers", producers, 1, 1_000);
    within("--consumers", consumers, 0, 1_000);
    if (!List.of("classic", "quorum", "stream").contains(queueType)) {
      throw CannotRun.badInput("--queue-type", queueType, "must be classic, quorum or stream");
    }
    if (time.compareTo(interval) < 0 || interval.toMillis() < 10) {
      throw CannotRun.badInput(
          "--interval", Durations.text(interval), "must be from 10ms to --time");
    }
    List<Load> loads = new ArrayList<>();
    List<@Nullable Double> all = new ArrayList<>();
    if (rates == null) {
      all.add(null);
    } else {
      all.addAll(rates);
    }
    for (Double rate : all) {
      if (rate != null && !(rate > 0 && rate <= 1e7)) {
        throw CannotRun.badInput("--rate", rate, "must be above 0 and at most 10000000");
      }
      for (String window : confirm) {
        loads.add(
            new Load(
                name(rate, window),
                rate,
                window(window),
                Quotas.policy(Quotas.Direction.PUBLISH, "--quota", quota, bytesRate),
                size,
                producers,
                consumers,
                queueType,
                !noBatching,
                warmUp,
                time,
                interval));
      }
    }
    if (loads.size() > MOST_LOADS) {
      throw CannotRun.badInput(
          "rates times windows are " + loads.size() + ", at most " + MOST_LOADS);
    }
    return loads;
  }

  private String name(@Nullable Double rate, String window) {
    List<String> parts = new ArrayList<>();
    if (rates != null && rates.size() > 1 && rate != null) {
      parts.add(String.format(Locale.ROOT, "%,.0f/s", rate));
    }
    if (confirm.size() > 1) {
      parts.add("window " + window);
    }
    return parts.isEmpty() ? "load" : String.join(", ", parts);
  }

  private static String inWords(Load load) {
    Double rate = load.rate();
    return (rate == null
            ? "as many as there is room for"
            : String.format(Locale.ROOT, "%,.0f messages a second", rate))
        + String.format(
            Locale.ROOT,
            " of %,d bytes, window %s, %d producers, %d consumers, for %s",
            load.size(),
            load.windowName(),
            load.producers(),
            load.consumers(),
            Durations.text(load.time()));
  }

  private static void within(String option, int value, int least, int most) {
    if (value < least || value > most) {
      throw CannotRun.badInput(option, value, "must be from " + least + " to " + most);
    }
  }

  private static WindowPolicy window(String text) {
    if (text.equals("adaptive")) {
      return WindowPolicy.adaptive();
    }
    try {
      return WindowPolicy.fixed(Integer.parseInt(text));
    } catch (NumberFormatException e) {
      throw CannotRun.badInput("--confirm", text, "is neither a number nor adaptive");
    } catch (IllegalArgumentException e) {
      throw CannotRun.badInput("--confirm", text, String.valueOf(e.getMessage()));
    }
  }

  private static void show(Console console, Findings findings, List<LoadResult> results) {
    console.say("");
    if (results.size() == 1) {
      LoadResult only = results.get(0);
      console.say(Latencies.table(only.latency()));
      console.say("");
      console.say(
          String.format(
              Locale.ROOT,
              "%,.0f confirmed a second%s",
              only.figure("throughput_msgs_per_s"),
              only.load().consumers() == 0
                  ? ""
                  : String.format(
                      Locale.ROOT, ", %,.0f handled", only.figure("handled_msgs_per_s"))));
      double behind = only.figure("due_and_not_published_msgs");
      if (behind > 1) {
        console.say(
            String.format(
                Locale.ROOT,
                "The rate could not be kept: %,.0f messages were due and not published.",
                behind));
      }
    } else {
      console.say(table(results));
    }
    for (var check : findings.checks()) {
      if (!check.ok()) {
        console.say(
            "NOT AS IT SHOULD BE: "
                + check.id()
                + ": "
                + check.expected()
                + "; seen: "
                + check.observed());
      }
    }
  }

  /** Returns a table with a row for each load. */
  public static Table table(List<LoadResult> results) {
    Table table =
        new Table(
            "load", "msg/s", "confirm p50 ms", "p99 ms", "max ms", "end to end p99 ms", "behind");
    for (LoadResult each : results) {
      table.row(
          each.load().name(),
          each.figure("throughput_msgs_per_s"),
          each.figure("due_confirmed_p50_us") / 1e3,
          each.figure("due_confirmed_p99_us") / 1e3,
          each.figure("due_confirmed_max_us") / 1e3,
          each.load().consumers() == 0 ? "-" : each.figure("due_handled_p99_us") / 1e3,
          (long) each.figure("due_and_not_published_msgs"));
    }
    return table;
  }
}
