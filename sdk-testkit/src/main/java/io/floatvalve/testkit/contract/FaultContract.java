package io.floatvalve.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.event.Event;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.publish.RetryPolicy;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What publishing does on every broker when the broker or the network fails: each message comes to
 * exactly one outcome in time, no outcome is false, no thread hangs, and publishing goes on. An
 * adapter extends this and shows its broker; the tests are then run as its own.
 */
@Timeout(300)
public abstract class FaultContract {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final Duration CONFIRM_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration MAX_WAIT = Duration.ofSeconds(4);
  private static final Duration MAX_BLOCK = Duration.ofSeconds(3);
  // beyond the time that was set: the timer's step, pauses of a busy machine; short of a hang
  private static final Duration GRACE = Duration.ofSeconds(20);

  private static final LastEnd LAST = new LastEnd(LIMIT);

  private BrokerUnderTest broker;
  private Rig rig;

  /** Makes the tests. */
  protected FaultContract() {}

  /** Returns the broker to test on, the same or another for each test. Its process is ours. */
  protected abstract BrokerUnderTest broker() throws Exception;

  @BeforeEach
  final void openRig() throws Exception {
    broker = broker();
    rig = new Rig(broker);
  }

  @AfterEach
  final void closeRig() throws Exception {
    LAST.then(rig::end);
  }

  @AfterAll
  static void awaitEnd() throws Exception {
    LAST.await();
  }

  private static PublisherSettings impatient(PublisherSettings settings) {
    return settings
        .withConfirmTimeout(CONFIRM_TIMEOUT)
        .withMaxWait(MAX_WAIT)
        .withMaxBlock(MAX_BLOCK)
        .withCloseTimeout(Duration.ofSeconds(10));
  }

  private static PublishOutcome outcome(CompletableFuture<PublishOutcome> future) throws Exception {
    return future.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  private interface Step {
    void run() throws Exception;
  }

  /** Has something happen under load, then sees that publishing goes on, and that all is told. */
  private Load survive(Publisher publisher, Step fault) throws Exception {
    Load load = new Load();
    load.start(publisher, 2);
    await().atMost(LIMIT).until(() -> load.count(Verdict.CONFIRMED) >= 500);

    fault.run();

    int before = load.count(Verdict.CONFIRMED);
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(load.count(Verdict.CONFIRMED))
                    .as("publishing goes on: %s", publisher.status())
                    .isGreaterThan(before + 500));
    load.stop(MAX_BLOCK.plus(GRACE));
    assertThat(publisher.drain(CONFIRM_TIMEOUT.plus(MAX_WAIT).plus(GRACE))).isZero();
    load.awaitOutcomes();
    assertThat(load.longest())
        .as("longest time to an outcome")
        .isLessThan(MAX_BLOCK.plus(MAX_WAIT).plus(CONFIRM_TIMEOUT).plus(GRACE));
    assertThat(publisher.status().inFlight()).isZero();
    return load;
  }

  private void assertToldOnceInOrder(Load load) throws Exception {
    List<String> stored = rig.stored();
    load.assertTrue(stored);
    Load.assertOnceInOrder(stored);
  }

  // ------------------------------------------------------------------------- broker and network

  @Test
  void aBrokerThatIsKilledAndStartedAgain_losesNothingItConfirmed() throws Exception {
    Publisher publisher = rig.publisher(FaultContract::impatient);

    Load load =
        survive(
            publisher,
            () -> {
              rig.proxy.stall(Direction.TO_BROKER); // what is sent now gets no answer
              await()
                  .atMost(LIMIT)
                  .until(() -> publisher.status().oldestInFlight().toMillis() > 300);
              broker.kill();
              rig.proxy.unstall();
              broker.restart();
            });

    assertThat(publisher.status().reopened()).isPositive();
    if (!broker.sendsAgainByItself()) {
      assertThat(load.count(Verdict.UNKNOWN)).as("in flight when it was killed").isPositive();
    }
    assertToldOnceInOrder(load);
  }

