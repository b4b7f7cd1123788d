package io.floatvalve.examples.lab.crash;

import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;

/** The faults, one after the other, each with a queue and a publisher of its own. */
final class Faults {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Duration LONGEST =
      Scene.MAX_BLOCK
          .plus(Scene.MAX_WAIT)
          .plus(Scene.CONFIRM_TIMEOUT)
          .plusSeconds(2); // the timer's step, a busy machine
  private static final int IN_FLIGHT = 5_000;
  private static final int QUEUED_BEHIND = 1_000;
  private static final Duration CLOSE = Duration.ofSeconds(1);

  private final RabbitAtHand rabbit;
  private final Findings findings;
  private final Console console;
  private final boolean quick;
  private final Table accounts =
      new Table(
          "fault",
          "published",
          "confirmed",
          "returned",
          "nacked",
          "unknown",
          "not sent",
          "stored",
          "twice",
          "longest s",
          "went on");
  private final Table checks = new Table("check", "fault", "here", "ok");

  Faults(RabbitAtHand rabbit, Findings findings, Console console, boolean quick) {
    this.rabbit = rabbit;
    this.findings = findings;
    this.console = console;
    this.quick = quick;
  }

  Table accounts() {
    return accounts;
  }

  Table checks() {
    return checks;
  }

  void run() throws IOException {
    kill();
    cut();
    stall();
    notFound();
    blocked();
    close();
    deleted();
  }

  /** What is done to the broker or the network while messages are published. */
  private interface Strike {
    void on(Scene scene, Load load) throws IOException;
  }

  /** One run: what became of the messages, and whether publishing went on. */
  private record Ran(String name, Account account, boolean wentOn, int hanging) {
    boolean well() {
      return wentOn && hanging == 0 && account.isTrue() && account.longest().compareTo(LONGEST) < 0;
    }

    String inWords() {
      return String.format(
          "%s: %d published, each one outcome%s; %d confirmed, %d of them not stored; %d returned or"
              + " not sent, %d of them stored; %d unknown; %d twice; longest %.1f s; went on: %s",
          name,
          account.published(),
          account.open() == 0 ? "" : " but " + account.open(),
          account.count(Verdict.CONFIRMED),
          account.lost(),
          account.count(Verdict.RETURNED) + account.count(Verdict.NOT_SENT),
          account.untrue(),
          account.count(Verdict.UNKNOWN),
          account.twice(),
          account.longest().toMillis() / 1e3,
          wentOn ? "yes" : "no");
    }
  }

  private Ran under(String name, Strike strike) throws IOException {
    console.progress(name + " ...");
    try (Scene scene = new Scene(rabbit, name.replace(' ', '-'))) {
      Publisher publisher = scene.publisher(scene.settings());
      Load load = new Load(publisher);
      load.start(2);
      boolean began = load.awaitMore(Verdict.CONFIRMED, messages(), PATIENCE);
      strike.on(scene, load);
      boolean wentOn = began && load.awaitMore(Verdict.CONFIRMED, messages(), PATIENCE);
      int hanging = load.stop(LONGEST);
      publisher.drain(LONGEST);
      publisher.close();
      Load.await(() -> load.settled() == load.published(), Duration.ofSeconds(5));
      Account account = Account.of(load.told(), scene.takeIds(), scene.keptSinceNanos());
      return noted(new Ran(name, account, wentOn, hanging));
    }
  }

  /** Adds a run to the table and the figures. */
  private Ran noted(Ran ran) {
    Account account = ran.account();
    accounts.row(
        ran.name(),
        account.published(),
        account.count(Verdict.CONFIRMED),
        account.count(Verdict.RETURNED),
        account.count(Verdict.NACKED),
        account.count(Verdict.UNKNOWN),
        account.count(Verdict.NOT_SENT),
        account.stored(),
        account.twice(),
        account.longest().toMillis() / 1e3,
        ran.wentOn() ? "yes" : "NO");
    String prefix = ran.name().replace(' ', '_').toLowerCase(Locale.ROOT);
    findings.figure(prefix + "_published_msgs", account.published());
    for (Verdict verdict : Verdict.values()) {
      findings.figure(
          prefix + "_" + verdict.name().toLowerCase(Locale.ROOT) + "_msgs", account.count(verdict));
    }
    findings.figure(prefix + "_stored_msgs", account.stored());
    findings.figure(prefix + "_twice_msgs", account.twice());
    findings.figure(prefix + "_longest_outcome_ms", account.longest().toMillis());
    return ran;
  }

