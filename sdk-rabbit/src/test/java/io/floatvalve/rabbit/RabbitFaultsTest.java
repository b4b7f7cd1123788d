package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Returned;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Faults that only RabbitMQ has, and one of our own process, under load. */
@NeedsRabbit(ownProcess = true)
@Timeout(180)
class RabbitFaultsTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final RabbitNode node = RabbitNode.shared();
  private final RabbitUnderTest broker = new RabbitUnderTest(node);
  private final List<Event> events = new CopyOnWriteArrayList<>();
  private final Messaging messaging = Messaging.over(RabbitBroker.connect(node.uri()), events::add);
  private long seenBlocked;
  private Address place;
  private final List<Load> loads = new ArrayList<>();

  @BeforeEach
  void open() throws Exception {
    place = broker.newPlace();
  }

  @AfterEach
  void close() throws Exception {
    for (Load load : loads) {
      load.stop();
    }
    messaging.close();
  }

  private Load load(Publisher publisher) {
    Load load = new Load(publisher);
    loads.add(load);
    return load;
  }

  /** One thread that publishes until it is stopped. */
  private static final class Load {
    final Map<String, CompletableFuture<PublishOutcome>> futures = new HashMap<>();
    final Queue<PublishOutcome> ends = new ConcurrentLinkedQueue<>();
    private final Thread thread;
    private volatile boolean stopped;

    Load(Publisher publisher) {
      thread =
          new Thread(
              () -> {
                for (int i = 0; !stopped; i++) {
                  String text = "m-" + i;
                  var future = publisher.publish(Message.of(text.getBytes(StandardCharsets.UTF_8)));
                  futures.put(text, future);
                  var unused = future.thenAccept(ends::add);
                  LockSupport.parkNanos(500_000);
                }
              });
      thread.start();
    }

    long count(Verdict verdict) {
      return ends.stream().filter(end -> end.verdict() == verdict).count();
    }

    void awaitMore(Verdict verdict, int more) {
      long before = count(verdict);
      await().atMost(LIMIT).until(() -> count(verdict) >= before + more);
    }

    void stop() throws InterruptedException {
      stopped = true;
      thread.join(LIMIT.toMillis());
      assertThat(thread.isAlive()).as("a caller hangs").isFalse();
    }

    void assertTrue(List<String> inOrder) {
      Set<String> stored = new HashSet<>(inOrder);
      assertThat(inOrder).hasSameSizeAs(stored);
      for (var each : futures.entrySet()) {
        Verdict verdict = each.getValue().join().verdict();
        boolean there = stored.contains(each.getKey());
        assertThat(verdict == Verdict.CONFIRMED ? there : verdict == Verdict.UNKNOWN || !there)
            .as("%s is %s and %s", each.getKey(), verdict, there ? "stored" : "not stored")
            .isTrue();
      }
    }
  }

  @Test
  void aQueueDeletedInFlight_meansReturned_untilItIsThereAgain() throws Exception {
    Publisher publisher =
        messaging.publisher(PublisherSettings.to(place).withConfirmTimeout(Duration.ofSeconds(5)));
    Load load = load(publisher);
    load.awaitMore(Verdict.CONFIRMED, 300);

    broker.plainly(channel -> channel.queueDelete(place.name()));
    load.awaitMore(Verdict.RETURNED, 300);
    broker.plainly(channel -> channel.queueDeclare(place.name(), true, false, false, null));
    load.awaitMore(Verdict.CONFIRMED, 300);
    load.stop();

    assertThat(publisher.drain(LIMIT)).isZero();
    assertThat(load.ends)
        .filteredOn(end -> end instanceof Returned)
        .allMatch(end -> ((Returned) end).replyCode() == 312);
    assertThat(load.count(Verdict.NOT_SENT)).isZero();
    assertThat(publisher.status().reopened()).as("the channel stayed").isZero();
    List<String> stored = broker.stored(place);
    assertThat(stored).doesNotHaveDuplicates();
    int last = load.futures.size() - 1;
    assertThat(stored).contains("m-" + last); // what came before was deleted with the queue
  }

  @Test
  void aMemoryAlarmOfTenSeconds_holdsMessagesBack_andThenAllGoesOn() throws Exception {
    Publisher publisher =
        messaging.publisher(
            PublisherSettings.to(place)
                .withConfirmTimeout(Duration.ofSeconds(3))
                .withMaxBlock(Duration.ofMillis(100))
                .withMaxWait(Duration.ofSeconds(4)));
    Load load = load(publisher);
    load.awaitMore(Verdict.CONFIRMED, 300);

    node.memoryAlarm(true);
    try {
      await().atMost(LIMIT).until(() -> blockedAt() != 0);
      await()
          .atMost(LIMIT)
          .until(() -> System.nanoTime() - blockedAt() > TimeUnit.SECONDS.toNanos(10));
    } finally {
      node.memoryAlarm(false);
    }
    await().atMost(LIMIT).until(() -> events.stream().anyMatch(e -> e instanceof Event.Unblocked));
    load.awaitMore(Verdict.CONFIRMED, 300);
    load.stop();

    assertThat(publisher.drain(LIMIT)).isZero();
    assertThat(load.ends)
        .anyMatch(
            end ->
                end instanceof PublishOutcome.NotSent refused
                    && refused.reason() == PublishOutcome.NotSent.Reason.CONNECTION_BLOCKED);
    assertThat(publisher.status().reopened()).as("the connection stayed").isZero();
    load.assertTrue(broker.stored(place));
  }

  /** Returns when the alarm was first seen here, by {@code System.nanoTime}, or 0. */
  private long blockedAt() {
    if (seenBlocked == 0 && events.stream().anyMatch(e -> e instanceof Event.Blocked)) {
      seenBlocked = System.nanoTime();
    }
    return seenBlocked;
  }

  @Test
  void close_withFiveThousandInFlight_waitsForAllTheirConfirms() throws Exception {
    int count = 5_000;
    Publisher publisher =
        messaging.publisher(
            PublisherSettings.to(place)
                .withMaxInFlight(count)
                .withMaxBlock(LIMIT)
                .withMaxWait(LIMIT)
                .withConfirmTimeout(LIMIT)
                .withCloseTimeout(LIMIT));
    List<String> texts = new ArrayList<>();
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    CompletableFuture<Void> closing;
    node.pause();
    try {
      for (int i = 0; i < count; i++) {
        texts.add("m-" + i);
        futures.add(publisher.publish(Message.of(texts.get(i).getBytes(StandardCharsets.UTF_8))));
      }
      await().atMost(LIMIT).until(() -> publisher.status().inFlight() == count);
      closing = CompletableFuture.runAsync(publisher::close);
      await()
          .atMost(LIMIT)
          .until(() -> publisher.status().state() == PublisherStatus.State.CLOSING);
    } finally {
      node.resume();
    }
    closing.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertThat(futures).allMatch(CompletableFuture::isDone);
    assertThat(futures).allMatch(end -> end.join().verdict() == Verdict.CONFIRMED);
    assertThat(broker.stored(place)).isEqualTo(texts);
  }

  @Test
  void aClientThatIsHaltedForFiveSeconds_settlesAllInTime_andGoesOn() throws Exception {
    Process client =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                PublishingClient.class.getName(),
                node.uri(),
                place.name())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader said = client.inputReader(StandardCharsets.UTF_8);
        OutputStream in = client.getOutputStream()) {
      List<String> lines = new ArrayList<>();
      readTo(said, lines, "confirmed 1000");

      signal(client, "STOP");
      long halted = System.nanoTime();
      await().atMost(LIMIT).until(() -> System.nanoTime() - halted > TimeUnit.SECONDS.toNanos(5));
      signal(client, "CONT");

      readTo(said, lines, "confirmed 3000");
      in.write('\n');
      in.flush();
      for (String line = said.readLine(); line != null; line = said.readLine()) {
        lines.add(line);
      }
      assertThat(client.waitFor(30, TimeUnit.SECONDS)).isTrue();
      assertThat(lines).contains("open 0");
      assertAllTold(lines);
    } finally {
      client.destroyForcibly();
    }
  }

  private void assertAllTold(List<String> lines) throws Exception {
    List<String> inOrder = broker.stored(place);
    Set<String> stored = new HashSet<>(inOrder);
    List<String> told = new ArrayList<>();
    for (String line : lines) {
      String[] parts = line.split(" ", 3);
      if (parts.length != 3) {
        continue;
      }
      told.add(parts[2]);
      assertThat(Long.parseLong(parts[1])).as(line).isLessThan(5_000 + 6_000 + 20_000);
      switch (Verdict.valueOf(parts[0])) {
        case CONFIRMED -> assertThat(stored).contains(parts[2]);
        case NOT_SENT -> assertThat(stored).doesNotContain(parts[2]);
        case UNKNOWN -> {}
        default -> throw new AssertionError(line);
      }
    }
    assertThat(told).doesNotHaveDuplicates().containsAll(stored);
    assertThat(inOrder).hasSameSizeAs(stored);
  }

  private static void readTo(BufferedReader said, List<String> lines, String last)
      throws IOException {
    String line = said.readLine();
    while (line != null && !line.equals(last)) {
      lines.add(line);
      line = said.readLine();
    }
    assertThat(line)
        .as("%s", lines.subList(Math.max(0, lines.size() - 5), lines.size()))
        .isNotNull();
  }

  private static void signal(Process process, String name) throws Exception {
    Process kill =
        new ProcessBuilder("/bin/sh", "-c", "kill -" + name + " " + process.pid()).start();
    assertThat(kill.waitFor()).isZero();
  }
}