  @ParameterizedTest
  @EnumSource(Cut.class)
  void aConnectionThatIsCut_thriceInARow_isMadeAgain(Cut how) throws Exception {
    Publisher publisher = rig.publisher(FaultContract::impatient);

    Load load =
        survive(
            publisher,
            () -> {
              for (int cut = 1; cut <= 3; cut++) {
                int times = cut;
                assertThat(rig.proxy.cut(how)).isPositive();
                await().atMost(LIMIT).until(() -> publisher.status().reopened() >= times);
              }
            });

    assertThat(rig.events).anyMatch(event -> event instanceof Event.LinkLost);
    assertToldOnceInOrder(load);
  }

  @ParameterizedTest
  @EnumSource(Direction.class)
  void aNetworkThatStallsInOneDirection_endsInOutcomes_andThenGoesOn(Direction direction)
      throws Exception {
    Publisher publisher = rig.publisher(FaultContract::impatient);
    Load reference = new Load();

    Load load =
        survive(
            publisher,
            () -> {
              rig.proxy.stall(direction);
              CompletableFuture<PublishOutcome> stuck =
                  reference.publish(publisher, "while-stalled-0");
              assertThat(outcome(stuck).verdict()).isIn(Verdict.UNKNOWN, Verdict.NOT_SENT);
              rig.proxy.unstall();
            });

    assertThat(load.count(Verdict.UNKNOWN)).isPositive();
    List<String> stored = rig.stored();
    stored.remove("while-stalled-0");
    load.assertTrue(stored);
    Load.assertOnceInOrder(stored);
  }

  @Test
  void aBrokerThatCannotBeReached_leavesMessagesUnsent_afterTheirTime() throws Exception {
    Publisher publisher = rig.publisher(settings -> impatient(settings).withMaxQueued(100));

    Load load =
        survive(
            publisher,
            () -> {
              rig.proxy.refuse();
              rig.proxy.cut(Cut.RESET);
              await()
                  .atMost(LIMIT)
                  .until(() -> publisher.status().state() == PublisherStatus.State.RECOVERING);
              PublishOutcome waited = outcome(publisher.publish(Load.message("refused-0")));
              assertThat(waited)
                  .isInstanceOfSatisfying(
                      NotSent.class,
                      end -> {
                        assertThat(end.reason()).isEqualTo(NotSent.Reason.RECOVERING);
                        assertThat(end.detail()).contains("no connection");
                      });
              rig.proxy.accept();
            });

    assertThat(load.count(Verdict.NOT_SENT)).isPositive();
    assertToldOnceInOrder(load);
  }

  // ------------------------------------------------------------------------------------- retry

  @Test
  void withRetry_everyMessageIsConfirmedAtLast_thoughSomeMayBeStoredTwice() throws Exception {
    Publisher publisher =
        rig.publisher(
            settings ->
                impatient(settings)
                    .withMaxBlock(LIMIT)
                    .withRetry(RetryPolicy.upTo(20).afterUnknown().afterNotSent()));
    Load load = new Load();
    load.start(publisher, 2);
    await().atMost(LIMIT).until(() -> load.count(Verdict.CONFIRMED) >= 300);
    rig.proxy.stall(Direction.FROM_BROKER); // what is stored now is not confirmed
    CompletableFuture<PublishOutcome> again = load.publish(publisher, "again-0");
    await().atMost(LIMIT).until(() -> publisher.status().inFlight() > 1);
    rig.proxy.cut(Cut.RESET);
    rig.proxy.unstall();

    await().atMost(LIMIT).until(() -> publisher.status().reopened() > 0);
    load.stop(LIMIT);
    assertThat(publisher.drain(LIMIT)).isZero();

    load.assertAll(Verdict.CONFIRMED, load.published());
    assertThat(outcome(again).attempts()).isPositive();
    if (!broker.sendsAgainByItself()) {
      assertThat(load.mostAttempts()).isGreaterThan(1);
    }
    load.assertTrue(rig.stored());
  }

  // --------------------------------------------------------------------------------- callbacks

