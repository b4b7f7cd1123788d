package io.floatvalve.examples.publish;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.floatvalve.examples.cli.Addresses;
import io.floatvalve.examples.cli.BrokerAtHand;
import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Durations;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.Quotas;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.StopSignal;
import io.floatvalve.examples.cli.Ticker;
import io.floatvalve.examples.lines.Fate;
import io.floatvalve.examples.lines.Fates;
import io.floatvalve.examples.lines.LineFormat;
import io.floatvalve.examples.lines.LineReader;
import io.floatvalve.examples.lines.ResultsFile;
import io.floatvalve.examples.lines.ResultsFile.Past;
import io.floatvalve.examples.lines.ResultsFile.Run;
import io.floatvalve.examples.lines.Tally;
import io.floatvalve.model.Address;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.WindowPolicy;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.OnExceed;
import io.floatvalve.rate.QuotaPolicy.Oversize;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Publishes a file, one message a line, and keeps the outcome of every line. */
@Command(
    name = "publish",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Publishes a file, one message a line, and keeps the outcome of every line.",
      "Exit code 0 only if every line is confirmed; 1 if not: then it says how to finish the rest."
    })
public final class PublishCommand implements Callable<Integer> {
  private static final String RABBIT = "rabbit";
  private static final String PULSAR = "pulsar";
  private static final List<String> QUEUE_TYPES = List.of("classic", "quorum", "stream");
  private static final int QUEUED_BYTES = 8 << 20;
  private static final int IN_FLIGHT_BYTES = 8 << 20;
  private static final Duration CLOSE = Duration.ofSeconds(10);
  private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss");

  @Option(
      names = "--broker",
      paramLabel = "B",
      description = "rabbit (default) or pulsar. With --resume it is that of the earlier run.")
  private @Nullable String broker;

  @Option(
      names = "--to",
      paramLabel = "ADDRESS",
      description =
          "On RabbitMQ QUEUE or EXCHANGE/KEY; in full queue:NAME, exchange:NAME/KEY. On Pulsar a"
              + " topic, NAME or persistent://TENANT/NAMESPACE/NAME.")
  private @Nullable String to;

  @Option(names = "--from", paramLabel = "FILE", description = "The file; - (default) is stdin.")
  private @Nullable String from;

  @Option(
      names = "--format",
      paramLabel = "F",
      description =
          "text: a line is a payload. ndjson: a line is an object with payload or payloadBase64,"
              + " key, headers, contentType, messageId, correlationId, priority, ttlMillis,"
              + " persistent, mandatory. Default: by the file's name (.ndjson, .jsonl).")
  private @Nullable String format;

  @Option(
      names = "--rate",
      paramLabel = "N",
      description = "So many messages are sent in any second at most; default: no limit.")
  private @Nullable Double rate;

  @Option(
      names = "--bytes-rate",
      paramLabel = "N",
      description =
          "So many bytes of payload are sent in any second at most; default: no limit. A larger"
              + " message is sent alone.")
  private @Nullable Long bytesRate;

  @Option(
      names = "--confirm",
      paramLabel = "N",
      converter = Windows.class,
      description =
          "How many may be sent and not yet answered: 1 to 1048576, or adaptive (default), which"
              + " finds the number.")
  private WindowPolicy confirm = WindowPolicy.adaptive();

  @Option(
      names = "--results",
      paramLabel = "FILE",
      description = "The outcome of every line, as JSON lines. Must not exist yet.")
  private @Nullable Path results;

  @Option(
      names = "--resume",
      paramLabel = "RESULTS",
      description = "Go on where an earlier run with these results ended.")
  private @Nullable Path resume;

  @Option(
      names = "--repeat",
      paramLabel = "FATES",
      split = ",",
      description =
          "With --resume: which lines to try again, of not-sent (default), unknown, nacked,"
              + " returned. Lines never tried are always published.")
  private @Nullable List<String> repeat;

  @Option(
      names = "--declare",
      paramLabel = "TYPE",
      description =
          "RabbitMQ: declare the queue first: classic, quorum or stream. Default on a private node:"
              + " classic.")
  private @Nullable String declare;

