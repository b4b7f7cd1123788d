package io.floatvalve.examples.lab;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.StopSignal;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.examples.perf.Load;
import io.floatvalve.examples.perf.LoadResult;
import io.floatvalve.examples.perf.LoadRun;
import io.floatvalve.examples.perf.PulsarTarget;
import io.floatvalve.examples.perf.RabbitTarget;
import io.floatvalve.examples.perf.RunWriter;
import io.floatvalve.examples.perf.Target;
import io.floatvalve.examples.report.ReportPage;
import io.floatvalve.publish.WindowPolicy;
import java.io.IOException;
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

/** What window, size, kind of queue and batching do to throughput and latency of publishing. */
@Command(
    name = "sizes",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "What window, body size, kind of queue and batching do to throughput and latency of"
          + " publishing: one thing is changed at a time, all else stays as it is by default.",
      "As many messages are published as there is room for. Latency is from sent to confirmed."
    })
public final class SizesLab implements Callable<Integer> {
  private static final int USUAL = 100;
  private static final String CLASSIC = "classic";

  @Option(names = "--broker", paramLabel = "B", description = "rabbit (default) or pulsar.")
  private String broker = "rabbit";

  @Option(names = "--quick", description = "A second each instead of five.")
  private boolean quick;

  @Mixin private PulsarOptions pulsarOptions = new PulsarOptions();
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    if (!broker.equals("rabbit") && !broker.equals("pulsar")) {
      throw CannotRun.badInput("--broker", broker, "must be rabbit or pulsar");
    }
    Console console = Console.of(spec, common);
    Findings findings = new Findings("lab sizes");
    Instant began = Instant.now();
    List<LoadResult> results = new ArrayList<>();
    try (StopSignal stop = new StopSignal();
        Target target = open(console)) {
      target.describeTo(findings);
      for (Load load : loads()) {
        if (stop.asked()) {
          break;
        }
        console.progress(load.name() + " ...");
        Console quiet = new Console(spec.commandLine().getOut(), spec.commandLine().getErr(), true);
        LoadResult result =
            new LoadRun(target, load, quiet, findings, load.name() + ".")
                .run(folder(results.size()));
        boolean unused = Thread.interrupted(); // it has done what it was for
        results.add(result);
        result.figuresTo(findings, load.name().replaceAll("[^A-Za-z0-9]+", "_") + "_");
      }
    }
    console.say("");
    console.say(table(results));
    for (var check : findings.checks()) {
      if (!check.ok()) {
        console.say("NO: " + check.id() + ": " + check.expected() + "; seen: " + check.observed());
      }
    }
    findings.writeTo(common.json());
    if (common.out() != null) {
      RunWriter.write(common.out(), findings, began, results);
      console.say("report: " + ReportPage.write(common.out()));
    }
    return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
  }

  private @Nullable Path folder(int index) {
    Path out = common.out();
    return out == null ? null : out.resolve("load-" + (index + 1));
  }

  private Target open(Console console) throws IOException {
    return broker.equals("pulsar")
        ? new PulsarTarget(PulsarAtHand.open(common, pulsarOptions, console))
        : new RabbitTarget(RabbitAtHand.open(common, console));
  }

  private List<Load> loads() {
    List<Load> loads = new ArrayList<>();
    loads.add(load("as by default", WindowPolicy.adaptive(), USUAL, CLASSIC, true));
    for (int window : new int[] {1, 10, 100, 1_000, 10_000}) {
      loads.add(load("window " + window, WindowPolicy.fixed(window), USUAL, CLASSIC, true));
    }
    for (int size : new int[] {16, 1_024, 10_240, 102_400}) {
      loads.add(load("body of " + size, WindowPolicy.adaptive(), size, CLASSIC, true));
    }
    if (broker.equals("rabbit")) {
      for (String type : new String[] {"quorum", "stream"}) {
        loads.add(load(type + " queue", WindowPolicy.adaptive(), USUAL, type, true));
      }
    } else {
      loads.add(load("no batching", WindowPolicy.adaptive(), USUAL, CLASSIC, false));
    }
    return loads;
  }

  private Load load(String name, WindowPolicy window, int size, String type, boolean batching) {
    return new Load(
        name,
        null,
        window,
        null,
        size,
        1,
        0,
        type,
        batching,
        Duration.ofMillis(quick ? 300 : 1_000),
        Duration.ofSeconds(quick ? 1 : 5),
        Duration.ofMillis(quick ? 200 : 500));
  }

  private static Table table(List<LoadResult> results) {
    Table table =
        new Table(
            "changed", "msg/s", "MB/s", "confirm p50 ms", "p99 ms", "max ms", "window at the end");
    for (LoadResult each : results) {
      double perSecond = each.figure("throughput_msgs_per_s");
      table.row(
          each.load().name(),
          perSecond,
          String.format(Locale.ROOT, "%.1f", perSecond * each.load().size() / 1e6),
          each.figure("sent_confirmed_p50_us") / 1e3,
          each.figure("sent_confirmed_p99_us") / 1e3,
          each.figure("sent_confirmed_max_us") / 1e3,
          (long) each.figure("window_at_end_msgs"));
    }
    return table;
  }
}