  @Test
  void callbacksThatPublishAgain_areCalledForLostMessagesToo() throws Exception {
    Publisher publisher = rig.publisher(FaultContract::impatient);
    rig.proxy.stall(Direction.FROM_BROKER);
    Load load = new Load();
    List<CompletableFuture<Verdict>> second =
        load.publish(publisher, "m", 20).stream()
            .map(
                first ->
                    first.thenApply(
                        lost ->
                            lost.verdict() == Verdict.UNKNOWN
                                ? publisher.publish(Load.message("again-0")).join().verdict()
                                : Verdict.NACKED))
            .toList();
    await().atMost(LIMIT).until(() -> publisher.status().inFlight() > 0);
    if (broker.sendsAgainByItself()) { // then it is time alone that makes them unknown
      await()
          .atMost(LIMIT)
          .until(() -> publisher.status().outcomes().getOrDefault(Verdict.UNKNOWN, 0L) > 0);
    }

    rig.proxy.cut(Cut.RESET);
    rig.proxy.unstall();

    long confirmed = 0;
    for (CompletableFuture<Verdict> each : second) {
      Verdict verdict = each.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
      confirmed += verdict == Verdict.CONFIRMED ? 1 : 0;
    }
    assertThat(confirmed).as("published again by their callbacks").isPositive();
    long again = confirmed;
    await() // the load counts by callbacks of its own, which may come after those above
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat((long) load.count(Verdict.UNKNOWN)).isGreaterThanOrEqualTo(again));
  }

  // ------------------------------------------------------------------------------------- close

  @ParameterizedTest
  @EnumSource(Direction.class)
  void close_with5000InFlight_settlesAllInItsTime(Direction stalled) throws Exception {
    Publisher publisher =
        rig.publisher(
            settings ->
                settings
                    .withMaxInFlight(5_000)
                    .withMaxQueued(10_000)
                    .withConfirmTimeout(LIMIT)
                    .withCloseTimeout(Duration.ofSeconds(1)));
    rig.proxy.stall(stalled);
    Load load = new Load();
    List<CompletableFuture<PublishOutcome>> futures = load.publish(publisher, "m", 6_000);
    await().atMost(LIMIT).until(() -> publisher.status().inFlight() >= 1_000);
    if (stalled == Direction.FROM_BROKER) {
      await().atMost(LIMIT).until(() -> publisher.status().inFlight() == 5_000);
    }

    long began = System.nanoTime();
    publisher.close();
    Duration took = Duration.ofNanos(System.nanoTime() - began);

    assertThat(took).isBetween(Duration.ofMillis(900), Duration.ofSeconds(1).plus(GRACE));
    load.awaitOutcomes();
    for (CompletableFuture<PublishOutcome> future : futures) {
      PublishOutcome end = outcome(future);
      if (end instanceof Unknown unknown) {
        assertThat(unknown.cause()).isEqualTo(Unknown.Cause.PUBLISHER_CLOSED);
      } else {
        assertThat(((NotSent) end).reason()).isEqualTo(NotSent.Reason.CLOSED);
      }
    }
    assertThat(load.count(Verdict.NOT_SENT)).isGreaterThanOrEqualTo(1_000);
    rig.proxy.unstall();
    Load later = new Load();
    assertThat(outcome(later.publish(rig.publisher(), "later-0")).verdict())
        .isEqualTo(Verdict.CONFIRMED);
    List<String> stored = rig.stored();
    assertThat(stored).contains("later-0");
    stored.remove("later-0");
    load.assertTrue(stored);
    Load.assertOnceInOrder(stored);
  }

  @Test
  void close_whileThereIsNoConnection_keepsItsTime() throws Exception {
    Publisher publisher =
        rig.publisher(settings -> settings.withCloseTimeout(Duration.ofSeconds(1)));
    rig.proxy.refuse();
    rig.proxy.cut(Cut.RESET);
    await()
        .atMost(LIMIT)
        .until(() -> publisher.status().state() == PublisherStatus.State.RECOVERING);
    Load load = new Load();
    load.publish(publisher, "m", 100);

    long began = System.nanoTime();
    rig.messaging.close();
    Duration took = Duration.ofNanos(System.nanoTime() - began);

    assertThat(took).isBetween(Duration.ofMillis(900), Duration.ofSeconds(6).plus(GRACE));
    load.assertAll(Verdict.NOT_SENT, 100);
    assertThat(rig.stored()).isEmpty();
  }
}
