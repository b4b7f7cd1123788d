package io.floatvalve.examples.consume;

import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.examples.cli.Addresses;
import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Durations;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.MetricsEndpoint;
import io.floatvalve.examples.cli.MetricsOptions;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.Quotas;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.StopSignal;
import io.floatvalve.examples.cli.Ticker;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Consumes a topic or queue until it is told to stop, and accounts for every message. */
@Command(
    name = "consume",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Consumes a topic or queue until Ctrl-C, SIGTERM or the end of --time, then drains.",
      "Exit code 0 only if nothing is lost and nothing unsettled."
    })
public final class ConsumeCommand implements Callable<Integer> {
  private static final Duration DRAIN = Duration.ofSeconds(15);
  private static final String GROUP = "floatvalve";

  @Option(names = "--broker", paramLabel = "B", description = "pulsar (default) or rabbit.")
  private String broker = "pulsar";

  @Option(
      names = "--from",
      paramLabel = "PLACE",
      description = {
        "A topic, NAME or persistent://TENANT/NAMESPACE/NAME; on RabbitMQ a queue, NAME or"
            + " queue:NAME.",
        "With --feed it may be left out: a place of its own is made."
      })
  private @Nullable String from;

  @Option(
      names = "--group",
      paramLabel = "NAME",
      description =
          "Pulsar only: the subscription; default floatvalve. It stays on the topic afterwards.")
  private @Nullable String group;

