package io.floatvalve.examples.lab.crash;

import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;

/** The faults, one after the other, each with a place and a publisher of its own. */
abstract class Faults<S extends Scene> {
  static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Duration LONGEST =
      Scene.MAX_BLOCK
          .plus(Scene.MAX_WAIT)
          .plus(Scene.CONFIRM_TIMEOUT)
          .plusSeconds(2); // the timer's step, a busy machine
  private static final int IN_FLIGHT = 5_000;
  private static final int QUEUED_BEHIND = 1_000;
  private static final Duration CLOSE = Duration.ofSeconds(1);

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

  Faults(Findings findings, Console console, boolean quick) {
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

  /** Has them all happen, one after the other. */
  abstract void run() throws IOException;

  /** Makes a place for a fault. */
  abstract S scene(String fault) throws IOException;

  /** What is done to the broker or the network while messages are published. */
  interface Strike<S> {
    void on(S scene, Load load) throws IOException;
  }

  /** One run: what became of the messages, and whether publishing went on. */
  record Ran(String name, Account account, boolean wentOn, int hanging, long reopened) {
    boolean well() {
      return wentOn && hanging == 0 && account.isTrue() && account.longest().compareTo(LONGEST) < 0;
    }

    String inWords() {
      return String.format(
          "%s: %d published, each one outcome%s; %d confirmed, %d of them not stored; %d returned"
              + " or not sent, %d of them stored; %d unknown; %d twice; longest %.1f s; went on:"
              + " %s",
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

  /** Returns what became of the messages of two threads while something happened to them. */
  Ran under(String name, Strike<S> strike) throws IOException {
    console.progress(name + " ...");
    try (S scene = scene(name.replace(' ', '-'))) {
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
      return noted(new Ran(name, account, wentOn, hanging, publisher.status().reopened()));
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

  Duration shorter(int usualSeconds, int whenQuick) {
    return Duration.ofSeconds(quick ? whenQuick : usualSeconds);
  }

  /** Adds a check: all runs are well, and each shows what is to be seen of its fault. */
  void check(String id, String fault, String seen, Predicate<Ran> shows, Ran... runs) {
    boolean ok = true;
    List<String> observed = new ArrayList<>();
    for (Ran ran : runs) {
      ok &= ran.well() && shows.test(ran);
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

  void notTried(String id, String fault) {
    String why = "the broker was given by its address; this needs a private node";
    findings.note(id, why);
    checks.row(id, fault, "not tried: " + why, "-");
  }

  // -------------------------------------------------------------------------------------- faults

  /** Kills the broker and starts it again. */
  void kill(Runnable killed, Runnable started, String seen, Predicate<Ran> shows)
      throws IOException {
    Ran ran =
        under(
            "kill",
            (scene, load) -> {
              killed.run();
              started.run();
            });
    check("kill", "SIGKILL under load, then a restart", seen, shows, ran);
  }

  /** Cuts the connection again and again. */
  void cut(String seen, Predicate<Ran> shows) throws IOException {
    Ran reset = under("cut RST", cutting(Cut.RESET));
    Ran end = under("cut FIN", cutting(Cut.END));
    check(
        "cut",
        "the connection cut three times by RST, three times by FIN",
        seen,
        shows,
        reset,
        end);
  }

  private Strike<S> cutting(Cut how) {
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

  /** Stops the bytes for longer than the broker may take to answer. */
  void stall() throws IOException {
    Ran to = under("stall to broker", stalling(Direction.TO_BROKER));
    Ran from = under("stall from broker", stalling(Direction.FROM_BROKER));
    check(
        "stall",
        "bytes stop in one direction for longer than the confirm timeout",
        "some unknown",
        Faults::someUnknown,
        to,
        from);
  }

  private Strike<S> stalling(Direction direction) {
    return (scene, load) -> {
      scene.proxy().stall(direction);
      load.awaitMore(Verdict.UNKNOWN, 1, PATIENCE);
      Load.pass(shorter(6, 1));
      scene.proxy().unstall();
    };
  }

  static boolean someUnknown(Ran ran) {
    return ran.account().count(Verdict.UNKNOWN) > 0;
  }

  /** Closes the publisher while nothing is answered. */
  void close() throws IOException {
    console.progress("close ...");
    try (S scene = scene("close")) {
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
      Ran ran = noted(new Ran("close", told, wentOn, 0, 0));
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
          closed ->
              inFlight == IN_FLIGHT
                  && took.compareTo(CLOSE.plusSeconds(1)) < 0
                  && closed.account().count(Verdict.UNKNOWN) == IN_FLIGHT
                  && closed.account().count(Verdict.NOT_SENT) == QUEUED_BEHIND,
          ran);
    }
  }
}