  @Option(
      names = "--max-wait",
      paramLabel = "D",
      converter = Durations.class,
      description = "How long a line may wait for the broker before it is NOT_SENT; default 2m.")
  private Duration maxWait = Duration.ofMinutes(2);

  @Option(
      names = "--confirm-timeout",
      paramLabel = "D",
      converter = Durations.class,
      description = "How long the broker may take to answer before it is UNKNOWN; default 10s.")
  private Duration confirmTimeout = Duration.ofSeconds(10);

  @Option(
      names = "--max-message-bytes",
      paramLabel = "N",
      description = "Longer lines are not sent; default 16777216.")
  private int maxMessageBytes = 16 << 20;

  @Mixin private PulsarOptions pulsarOptions = new PulsarOptions();
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  /** What is to be done, checked. */
  private record Plan(
      Run run, Address address, Fates fates, Path results, boolean resumed, String title) {}

  @Override
  public Integer call() throws IOException {
    Console console = Console.of(spec, common);
    Plan plan = plan();
    PublisherSettings settings = settings(plan.address());
    Findings findings = new Findings("publish");
    try (StopSignal stop = new StopSignal();
        InputStream input = open(plan.run().from());
        BrokerAtHand atHand = broker(plan, console)) {
      atHand.describeTo(findings);
      try (var messaging =
              atHand.messaging(
                  event -> console.progress("  " + event.who() + ": " + event.what()));
          Publisher publisher = messaging.publisher(settings);
          ResultsFile file =
              plan.resumed()
                  ? ResultsFile.append(plan.results(), plan.run())
                  : create(plan.results(), plan.run());
          Leftovers leftovers = new Leftovers(plan.results());
          LineReader lines = new LineReader(input, maxMessageBytes)) {
        console.progress(plan.title());
        PublishRun run =
            new PublishRun(
                publisher,
                plan.run().format(),
                plan.run().tries(),
                plan.fates(),
                file,
                leftovers,
                stop::asked);
        long began = System.nanoTime();
        boolean settled;
        Ticker ticker = new Ticker(() -> tick(console, file, run, began));
        try {
          run.publish(lines);
          settled = run.finish(CLOSE.plus(CLOSE));
        } finally {
          ticker.close();
        }
        if (settled) {
          file.end(run.tally());
        } else {
          console.warn("some outcomes did not come; their lines stay in doubt");
        }
        file.flush();
        file.check();
        double seconds = (System.nanoTime() - began) / 1e9;
        PublishReport report = new PublishReport(console, findings, common);
        Tally tally = run.tally();
        report.outcomes(tally, publisher.latency(), seconds, plan.results());
        report.accounts(plan.results(), tally, run.linesRead());
        report.rest(plan.run(), plan.results(), tally, leftovers.finish(), run.readAll());
        findings.writeTo(common.json());
        return tally.allConfirmed() && run.readAll() && findings.allOk()
            ? CannotRun.OK
            : CannotRun.NOT_ALL_WELL;
      }
    }
  }

  private BrokerAtHand broker(Plan plan, Console console) throws IOException {
    if (plan.run().broker().equals(PULSAR)) {
      return PulsarAtHand.open(common, pulsarOptions, console);
    }
    RabbitAtHand rabbit = RabbitAtHand.open(common, console);
    boolean declared = false;
    try {
      declare(rabbit, plan.address());
      declared = true;
      return rabbit;
    } finally {
      if (!declared) {
        rabbit.close();
      }
    }
  }

  private static void tick(Console console, ResultsFile file, PublishRun run, long began) {
    file.flush();
    Tally tally = run.tally();
    StringBuilder text = new StringBuilder();
    text.append(
        String.format("  %.0f s, ", (System.nanoTime() - began) / 1e9)
            + PublishReport.counted(tally.total()));
    tally
        .counts()
        .forEach(
            (fate, count) ->
                text.append(
                    String.format(", %s %,d", fate == Fate.UNTRIED ? "open" : fate, count)));
    console.progress(text.toString());
  }

