package io.floatvalve.examples.lab.soak;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.consume.Delivery;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.testkit.PulsarNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/**
 * The application that is soaked: publishes and handles in a process of its own, so that it can be
 * halted and killed. What it does with messages goes to its {@link Journal}; it is told what to do
 * by lines on its standard input, and says how it stands by lines on its standard output. It ends
 * with its input.
 */
final class SoakClient {
  static final Duration CONFIRM_TIMEOUT = Duration.ofSeconds(5);
  static final Duration MAX_WAIT = Duration.ofSeconds(5);
  static final Duration MAX_BLOCK = Duration.ofSeconds(2);
  static final int PUBLISHERS = 2;
  static final int KEYS = 64;
  static final String NOWHERE = "nowhere";

  private static final int HEADER_BYTES = 8;
  private static final int MOST_OPEN = 4_000;
  private static final int MOST_BEHIND = 20_000;
  private static final int SETTLES_ITSELF_EVERY = 16;
  private static final int PLANTED = 208;
  private static final Duration HEARTBEAT = Duration.ofSeconds(5);
  private static final Duration OPENING_LIMIT = Duration.ofSeconds(60);
  private static final Duration RETRY_DELAY = Duration.ofMillis(50);
  private static final Duration CLOSE = Duration.ofSeconds(20);
  private static final Duration THREADS_LIMIT = Duration.ofSeconds(15);

  private final Map<String, String> given;
  private final Journal journal;
  private final PrintStream out;
  private final AtomicInteger open = new AtomicInteger();
  private final AtomicInteger intended = new AtomicInteger();
  private final AtomicInteger aside = new AtomicInteger(); // published, and not in the journal
  private final AtomicLong behind = new AtomicLong();
  private final AtomicInteger handlings = new AtomicInteger();
  private final List<Thread> threads = new ArrayList<>();
  private final String plant;
  private volatile boolean halted;
  private volatile int slowMillis;
  private volatile int throwPermille;

  private SoakClient(Map<String, String> given, PrintStream out) {
    this.given = given;
    this.out = out;
    this.journal = new Journal(Path.of(text("journal")));
    this.plant = text("plant");
  }

  /** Runs until it is told to end. */
  public static void main(String[] args) throws IOException {
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
    Map<String, String> given = new HashMap<>();
    for (String each : args) {
      int at = each.indexOf('=');
      given.put(each.substring(0, at), each.substring(at + 1));
    }
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try {
      new SoakClient(given, out).run();
      Runtime.getRuntime().halt(0); // a thread that stays is told, and keeps nobody
    } catch (IOException | RuntimeException e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  private String text(String name) {
    return given.getOrDefault(name, "");
  }

  private int number(String name) {
    return Integer.parseInt(text(name));
  }

  private void run() throws IOException {
    Set<Thread> before = threads();
    long heapBefore = heap();
    Opened opened = open();
    Publisher publisher = opened.publisher();
    Consumer consumer = opened.consumer();
    consumer.handle(this::handle);
    for (int turn = 0; turn < PUBLISHERS; turn++) {
      publishOnAThread(publisher, turn);
    }
    say("ready");
    boolean ended = false;
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line; !ended && (line = lines.readLine()) != null; ) {
        String[] words = line.split(" ", 2);
        String value = words.length > 1 ? words[1] : "";
        switch (words[0]) {
          case "slow" -> slowMillis = Integer.parseInt(value);
          case "throw" -> throwPermille = Integer.parseInt(value);
          case "caught-up" -> behind.set(0);
          case "channel" -> loseChannel(publisher);
          case "halt" -> halted = true;
          case "stand" -> say("stand " + stand(publisher, consumer));
          case "end" -> {
            halted = true;
            ended = true;
          }
          default -> say("not understood: " + line);
        }
      }
    }
    if (!ended) {
      Runtime.getRuntime().halt(3); // nobody is there any more
    }
    opened.messaging().close();
    say("closed " + stand(publisher, consumer));
    say("threads " + staying(before));
    say("heap " + heapBefore + " " + heap());
  }

  // -------------------------------------------------------------------------------- what it opens

  /** What is open while a client lives. */
  private record Opened(Messaging messaging, Publisher publisher, Consumer consumer) {}

  /** Opens all, as often as it takes: a broker that was just broken may not answer in time. */
  private Opened open() {
    long deadline = System.nanoTime() + OPENING_LIMIT.toNanos();
    while (true) {
      try {
        return openOnce();
      } catch (MessagingException e) {
        if (e.kind() != MessagingException.Kind.UNREACHABLE || System.nanoTime() > deadline) {
          throw e;
        }
        say("event not open yet: " + e.getMessage());
      }
    }
  }

