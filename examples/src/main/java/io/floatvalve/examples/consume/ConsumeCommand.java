package io.floatvalve.examples.consume;

import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Durations;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.StopSignal;
import io.floatvalve.examples.cli.Ticker;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.pulsar.PulsarBroker;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Consumes a topic until it is told to stop, and accounts for every message. */
@Command(
    name = "consume",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Consumes a topic until Ctrl-C, SIGTERM or the end of --time, then drains.",
      "Exit code 0 only if nothing is lost and nothing unsettled."
    })
public final class ConsumeCommand implements Callable<Integer> {
  private static final Duration DRAIN = Duration.ofSeconds(15);

  @Option(names = "--broker", paramLabel = "B", description = "pulsar (the only one as yet).")
  private String broker = "pulsar";

  @Option(
      names = "--from",
      paramLabel = "TOPIC",
      description = "NAME, or persistent://TENANT/NAMESPACE/NAME. With --feed it may be left out.")
  private @Nullable String from;

  @Option(
      names = "--group",
      paramLabel = "NAME",
      description = "The subscription; default floatvalve. It stays on the topic afterwards.")
  private String group = "floatvalve";

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
      names = "--feed",
      paramLabel = "RATE",
      description = "Feed the topic by a plain producer, so many messages a second.")
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
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws PulsarClientException {
    Console console = Console.of(spec, common);
    ConsumerSettings settings = settings();
    checkFeed();
    Findings findings = new Findings("consume");
    try (StopSignal stop = new StopSignal();
        PulsarAtHand pulsar = PulsarAtHand.open(common, pulsarOptions, console)) {
      pulsar.describeTo(findings);
      String topic = from == null ? pulsar.topic("consume") : from;
      Report report = run(pulsar, settings(topic, settings), topic, stop, console);
      report.show(console, findings);
      if (!pulsar.isOwn()) {
        console.say("The subscription '" + group + "' stays on " + topic + ".");
      }
      findings.writeTo(common.json());
      return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
    }
  }

  private Report run(
      PulsarAtHand pulsar,
      ConsumerSettings settings,
      String topic,
      StopSignal stop,
      Console console)
      throws PulsarClientException {
    Account account = new Account();
    String run = UUID.randomUUID().toString();
    Report.Ended ended;
    try (var messaging = pulsar.messaging(event -> console.progress("  " + event));
        Consumer consumer = messaging.consumer(settings)) {
      consumer.handle(delivery -> handle(delivery, run, account));
      Double rate = feed;
      try (Feeder feeder =
          rate == null
              ? null
              : new Feeder(
                  pulsar.client(), topic, run, rate, feedKeys, feedSize, batcher(), account)) {
        console.progress("consuming " + topic + " as " + group + ", until Ctrl-C or SIGTERM");
        long began = System.nanoTime();
        if (feeder != null) {
          feeder.start();
        }
        Progress progress = new Progress(console, consumer, feeder);
        try (Ticker ticker = new Ticker(progress)) {
          awaitEnd(stop);
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
      Remains.find(pulsar, topic, group, run, account);
    }
    return new Report(account.sum(), ended, settings.ordering(), feed != null);
  }

  private Settlement handle(Delivery delivery, String run, Account account)
      throws InterruptedException {
    Message<?> message = delivery.unwrap(Message.class);
    int number = feed == null ? -1 : Feeder.number(run, message);
    if (number >= 0) {
      account.begun(order.equals("total") ? "" : String.valueOf(message.getKey()), number);
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

  /** Under Key_Shared a batch goes to one consumer as a whole, so it must hold one key. */
  private BatcherBuilder batcher() {
    return order.equals("key") ? BatcherBuilder.KEY_BASED : BatcherBuilder.DEFAULT;
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
      throw CannotRun.badInput("--from is missing: name a topic, or give --feed");
    }
    if (feedSize < 0 || feedSize > 4 << 20) {
      throw CannotRun.badInput("--feed-size", feedSize, "must be from 0 to " + (4 << 20));
    }
    if (feedKeys < 1) {
      throw CannotRun.badInput("--feed-keys", feedKeys, "must be at least 1");
    }
  }

  private ConsumerSettings settings() {
    if (!broker.equals("pulsar")) {
      throw CannotRun.badInput("--broker", broker, "must be pulsar; others are not there yet");
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
            () -> ConsumerSettings.from(Address.topic(from == null ? "any" : from)));
    ConsumerSettings grouped = checked("--group", group, () -> named.withGroup(group));
    ConsumerSettings limited = checked("--workers", workers, () -> grouped.withWorkers(workers));
    return limited
        .withOrdering(ordering)
        .withPermits(policy())
        .withCloseTimeout(DRAIN)
        .withNative(
            PulsarBroker.ConsumeSettings.defaults()
                .withReceipts(true)
                .withInitialPosition(SubscriptionInitialPosition.Earliest));
  }

  /** The same settings, from a topic that was named after they were checked. */
  private ConsumerSettings settings(String topic, ConsumerSettings checked) {
    return ConsumerSettings.from(Address.topic(topic))
        .withGroup(group)
        .withWorkers(workers)
        .withOrdering(checked.ordering())
        .withPermits(checked.permits())
        .withCloseTimeout(DRAIN)
        .withNative(checked.nativeSettings());
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
