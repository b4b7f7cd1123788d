package io.floatvalve.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.consume.ConsumerStatus.State;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.Delivery.Answer;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.event.Event;
import io.floatvalve.model.Message;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What consuming does on every broker when the broker or the network fails: no message is lost,
 * none is handled again but those that the broker delivers again, order holds as far as it is
 * promised, no thread hangs, and consuming goes on. An adapter extends this and shows its broker;
 * the tests are then run as its own.
 */
@Timeout(300)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class ConsumerFaultContract {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);
  // beyond the time that was set: the timer's step, a pause of a busy machine
  private static final Duration GRACE = Duration.ofSeconds(10);
  private static final int KEYS = 20;
  private static final int EACH = 250;

  private final LastEnd last = new LastEnd(LIMIT);

  private ConsumedBroker broker;
  private ConsumerRig rig;

  /** Makes the tests. */
  protected ConsumerFaultContract() {}

  /**
   * Returns the broker to test on. Called once; what it returns is closed at the end. Its process
   * is ours.
   */
  protected abstract ConsumedBroker broker() throws Exception;

  @BeforeAll
  final void openBroker() throws Exception {
    broker = broker();
  }

  @AfterAll
  final void closeBroker() throws Exception {
    try {
      last.await();
    } finally {
      if (broker != null) {
        broker.close();
      }
    }
  }

  @BeforeEach
  final void openRig() throws Exception {
    rig = new ConsumerRig(broker);
  }

  @AfterEach
  final void closeRig() throws Exception {
    last.then(rig::end);
  }

  private static void until(Callable<Boolean> condition) {
    await().atMost(LIMIT).until(condition);
  }

  private static void awaitOpen(CountDownLatch latch) throws InterruptedException {
    assertThat(latch.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
  }

  private interface Step {
    void run() throws Exception;
  }

  private static Settlement slowly(Delivery delivery) throws InterruptedException {
    TimeUnit.MICROSECONDS.sleep(2_000 + Handled.number(Handled.text(delivery)) % 3 * 1_000L);
    return Settlement.accept();
  }

  /**
   * Consumes some thousands of messages, has something happen meanwhile, and sees that all are
   * handled, in the order that was asked for, and that the account is right at the end.
   */
  private ConsumerStatus survive(Ordering ordering, int keys, int each, Step fault)
      throws Exception {
    List<Message> messages = Handled.inTurn(keys, each);
    rig.publish(messages);
    Handled handled = new Handled();
    Consumer consumer = rig.consumer(settings -> settings.withOrdering(ordering).withWorkers(8));
    CountDownLatch failing = new CountDownLatch(1);
    consumer.handle(
        handled.by(
            delivery -> {
              if (handled.begun() > messages.size() / 2) {
                awaitOpen(failing); // so that there is something left to do
              }
              return slowly(delivery);
            }));
    until(() -> handled.returned() >= 300);

    failing.countDown();
    fault.run();

    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(handled.distinct())
                    .as("handled, of %s: %s", messages.size(), consumer.status())
                    .isEqualTo(messages.size()));
    assertThat(consumer.drain(LIMIT)).isZero();
    ConsumerStatus end = consumer.status();
    consumer.close();
    handled.assertNothingMissing(messages);
    handled.assertRepeatsWereRedelivered();
    if (ordering != Ordering.NONE) {
      handled.assertNoKeyBesideItself();
      if (broker.keepsOrderAcrossLoss()) {
        handled.assertFirstInOrder();
      }
    }
    if (ordering == Ordering.TOTAL) {
      assertThat(handled.mostAtATime()).isEqualTo(1);
    }
    assertAccount(handled, end, messages.size());
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(rig.left()).as("left at the broker").isZero());
    return end;
  }

  /** Holds that each call of a handler is one message taken, and each came to one end. */
  private static void assertAccount(Handled handled, ConsumerStatus end, int messages) {
    assertThat(end.inHandlers() + end.parked() + end.settling()).as("%s", end).isZero();
    assertThat(end.unsettledBytes()).as("%s", end).isZero();
    assertThat(end.accepted()).as("%s", end).isBetween((long) messages, (long) handled.begun());
    // What was lost while it waited for its key was taken, and no handler has begun it.
    assertThat(end.accepted() + end.stale() + end.givenBack())
        .as("%s calls, %s", handled.begun(), end)
        .isGreaterThanOrEqualTo(handled.begun());
    assertThat(handled.repeated())
        .as("handled again: %s", end)
        .isEqualTo(handled.begun() - messages)
        .isLessThan(messages);
    long ended = end.accepted() + end.retried() + end.rejected() + end.stale() + end.duplicates();
    assertThat(end.taken()).as("%s", end).isBetween(ended, ended + end.givenBack());
  }

  // ------------------------------------------------------------------------- broker and network

  @Test
  void aBrokerThatIsKilledAndStartedAgain_losesNothing_andKeysKeepTheirOrder() throws Exception {
    survive(
        Ordering.BY_KEY,
        KEYS,
        EACH,
        () -> {
          broker.kill();
          broker.restart();
        });

    assertThat(rig.events(Event.LinkLost.class)).isNotEmpty();
  }

  @ParameterizedTest
  @EnumSource(Cut.class)
  void aConnectionThatIsCut_fourTimesInARow_losesNothing_andKeysKeepTheirOrder(Cut how)
      throws Exception {
    ConsumerStatus end =
        survive(
            Ordering.BY_KEY,
            KEYS,
            EACH,
            () -> {
              for (int cut = 1; cut <= 4; cut++) {
                long times = cut;
                until(() -> rig.proxy.connections() > 0);
                assertThat(rig.proxy.cut(how)).isPositive();
                until(
                    () ->
                        rig.events(Event.LinkLost.class).count() >= times
                            && rig.events(Event.LinkOpened.class).count() > times);
              }
            });

    assertThat(end.lastLoss()).isNotEmpty();
  }

  @Test
  void aConnectionThatIsCut_withoutAnOrder_losesNothing() throws Exception {
    survive(
        Ordering.NONE,
        KEYS,
        EACH,
        () -> {
          rig.proxy.cut(Cut.RESET);
          until(() -> rig.events(Event.LinkOpened.class).count() >= 2);
          rig.proxy.cut(Cut.END);
        });
  }

  @Test
  void aConnectionThatIsCut_underTotalOrder_losesNothing_andOneRunsAtATime() throws Exception {
    survive(
        Ordering.TOTAL,
        4,
        250,
        () -> {
          rig.proxy.cut(Cut.RESET);
          until(() -> rig.events(Event.LinkOpened.class).count() >= 2);
          rig.proxy.cut(Cut.END);
        });
  }

  @ParameterizedTest
  @EnumSource(Direction.class)
  void aNetworkThatStallsInOneDirection_isNoticed_andNothingIsLost(Direction direction)
      throws Exception {
    survive(
        Ordering.BY_KEY,
        KEYS,
        EACH,
        () -> {
          rig.proxy.stall(direction);
          until(() -> rig.events(Event.LinkLost.class).findAny().isPresent());
          rig.proxy.unstall();
        });
  }

  @Test
  void aBrokerThatCannotBeReached_isTriedAgainUntilItCan() throws Exception {
    survive(
        Ordering.BY_KEY,
        KEYS,
        EACH,
        () -> {
          rig.proxy.refuse();
          rig.proxy.cut(Cut.RESET);
          until(() -> rig.events(Event.LinkLost.class).findAny().isPresent());
          TimeUnit.SECONDS.sleep(2); // tries fail meanwhile
          rig.proxy.accept();
        });
  }

  // ------------------------------------------------------------------------------- in the hands

  @ParameterizedTest
  @EnumSource(
      value = Ordering.class,
      names = {"NONE", "BY_KEY"})
  void whatHandlersHoldAcrossALoss_isAnsweredTruly_andNoKeyRunsBesideItself(Ordering ordering)
      throws Exception {
    List<Message> messages = Handled.inTurn(8, 5);
    rig.publish(messages);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Queue<String> stale = new ConcurrentLinkedQueue<>();
    Queue<String> accepted = new ConcurrentLinkedQueue<>();
    Consumer consumer = rig.consumer(settings -> settings.withOrdering(ordering).withWorkers(8));
    consumer.handle(
        handled.by(
            delivery -> {
              if (handled.begun() <= 8) {
                awaitOpen(go);
              }
              switch (delivery.accept()) {
                case ACCEPTED -> accepted.add(Handled.text(delivery));
                case STALE -> stale.add(Handled.text(delivery));
                case ALREADY -> throw new IllegalStateException("settled by another");
              }
              return Settlement.accept();
            }));
    until(() -> handled.running() == 8);

    rig.proxy.cut(Cut.RESET);
    until(() -> rig.events(Event.LinkOpened.class).count() >= 2);
    go.countDown();

    until(() -> new HashSet<>(accepted).size() == 40);
    assertThat(consumer.drain(LIMIT)).isZero();
    handled.assertRepeatsWereRedelivered();
    if (ordering == Ordering.BY_KEY) {
      handled.assertNoKeyBesideItself();
      handled.assertFirstInOrder();
    }
    assertThat(accepted).as("accepted by each answer").doesNotHaveDuplicates();
    for (String each : stale) {
      assertThat(handled.calls(each)).as("%s came again", each).hasSizeGreaterThan(1);
    }
    assertThat(consumer.status().accepted()).isEqualTo(40);
    consumer.close();
    await().atMost(LIMIT).untilAsserted(() -> assertThat(rig.left()).isZero());
  }

  @Test
  void retriesAndRejects_acrossCuts_endInTheDeadLetters_none_isLost() throws Exception {
    List<Message> messages = Handled.inTurn(10, 40);
    rig.publish(messages);
    Handled handled = new Handled();
    Consumer consumer =
        rig.consumer(
            settings ->
                settings
                    .withMaxAttempts(3)
                    .withRetryDelays(List.of(Duration.ofMillis(100), Duration.ofMillis(300))));
    consumer.handle(
        handled.by(
            delivery -> {
              TimeUnit.MILLISECONDS.sleep(5);
              int number = Handled.number(Handled.text(delivery));
              return switch (number % 4) {
                case 0 -> Settlement.reject("bad");
                case 1 -> Settlement.failed("always fails");
                case 2 -> delivery.attempt() < 2 ? Settlement.retry() : Settlement.accept();
                default -> Settlement.accept();
              };
            }));
    for (int cut = 1; cut <= 3; cut++) {
      int begun = 100 * cut;
      until(() -> handled.begun() >= begun);
      rig.proxy.cut(cut % 2 == 0 ? Cut.END : Cut.RESET);
    }

    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              ConsumerStatus status = consumer.status();
              assertThat(status.accepted()).as("%s", status).isGreaterThanOrEqualTo(200);
              assertThat(status.rejected()).as("%s", status).isGreaterThanOrEqualTo(200);
              assertThat(status.settling()).as("%s", status).isZero();
              List<Message> letters = // what comes again after a cut may be copied again
                  broker.deadLetters(rig.deadLetters).stream()
                      .map(ConsumedBroker.DeadLetter::message)
                      .toList();
              assertThat(Handled.names(letters)).hasSize(200);
            });
    assertThat(consumer.drain(LIMIT)).isZero();
    consumer.close();

    handled.assertNothingMissing(messages);
    Set<String> dead = new HashSet<>();
    for (ConsumedBroker.DeadLetter letter : rig.deadLetters()) {
      String text = Handled.names(List.of(letter.message())).iterator().next();
      dead.add(text);
      boolean bad = Handled.number(text) % 4 == 0;
      assertThat(letter.reason()).contains(bad ? "bad" : "always fails");
      assertThat(letter.attempts()).isEqualTo(bad ? 1 : 3);
    }
    assertThat(dead).hasSize(200);
    await().atMost(LIMIT).untilAsserted(() -> assertThat(rig.left()).isZero());
  }

  @Test
  void pausedAcrossALoss_nothingBegins_untilResumed() throws Exception {
    List<Message> messages = Handled.messages("m", 0, 500);
    rig.publish(messages);
    Handled handled = new Handled();
    Consumer consumer = rig.consumer();
    consumer.handle(handled.by(ConsumerFaultContract::slowly));
    until(() -> handled.returned() >= 50);
    consumer.pause();
    int begun = handled.begun();
    until(() -> consumer.status().inHandlers() == 0);

    rig.proxy.cut(Cut.RESET);
    until(
        () ->
            rig.events(Event.LinkOpened.class).count() >= 2
                && consumer.status().state() == State.PAUSED
                && consumer.status().waiting() > 0);

    assertThat(handled.begun()).isEqualTo(begun);
    consumer.resume();
    until(() -> handled.distinct() == 500);
    handled.assertNothingMissing(messages);
    handled.assertRepeatsWereRedelivered();
    assertThat(consumer.drain(LIMIT)).isZero();
  }

  @Test
  void aPullConsumer_goesOnAfterALoss_andTheOldDeliveriesAreAnsweredTruly() throws Exception {
    rig.publish("m", 30);
    PullConsumer consumer = rig.pullConsumer(settings -> settings.withMaxUnsettled(5));
    List<Delivery> before = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      before.add(consumer.receive(LIMIT).orElseThrow());
    }

    rig.proxy.cut(Cut.RESET);
    until(() -> rig.events(Event.LinkOpened.class).count() >= 2);
    Set<String> accepted = new HashSet<>();
    for (Delivery each : before) {
      Answer answer = each.accept();
      assertThat(answer).isIn(Answer.ACCEPTED, Answer.STALE);
      if (answer == Answer.ACCEPTED) {
        assertThat(accepted.add(Handled.text(each))).isTrue();
      }
    }
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (accepted.size() < 30 && System.nanoTime() < deadline) {
      Optional<Delivery> next = consumer.receive(Duration.ofSeconds(5));
      if (next.isPresent() && next.get().accept() == Answer.ACCEPTED) {
        assertThat(accepted.add(Handled.text(next.get())))
            .as("%s accepted twice", next.get())
            .isTrue();
      }
    }

    assertThat(accepted).hasSize(30);
    assertThat(consumer.drain(LIMIT)).isZero();
    consumer.close();
    await().atMost(LIMIT).untilAsserted(() -> assertThat(rig.left()).isZero());
  }

  // ------------------------------------------------------------------------------ drain, close

  private Consumer stuck(Handled handled, CountDownLatch go, UnaryOperator<ConsumerSettings> more)
      throws Exception {
    rig.publish("m", 40);
    Consumer consumer =
        rig.consumer(
            settings -> more.apply(settings.withWorkers(4).withCloseTimeout(CLOSE_TIMEOUT)));
    consumer.handle(
        handled.by(
            delivery -> {
              awaitOpen(go);
              return Settlement.accept();
            }));
    until(() -> handled.running() == 4);
    return consumer;
  }

  @ParameterizedTest
  @EnumSource(Direction.class)
  void close_whileTheNetworkStalls_keepsItsTime_andTheMessagesComeAgain(Direction direction)
      throws Exception {
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = stuck(handled, go, settings -> settings);
    rig.proxy.stall(direction);

    long began = System.nanoTime();
    consumer.close();
    Duration took = Duration.ofNanos(System.nanoTime() - began);

    assertThat(took).isLessThan(CLOSE_TIMEOUT.plus(GRACE));
    assertThat(consumer.status().state()).isEqualTo(State.CLOSED);
    go.countDown();
    until(() -> handled.returned() == 4);
    assertThat(consumer.status().accepted()).isZero();
    rig.proxy.unstall();
    Handled again = new Handled();
    Consumer next = rig.consumer();
    next.handle(again.by(delivery -> Settlement.accept()));
    until(() -> again.distinct() == 40);
    assertThat(next.drain(LIMIT)).isZero();
  }

  @Test
  void close_whileThereIsNoConnection_keepsItsTime() throws Exception {
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = stuck(handled, go, settings -> settings);
    rig.proxy.refuse();
    rig.proxy.cut(Cut.RESET);
    until(() -> consumer.status().state() == State.RECOVERING);

    long began = System.nanoTime();
    rig.messaging.close();
    Duration took = Duration.ofNanos(System.nanoTime() - began);
    go.countDown();

    // the messaging's connections have 5 seconds of their own
    assertThat(took).isLessThan(CLOSE_TIMEOUT.plusSeconds(5).plus(GRACE));
    assertThat(consumer.status().state()).isEqualTo(State.CLOSED);
    assertThat(consumer.status().inHandlers()).isZero();
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(rig.left()).as("left at the broker").isEqualTo(40));
  }

  @Test
  void drain_whileThereIsNoConnection_keepsItsTime() throws Exception {
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = stuck(handled, go, settings -> settings);
    rig.proxy.refuse();
    rig.proxy.cut(Cut.RESET);
    until(() -> consumer.status().state() == State.RECOVERING);

    long began = System.nanoTime();
    CompletableFuture<Long> drained =
        CompletableFuture.supplyAsync(() -> consumer.drain(Duration.ofSeconds(2)));
    drained.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    Duration took = Duration.ofNanos(System.nanoTime() - began);
    go.countDown();

    assertThat(took).isLessThan(Duration.ofSeconds(2).plus(GRACE));
    until(() -> handled.returned() == 4);
    assertThat(handled.begun()).isEqualTo(4);
  }
}
