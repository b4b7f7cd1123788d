package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.Nacked;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Returned;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.spi.PublishLink;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class WindowedPublisherTest {
  private static final Set<Thread.State> WAITING =
      Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);

  private final FakeBroker broker = new FakeBroker();
  private final List<Event> events = new CopyOnWriteArrayList<>();
  private final PublishSide side = new PublishSide(broker, events::add);

  @AfterEach
  void close() {
    side.close();
  }

  private static PublisherSettings settings() {
    return PublisherSettings.to(Address.queue("q")).withCloseTimeout(Duration.ofMillis(100));
  }

  private static Message text(String text) {
    return Message.of(text.getBytes(StandardCharsets.UTF_8));
  }

  private static PublishOutcome outcome(CompletableFuture<PublishOutcome> future) throws Exception {
    return future.get(20, TimeUnit.SECONDS);
  }

  /** Runs it on a thread of its own; returns when that waits. */
  private static <T> CompletableFuture<T> waiting(Supplier<T> work) {
    var result = new CompletableFuture<T>();
    Thread thread =
        new Thread(
            () -> {
              var unused = result.completeAsync(work, Runnable::run);
            });
    thread.setDaemon(true);
    thread.start();
    await().until(() -> WAITING.contains(thread.getState()));
    return result;
  }

  private static CompletableFuture<Boolean> waiting(Runnable work) {
    return waiting(
        () -> {
          work.run();
          return true;
        });
  }

  @Test
  void confirm_completesWithTagAndEpoch() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);
    assertThat(future).isNotDone();

    link.listener.confirmed(1, false, null);

    Confirmed confirmed = (Confirmed) outcome(future);
    assertThat(confirmed.sequence()).isEqualTo(1);
    assertThat(confirmed.epoch()).isEqualTo(link.request.epoch());
    assertThat(confirmed.latency()).isPositive();
    assertThat(confirmed.retry()).isEqualTo(PublishOutcome.Retry.NEEDLESS);
  }

  @Test
  void multipleConfirm_settlesAllBelowAndNothingAbove() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    List<CompletableFuture<PublishOutcome>> futures = publishMany(publisher, 10);
    link.awaitSent(10);

    link.listener.confirmed(7, true, null);

    for (int i = 0; i < 7; i++) {
      assertThat(outcome(futures.get(i)).verdict()).isEqualTo(Verdict.CONFIRMED);
    }
    assertThat(publisher.status().inFlight()).isEqualTo(3);
    assertThat(futures.subList(7, 10)).noneMatch(CompletableFuture::isDone);
    link.listener.confirmed(0, true, null);
    assertThat(outcome(futures.get(9)).verdict()).isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void refusedByTheClientAfterAll_isNotSent_andFreesItsPlace() throws Exception {
    var publisher = side.open(settings().withWindow(WindowPolicy.fixed(2)));
    var link = broker.nextLink();
    List<CompletableFuture<PublishOutcome>> futures = publishMany(publisher, 4);
    link.awaitSent(2);

    link.listener.notSent(1, PublishLink.Unsent.TOO_LARGE, "6 MB");
    link.listener.notSent(2, PublishLink.Unsent.NO_ROOM, "full");
    link.awaitSent(2);
    link.listener.unclear(3, "it had one of that number");

    NotSent large = (NotSent) outcome(futures.get(0));
    assertThat(large.reason()).isEqualTo(NotSent.Reason.MESSAGE_TOO_LARGE);
    assertThat(large.detail()).isEqualTo("6 MB");
    assertThat(large.retry()).isEqualTo(PublishOutcome.Retry.FUTILE);
    assertThat(outcome(futures.get(1)).retry()).isEqualTo(PublishOutcome.Retry.SAFE);
    Unknown unclear = (Unknown) outcome(futures.get(2));
    assertThat(unclear.cause()).isEqualTo(Unknown.Cause.UNCLEAR_ANSWER);
    assertThat(publisher.status().inFlight()).isEqualTo(1);
  }

  @Test
  void disconnectedLink_isSentNothing_keepsWhatIsInFlight_andGoesOnWhereItWas() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var inFlight = publisher.publish(text("sent"));
    link.awaitSent(1);

    link.listener.disconnected("cable");
    assertThat(publisher.status().state()).isEqualTo(PublisherStatus.State.RECOVERING);
    var waiting = publisher.publish(text("waits"));
    link.listener.reconnected();
    link.awaitSent(1);
    link.listener.confirmed(0, true, null);

    assertThat(outcome(inFlight).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(outcome(waiting).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.status().reopened()).isEqualTo(1);
    assertThat(broker.links).hasSize(1);
  }

  @Test
  void disconnectedTooLong_isNotSent_withWhatHeldIt() throws Exception {
    var publisher = side.open(settings().withMaxWait(Duration.ofMillis(300)));
    broker.nextLink().listener.disconnected("cable");

    NotSent waited = (NotSent) outcome(publisher.publish(text("waits too long")));

    assertThat(waited.reason()).isEqualTo(NotSent.Reason.RECOVERING);
    assertThat(waited.detail()).contains("cable");
  }

  @Test
  void waitingForAnOutcome_hurriesTheLink_alsoForWhatIsSentLater() throws Exception {
    var publisher = side.open(settings().withWindow(WindowPolicy.fixed(1)));
    var link = broker.nextLink();
    var first = publisher.publish(text("first"));
    var second = publisher.publish(text("second"));
    link.awaitSent(1);
    assertThat(link.hurried).isZero();

    var waiter = waiting(second::join);
    await().until(() -> link.hurried == 1);
    link.listener.confirmed(1, false, null);
    link.awaitSent(1);

    await().until(() -> link.hurried == 2);
    link.listener.confirmed(2, false, null);
    assertThat(outcome(waiter).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(outcome(first).verdict()).isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void adaptiveWindow_growsWhileMessagesWait_andBeginsAnewOnAnotherLink() throws Exception {
    var publisher = side.open(settings().withMaxQueued(2_000));
    var link = broker.nextLink();
    publishMany(publisher, 2_000);
    link.awaitSent(16);
    assertThat(publisher.status().inFlight()).isEqualTo(16);

    await()
        .pollInterval(Duration.ofMillis(3))
        .until(
            () -> {
              link.listener.confirmed(0, true, null);
              while (publisher.status().queued() < 1_000) {
                var unused = publisher.tryPublish(text("one more"));
              }
              return publisher.status().window() > 30;
            });
    link.listener.lost(false, "by the test");
    broker.nextLink().awaitSent(16);

    assertThat(publisher.status().window()).isEqualTo(16);
  }

  @Test
  void windowThatDoubled_isTold_butNotTwiceInASecond() throws Exception {
    var publisher = side.open(settings().withMaxQueued(5_000));
    var link = broker.nextLink();
    long start = System.nanoTime();
    publishMany(publisher, 5_000);

    await()
        .pollInterval(Duration.ofMillis(3))
        .until(
            () -> {
              link.listener.confirmed(0, true, null);
              PublisherStatus status = publisher.status();
              return status.queued() + status.inFlight() == 0 && !windowChanges().isEmpty();
            });

    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .isGreaterThanOrEqualTo(Duration.ofSeconds(windowChanges().size() - 1));
    Event.WindowChanged before = null;
    for (Event.WindowChanged change : windowChanges()) {
      assertThat(change.from()).isEqualTo(before == null ? 16 : before.to());
      assertThat(Math.max(change.from(), change.to()))
          .isGreaterThanOrEqualTo(2 * Math.min(change.from(), change.to()));
      before = change;
    }
  }

  private List<Event.WindowChanged> windowChanges() {
    return events.stream()
        .filter(Event.WindowChanged.class::isInstance)
        .map(Event.WindowChanged.class::cast)
        .toList();
  }

  @Test
  void fixedWindow_staysAsItIs() throws Exception {
    var publisher = side.open(settings().withWindow(WindowPolicy.fixed(16)).withMaxQueued(2_000));
    var link = broker.nextLink();
    publishMany(publisher, 1_000);
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(200);

    await()
        .pollInterval(Duration.ofMillis(3))
        .until(
            () -> {
              link.listener.confirmed(0, true, null);
              return System.nanoTime() > end;
            });

    assertThat(publisher.status().window()).isEqualTo(16);
    assertThat(windowChanges()).isEmpty();
  }

  @Test
  void nacksAndThenMultipleConfirm_keepTheNacks() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    List<CompletableFuture<PublishOutcome>> futures = publishMany(publisher, 6);
    link.awaitSent(6);

    link.listener.nacked(2, false, null);
    link.listener.nacked(4, false, "full");
    link.listener.confirmed(6, true, null);

    assertThat(outcome(futures.get(1))).isEqualTo(new Nacked(null, 1));
    assertThat(outcome(futures.get(3))).isEqualTo(new Nacked("full", 1));
    assertThat(outcome(futures.get(5)).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.status().outcomes())
        .containsEntry(Verdict.CONFIRMED, 4L)
        .containsEntry(Verdict.NACKED, 2L);
  }

  @Test
  void answersForWhatIsNotOpen_areCountedAndHarmNothing() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);

    link.listener.confirmed(2, false, null);
    link.listener.confirmed(2, true, null);
    link.listener.nacked(-1, false, null);
    link.listener.confirmed(0, false, null);
    assertThat(future).isNotDone();
    link.listener.confirmed(1, false, null);
    link.listener.confirmed(1, false, null);
    link.listener.confirmed(0, true, null);

    assertThat(outcome(future).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.status().strayAnswers()).isEqualTo(5);
  }

  @Test
  void return_isTheOutcomeOnceTheConfirmComes() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    Message message = text("a");
    var future = publisher.publish(message);
    link.awaitSent(1);

    link.listener.returned(1, 312, "NO_ROUTE", "", "q", true);
    assertThat(future).isNotDone();
    link.listener.confirmed(1, false, null);

    assertThat(outcome(future)).isEqualTo(new Returned(312, "NO_ROUTE", "", "q", message, 1));
  }

  @Test
  void return_standsWhenTheConfirmIsLost() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    var other = publisher.publish(text("b"));
    link.awaitSent(2);

    link.listener.returned(1, 312, "NO_ROUTE", "", "q", true);
    link.listener.lost(true, "reset");

    assertThat(outcome(future).verdict()).isEqualTo(Verdict.RETURNED);
    assertThat(outcome(other)).isEqualTo(new Unknown(Unknown.Cause.CONNECTION_LOST, "reset", 1));
  }

  @Test
  void return_thatIsNoFailure_isNotedInTheConfirm() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);

    link.listener.returned(1, 312, "NO_ROUTE", "delayed", "q", false);
    link.listener.confirmed(1, false, null);

    assertThat(((Confirmed) outcome(future)).returned()).isTrue();
  }

  @Test
  void lostLink_settlesAllOfItBeforeTheNextIsNumbered() throws Exception {
    var publisher = side.open(settings());
    var first = broker.nextLink();
    List<CompletableFuture<PublishOutcome>> old = publishMany(publisher, 5);
    first.awaitSent(5);

    first.listener.lost(false, "404");
    var second = broker.nextLink();
    var fresh = publisher.publish(text("new"));
    second.awaitSent(1);
    first.listener.confirmed(5, true, null); // from the grave
    second.listener.confirmed(1, false, null);

    for (var future : old) {
      assertThat(outcome(future)).isEqualTo(new Unknown(Unknown.Cause.CHANNEL_CLOSED, "404", 1));
    }
    assertThat(((Confirmed) outcome(fresh)).epoch()).isGreaterThan(first.request.epoch());
    assertThat(publisher.status().staleAnswers()).isEqualTo(1);
    assertThat(publisher.status().reopened()).isEqualTo(1);
    assertThat(publisher.status().lastLoss()).isEqualTo("404");
  }

  @Test
  void messagesQueuedWhileRecovering_areSentInOrderAfterwards() throws Exception {
    var publisher = side.open(settings());
    var first = broker.nextLink();
    broker.refuse = true;
    first.listener.lost(true, "gone");
    var futures = publishMany(publisher, 20);
    await().until(() -> events.stream().anyMatch(e -> e instanceof Event.Recovering));
    assertThat(publisher.status().state()).isEqualTo(PublisherStatus.State.RECOVERING);

    broker.confirmAtOnce = true;
    broker.refuse = false;
    var second = broker.nextLink();

    for (int i = 0; i < futures.size(); i++) {
      assertThat(((Confirmed) outcome(futures.get(i))).sequence()).isEqualTo(i + 1);
      assertThat(new String(second.all.get(i).payload(), StandardCharsets.UTF_8))
          .isEqualTo("m" + i);
    }
  }

  @Test
  void queuedTooLong_isNotSent_withWhatHeldIt() throws Exception {
    var publisher = side.open(settings().withMaxWait(Duration.ofMillis(50)).withMaxInFlight(1));
    var link = broker.nextLink();
    await()
        .until(
            () -> { // a sender that is late may find that it has waited too long, too
              var unused = publisher.publish(text("in flight"));
              return link.sent.poll(40, TimeUnit.MILLISECONDS) != null;
            });

    assertThat(notSent(publisher.publish(text("a")))).isEqualTo(NotSent.Reason.QUEUE_FULL);
    link.listener.blocked("low on memory");
    assertThat(notSent(publisher.publish(text("b")))).isEqualTo(NotSent.Reason.CONNECTION_BLOCKED);
    broker.refuse = true;
    link.listener.lost(true, "gone");
    assertThat(notSent(publisher.publish(text("c")))).isEqualTo(NotSent.Reason.RECOVERING);
    assertThat(link.all).hasSize(1);
  }

  private static NotSent.Reason notSent(CompletableFuture<PublishOutcome> future) throws Exception {
    NotSent outcome = (NotSent) outcome(future);
    assertThat(outcome.retry()).isEqualTo(PublishOutcome.Retry.SAFE);
    return outcome.reason();
  }

  @Test
  void blockedConnection_sendsNothingUntilUnblocked() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    assertThat(publisher.status().flow()).isEqualTo(PublisherStatus.Flow.UNKNOWN);
    link.listener.blocked("low on disk");

    var future = publisher.publish(text("a"));
    assertThat(publisher.status().flow()).isEqualTo(PublisherStatus.Flow.BLOCKED);
    assertThat(publisher.status().flowReason()).isEqualTo("low on disk");
    assertThat(publisher.drain(Duration.ofMillis(100))).isEqualTo(1);
    assertThat(link.all).isEmpty();
    link.listener.unblocked();
    link.awaitSent(1);
    link.listener.confirmed(1, false, null);

    assertThat(outcome(future).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.status().flow()).isEqualTo(PublisherStatus.Flow.FREE);
  }

  @Test
  void confirmTimeout_isUnknown_keepsThePlace_andCountsALateConfirm() throws Exception {
    var publisher =
        side.open(settings().withConfirmTimeout(Duration.ofSeconds(3)).withMaxInFlight(1));
    var link = broker.nextLink();
    var first = publisher.publish(text("a"));
    link.awaitSent(1);

    // from here to the late confirm there are as many seconds again: then the link is given up
    assertThat(((Unknown) outcome(first)).cause()).isEqualTo(Unknown.Cause.CONFIRM_TIMEOUT);
    assertThat(publisher.status().inFlight()).isEqualTo(1);
    broker.confirmAtOnce = true;
    var second = publisher.publish(text("b"));
    link.listener.confirmed(1, false, null);

    assertThat(outcome(second).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.status().lateConfirms()).isEqualTo(1);
    assertThat(publisher.status().strayAnswers()).isZero();
  }

  @Test
  void linkThatStaysSilent_isRetired_andPublishingGoesOn() throws Exception {
    var publisher = side.open(settings().withConfirmTimeout(Duration.ofMillis(100)));
    var silent = broker.nextLink();
    var first = publisher.publish(text("a"));
    silent.awaitSent(1);

    assertThat(((Unknown) outcome(first)).cause()).isEqualTo(Unknown.Cause.CONFIRM_TIMEOUT);
    var next = broker.nextLink();
    await().until(() -> silent.aborted);
    broker.confirmAtOnce = true;

    await() // a sender that is stopped between a send and its confirm may be too late for it
        .until(() -> outcome(publisher.publish(text("b"))).verdict() == Verdict.CONFIRMED);
    assertThat(next.request.epoch()).isGreaterThan(silent.request.epoch());
    assertThat(events).anyMatch(e -> e instanceof Event.LinkRetired);
  }

  @Test
  void blockedLink_isNotRetired() throws Exception {
    var publisher = side.open(settings().withConfirmTimeout(Duration.ofMillis(1_500)));
    var link = broker.nextLink();
    link.answer = sequence -> link.listener.blocked("low on memory");
    var first = publisher.publish(text("a"));
    assertThat(((Unknown) outcome(first)).detail()).contains("low on memory");

    await().until(() -> publisher.status().oldestInFlight().toMillis() > 3_200);

    assertThat(broker.links).hasSize(1);
    link.listener.unblocked(); // the answers of what was blocked need some time, too
    await().pollDelay(Duration.ofMillis(100)).until(() -> true);
    assertThat(broker.links).hasSize(1);
    link.listener.confirmed(1, false, null);
    assertThat(publisher.status().lateConfirms()).isEqualTo(1);
  }

  @Test
  void writeThatFails_leavesTheSentUnknown_andOpensAnotherLink() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var first = publisher.publish(text("a"));
    link.awaitSent(1);
    link.failure = new IOException("broken pipe");

    var second = publisher.publish(text("b"));

    assertThat(((Unknown) outcome(first)).cause()).isEqualTo(Unknown.Cause.WRITE_FAILED);
    assertThat(((Unknown) outcome(second)).detail()).contains("broken pipe");
    broker.nextLink();
    await().until(() -> link.aborted);
  }

  @Test
  void whatWasClaimedBehindAWriteThatFails_isSentOnTheNextLink_inItsOrder() throws Exception {
    broker.sendsAtOnce = true;
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var hang = new CountDownLatch(1);
    link.hang = hang;
    var first = waiting(() -> publisher.publish(text("1")).join());
    List<CompletableFuture<PublishOutcome>> others = new ArrayList<>();
    for (int i = 2; i <= 6; i++) {
      others.add(publisher.publish(text(String.valueOf(i))));
    }
    link.failsFrom = 3;
    link.failure = new IOException("broken pipe");
    broker.confirmAtOnce = true;

    hang.countDown();

    assertThat(outcome(first).verdict()).isEqualTo(Verdict.CONFIRMED);
    List<Verdict> verdicts = new ArrayList<>();
    for (var each : others) {
      verdicts.add(outcome(each).verdict());
    }
    assertThat(verdicts)
        .containsExactly(
            Verdict.CONFIRMED,
            Verdict.UNKNOWN,
            Verdict.CONFIRMED,
            Verdict.CONFIRMED,
            Verdict.CONFIRMED);
    assertThat(broker.nextLink().all)
        .extracting(m -> new String(m.payload(), StandardCharsets.UTF_8))
        .containsExactly("4", "5", "6");
    assertThat(publisher.status().queuedBytes()).isZero();
  }

  @Test
  void writeThatHangs_endsInOutcomesInTime() throws Exception {
    var publisher = side.open(settings().withConfirmTimeout(Duration.ofMillis(500)));
    var link = broker.nextLink();
    broker.confirmAtOnce = true; // the one that hangs is never sent
    link.hang = new CountDownLatch(1);
    var first = publisher.publish(text("a"));
    var second = publisher.publish(text("b"));

    assertThat(((Unknown) outcome(first)).cause()).isEqualTo(Unknown.Cause.CONFIRM_TIMEOUT);
    broker.nextLink().awaitSent(1); // the silent one was retired, which ends the write

    assertThat(outcome(second).verdict()).isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void messageThatCannotBeSent_isRefused_andUsesUpNoSequence() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var bad = publisher.publish(Message.builder(new byte[1]).messageId("unsendable").build());
    var good = publisher.publish(text("good"));
    link.awaitSent(1);
    link.listener.confirmed(1, false, null);

    NotSent refused = (NotSent) outcome(bad);
    assertThat(refused.reason()).isEqualTo(NotSent.Reason.INVALID_MESSAGE);
    assertThat(refused.detail()).contains("unsendable");
    assertThat(refused.retry()).isEqualTo(PublishOutcome.Retry.FUTILE);
    assertThat(outcome(good).verdict()).isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void tooLargeMessage_isRefusedAtOnce_withBothSizes() throws Exception {
    var publisher = side.open(settings().withMaxMessageBytes(10));

    var future = publisher.publish(Message.of(new byte[11]));

    assertThat(future).isDone();
    assertThat(((NotSent) outcome(future)).detail()).contains("11").contains("10");
    assertThat(((NotSent) outcome(future)).reason()).isEqualTo(NotSent.Reason.MESSAGE_TOO_LARGE);
  }

  @Test
  void fullQueue_refusesTryPublishAtOnce_andPublishAfterMaxBlock() throws Exception {
    var publisher =
        side.open(
            settings().withMaxInFlight(1).withMaxQueued(2).withMaxBlock(Duration.ofMillis(50)));
    var link = broker.nextLink();
    publisher.publish(text("in flight"));
    link.awaitSent(1);
    publisher.publish(text("queued"));
    publisher.publish(text("queued"));

    var tried = publisher.tryPublish(text("a"));
    assertThat(tried).isDone();
    assertThat(((NotSent) outcome(tried)).reason()).isEqualTo(NotSent.Reason.QUEUE_FULL);
    var waited = publisher.publish(text("b"));
    assertThat(((NotSent) outcome(waited)).reason()).isEqualTo(NotSent.Reason.QUEUE_FULL);
  }

  @Test
  void publish_waitsForRoom_andGoesOnWhenThereIs() throws Exception {
    var publisher = side.open(settings().withMaxInFlight(1).withMaxQueued(1));
    var link = broker.nextLink();
    publisher.publish(text("in flight"));
    link.awaitSent(1);
    publisher.publish(text("queued"));
    var future = waiting(() -> publisher.publish(text("waits")));
    assertThat(future).isNotDone();

    broker.confirmAtOnce = true;
    link.listener.confirmed(1, false, null);

    assertThat(outcome(future.get(10, TimeUnit.SECONDS)).verdict()).isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void interruptedPublish_isNotSent_andKeepsTheInterrupt() throws Exception {
    var publisher = side.open(settings().withMaxInFlight(1).withMaxQueued(1));
    var link = broker.nextLink();
    publisher.publish(text("in flight"));
    link.awaitSent(1);
    publisher.publish(text("queued"));
    var outcome = new CompletableFuture<PublishOutcome>();
    var kept = new AtomicReference<Boolean>();
    Thread caller =
        new Thread(
            () -> {
              outcome.complete(publisher.publish(text("waits")).join());
              kept.set(Thread.currentThread().isInterrupted());
            });
    caller.start();
    await().until(() -> caller.getState() == Thread.State.TIMED_WAITING);

    caller.interrupt();
    caller.join(10_000);

    assertThat(((NotSent) outcome.getNow(new Nacked(null, 1))).reason())
        .isEqualTo(NotSent.Reason.INTERRUPTED);
    assertThat(kept.get()).isTrue();
  }

  // ---------------------------------------------------------------------------- threads that wait

  /** Runs a wait on a thread of its own, and returns once that is parked, or over. */
  private static CompletableFuture<Object> waitingFor(Callable<?> wait) {
    var result = new CompletableFuture<Object>();
    Thread thread =
        new Thread(
            () -> {
              try {
                result.complete(wait.call());
              } catch (Throwable e) {
                result.complete(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    await()
        .pollInterval(Duration.ofMillis(1))
        .until(
            () ->
                result.isDone()
                    || thread.getState() == Thread.State.WAITING
                    || thread.getState() == Thread.State.TIMED_WAITING);
    return result;
  }

  @Test
  void severalThatWait_allGetTheOutcome_inWhateverWayTheyWait() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);
    List<CompletableFuture<Object>> all =
        List.of(
            waitingFor(future::join),
            waitingFor(future::get),
            waitingFor(() -> future.get(1, TimeUnit.MINUTES)),
            waitingFor(() -> future.thenApply(o -> o).join()));

    link.listener.confirmed(1, false, null);

    for (var each : all) {
      assertThat(each.get(10, TimeUnit.SECONDS)).isInstanceOf(Confirmed.class);
    }
  }

  @Test
  void whoeverLooks_seesTheFutureDone_whenItsPublisherSaysSo() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    for (int i = 1; i <= 50; i++) {
      var future = publisher.publish(text("a"));
      link.awaitSent(1);
      CompletableFuture<Object> waits = waitingFor(future::join);

      link.listener.confirmed(i, false, null);

      assertThat(publisher.drain(Duration.ofSeconds(10))).isZero();
      assertThat(future).isDone();
      assertThat(future.getNow(new NotSent(NotSent.Reason.CLOSED, "", 1)))
          .isInstanceOf(Confirmed.class);
      assertThat(waits.get(10, TimeUnit.SECONDS)).isInstanceOf(Confirmed.class);
    }
  }

  @Test
  void continuation_ofAFutureThatIsWaitedFor_neverRunsOnTheClientsThread() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);
    var ranOn = future.thenApply(o -> Thread.currentThread());
    CompletableFuture<Object> waits = waitingFor(future::join);

    link.listener.confirmed(1, false, null); // this is the client's thread here

    assertThat(ranOn.get(10, TimeUnit.SECONDS)).isNotSameAs(Thread.currentThread());
    assertThat(waits.get(10, TimeUnit.SECONDS)).isInstanceOf(Confirmed.class);
  }

  @Test
  void whoGaveUpWaiting_isNotReliedOn() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);
    assertThatThrownBy(() -> future.get(1, TimeUnit.MILLISECONDS))
        .isInstanceOf(TimeoutException.class);
    Thread.currentThread().interrupt();
    assertThatThrownBy(future::get).isInstanceOf(InterruptedException.class);
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
    var ranOn = future.thenApply(o -> Thread.currentThread().getName());

    link.listener.confirmed(1, false, null);

    assertThat(ranOn.get(10, TimeUnit.SECONDS)).startsWith("floatvalve-completion");
  }

  @Test
  void whoWaits_getsWhatTheCallerCompletesTheFutureWith() throws Exception {
    var publisher = side.open(settings());
    var byValue = publisher.publish(text("a"));
    var byCancel = publisher.publish(text("b"));
    var byTimeout = publisher.publish(text("c"));
    CompletableFuture<Object> value = waitingFor(byValue::join);
    CompletableFuture<Object> cancelled = waitingFor(byCancel::join);
    CompletableFuture<Object> timedOut = waitingFor(byTimeout::join);

    var own = new NotSent(NotSent.Reason.CLOSED, "by the caller", 1);
    byValue.complete(own);
    byCancel.cancel(false);
    var unused = byTimeout.orTimeout(1, TimeUnit.MILLISECONDS);

    assertThat(value.get(10, TimeUnit.SECONDS)).isSameAs(own);
    assertThat(cancelled.get(10, TimeUnit.SECONDS)).isInstanceOf(CancellationException.class);
    assertThat(timedOut.get(10, TimeUnit.SECONDS)).isInstanceOf(CompletionException.class);
  }

  @Test
  void whoWaits_isWokenByLossAndTimeoutAndClose() throws Exception {
    var publisher = side.open(settings().withConfirmTimeout(Duration.ofMillis(50)));
    var link = broker.nextLink();
    var lost = publisher.publish(text("a"));
    link.awaitSent(1);
    CompletableFuture<Object> waitsForLoss = waitingFor(lost::join);
    link.listener.lost(true, "cable");
    assertThat(waitsForLoss.get(10, TimeUnit.SECONDS)).isInstanceOf(Unknown.class);

    var silent = publisher.publish(text("b"));
    CompletableFuture<Object> waitsForAnswer = waitingFor(silent::join);
    assertThat(waitsForAnswer.get(10, TimeUnit.SECONDS)).isInstanceOf(Unknown.class);

    var patient = side.open(settings().withConfirmTimeout(Duration.ofMinutes(1)));
    var open = patient.publish(text("c"));
    CompletableFuture<Object> waitsForClose = waitingFor(open::join);
    patient.close();
    assertThat(waitsForClose.get(10, TimeUnit.SECONDS)).isInstanceOf(PublishOutcome.class);
  }

  @Test
  void continuation_thatPublishesAndWaits_doesNotDeadlock() throws Exception {
    broker.confirmAtOnce = true;
    var publisher = side.open(settings());
    List<CompletableFuture<Verdict>> nested = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      nested.add(
          publisher
              .publish(text("outer"))
              .thenApply(o -> publisher.publish(text("inner")).join().verdict()));
    }

    for (var each : nested) {
      assertThat(each.get(10, TimeUnit.SECONDS)).isEqualTo(Verdict.CONFIRMED);
    }
  }

  @Test
  void continuation_thatBlocks_delaysNoOther() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var release = new CountDownLatch(1);
    var stuck =
        publisher.publish(text("stuck")).thenAccept(o -> assertThat(awaited(release)).isTrue());
    link.awaitSent(1);
    link.listener.confirmed(1, false, null);
    broker.confirmAtOnce = true;

    // With continuations of their own, so that it is not for the waiting thread to complete them.
    for (int i = 0; i < 50; i++) {
      assertThat(outcome(publisher.publish(text("next")).thenApply(o -> o)).verdict())
          .isEqualTo(Verdict.CONFIRMED);
    }
    assertThat(stuck).isNotDone();
    await().until(() -> events.stream().anyMatch(e -> e instanceof Event.CallbackStuck));
    release.countDown();
    stuck.get(10, TimeUnit.SECONDS);
  }

  private static boolean awaited(CountDownLatch latch) {
    try {
      return latch.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      return false;
    }
  }

  @Test
  void continuation_thatThrows_harmsNothing() throws Exception {
    broker.confirmAtOnce = true;
    var publisher = side.open(settings());
    var failed =
        publisher
            .publish(text("a"))
            .thenAccept(
                o -> {
                  throw new StackOverflowError("by the test");
                });

    assertThat(outcome(publisher.publish(text("b"))).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThatThrownBy(() -> failed.get(10, TimeUnit.SECONDS))
        .hasCauseInstanceOf(StackOverflowError.class);
  }

  @Test
  void continuation_neverWaitsForRoom() throws Exception {
    var publisher = side.open(settings().withMaxInFlight(1).withMaxQueued(1));
    var link = broker.nextLink();
    var inner = new CompletableFuture<PublishOutcome>();
    var outer =
        publisher
            .publish(text("outer"))
            .thenAccept(
                o -> {
                  publisher.publish(text("fills the window"));
                  awaitState(publisher, 0);
                  publisher.publish(text("fills the queue"));
                  var unused = publisher.publish(text("no room")).thenAccept(inner::complete);
                });
    link.awaitSent(1);

    link.listener.confirmed(1, false, null);
    outer.get(20, TimeUnit.SECONDS);

    assertThat(((NotSent) outcome(inner)).reason()).isEqualTo(NotSent.Reason.QUEUE_FULL);
  }

  private static void awaitState(Publisher publisher, long queued) {
    await().until(() -> publisher.status().queued() == queued);
  }

  @Test
  void futuresCompletedByTheCaller_changeNothingElse() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);
    future.cancel(true);

    assertThat(publisher.drain(Duration.ofMillis(50))).isEqualTo(1);
    link.listener.confirmed(1, false, null);

    assertThat(publisher.drain(Duration.ofSeconds(10))).isZero();
    assertThat(publisher.status().outcomes()).containsEntry(Verdict.CONFIRMED, 1L);
  }

  @Test
  void drain_waitsForWhatWasPublishedBefore_andForNothingElse() throws Exception {
    var publisher = side.open(settings());
    var link = broker.nextLink();
    publishMany(publisher, 3);
    link.awaitSent(3);
    var drained = waiting(() -> publisher.drain(Duration.ofSeconds(20)));
    assertThat(drained).isNotDone();
    link.listener.confirmed(2, true, null);
    assertThat(drained).isNotDone();

    link.listener.confirmed(3, false, null);

    assertThat(drained.get(20, TimeUnit.SECONDS)).isZero();
    publisher.publish(text("later"));
    assertThat(publisher.drain(Duration.ZERO)).isEqualTo(1);
  }

  @Test
  void close_settlesQueuedAndSentApart() throws Exception {
    var publisher = side.open(settings().withMaxInFlight(2));
    var link = broker.nextLink();
    var futures = publishMany(publisher, 5);
    link.awaitSent(2);

    publisher.close();

    for (int i = 0; i < 2; i++) {
      assertThat(futures.get(i)).isDone();
      assertThat(((Unknown) outcome(futures.get(i))).cause())
          .isEqualTo(Unknown.Cause.PUBLISHER_CLOSED);
    }
    for (int i = 2; i < 5; i++) {
      assertThat(((NotSent) outcome(futures.get(i))).reason()).isEqualTo(NotSent.Reason.CLOSED);
    }
    assertThat(((NotSent) outcome(publisher.publish(text("late")))).reason())
        .isEqualTo(NotSent.Reason.CLOSED);
    assertThat(link.aborted).isTrue();
  }

  @Test
  void close_whenAllIsAnswered_isOrderly() throws Exception {
    broker.confirmAtOnce = true;
    var publisher = side.open(settings().withCloseTimeout(Duration.ofSeconds(20)));
    var link = broker.nextLink();
    var futures = publishMany(publisher, 100);

    publisher.close();
    publisher.close();

    assertThat(futures).allMatch(CompletableFuture::isDone);
    assertThat(publisher.status().outcomes()).containsEntry(Verdict.CONFIRMED, 100L);
    assertThat(link.closed).isTrue();
    assertThat(link.aborted).isFalse();
  }

  @Test
  void close_letsCallersThatWaitForRoomGo() throws Exception {
    var publisher = side.open(settings().withMaxInFlight(1).withMaxQueued(1));
    broker.nextLink().awaitSent(0);
    publisher.publish(text("in flight"));
    await().until(() -> publisher.status().inFlight() == 1);
    publisher.publish(text("queued"));
    var waiting = waiting(() -> publisher.publish(text("waits")).join());
    assertThat(waiting).isNotDone();

    publisher.close();

    assertThat(((NotSent) waiting.get(10, TimeUnit.SECONDS)).reason())
        .isEqualTo(NotSent.Reason.CLOSED);
  }

  @Test
  void opening_failsAsTheBrokerDoes() {
    broker.refuse = true;

    assertThatThrownBy(() -> side.open(settings()))
        .isInstanceOf(MessagingException.class)
        .hasMessage("refused by the test");
  }

  @Test
  void publishAll_sumsUp() throws Exception {
    broker.confirmAtOnce = true;
    var publisher = side.open(settings().withMaxMessageBytes(3));

    PublishSummary summary =
        publisher
            .publishAll(List.of(text("a"), text("large"), text("c")))
            .get(10, TimeUnit.SECONDS);

    assertThat(summary.total()).isEqualTo(3);
    assertThat(summary.count(Verdict.CONFIRMED)).isEqualTo(2);
    assertThat(summary.failures()).singleElement().matches(f -> f.index() == 1);
    assertThat(publisher.publishAll(List.of()).get(1, TimeUnit.SECONDS).allConfirmed()).isTrue();
  }

  @Test
  void twoPublishers_shareTheSender_andDoNotDisturbEachOther() throws Exception {
    var one = side.open(settings());
    var two = side.open(settings());
    var linkOne = broker.nextLink();
    var linkTwo = broker.nextLink();

    var first = one.publish(text("a"));
    var second = two.publish(text("b"));
    linkOne.awaitSent(1);
    linkTwo.awaitSent(1);
    linkTwo.listener.confirmed(1, false, null);

    assertThat(outcome(second).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(first).isNotDone();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void manyThreadsAndRandomAnswers_endInExactlyOneOutcomeEach(int seed) throws Exception {
    var settings = settings().withMaxInFlight(50).withMaxQueued(100).withMaxInFlightBytes(4_000);
    if (seed % 2 == 0) {
      settings = settings.withRetry(retries(3).afterNacked().afterUnknown().afterNotSent());
    }
    broker.sendsAtOnce = seed > 2;
    var publisher = side.open(settings);
    Thread reader = new Thread(() -> answerAtRandom(seed, publisher), "answers");
    reader.start();
    int threads = 4;
    int each = 5_000;
    var outcomes = new ConcurrentLinkedQueue<PublishOutcome>();
    var completions = new AtomicInteger();
    List<Thread> callers = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      Thread caller =
          new Thread(
              () -> {
                for (int i = 0; i < each; i++) {
                  var unused =
                      publisher
                          .publish(Message.of(new byte[i % 200]))
                          .thenAccept(
                              o -> {
                                outcomes.add(o);
                                completions.incrementAndGet();
                              });
                }
              });
      caller.start();
      callers.add(caller);
    }
    for (Thread caller : callers) {
      caller.join(30_000);
    }

    assertThat(publisher.drain(Duration.ofSeconds(20))).isZero();
    await().until(() -> completions.get() == threads * each);
    reader.interrupt();
    reader.join(10_000);
    assertThat(outcomes).hasSize(threads * each);
    PublisherStatus status = publisher.status();
    assertThat(status.outcomes().values().stream().mapToLong(Long::longValue).sum())
        .isEqualTo(threads * each);
    for (Unknown.Cause cause : Unknown.Cause.values()) {
      assertThat(status.unknownBy().get(cause))
          .as(cause.name())
          .isEqualTo(
              outcomes.stream().filter(o -> o instanceof Unknown u && u.cause() == cause).count());
    }
    assertThat(status.unknownBy().values().stream().mapToLong(Long::longValue).sum())
        .isEqualTo(status.outcomes().get(Verdict.UNKNOWN));
    assertThat(status.notSentBy().values().stream().mapToLong(Long::longValue).sum())
        .isEqualTo(status.outcomes().get(Verdict.NOT_SENT));
    assertThat(status.inFlight()).isZero();
    assertThat(status.inFlightBytes()).isZero();
    assertThat(status.queued()).isZero();
    assertThat(status.queuedBytes()).isZero();
    Set<String> receipts = new HashSet<>();
    for (PublishOutcome outcome : outcomes) {
      if (outcome instanceof Confirmed confirmed) {
        assertThat(receipts.add(confirmed.receipt())).as(confirmed.receipt()).isTrue();
      }
    }
  }

  /** Confirms, nacks, returns and loses at random until interrupted. */
  private void answerAtRandom(int seed, Publisher publisher) {
    var random = new Random(seed);
    try {
      FakeBroker.Link link = broker.nextLink();
      long answered = 0;
      while (!Thread.currentThread().isInterrupted()) {
        long last = link.lastSequence;
        if (last == answered) {
          Thread.onSpinWait();
          continue;
        }
        long to = answered + 1 + random.nextInt((int) (last - answered));
        int kind = random.nextInt(1_000);
        if (kind < 2) {
          link.listener.lost(kind == 0, "by the test");
          link = broker.nextLink();
          answered = 0;
        } else if (kind < 100) {
          link.listener.nacked(to, true, null);
          answered = to;
        } else if (kind < 200) {
          link.listener.returned(to, 312, "NO_ROUTE", "", "q", true);
          link.listener.confirmed(to, false, null);
          link.listener.confirmed(to, true, null);
          answered = to;
        } else {
          for (long s = to; s > answered; s--) {
            link.listener.confirmed(s, false, null);
          }
          answered = to;
        }
      }
    } catch (InterruptedException e) {
      assertThat(publisher.status().state()).isNotNull();
    }
  }

  @Test
  void thousandsOfContinuations_thatEachWaitForAPublish_allFinish() throws Exception {
    var publisher = side.open(settings().withMaxQueued(10_000).withMaxInFlight(10_000));
    var link = broker.nextLink();
    List<CompletableFuture<Verdict>> nested = new ArrayList<>();
    for (int i = 0; i < 3_000; i++) {
      nested.add(
          publisher
              .publish(text("outer"))
              .thenApply(o -> publisher.publish(text("inner")).join().verdict()));
    }
    link.awaitSent(3_000);

    broker.confirmAtOnce = true;
    link.listener.confirmed(3_000, true, null);

    for (var each : nested) {
      assertThat(each.get(30, TimeUnit.SECONDS)).isEqualTo(Verdict.CONFIRMED);
    }
  }

  @Test
  void secondCloser_waitsForTheFirst_andCutsNothingShort() throws Exception {
    var publisher = side.open(settings().withCloseTimeout(Duration.ofSeconds(20)));
    var link = broker.nextLink();
    var futures = publishMany(publisher, 10);
    link.awaitSent(10);
    var first = waiting(publisher::close);
    await().until(() -> publisher.status().state() == PublisherStatus.State.CLOSING);
    var second = waiting(publisher::close);
    var third = waiting(side::close);
    await().pollDelay(Duration.ofMillis(100)).until(() -> true);
    assertThat(second).isNotDone();
    assertThat(third).isNotDone();

    link.listener.confirmed(0, true, null);

    for (var closer : List.of(first, second, third)) {
      closer.get(10, TimeUnit.SECONDS);
    }
    for (var future : futures) {
      assertThat(outcome(future).verdict()).isEqualTo(Verdict.CONFIRMED);
    }
  }

  @Test
  void interruptedCloser_takesItsTime_andKeepsTheInterrupt() throws Exception {
    var publisher = side.open(settings().withCloseTimeout(Duration.ofSeconds(20)));
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);
    var kept = new CompletableFuture<Boolean>();
    Thread closer =
        new Thread(
            () -> {
              Thread.currentThread().interrupt();
              publisher.close();
              kept.complete(Thread.currentThread().isInterrupted());
            });
    closer.start();
    await().until(() -> closer.getState() == Thread.State.TIMED_WAITING);
    closer.interrupt();

    link.listener.confirmed(1, false, null);

    assertThat(kept.get(10, TimeUnit.SECONDS)).isTrue();
    assertThat(outcome(future).verdict()).isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void callerThatWaits_comesBeforeThoseThatTry() throws Exception {
    var publisher = side.open(settings().withMaxInFlight(1).withMaxQueued(10));
    var link = broker.nextLink();
    publishMany(publisher, 11);
    link.awaitSent(1);
    var waiting = waiting(() -> publisher.publish(text("waits")));
    long tag = 0;
    while (!waiting.isDone()) {
      var unused = publisher.tryPublish(text("tries"));
      link.listener.confirmed(++tag, false, null);
      link.awaitSent(1);
      assertThat(tag).as("confirms until the waiting caller got in").isLessThan(100_000);
    }

    assertThat(waiting.get(10, TimeUnit.SECONDS).isDone()).isFalse(); // it is queued, not refused
  }

  @Test
  void messageThatBreaksTheAdapter_isRefusedAlone() throws Exception {
    broker.confirmAtOnce = true;
    var publisher = side.open(settings());
    var bad = publisher.publish(Message.builder(new byte[1]).messageId("overflow").build());
    var good = publisher.publish(text("good"));

    assertThat(((NotSent) outcome(bad)).reason()).isEqualTo(NotSent.Reason.INVALID_MESSAGE);
    assertThat(outcome(good).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.status().reopened()).isZero();
  }

  @Test
  void drainForEver_isNoError() {
    var publisher = side.open(settings());

    assertThat(publisher.drain(Duration.ofSeconds(Long.MAX_VALUE))).isZero();
    assertThat(side.drain(Duration.ofSeconds(Long.MAX_VALUE))).isZero();
  }

  private static RetryPolicy retries(int attempts) {
    return RetryPolicy.upTo(attempts).withBackoff(Duration.ofMillis(1), Duration.ofMillis(1));
  }

  @Test
  void nacked_isSentAgainWhereAskedFor_andTheOutcomeCountsTheAttempts() throws Exception {
    var publisher = side.open(settings().withRetry(retries(3).afterNacked()));
    var link = broker.nextLink();
    Message message = text("a");
    var confirmedAtLast = publisher.publish(message);
    link.awaitSent(1);
    link.listener.nacked(1, false, "full");
    link.awaitSent(1);
    assertThat(confirmedAtLast).isNotDone();
    link.listener.confirmed(2, false, null);

    assertThat(outcome(confirmedAtLast))
        .isInstanceOfSatisfying(Confirmed.class, c -> assertThat(c.attempts()).isEqualTo(2));
    assertThat(link.all).allMatch(m -> m == message);

    var nackedThrice = publisher.publish(text("b"));
    for (int tag = 3; tag <= 5; tag++) {
      link.awaitSent(1);
      link.listener.nacked(tag, false, "full");
    }
    assertThat(outcome(nackedThrice)).isEqualTo(new Nacked("full", 3));
    assertThat(link.all).hasSize(5);
    assertThat(publisher.status().queued()).isZero();
    assertThat(publisher.status().queuedBytes()).isZero();
    assertThat(publisher.status().retried()).isEqualTo(3);
  }

  @Test
  void nothing_isSentAgainUnlessAskedFor() throws Exception {
    var publisher = side.open(settings().withRetry(retries(5).afterUnknown()));
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);

    link.listener.nacked(1, false, null);

    assertThat(outcome(future)).isEqualTo(new Nacked(null, 1));
  }

  @Test
  void lost_isSentAgainOnTheNextLink_beforeWhatWaits_inOrder() throws Exception {
    var publisher = side.open(settings().withRetry(retries(3).afterUnknown()).withMaxInFlight(3));
    var first = broker.nextLink();
    var futures = publishMany(publisher, 6);
    first.awaitSent(3);
    broker.refuse = true;
    first.listener.lost(true, "reset");
    await().until(() -> publisher.status().queued() == 6);

    broker.confirmAtOnce = true;
    broker.refuse = false;
    var second = broker.nextLink();

    for (int i = 0; i < 6; i++) {
      int attempts = i < 3 ? 2 : 1;
      assertThat(outcome(futures.get(i)).verdict()).isEqualTo(Verdict.CONFIRMED);
      assertThat(outcome(futures.get(i)).attempts()).isEqualTo(attempts);
      assertThat(new String(second.all.get(i).payload(), StandardCharsets.UTF_8))
          .isEqualTo("m" + i);
    }
  }

  @Test
  void unknownOnce_staysUnknown_whateverTheLaterRefusals() throws Exception {
    var publisher = side.open(settings().withRetry(retries(3).afterUnknown().afterNacked()));
    var first = broker.nextLink();
    var future = publisher.publish(text("a"));
    first.awaitSent(1);
    first.listener.lost(true, "reset");
    var second = broker.nextLink();
    second.awaitSent(1);
    second.listener.nacked(1, false, "full");
    second.awaitSent(1);
    second.listener.nacked(2, false, "full");

    assertThat(outcome(future)).isEqualTo(new Unknown(Unknown.Cause.CONNECTION_LOST, "reset", 3));
  }

  @Test
  void timedOut_isSentAgain_andALateConfirmOfTheFirstCounts() throws Exception {
    var publisher =
        side.open(
            settings()
                .withConfirmTimeout(Duration.ofSeconds(3)) // and as many until the link is given up
                .withMaxInFlight(2)
                .withRetry(retries(2).afterUnknown()));
    var link = broker.nextLink();
    var inFlight = new CompletableFuture<Integer>();
    link.answer =
        sequence -> {
          if (sequence == 2) {
            inFlight.complete(publisher.status().inFlight());
            link.listener.confirmed(1, false, null);
            link.listener.nacked(2, false, "full");
          }
        };

    var future = publisher.publish(text("a"));

    assertThat(inFlight.get(20, TimeUnit.SECONDS)).isEqualTo(2);
    assertThat(outcome(future))
        .isInstanceOfSatisfying(Confirmed.class, c -> assertThat(c.sequence()).isEqualTo(1));
    assertThat(publisher.status().inFlight()).isZero();
    assertThat(publisher.status().lateConfirms()).isEqualTo(1);
  }

  @Test
  void close_endsWhatIsToBeSentAgain() throws Exception {
    var publisher =
        side.open(
            settings()
                .withRetry(
                    RetryPolicy.upTo(3)
                        .afterNacked()
                        .withBackoff(Duration.ofMinutes(1), Duration.ofMinutes(1))));
    var link = broker.nextLink();
    var future = publisher.publish(text("a"));
    link.awaitSent(1);
    link.listener.nacked(1, false, "full");

    publisher.close();

    assertThat(outcome(future)).isEqualTo(new Nacked("full", 1));
  }

  @Test
  void waitedTooLong_goesOnWaitingWhereAskedFor() throws Exception {
    var publisher =
        side.open(
            settings().withMaxWait(Duration.ofMillis(100)).withRetry(retries(100).afterNotSent()));
    var link = broker.nextLink();
    link.listener.blocked("low on memory");
    var future = publisher.publish(text("a"));
    await().until(() -> publisher.status().queued() == 1 && ((Pending) future).attempt() > 1);

    broker.confirmAtOnce = true;
    link.listener.unblocked();

    assertThat(outcome(future).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(outcome(future).attempts()).isGreaterThan(1);
  }

  private static List<CompletableFuture<PublishOutcome>> publishMany(
      Publisher publisher, int count) {
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      futures.add(publisher.publish(text("m" + i)));
    }
    return futures;
  }
}
