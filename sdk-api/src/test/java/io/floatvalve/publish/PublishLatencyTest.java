package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.latency.LatencySnapshot.Stage;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PublishLatencyTest {
  private static final Message MESSAGE = Message.of(new byte[10]);
  private static final Duration LONG = Duration.ofSeconds(30);

  private final FakeBroker broker = new FakeBroker();
  private final PublishSide side = new PublishSide(broker, event -> {});
  private final PublisherSettings settings =
      PublisherSettings.to(Address.queue("q")).withCloseTimeout(Duration.ZERO);

  @AfterEach
  void close() {
    side.close();
  }

  private static long count(LatencySnapshot latency, String stage) {
    return latency.stage(stage).map(Stage::count).orElse(0L);
  }

  @Test
  void outcomes_haveStagesOfTheirOwn_inTheOrderOfAMessage() throws Exception {
    Publisher publisher = side.open(settings);
    FakeBroker.Link link = broker.nextLink();
    for (int i = 0; i < 4; i++) {
      var unused = publisher.publish(MESSAGE);
    }
    await().atMost(LONG).until(() -> link.all.size() == 4);
    link.listener.confirmed(1, false, null);
    link.listener.nacked(2, false, "by the test");
    link.listener.returned(3, 312, "NO_ROUTE", "", "q", true);
    link.listener.confirmed(3, false, null);
    link.listener.lost(false, "by the test");
    publisher.close();
    var unused = publisher.publish(MESSAGE);

    LatencySnapshot latency = publisher.latency();
    assertThat(latency.stages().keySet())
        .containsExactly(
            "queued-sent",
            "sent-confirmed",
            "sent-returned",
            "sent-nacked",
            "sent-unknown",
            "due-confirmed",
            "due-returned",
            "due-nacked",
            "due-unknown",
            "due-notsent");
    latency
        .stages()
        .forEach(
            (name, stage) ->
                assertThat(stage.count()).as(name).isEqualTo(name.equals("queued-sent") ? 4 : 1));
  }

  @Test
  void messageThatWasDueEarlier_countsFromThen_andServiceTimeDoesNot() throws Exception {
    broker.confirmAtOnce = true;
    Publisher publisher = side.open(settings);
    long hour = TimeUnit.MINUTES.toNanos(50);

    publisher.publish(MESSAGE, System.nanoTime() - hour).get(30, TimeUnit.SECONDS);
    LatencySnapshot first = publisher.latency();
    publisher.publish(MESSAGE, System.nanoTime() + hour).get(30, TimeUnit.SECONDS);
    publisher.publish(MESSAGE).get(30, TimeUnit.SECONDS);

    assertThat(first.stage("due-confirmed").orElseThrow().nanosAt(50))
        .isCloseTo(hour, within(hour / 50));
    assertThat(first.stage("sent-confirmed").orElseThrow().maxNanos()).isLessThan(hour / 10);
    Stage rest = publisher.latency().since(first).stage("due-confirmed").orElseThrow();
    assertThat(rest.count()).isEqualTo(2);
    assertThat(rest.negative()).as("a time to come counts as now").isZero();
    assertThat(rest.maxNanos()).isLessThan(hour / 10);
  }

  @Test
  void waitForRoom_isInTheResponseTime() throws Exception {
    Publisher publisher = side.open(settings.withMaxInFlight(1).withMaxQueued(1));
    FakeBroker.Link link = broker.nextLink();
    var unused = publisher.publish(MESSAGE);
    await().atMost(LONG).until(() -> link.all.size() == 1);
    var queued = publisher.publish(MESSAGE);
    Thread waits = new Thread(() -> publisher.publish(MESSAGE));
    waits.start();
    await().atMost(LONG).until(() -> waits.getState() == Thread.State.TIMED_WAITING);
    long began = System.nanoTime();
    await().atMost(LONG).until(() -> System.nanoTime() - began > 50_000_000);
    broker.confirmAtOnce = true;
    link.listener.confirmed(1, false, null);
    queued.get(30, TimeUnit.SECONDS);
    waits.join();

    await().atMost(LONG).until(() -> count(publisher.latency(), "due-confirmed") == 3);
    assertThat(publisher.latency().stage("due-confirmed").orElseThrow().nanosAt(1))
        .as("all three waited")
        .isGreaterThan(20_000_000);
  }

  @Test
  void oldestUnsettled_agesWithoutAnAnswer_inFlightAndInTheQueue() throws Exception {
    Publisher publisher = side.open(settings.withMaxInFlight(1));
    FakeBroker.Link link = broker.nextLink();
    assertThat(publisher.latency().oldestUnsettled()).isZero();

    var unused = publisher.publish(MESSAGE, System.nanoTime() - 1_000_000_000L);
    await().atMost(LONG).until(() -> link.all.size() == 1);
    var queued = publisher.publish(MESSAGE, System.nanoTime() - 3_000_000_000L);
    assertThat(publisher.latency().oldestUnsettled()).isGreaterThan(Duration.ofSeconds(3));
    link.listener.confirmed(1, false, null);
    await().atMost(LONG).until(() -> link.all.size() == 2);
    link.listener.confirmed(2, false, null);
    queued.get(30, TimeUnit.SECONDS);

    assertThat(publisher.latency().oldestUnsettled()).isZero();
  }

  /** HD-01: a value above the range throws inside the ack handler. */
  @Test
  void hd01_publishHeldBackBeyondTheRange_endsAsItShould_andIsCounted() throws Exception {
    broker.confirmAtOnce = true;
    Publisher publisher = side.open(settings);
    long day = TimeUnit.DAYS.toNanos(1);

    PublishOutcome outcome =
        publisher.publish(MESSAGE, System.nanoTime() - day).get(30, TimeUnit.SECONDS);

    assertThat(outcome.verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.latency().stage("due-confirmed").orElseThrow().clamped()).isEqualTo(1);
  }

  /**
   * HD-03: coordinated omission. The way is frozen for a tenth of the run, as 2 s of 20 s are; the
   * sender waits for each answer, and so do those that are due meanwhile.
   */
  @Test
  void hd03_pacedSender_doesNotHideItsOwnStall() throws Exception {
    Publisher publisher = side.open(settings.withMaxInFlight(1));
    FakeBroker.Link link = broker.nextLink();
    int messages = 2_000;
    long period = 1_000_000;
    long[] response = new long[messages];
    broker.confirmAtOnce = true;
    long begin = System.nanoTime();
    for (int i = 0; i < messages; i++) {
      long due = begin + i * period;
      while (System.nanoTime() < due) {
        LockSupport.parkNanos(due - System.nanoTime());
      }
      boolean frozen = i == 1_000;
      broker.confirmAtOnce = !frozen;
      var outcome = publisher.publish(MESSAGE, due);
      if (frozen) {
        long end = due + 200 * period;
        while (System.nanoTime() < end || link.all.size() <= i) {
          LockSupport.parkNanos(1_000_000);
        }
        link.listener.confirmed(link.lastSequence, false, null);
      }
      outcome.get(30, TimeUnit.SECONDS);
      response[i] = System.nanoTime() - due;
    }
    Arrays.sort(response);

    Stage due = publisher.latency().stage("due-confirmed").orElseThrow();
    Stage sent = publisher.latency().stage("sent-confirmed").orElseThrow();
    assertThat(due.count()).isEqualTo(messages);
    assertThat(sent.count()).isEqualTo(messages);
    assertThat(due.nanosAt(95)).isGreaterThan(80_000_000);
    assertThat((double) due.nanosAt(95))
        .as("as the caller saw it")
        .isLessThanOrEqualTo(response[(int) (messages * 0.95)] * 1.02);
    assertThat(sent.nanosAt(95)).as("service time").isLessThan(due.nanosAt(95) / 2);
  }
}