  private Opened openOnce() {
    Messaging messaging = messaging();
    try {
      return new Opened(
          messaging, messaging.publisher(publishing()), messaging.consumer(consuming()));
    } catch (MessagingException e) {
      messaging.close();
      throw e;
    }
  }

  private boolean onPulsar() {
    return text("broker").equals("pulsar");
  }

  private Messaging messaging() {
    String[] uris = text("uris").split(",", -1);
    if (onPulsar()) {
      return Messaging.over(
          PulsarBroker.connect(
              PulsarBroker.Settings.at(uris[0]).withListenerName(PulsarNode.PROXY_LISTENER)),
          this::heard);
    }
    return Messaging.over(
        RabbitBroker.connect(
            RabbitBroker.Settings.at(uris[0], Arrays.copyOfRange(uris, 1, uris.length))
                .withHeartbeat(HEARTBEAT)),
        this::heard);
  }

  private PublisherSettings publishing() {
    Address to = onPulsar() ? Address.topic(text("to")) : Address.exchange(text("to"), text("key"));
    return PublisherSettings.to(to)
        .withConfirmTimeout(CONFIRM_TIMEOUT)
        .withMaxWait(MAX_WAIT)
        .withMaxBlock(MAX_BLOCK)
        .withCloseTimeout(CLOSE);
  }

  private ConsumerSettings consuming() {
    Address from = onPulsar() ? Address.topic(text("from")) : Address.queue(text("from"));
    ConsumerSettings settings =
        ConsumerSettings.from(from)
            .withOrdering(Ordering.BY_KEY)
            .withMaxAttempts(1_000_000) // a message that is thrown at is tried until it is handled
            .withRetryDelays(List.of(RETRY_DELAY))
            .withCloseTimeout(CLOSE);
    return onPulsar()
        ? settings
            .withGroup(text("group"))
            .withNative(
                PulsarBroker.ConsumeSettings.defaults()
                    .withInitialPosition(SubscriptionInitialPosition.Earliest))
        : settings;
  }

  /** Notes what a broker says only to a client that has broken the protocol. */
  private void heard(Event event) {
    String what = event.what();
    if (what.contains("PRECONDITION_FAILED") || what.contains("unknown delivery tag")) {
      say("error " + what.replace('\n', ' '));
    } else if (given.containsKey("verbose")) {
      say("event " + what.replace('\n', ' '));
    }
  }

  // ----------------------------------------------------------------------------------- publishing

  private void publishOnAThread(Publisher publisher, int turn) {
    Thread thread = new Thread(() -> publish(publisher, turn), "soak-publisher-" + turn);
    thread.setDaemon(true);
    thread.start();
    threads.add(thread);
  }

  private void publish(Publisher publisher, int turn) {
    int limit = number("messages");
    int rate = number("rate");
    long eachNanos = rate == 0 ? 0 : 1_000_000_000L * PUBLISHERS / rate;
    long due = System.nanoTime();
    for (int id = number("next" + turn); id < limit && !halted; id += PUBLISHERS) {
      while (open.get() >= MOST_OPEN && !halted) {
        LockSupport.parkNanos(100_000);
      }
      if (behind.get() > MOST_BEHIND) {
        LockSupport.parkNanos(1_000_000); // the handlers have to catch up
      }
      due = Math.max(due + eachNanos, System.nanoTime() - 100 * eachNanos);
      LockSupport.parkNanos(due - System.nanoTime());
      publish(publisher, message(id), id);
    }
  }

  private void publish(Publisher publisher, Message message, int id) {
    open.incrementAndGet();
    journal.add(Journal.Kind.INTENDED, id, 0);
    intended.incrementAndGet();
    long began = System.nanoTime();
    var unused =
        publisher
            .publish(message)
            .whenComplete(
                (outcome, failure) -> {
                  long millis = (System.nanoTime() - began) / 1_000_000;
                  if (outcome == null) {
                    journal.add(Journal.Kind.FAILED, id, 0);
                  } else if (!plant.equals("drop-outcome") || id != PLANTED) {
                    journal.add(Journal.Kind.OUTCOME, id, Ending.of(outcome.verdict(), millis));
                  }
                  if (outcome != null && outcome.verdict() == PublishOutcome.Verdict.CONFIRMED) {
                    behind.incrementAndGet();
                  }
                  open.decrementAndGet();
                });
  }