  private Plan plan() throws IOException {
    if (broker != null && !broker.equals(RABBIT) && !broker.equals(PULSAR)) {
      throw CannotRun.badInput("--broker", broker, "must be rabbit or pulsar");
    }
    QuotaPolicy unused = quota(); // refuses what is out of range
    if (declare != null && !QUEUE_TYPES.contains(declare)) {
      throw CannotRun.badInput("--declare", declare, "must be " + String.join(" or ", QUEUE_TYPES));
    }
    if (maxMessageBytes < 1 || maxMessageBytes > 1 << 29) {
      throw CannotRun.badInput(
          "--max-message-bytes", maxMessageBytes, "must be from 1 to " + (1 << 29));
    }
    return resume == null ? fresh() : resumed(resume);
  }

  private Plan fresh() throws IOException {
    if (repeat != null) {
      throw CannotRun.badInput("--repeat", String.join(",", repeat), "given without --resume");
    }
    if (to == null) {
      throw CannotRun.badInput("--to is missing: name a queue, EXCHANGE/KEY or a topic");
    }
    String kind = broker == null ? RABBIT : broker;
    Address address = address(kind, to);
    String source = from == null ? "-" : from;
    Path file = results == null ? defaultResults() : results;
    if (Files.exists(file)) {
      throw CannotRun.badInput(
          "--results", file, "exists already; to go on with it, give --resume " + file);
    }
    Run run = new Run(kind, to, source, format(source), size(source), EnumSet.of(Fate.UNTRIED));
    return new Plan(
        run,
        address,
        new Fates(),
        file,
        false,
        "publishing the lines of " + named(source) + " to " + address);
  }

  private Plan resumed(Path earlier) throws IOException {
    if (results != null) {
      throw CannotRun.badInput(
          "--results", results, "given with --resume, which goes on with its own");
    }
    Past past;
    try {
      past = ResultsFile.read(earlier);
    } catch (IOException e) {
      throw CannotRun.badInput("--resume", earlier, CannotRun.whyNoFile(e));
    }
    Run first = past.run();
    if (broker != null && !broker.equals(first.broker())) {
      throw CannotRun.badInput(
          "--broker", broker, "the earlier run published to " + first.broker());
    }
    String source = from == null ? first.from() : from;
    if (source.equals("-")) {
      throw CannotRun.badInput(
          "--resume", earlier, "its lines came from stdin; publish the files beside it instead");
    }
    long bytes = size(source);
    if (first.bytes() >= 0 && bytes != first.bytes()) {
      throw CannotRun.badInput(
          "--resume",
          earlier,
          "belongs to a file of " + first.bytes() + " bytes, but " + source + " has " + bytes);
    }
    String target = to == null ? first.to() : to;
    Address address = address(first.broker(), target);
    LineFormat read = format == null ? first.format() : format(source);
    Run run = new Run(first.broker(), target, source, read, bytes, repeats());
    return new Plan(
        run,
        address,
        past.fates(),
        earlier,
        true,
        "going on with the lines of " + named(source) + " to " + address);
  }

  private Address address(String kind, String text) {
    if (!kind.equals(PULSAR)) {
      return Addresses.rabbit("--to", text);
    }
    if (declare != null) {
      throw CannotRun.badInput("--declare", declare, "only a queue of RabbitMQ can be declared");
    }
    return Addresses.pulsar("--to", text);
  }

  private Set<Fate> repeats() {
    Set<Fate> fates = EnumSet.of(Fate.UNTRIED);
    for (String each : repeat == null ? List.of("not-sent") : repeat) {
      switch (each.strip()) {
        case "not-sent" -> fates.add(Fate.NOT_SENT);
        case "unknown" -> fates.add(Fate.UNKNOWN);
        case "nacked" -> fates.add(Fate.NACKED);
        case "returned" -> fates.add(Fate.RETURNED);
        default ->
            throw CannotRun.badInput(
                "--repeat", each, "must be of not-sent, unknown, nacked, returned");
      }
    }
    return fates;
  }

