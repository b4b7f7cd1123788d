package io.floatvalve.examples.lab.soak;

import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Ticker;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Publishes and handles while faults come at random, and keeps the book of every message. */
final class Soak {
  /** How long the client is halted. */
  static final Duration HALT = Duration.ofSeconds(5);

  /** The longest that an outcome may take: the publisher's own limits, and a busy machine. */
  static final Duration LONGEST =
      SoakClient.MAX_BLOCK
          .plus(SoakClient.MAX_WAIT)
          .plus(SoakClient.CONFIRM_TIMEOUT)
          .plusSeconds(10);

  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final Duration CALM = Duration.ofMinutes(3);
  private static final int GOES_ON = 20;
  private static final long LOOK_MILLIS = 20;
  private static final long HEAP_ALLOWED = 32L << 20;

  /**
   * What is to be done.
   *
   * @param messages how many at most
   * @param limit how long at most
   * @param rate messages a second; 0 for as many as it goes
   * @param every the time between two faults, on average
   * @param plant what the client shall do wrong; empty for nothing
   */
  record Plan(
      long seed,
      int messages,
      Duration limit,
      int rate,
      Duration every,
      List<Fault> faults,
      String plant,
      Path folder) {}

  private final Stage stage;
  private final Plan plan;
  private final Console console;
  private final Random random;
  private final Book book;
  private final Deque<Fault> drawn = new ArrayDeque<>();
  private final Map<String, Integer> made = new TreeMap<>();
  private final Map<String, String> notMade = new LinkedHashMap<>();
  private final long beganNanos = System.nanoTime();
  private int lives;
  private volatile @Nullable ClientProcess client;
  private volatile String doing = "";

  Soak(Stage stage, Plan plan, Console console) {
    this.stage = stage;
    this.plan = plan;
    this.console = console;
    this.random = new Random(plan.seed());
    this.book = new Book(stage.terms());
  }

  Book book() {
    return book;
  }

  /** Returns how often each fault was made. */
  Map<String, Integer> made() {
    return made;
  }

  /** Returns why faults could not be made. */
  Map<String, String> notMade() {
    return notMade;
  }

  Duration took() {
    return Duration.ofNanos(System.nanoTime() - beganNanos);
  }

  /** Does it all. */
  void run() throws IOException, InterruptedException {
    Files.createDirectories(plan.folder());
    Ticker ticker = new Ticker(this::progress);
    try (ticker;
        Witness witness = stage.witness(book)) {
      startClient();
      Thread pump = new Thread(this::pump, "soak-journal");
      pump.setDaemon(true);
      pump.start();
      try {
        breakThings();
        doing = "the rest";
        finish();
        if (!witness.awaitAll(CALM)) {
          book.violated(Law.LEFT_NOTHING, "the witness has not read all");
        }
      } finally {
        ClientProcess last = client;
        client = null;
        if (last != null) {
          last.close();
        }
        pump.interrupt();
        pump.join();
      }
      book.balance();
    }
  }

  private void pump() {
    try {
      while (true) {
        readJournal();
        TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
      }
    } catch (InterruptedException e) {
      // all is read
    }
  }

  private void readJournal() {
    ClientProcess now = client;
    if (now != null) {
      now.read(book);
    }
  }

  private void breakThings() throws IOException, InterruptedException {
    goesOn("the beginning");
    while (!over()) {
      long pause = plan.every().toMillis();
      pass(Duration.ofMillis(pause / 2 + (long) (random.nextDouble() * pause)));
      if (over() || plan.faults().isEmpty()) {
        continue;
      }
      Fault fault = next();
      doing = fault.name();
      try {
        fault.act().on(this);
        made.merge(fault.name(), 1, Integer::sum);
      } catch (IllegalStateException | UncheckedIOException | IOException e) {
        notMade.put(fault.name(), String.valueOf(e.getMessage()));
        console.warn(fault.name() + " could not be made: " + e.getMessage());
      }
      goesOn(fault.name());
      doing = "";
    }
  }

  /** Returns a fault at random, and none again before there were all. */
  private Fault next() {
    if (drawn.isEmpty()) {
      List<Fault> all = new ArrayList<>(plan.faults());
      Collections.shuffle(all, random);
      drawn.addAll(all);
    }
    return drawn.remove();
  }

  private boolean over() {
    return took().compareTo(plan.limit()) >= 0 || book.figures().published() >= plan.messages();
  }

  private void goesOn(String after) throws IOException, InterruptedException {
    Book.Figures then = book.figures();
    long confirmed = book.count(Verdict.CONFIRMED);
    boolean well =
        await(
            PATIENCE,
            () -> {
              Book.Figures now = book.figures();
              return now.published() >= plan.messages()
                  || (book.count(Verdict.CONFIRMED) >= confirmed + GOES_ON
                      && now.handlings() >= then.handlings() + GOES_ON);
            });
    if (!client().isAlive()) {
      book.violated(Law.GOES_ON, "the client has ended by itself after " + after);
      restartClient();
    } else if (!well) {
      book.violated(
          Law.GOES_ON,
          "not within "
              + PATIENCE.toSeconds()
              + " s after "
              + after
              + "; the client: "
              + client().stand());
    }
  }