  private int messages() {
    return quick ? 500 : 3_000;
  }

  private Duration shorter(int usualSeconds, int whenQuick) {
    return Duration.ofSeconds(quick ? whenQuick : usualSeconds);
  }

  /** Adds a check: all runs are well, and each shows what is to be seen of its fault. */
  private void check(String id, String fault, String seen, Predicate<Account> shows, Ran... runs) {
    boolean ok = true;
    List<String> observed = new ArrayList<>();
    for (Ran ran : runs) {
      ok &= ran.well() && shows.test(ran.account());
      observed.add(ran.inWords());
    }
    String here = String.join("; ", observed);
    String expected =
        "each message exactly one outcome within "
            + LONGEST.toSeconds()
            + " s; every confirmed one stored, none returned or not sent; none twice; publishing"
            + " goes on; "
            + seen;
    findings.check(id, expected, here, ok);
    checks.row(id, fault, summary(runs), ok ? "yes" : "NO: " + here + "; expected " + expected);
  }

  private static String summary(Ran... runs) {
    int published = 0;
    int untold = 0;
    for (Ran ran : runs) {
      Account account = ran.account();
      published += account.published();
      untold += account.open() + account.lost() + account.untrue() + account.twice();
    }
    return String.format("%,d published, %,d without a true outcome", published, untold);
  }

  private void notTried(String id, String fault) {
    String why = "the broker was given by its address; this needs a private node";
    findings.note(id, why);
    checks.row(id, fault, "not tried: " + why, "-");
  }

  // -------------------------------------------------------------------------------------- faults

  private void kill() throws IOException {
    String fault = "SIGKILL under load, then a restart";
    Optional<RabbitNode> node = rabbit.node();
    if (node.isEmpty()) {
      notTried("kill", fault);
      return;
    }
    Ran ran =
        under(
            "kill",
            (scene, load) -> {
              node.get().syncDeclared(); // a kill may lose a queue, with all that is in it
              node.get().kill();
              node.get().restart();
            });
    check("kill", fault, "some unknown", account -> account.count(Verdict.UNKNOWN) > 0, ran);
  }

  private void cut() throws IOException {
    Ran reset = under("cut RST", cutting(Cut.RESET));
    Ran end = under("cut FIN", cutting(Cut.END));
    check(
        "cut",
        "the connection cut three times by RST, three times by FIN",
        "some unknown",
        account -> account.count(Verdict.UNKNOWN) > 0,
        reset,
        end);
  }

  private Strike cutting(Cut how) {
    return (scene, load) -> {
      for (int times = 0; times < 3; times++) {
        scene.proxy().stall(Direction.FROM_BROKER); // so that some are in flight when it comes
        Load.pass(Duration.ofMillis(50));
        scene.proxy().cut(how);
        scene.proxy().unstall();
        load.awaitMore(Verdict.CONFIRMED, 100, PATIENCE);
      }
    };
  }

  private void stall() throws IOException {
    Ran to = under("stall to broker", stalling(Direction.TO_BROKER));
    Ran from = under("stall from broker", stalling(Direction.FROM_BROKER));
    check(
        "stall",
        "bytes stop in one direction for longer than the confirm timeout",
        "some unknown",
        account -> account.count(Verdict.UNKNOWN) > 0,
        to,
        from);
  }

  private Strike stalling(Direction direction) {
    return (scene, load) -> {
      scene.proxy().stall(direction);
      load.awaitMore(Verdict.UNKNOWN, 1, PATIENCE);
      Load.pass(shorter(6, 1));
      scene.proxy().unstall();
    };
  }