  @Option(
      names = "--handler-time",
      paramLabel = "D",
      converter = Durations.class,
      description = "How long a handler takes for a message; default 0ms.")
  private Duration handlerTime = Duration.ZERO;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description = "How many messages may be in handlers at a time, 1 to 10000; default 16.")
  private int workers = 16;

  @Option(
      names = "--order",
      paramLabel = "O",
      description = "What order handlers keep: none (default), key or total.")
  private String order = "none";

  @Option(
      names = "--permits",
      paramLabel = "P",
      description = "adaptive (default), or a fixed number of messages to be sent ahead.")
  private String permits = "adaptive";

  @Option(
      names = "--rate",
      paramLabel = "N",
      description = "So many messages are handled in any second at most; default: no limit.")
  private @Nullable Double rate;

  @Option(
      names = "--bytes-rate",
      paramLabel = "N",
      description =
          "So many bytes of payload are handled in any second at most; default: no limit.")
  private @Nullable Long bytesRate;

  @Option(
      names = "--feed",
      paramLabel = "RATE",
      description = "Feed it by a plain producer, so many messages a second.")
  private @Nullable Double feed;

  @Option(
      names = "--feed-size",
      paramLabel = "BYTES",
      description = "The payload of each message fed; default 100.")
  private int feedSize = 100;

  @Option(
      names = "--feed-keys",
      paramLabel = "N",
      description = "How many keys the messages fed have; default 100.")
  private int feedKeys = 100;

  @Option(
      names = "--time",
      paramLabel = "D",
      converter = Durations.class,
      description = "Stop after this; default: when told to.")
  private @Nullable Duration time;

  @Mixin private PulsarOptions pulsarOptions = new PulsarOptions();
  @Mixin private MetricsOptions metricsOptions = new MetricsOptions();
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    Console console = Console.of(spec, common);
    ConsumerSettings settings = settings();
    checkFeed();
    Findings findings = new Findings("consume");
    try (StopSignal stop = new StopSignal();
        MetricsEndpoint endpoint = metricsOptions.open(console);
        Ground ground = ground(console)) {
      ground.describeTo(findings);
      Report report = run(ground, ground.at(settings), stop, endpoint, console);
      report.show(console, findings);
      if (!ground.leaves().isEmpty()) {
        console.say(ground.leaves());
      }
      findings.writeTo(common.json());
      return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
    }
  }

  private boolean isRabbit() {
    return broker.equals("rabbit");
  }

  private Ground ground(Console console) throws IOException {
    if (!isRabbit()) {
      PulsarAtHand pulsar = PulsarAtHand.open(common, pulsarOptions, console);
      return new PulsarGround(pulsar, from, group == null ? GROUP : group);
    }
    Address queue = from == null ? null : queue(from);
    RabbitAtHand rabbit = RabbitAtHand.open(common, console);
    try {
      return new RabbitGround(rabbit, queue);
    } catch (IOException | RuntimeException e) {
      rabbit.close();
      throw e;
    }
  }

  private static Address queue(String from) {
    Address address = Addresses.rabbit("--from", from);
    if (address.kind() != Address.Kind.QUEUE) {
      throw CannotRun.badInput("--from", from, "is an exchange; messages come from queues");
    }
    return address;
  }

  private Report run(
      Ground ground,
      ConsumerSettings settings,
      StopSignal stop,
      @Nullable MetricsEndpoint endpoint,
      Console console)
      throws IOException {
    Account account = new Account();
    String run = UUID.randomUUID().toString();
    Report.Ended ended;
    try (var messaging = ground.messaging(event -> console.progress("  " + event));
        Consumer consumer = messaging.consumer(settings)) {
      if (endpoint != null) {
        endpoint.watch(ground.name(), consumer);
      }
      consumer.handle(delivery -> handle(delivery, run, account));
      Double rate = feed;
      try (Feeder feeder =
          rate == null
              ? null
              : new Feeder(
                  ground.spout(order.equals("key")), run, rate, feedKeys, feedSize, account)) {
        console.progress("consuming " + ground.name() + ", until Ctrl-C or SIGTERM");
        long began = System.nanoTime();
        if (feeder != null) {
          feeder.start();
        }
        Progress progress = new Progress(console, consumer, feeder);
        Ticker ticker = new Ticker(progress);
        try {
          awaitEnd(stop);
        } finally {
          ticker.close();
        }
        console.progress(stop.asked() ? "asked to stop, draining ..." : "draining ...");
        if (feeder != null) {
          stopped(feeder);
        }
        long unsettled = drained(consumer);
        ended =
            new Report.Ended(
                unsettled,
                consumer.status(),
                consumer.latency(),
                (System.nanoTime() - began) / 1e9,
                feeder == null ? "" : feeder.failure());
      }
    }
    if (feed != null) {
      ground.remains(run, account);
    }
    return new Report(account.sum(), ended, settings.ordering(), feed != null);
  }

  private Settlement handle(Delivery delivery, String run, Account account)
      throws InterruptedException {
    Message message = delivery.message();
    int number = feed == null ? -1 : Feeder.number(run, message.headers());
    if (number >= 0) {
      account.begun(order.equals("total") ? "" : String.valueOf(message.key()), number);
    }
    if (!handlerTime.isZero()) {
      TimeUnit.NANOSECONDS.sleep(handlerTime.toNanos());
    }
    if (number >= 0) {
      account.handled(number);
    } else {
      account.handledOther();
    }
    return Settlement.accept();
  }

  private void awaitEnd(StopSignal stop) {
    CountDownLatch never = new CountDownLatch(1);
    try {
      if (stop.asked()) {
        return;
      }
      Duration limit = time;
      if (limit == null) {
        never.await();
      } else {
        boolean unused = never.await(limit.toNanos(), TimeUnit.NANOSECONDS);
      }
    } catch (InterruptedException e) {
      // That is how it is told to stop; what follows waits within bounds of its own.
    }
  }

  private static void stopped(Feeder feeder) {
    boolean interrupted = true;
    while (interrupted) {
      try {
        feeder.stop();
        interrupted = false;
      } catch (InterruptedException e) {
        interrupted = true; // asked to end while ending: the answers are bounded by a timeout
      }
    }
  }

  private static long drained(Consumer consumer) {
    long unsettled = consumer.drain(DRAIN);
    return Thread.interrupted() ? consumer.drain(DRAIN) : unsettled; // asked to end while ending
  }

  private void checkFeed() {
    Double rate = feed;
    if (rate != null && !(rate > 0 && rate <= 1e7)) {
      throw CannotRun.badInput("--feed", rate, "must be above 0 and at most 10000000");
    }
    if (from == null && feed == null) {
      throw CannotRun.badInput("--from is missing: name a topic or queue, or give --feed");
    }
    if (feedSize < 0 || feedSize > 4 << 20) {
      throw CannotRun.badInput("--feed-size", feedSize, "must be from 0 to " + (4 << 20));
    }
    if (feedKeys < 1) {
      throw CannotRun.badInput("--feed-keys", feedKeys, "must be at least 1");
    }
  }

  private ConsumerSettings settings() {
    if (!isRabbit() && !broker.equals("pulsar")) {
      throw CannotRun.badInput("--broker", broker, "must be pulsar or rabbit");
    }
    String subscription = group;
    String admin = pulsarOptions.adminUri();
    if (isRabbit() && subscription != null) {
      throw CannotRun.badInput("--group", subscription, "is for Pulsar; a queue is its own group");
    }
    if (isRabbit() && admin != null) {
      throw CannotRun.badInput("--admin-uri", admin, "is for Pulsar");
    }
    Ordering ordering =
        switch (order) {
          case "none" -> Ordering.NONE;
          case "key" -> Ordering.BY_KEY;
          case "total" -> Ordering.TOTAL;
          default -> throw CannotRun.badInput("--order", order, "must be none, key or total");
        };
    ConsumerSettings named =
        checked(
            "--from",
            String.valueOf(from),
            () ->
                ConsumerSettings.from(
                    isRabbit()
                        ? queue(from == null ? "any" : from)
                        : Address.topic(from == null ? "any" : from)));
    ConsumerSettings grouped =
        subscription == null
            ? named
            : checked("--group", subscription, () -> named.withGroup(subscription));
    ConsumerSettings limited = checked("--workers", workers, () -> grouped.withWorkers(workers));
    return limited
        .withOrdering(ordering)
        .withPermits(policy())
        .withQuota(Quotas.policy(Quotas.Direction.CONSUME, "--rate", rate, bytesRate))
        .withCloseTimeout(DRAIN);
  }

  private PermitPolicy policy() {
    if (permits.equals("adaptive")) {
      return PermitPolicy.adaptive();
    }
    try {
      int number = Integer.parseInt(permits);
      return checked("--permits", permits, () -> PermitPolicy.fixed(number));
    } catch (NumberFormatException e) {
      throw CannotRun.badInput("--permits", permits, "must be adaptive or a number");
    }
  }

  private static <T> T checked(String option, Object value, Supplier<T> change) {
    try {
      return change.get();
    } catch (IllegalArgumentException e) {
      throw CannotRun.badInput(option, value, String.valueOf(e.getMessage()));
    }
  }
}