  private boolean await(Duration limit, BooleanSupplier holds) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!holds.getAsBoolean()) {
      if (System.nanoTime() > deadline || !client().isAlive()) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
    return true;
  }

  private void finish() throws IOException, InterruptedException {
    client().tell("halt");
    long deadline = System.nanoTime() + CALM.toNanos();
    String stand = client().stand();
    while (stand == null || !stand.isEmpty() || stage.left() > 0) {
      if (System.nanoTime() > deadline || !client().isAlive()) {
        book.violated(Law.TO_ZERO, "at rest: " + stand + "; left " + stage.left());
        break;
      }
      TimeUnit.MILLISECONDS.sleep(100);
      stand = client().stand();
    }
    client().tell("end");
    String closed = client().await("closed", CALM);
    if (closed == null || !closed.isEmpty()) {
      book.violated(Law.TO_ZERO, "once closed: " + closed);
    }
    String threads = client().await("threads", CALM);
    if (threads == null || !threads.isEmpty()) {
      book.violated(Law.THREADS, "once closed: " + threads);
    }
    String heap = client().await("heap", CALM);
    String[] bytes = heap == null ? new String[0] : heap.split(" ", -1);
    if (bytes.length != 2 || Long.parseLong(bytes[1]) > Long.parseLong(bytes[0]) + HEAP_ALLOWED) {
      book.violated(Law.HEAP, "bytes before and after: " + heap);
    }
    if (!client().awaitEnd(PATIENCE)) {
      book.violated(Law.GOES_ON, "the client did not end well");
    }
    client().readRest(book);
    await(PATIENCE, () -> left() == 0); // the broker takes a moment
    if (left() > 0) {
      book.violated(Law.LEFT_NOTHING, left() + " messages after an orderly end");
    }
  }

  private long left() {
    try {
      return stage.left();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void progress() {
    Book.Figures now = book.figures();
    console.progress(
        String.format(
            "%4d s  published %,d  confirmed %,d  unknown %,d  not sent %,d  stored %,d  handled"
                + " %,d  repeats %,d  faults %d  violations %d  %s",
            took().toSeconds(),
            now.published(),
            now.outcomes().getOrDefault(Verdict.CONFIRMED, 0L),
            now.outcomes().getOrDefault(Verdict.UNKNOWN, 0L),
            now.outcomes().getOrDefault(Verdict.NOT_SENT, 0L),
            now.stored(),
            now.handled(),
            now.repeats(),
            made.values().stream().mapToInt(Integer::intValue).sum(),
            now.violations(),
            doing));
  }

  // ---------------------------------------------------------------------------------- for faults

  /** Returns the client as it is now. */
  ClientProcess client() {
    ClientProcess now = client;
    if (now == null) {
      throw new IllegalStateException("there is no client");
    }
    return now;
  }

  /** Returns a number at random, from 0 to below a bound. */
  int upTo(int bound) {
    return random.nextInt(bound);
  }

  /** Lets time pass. */
  void pass(Duration time) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(time.toNanos());
  }

  /** Notes what has just happened to all that was published until now. */
  void blow(Book.Blow blow) {
    readJournal();
    book.blow(blow);
  }

  private void startClient() throws IOException, InterruptedException {
    Map<String, String> given = new LinkedHashMap<>(stage.forClient());
    given.put("messages", Integer.toString(plan.messages()));
    given.put("rate", Integer.toString(plan.rate()));
    given.put("plant", plan.plant());
    for (int turn = 0; turn < SoakClient.PUBLISHERS; turn++) {
      given.put("next" + turn, Integer.toString(book.next(turn, SoakClient.PUBLISHERS)));
    }
    Path stem = plan.folder().resolve("journal-" + ProcessHandle.current().pid() + "-" + lives++);
    ClientProcess started = new ClientProcess(stem, given, this::told);
    client = started;
    if (started.await("ready", PATIENCE) == null) {
      throw new IOException("the client did not begin; see " + plan.folder().resolve("client.err"));
    }
  }

  private void told(String line) {
    if (line.startsWith("error ")) {
      book.violated(Law.CLEAN, line);
    } else {
      console.progress(line);
    }
  }

  /** Halts the client for some seconds. */
  void haltClient() throws InterruptedException {
    client().signal("STOP");
    blow(Book.Blow.CLIENT_HALTED);
    pass(HALT);
    client().signal("CONT");
  }

  /** Kills the client and starts another, which goes on where it was. */
  void killClient() throws IOException, InterruptedException {
    client().kill();
    restartClient();
  }

  private void restartClient() throws IOException, InterruptedException {
    ClientProcess gone = client();
    gone.readRest(book);
    book.blow(Book.Blow.CLIENT_KILLED);
    gone.close();
    startClient();
  }
}