  private Message message(int id) {
    int bytes = HEADER_BYTES + ((id * 0x9E3779B9) >>> 22); // up to 1 KiB more, by the number
    byte[] payload = ByteBuffer.allocate(bytes).putInt(id).array();
    Message.Builder message = Message.builder(payload).key("k" + id % KEYS);
    int every = number("unroutable");
    if (every > 0 && id % every == every - 1) {
      message.address(Address.exchange(text("to"), NOWHERE));
    }
    return message.build();
  }

  /** Publishes where nothing is, for which RabbitMQ closes the channel. */
  private void loseChannel(Publisher publisher) {
    var unused =
        publisher.publish(
            Message.builder(new byte[0])
                .address(Address.exchange(text("to") + ".none", NOWHERE))
                .build());
    aside.incrementAndGet();
  }

  // ------------------------------------------------------------------------------------- handling

  private Settlement handle(Delivery delivery) {
    int id = ByteBuffer.wrap(delivery.message().payload()).getInt();
    if (plant.equals("ack-unhandled") && id == PLANTED) {
      return Settlement.accept();
    }
    journal.add(Journal.Kind.BEGUN, id, delivery.redelivered() ? 1 : 0);
    if (slowMillis > 0) {
      LockSupport.parkNanos(slowMillis * 1_000_000L);
    }
    int count = handlings.incrementAndGet();
    if (throwPermille > 0 && ((count * 0x9E3779B9) >>> 16) % 1_000 < throwPermille) {
      journal.add(Journal.Kind.HANDLED, id, 0);
      throw new IllegalStateException("as it was told to");
    }
    if (id % SETTLES_ITSELF_EVERY == 0) {
      for (int times = 0; times < 2; times++) {
        if (delivery.accept() == Delivery.Answer.ACCEPTED) {
          journal.add(Journal.Kind.SETTLED, id, 0);
        }
      }
      if (plant.equals("settle-twice") && id == PLANTED) {
        journal.add(Journal.Kind.SETTLED, id, 0);
      }
    }
    journal.add(Journal.Kind.HANDLED, id, 1);
    behind.decrementAndGet();
    return Settlement.accept();
  }

  // -------------------------------------------------------------------------------- how it stands

  private void say(String line) {
    out.println(line);
  }

  /** Returns everything that should be zero once there is nothing to do. */
  private String stand(Publisher publisher, Consumer consumer) {
    PublisherStatus publishing = publisher.status();
    ConsumerStatus handling = consumer.status();
    long outcomes = publishing.outcomes().values().stream().mapToLong(Long::longValue).sum();
    Map<String, Long> all = new LinkedHashMap<>();
    all.put("publishers", threads.stream().filter(Thread::isAlive).count());
    all.put("open", (long) open.get());
    all.put("unequal outcomes", intended.get() + aside.get() - outcomes);
    all.put("queued", publishing.queued());
    all.put("queued bytes", publishing.queuedBytes());
    all.put("in flight", (long) publishing.inFlight());
    all.put("bytes in flight", publishing.inFlightBytes());
    all.put("waiting", (long) handling.waiting());
    all.put("waiting bytes", handling.waitingBytes());
    all.put("parked", (long) handling.parked());
    all.put("in handlers", (long) handling.inHandlers());
    all.put("settling", (long) handling.settling());
    all.put("unsettled bytes", handling.unsettledBytes());
    all.put("oldest unsettled", handling.oldestUnsettled().toNanos());
    return all.entrySet().stream()
        .filter(each -> each.getValue() != 0)
        .map(each -> each.getKey() + " " + each.getValue())
        .collect(Collectors.joining(", "));
  }

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet();
  }

  /** Returns the names of the threads that were not there before and are still there in a while. */
  private static String staying(Set<Thread> before) {
    long deadline = System.nanoTime() + THREADS_LIMIT.toNanos();
    while (true) {
      List<String> staying =
          threads().stream()
              .filter(thread -> !before.contains(thread))
              .map(Thread::getName)
              .filter(name -> !name.startsWith("ForkJoinPool.commonPool"))
              .sorted()
              .toList();
      if (staying.isEmpty() || System.nanoTime() > deadline) {
        return String.join(", ", staying);
      }
      LockSupport.parkNanos(20_000_000);
    }
  }

  /** Returns the bytes on the heap that something holds. */
  private static long heap() {
    long least = Long.MAX_VALUE;
    for (int times = 0; times < 3; times++) {
      System.gc();
      LockSupport.parkNanos(50_000_000);
      Runtime runtime = Runtime.getRuntime();
      least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
    }
    return least;
  }
}