  private LineFormat format(String source) {
    if (format == null) {
      return LineFormat.of(source);
    }
    try {
      return LineFormat.valueOf(format.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw CannotRun.badInput("--format", format, "must be text or ndjson");
    }
  }

  private static String named(String source) {
    return source.equals("-") ? "stdin" : source;
  }

  private static long size(String source) throws IOException {
    if (source.equals("-")) {
      return -1;
    }
    Path file = Path.of(source);
    if (!Files.exists(file)) {
      throw CannotRun.badInput("--from", source, "there is no such file");
    }
    if (Files.isDirectory(file)) {
      throw CannotRun.badInput("--from", source, "is a folder");
    }
    if (!Files.isReadable(file)) {
      throw CannotRun.badInput("--from", source, "access is denied");
    }
    return Files.isRegularFile(file) ? Files.size(file) : -1;
  }

  /* Through a channel: an interrupt, on the way to an orderly end, ends a waiting read. */
  private static InputStream open(String source) throws IOException {
    return source.equals("-")
        ? Channels.newInputStream(new FileInputStream(FileDescriptor.in).getChannel())
        : Channels.newInputStream(Files.newByteChannel(Path.of(source)));
  }

  private Path defaultResults() {
    Path folder = common.out() == null ? Path.of("") : common.out();
    String now = LocalDateTime.now(ZoneId.systemDefault()).format(STAMP);
    return folder.resolve("publish-" + now + ".results.ndjson");
  }

  private static ResultsFile create(Path path, Run run) {
    try {
      return ResultsFile.create(path, run);
    } catch (IOException e) {
      throw CannotRun.badInput("--results", path, "cannot be written: " + CannotRun.whyNoFile(e));
    }
  }

  private PublisherSettings settings(Address address) {
    PublisherSettings bounds =
        PublisherSettings.to(address)
            .withMaxQueuedBytes(QUEUED_BYTES)
            .withMaxInFlightBytes(IN_FLIGHT_BYTES)
            .withMaxMessageBytes(maxMessageBytes)
            .withCloseTimeout(CLOSE);
    PublisherSettings window = bounds.withWindow(confirm).withQuota(quota());
    PublisherSettings wait =
        checked(
            "--max-wait",
            Durations.text(maxWait),
            () -> window.withMaxWait(longestWait()).withMaxBlock(longestWait()));
    return checked(
        "--confirm-timeout",
        Durations.text(confirmTimeout),
        () -> wait.withConfirmTimeout(confirmTimeout));
  }

  private @Nullable QuotaPolicy quota() {
    QuotaPolicy policy = Quotas.policy(Quotas.Direction.PUBLISH, "--rate", rate, bytesRate);
    return policy == null
        ? null
        : policy.withOnExceed(OnExceed.BLOCK).withOversize(Oversize.SEND_ALONE);
  }

  /** A message waits for its turn at a slow rate, however long that is. */
  private Duration longestWait() {
    if (rate == null) {
      return maxWait;
    }
    Duration turns = Duration.ofMillis((long) Math.min(86_400_000, 3_000 / rate));
    return turns.compareTo(maxWait) > 0 ? turns : maxWait;
  }

  private static PublisherSettings checked(
      String option, Object value, Supplier<PublisherSettings> change) {
    try {
      return change.get();
    } catch (IllegalArgumentException e) {
      throw CannotRun.badInput(option, value, String.valueOf(e.getMessage()));
    }
  }

  private void declare(RabbitAtHand rabbit, Address address) throws IOException {
    String type = declare;
    if (type == null && rabbit.node().isPresent()) {
      type = "classic";
    }
    if (type == null) {
      return;
    }
    if (address.kind() != Address.Kind.QUEUE) {
      if (declare == null) {
        return;
      }
      throw CannotRun.badInput(
          "--declare", declare, "only a queue can be declared, not an exchange");
    }
    try (Connection connection = rabbit.connection("floatvalve-declare");
        Channel channel = connection.createChannel()) {
      channel.queueDeclare(address.name(), true, false, false, Map.of("x-queue-type", type));
    } catch (IOException e) {
      throw CannotRun.badInput("--declare", type, CannotRun.inWords(e));
    } catch (TimeoutException e) {
      throw CannotRun.unreachable("declaring " + address, e);
    }
  }
}