  private void notFound() throws IOException {
    Ran ran =
        under(
            "notfound",
            (scene, load) -> {
              for (int times = 0; times < 3; times++) {
                var unused = load.publish(Address.exchange("floatvalve.crash.none", "k"));
                load.awaitMore(Verdict.UNKNOWN, 1, PATIENCE);
                load.awaitMore(Verdict.CONFIRMED, 100, PATIENCE);
              }
            });
    check(
        "notfound",
        "three messages to an exchange that does not exist: 404, the channel is closed",
        "these three unknown",
        account -> account.count(Verdict.UNKNOWN) >= 3,
        ran);
  }

  private void blocked() throws IOException {
    Duration alarm = shorter(10, 4);
    String fault = "memory alarm for " + alarm.toSeconds() + " s";
    Optional<RabbitNode> node = rabbit.node();
    if (node.isEmpty()) {
      notTried("blocked", fault);
      return;
    }
    List<Event> seen = new ArrayList<>();
    Ran ran =
        under(
            "blocked",
            (scene, load) -> {
              node.get().memoryAlarm(true);
              try {
                Load.await(() -> has(scene, Event.Blocked.class), PATIENCE);
                Load.pass(alarm);
              } finally {
                node.get().memoryAlarm(false);
              }
              Load.await(() -> has(scene, Event.Unblocked.class), PATIENCE);
              seen.addAll(scene.events());
            });
    boolean told =
        seen.stream().anyMatch(event -> event instanceof Event.Blocked)
            && seen.stream().noneMatch(event -> event instanceof Event.LinkLost);
    check(
        "blocked",
        fault,
        "the alarm is told, the connection stays, some not sent",
        account -> told && account.count(Verdict.NOT_SENT) > 0,
        ran);
  }

  private static boolean has(Scene scene, Class<? extends Event> type) {
    return scene.events().stream().anyMatch(type::isInstance);
  }

  private void close() throws IOException {
    console.progress("close ...");
    try (Scene scene = new Scene(rabbit, "close")) {
      Publisher publisher =
          scene.publisher(
              scene
                  .settings()
                  .withMaxInFlight(IN_FLIGHT)
                  .withMaxQueued(IN_FLIGHT + QUEUED_BEHIND)
                  .withConfirmTimeout(PATIENCE)
                  .withMaxWait(PATIENCE)
                  .withCloseTimeout(CLOSE));
      scene.proxy().stall(Direction.FROM_BROKER);
      Load load = new Load(publisher);
      for (int i = 0; i < IN_FLIGHT + QUEUED_BEHIND; i++) {
        var unused = load.publish(null);
      }
      Load.await(() -> publisher.status().inFlight() == IN_FLIGHT, PATIENCE);
      int inFlight = publisher.status().inFlight();
      long began = System.nanoTime();
      publisher.close();
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      scene.proxy().unstall();
      Load.await(() -> load.settled() == load.published(), Duration.ofSeconds(5));
      Account told = Account.of(load.told(), scene.takeIds(), scene.keptSinceNanos());
      Load after = new Load(scene.publisher(scene.settings()));
      var unused = after.publish(null);
      boolean wentOn = Load.await(() -> after.count(Verdict.CONFIRMED) == 1, PATIENCE);
      Ran ran = noted(new Ran("close", told, wentOn, 0));
      findings.figure("close_took_ms", took.toMillis());
      check(
          "close",
          "closed with "
              + inFlight
              + " in flight and no answer, by a limit of "
              + CLOSE.toSeconds()
              + " s; took "
              + took.toMillis()
              + " ms",
          "closed within 2 s with " + IN_FLIGHT + " in flight: these unknown, the rest not sent",
          account ->
              inFlight == IN_FLIGHT
                  && took.compareTo(CLOSE.plusSeconds(1)) < 0
                  && account.count(Verdict.UNKNOWN) == IN_FLIGHT
                  && account.count(Verdict.NOT_SENT) == QUEUED_BEHIND,
          ran);
    }
  }

  private void deleted() throws IOException {
    Ran ran =
        under(
            "deleted",
            (scene, load) -> {
              scene.deleteQueue();
              load.awaitMore(Verdict.RETURNED, 100, PATIENCE);
              scene.declare();
            });
    check(
        "deleted",
        "the queue deleted under load, and declared again",
        "some returned; what was confirmed before the queue was deleted went with it",
        account -> account.count(Verdict.RETURNED) > 0,
        ran);
  }
}
