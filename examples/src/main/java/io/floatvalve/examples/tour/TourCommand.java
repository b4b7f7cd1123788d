package io.floatvalve.examples.tour;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Latencies;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.examples.lines.Fate;
import io.floatvalve.examples.lines.Line;
import io.floatvalve.examples.lines.LineFormat;
import io.floatvalve.examples.lines.LineReader;
import io.floatvalve.examples.lines.ResultsFile;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Sends a text through both brokers, with trouble on the way; shows what became of every line. */
@Command(
    name = "tour",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Publishes a text to RabbitMQ, one message a line, with trouble on the way: a queue that is"
          + " not there, a full one, a key too long, a connection cut.",
      "What lies in the queues then goes on to a topic of Pulsar, and is handled there.",
      "Shows what became of every line, and holds that against what came out at the end.",
      "--uri and FLOATVALVE_RABBIT name the RabbitMQ, FLOATVALVE_PULSAR names the Pulsar."
    })
public final class TourCommand implements Callable<Integer> {
  private static final String SHIPPED = "lock.txt";
  private static final int MOST_LINES = 100_000;
  private static final int LONGEST_LINE = 1 << 20;
  private static final int TOO_LONG_KEY = 300;

  @Option(
      names = "--from",
      paramLabel = "FILE",
      description = "The text, up to 100000 lines. Default: one that comes with the examples.")
  private @Nullable Path from;

  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    Console console = Console.of(spec, common);
    List<Line> lines = lines();
    Findings findings = new Findings("tour");
    try (Brokers brokers = Brokers.open(common, console);
        Queues queues = new Queues(brokers.rabbit(), "floatvalve.tour")) {
      RabbitAtHand rabbit = brokers.rabbit();
      rabbit.describeTo(findings);
      findings.note("pulsar", brokers.pulsar().describe());
      String main = queues.classic("lines");
      String full =
          queues.classic(
              "full", Map.of("x-max-length", TourPlan.FULL_KEEPS, "x-overflow", "reject-publish"));
      TourPlan plan = new TourPlan(lines.size());
      console.say("");
      console.say(
          String.format(
              "%,d lines of %s, one message each, to queue %s", lines.size(), source(), main));
      announce(console, plan, rabbit.plain());
      Published published = publish(rabbit, queues, plan, lines, main, full, console);
      Path results = write(lines, published);
      show(console, findings, published, lines.size());
      Onward.Went went = new Onward(brokers, console).run(queues, List.of(main, full));
      reconcile(console, findings, plan, published, went);
      console.say("");
      console.say(Latencies.table(published.latency()));
      console.say("");
      console.say("outcome of every line: " + results);
      Latencies.figures(published.latency(), findings);
      Latencies.writeTo(common.out(), published.latency());
      findings.writeTo(common.json());
      return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
    }
  }

  /** The outcomes in the order of the lines, and the latencies. */
  private record Published(List<PublishOutcome> outcomes, LatencySnapshot latency) {}

  private String source() {
    return from == null ? SHIPPED + " (it comes with the examples)" : from.toString();
  }

  private List<Line> lines() {
    List<Line> lines = new ArrayList<>();
    try (InputStream in = open();
        LineReader reader = new LineReader(in, LONGEST_LINE)) {
      for (Line line = reader.next(); line != null; line = reader.next()) {
        if (lines.size() == MOST_LINES || line.tooLong()) {
          throw CannotRun.badInput(
              "--from",
              source(),
              "the tour takes up to 100000 lines of up to 1 MiB; for more, use publish");
        }
        lines.add(line);
      }
    } catch (IOException e) {
      throw CannotRun.badInput("--from", source(), CannotRun.whyNoFile(e));
    }
    if (lines.isEmpty()) {
      throw CannotRun.badInput("--from", source(), "it is empty");
    }
    return lines;
  }

  private InputStream open() throws IOException {
    if (from != null) {
      if (Files.isDirectory(from)) {
        throw CannotRun.badInput("--from", from, "is a folder");
      }
      return Files.newInputStream(from);
    }
    InputStream shipped = TourCommand.class.getResourceAsStream(SHIPPED);
    if (shipped == null) {
      throw new IOException("it is missing from the jar");
    }
    return shipped;
  }

  private static void announce(Console console, TourPlan plan, boolean canCut) {
    if (!plan.any()) {
      console.say("  (too few lines for trouble on the way)");
      return;
    }
    console.say("  line " + plan.noQueue() + " to a queue that is not there");
    console.say(
        String.format(
            "  lines %d-%d to a queue that keeps %d and refuses more",
            plan.full(), plan.full() + TourPlan.TO_FULL - 1, TourPlan.FULL_KEEPS));
    console.say("  line " + plan.longKey() + " with a routing key of " + TOO_LONG_KEY + " bytes");
    console.say(
        canCut
            ? String.format(
                "  lines %d-%d are in flight, their confirms held back, when the connection is cut",
                plan.cut(), plan.cut() + TourPlan.CUT - 1)
            : "  (no connection is cut: TLS does not pass through the proxy that would cut it)");
    console.say("");
  }

  private static Published publish(
      RabbitAtHand rabbit,
      Queues queues,
      TourPlan plan,
      List<Line> lines,
      String main,
      String full,
      Console console)
      throws IOException {
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    try (FaultProxy proxy = rabbit.plain() ? FaultProxy.to(rabbit.host(), rabbit.port()) : null;
        var messaging =
            RabbitAtHand.messaging(
                proxy == null ? rabbit.uri() : rabbit.uriAt(proxy.host(), proxy.port()),
                event -> console.progress("  " + event.who() + ": " + event.what()));
        Publisher publisher =
            messaging.publisher(
                PublisherSettings.to(Address.queue(main))
                    .withMaxWait(Duration.ofMinutes(1))
                    .withCloseTimeout(Duration.ofMinutes(1)))) {
      long toMain = 0;
      for (Line line : lines) {
        int number = (int) line.number();
        boolean cutting = plan.of(number) == TourPlan.Trouble.CUT;
        if (proxy != null && cutting && number == plan.cut()) {
          publisher.drain(Duration.ofSeconds(30));
          proxy.stall(Direction.FROM_BROKER);
        }
        toMain += plan.of(number) == TourPlan.Trouble.NONE || cutting ? 1 : 0;
        futures.add(publisher.publish(message(line, plan, main, full)));
        if (proxy != null && cutting && number == plan.cut() + TourPlan.CUT - 1) {
          queues.awaitStored(main, toMain, Duration.ofSeconds(30));
          proxy.cut(Cut.RESET);
          proxy.unstall(Direction.FROM_BROKER);
          futures.get(futures.size() - 1).join(); // the loss is noticed before the next line goes
        }
      }
      List<PublishOutcome> outcomes = new ArrayList<>();
      for (CompletableFuture<PublishOutcome> future : futures) {
        outcomes.add(future.join());
      }
      return new Published(outcomes, publisher.latency());
    }
  }

  private static Message message(Line line, TourPlan plan, String main, String full) {
    int number = (int) line.number();
    Message.Builder message =
        Message.builder(line.bytes())
            .messageId(id(number))
            .header("line", line.number())
            .contentType("text/plain");
    return switch (plan.of(number)) {
      case NONE, CUT -> message.build();
      case NO_QUEUE -> message.address(Address.queue(main + ".nowhere")).build();
      case FULL_QUEUE -> message.address(Address.queue(full)).build();
      case LONG_KEY -> message.address(Address.exchange("", "k".repeat(TOO_LONG_KEY))).build();
    };
  }

  private static String id(int line) {
    return "line-" + line;
  }

  private Path write(List<Line> lines, Published published) throws IOException {
    Path folder =
        common.out() == null
            ? Path.of(System.getProperty("floatvalve.scratch", "."))
            : common.out();
    Path file = folder.resolve("tour.results.ndjson");
    Files.deleteIfExists(file);
    ResultsFile.Run run =
        new ResultsFile.Run(
            "rabbit", "tour", source(), LineFormat.TEXT, -1, EnumSet.of(Fate.UNTRIED));
    try (ResultsFile results = ResultsFile.create(file, run)) {
      for (int i = 0; i < lines.size(); i++) {
        results.outcome(lines.get(i).number(), published.outcomes().get(i));
      }
      results.flush();
      results.check();
    }
    return file;
  }

  private static void show(Console console, Findings findings, Published published, int lines) {
    Map<Verdict, List<Integer>> byVerdict = new EnumMap<>(Verdict.class);
    for (int i = 0; i < published.outcomes().size(); i++) {
      byVerdict
          .computeIfAbsent(published.outcomes().get(i).verdict(), v -> new ArrayList<>())
          .add(i + 1);
    }
    Table table = new Table("outcome", "lines", "publishing it again", "the first of them");
    long total = 0;
    for (Verdict verdict : Verdict.values()) {
      List<Integer> those = byVerdict.getOrDefault(verdict, List.of());
      total += those.size();
      String retry = "";
      String first = "";
      if (!those.isEmpty()) {
        PublishOutcome outcome = published.outcomes().get(those.get(0) - 1);
        retry = words(outcome);
        String why = ResultsFile.why(outcome);
        first = "line " + those.get(0) + (why.isEmpty() ? "" : ": " + shortened(why));
      }
      table.row(verdict, those.size(), retry, first);
      findings.figure("lines_" + verdict.name().toLowerCase(Locale.ROOT), those.size());
    }
    table.row("total", total, "", "");
    console.say(table);
    console.say("");
    findings.figure("lines_total", total);
    findings.check(
        "total", lines + " lines, one outcome each", total + " outcomes", total == lines);
  }

  private static String words(PublishOutcome outcome) {
    return switch (outcome.retry()) {
      case NEEDLESS -> "is needless";
      case SAFE -> "is safe";
      case MAY_DUPLICATE -> "may store it twice";
      case FUTILE -> "fails again";
    };
  }

  private static String shortened(String text) {
    return text.length() <= 70 ? text : text.substring(0, 67) + "...";
  }

  private static void reconcile(
      Console console, Findings findings, TourPlan plan, Published published, Onward.Went went) {
    went.show(console, findings);
    Map<Verdict, Long> all = new EnumMap<>(Verdict.class);
    Map<Verdict, Long> found = new EnumMap<>(Verdict.class);
    Map<Verdict, Long> handled = new EnumMap<>(Verdict.class);
    long refusedKept = 0;
    for (int i = 0; i < published.outcomes().size(); i++) {
      Verdict verdict = published.outcomes().get(i).verdict();
      boolean there = went.taken().contains(id(i + 1));
      all.merge(verdict, 1L, Long::sum);
      if (there) {
        found.merge(verdict, 1L, Long::sum);
      }
      if (went.handlings().containsKey(id(i + 1))) {
        handled.merge(verdict, 1L, Long::sum);
      }
      if (plan.of(i + 1) == TourPlan.Trouble.FULL_QUEUE && verdict == Verdict.NACKED && there) {
        refusedKept++;
      }
    }
    console.say("Each outcome held against what lay in the queues, and what came out at the end:");
    Table table = new Table("outcome", "lines", "in a queue", "handled", "should be");
    for (Verdict verdict : Verdict.values()) {
      String should =
          switch (verdict) {
            case CONFIRMED -> "all";
            case RETURNED, NOT_SENT, NACKED -> "none";
            case UNKNOWN -> "any";
          };
      table.row(
          verdict,
          all.getOrDefault(verdict, 0L),
          found.getOrDefault(verdict, 0L),
          handled.getOrDefault(verdict, 0L),
          should);
    }
    console.say(table);
    long confirmed = all.getOrDefault(Verdict.CONFIRMED, 0L);
    long confirmedFound = found.getOrDefault(Verdict.CONFIRMED, 0L);
    findings.check(
        "confirmed-in-queue",
        "every confirmed line is in a queue",
        confirmedFound + " of " + confirmed,
        confirmedFound == confirmed);
    findings.check(
        "end-to-end",
        "of every outcome as many lines are handled as lay in a queue, and nothing else is",
        handled + " of " + found,
        handled.equals(found) && went.handlings().size() == went.taken().size());
    long notThere =
        found.getOrDefault(Verdict.RETURNED, 0L) + found.getOrDefault(Verdict.NOT_SENT, 0L);
    findings.check(
        "not-sent-not-in-queue",
        "no line that was returned or not sent is in a queue",
        notThere + " are",
        notThere == 0);
    findings.check(
        "nacked-not-in-queue",
        "no line that the full queue refused is in it",
        refusedKept + " are",
        refusedKept == 0);
    if (plan.any()) {
      long returned = all.getOrDefault(Verdict.RETURNED, 0L);
      findings.check("returned", "1 line returned", returned + " returned", returned == 1);
      long nacked = all.getOrDefault(Verdict.NACKED, 0L);
      long refused = TourPlan.TO_FULL - TourPlan.FULL_KEEPS;
      findings.check("nacked", refused + " lines nacked", nacked + " nacked", nacked == refused);
    }
    long unknown = all.getOrDefault(Verdict.UNKNOWN, 0L);
    if (unknown > 0) {
      console.say(
          String.format(
              "Of %d lines in doubt %d had arrived: publishing those again would have stored them"
                  + " twice.",
              unknown, found.getOrDefault(Verdict.UNKNOWN, 0L)));
    }
    for (var check : findings.checks()) {
      if (!check.ok()) {
        console.say("NOT AS IT SHOULD BE: " + check.expected() + "; seen: " + check.observed());
      }
    }
  }
}
