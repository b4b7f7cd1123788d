package io.floatvalve.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.awaitility.Awaitility.await;

import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Retry;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.PublishSummary;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What publishing does on every broker while nothing is wrong with it. An adapter extends this and
 * shows its broker; the tests are then run as its own.
 */
@Timeout(180)
public abstract class PublisherContract {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static final LastEnd LAST = new LastEnd(LIMIT);

  private Rig rig;

  /** Makes the tests. */
  protected PublisherContract() {}

  /** Returns the broker to test on, the same or another for each test. */
  protected abstract BrokerUnderTest broker() throws Exception;

  @BeforeEach
  final void openRig() throws Exception {
    rig = new Rig(broker());
  }

  @AfterEach
  final void closeRig() throws Exception {
    LAST.then(rig::end);
  }

  @AfterAll
  static void awaitEnd() throws Exception {
    LAST.await();
  }

  private static PublishOutcome outcome(CompletableFuture<PublishOutcome> future) throws Exception {
    return future.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  private static void awaitAll(List<CompletableFuture<PublishOutcome>> futures) throws Exception {
    CompletableFuture.allOf(futures.toArray(CompletableFuture<?>[]::new))
        .get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  private static List<String> names(String name, int count) {
    return IntStream.range(0, count).mapToObj(i -> name + "-" + i).toList();
  }

  // ------------------------------------------------------------------------- outcomes and order

  @Test
  void everyMessageOfOneThread_isConfirmed_andStoredOnceInItsOrder() throws Exception {
    Load load = new Load();
    Publisher publisher = rig.publisher();

    awaitAll(load.publish(publisher, "m", 3_000));

    load.assertAll(Verdict.CONFIRMED, 3_000);
    assertThat(rig.stored()).isEqualTo(names("m", 3_000));
  }

  @Test
  void outcomesOfManyThreads_areOneEach_andEachThreadsOrderIsKept() throws Exception {
    Load load = new Load();
    Publisher publisher = rig.publisher();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      String name = "t" + t;
      Thread thread = new Thread(() -> load.publish(publisher, name, 300));
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }

    assertThat(publisher.drain(LIMIT)).isZero();
    List<String> stored = rig.stored();
    load.assertTrue(stored);
    Load.assertOnceInOrder(stored);
    assertThat(stored).hasSize(2_400);
  }

  @Test
  void publishersThatShareAQuota_stayUnderItTogether_inTheirOrders() throws Exception {
    QuotaPolicy quota =
        QuotaPolicy.none().withHeadroom(1).withPublish(Scope.CLUSTER, Quota.messagesPerSecond(200));
    Load load = new Load();
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    List<Publisher> publishers = new ArrayList<>();
    for (int p = 0; p < 2; p++) {
      publishers.add(rig.publisher(settings -> settings.withQuota(quota)));
    }
    long began = System.nanoTime();
    for (int p = 0; p < 2; p++) {
      futures.addAll(load.publish(publishers.get(p), "p" + p, 150));
    }

    awaitAll(futures);

    // 300 take a second and the half of another, less what each cycle may begin with
    assertThat(System.nanoTime() - began).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(1_400));
    load.assertAll(Verdict.CONFIRMED, 300);
    assertThat(quota.status().scopes().get(0).messages()).isEqualTo(300);
    List<String> stored = rig.stored();
    load.assertTrue(stored);
    Load.assertOnceInOrder(stored);
  }

  @Test
  void delayThatIsOver_isNoneWhereThereIsAQuota() throws Exception {
    QuotaPolicy quota =
        QuotaPolicy.none().withPublish(Scope.CLUSTER, Quota.messagesPerSecond(1_000));
    Publisher publisher = rig.publisher(settings -> settings.withQuota(quota));
    Message message = Load.message("m-0").toBuilder().delay(Duration.ZERO).build();

    PublishOutcome outcome = outcome(publisher.publish(message));

    assertThat(outcome.verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(quota.status().delaysStripped()).isEqualTo(1);
    assertThat(rig.stored()).containsExactly("m-0");
  }

  @Test
  void manyPublishers_shareOneMessaging() throws Exception {
    Load load = new Load();
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int p = 0; p < 4; p++) {
      futures.addAll(load.publish(rig.publisher(), "p" + p, 200));
    }

    awaitAll(futures);

    List<String> stored = rig.stored();
    load.assertTrue(stored);
    Load.assertOnceInOrder(stored);
    assertThat(stored).hasSize(800);
  }

  @Test
  void anOutcome_saysHowOftenItWasTried_andHowLongItTook() throws Exception {
    PublishOutcome outcome = outcome(rig.publisher().publish(Load.message("m-0")));

    assertThat(outcome.attempts()).isEqualTo(1);
    assertThat(outcome.retry()).isEqualTo(Retry.NEEDLESS);
    assertThat(outcome.orElseThrow().latency()).isBetween(Duration.ofNanos(1), LIMIT);
    assertThat(outcome.orElseThrow().receipt()).isNotBlank();
  }

  @Test
  void publishAll_sumsUpWhatBecameOfEach() throws Exception {
    List<Message> messages = new ArrayList<>();
    for (String name : names("m", 100)) {
      messages.add(Load.message(name));
    }
    messages.set(50, rig.invalid());

    PublishSummary summary =
        rig.publisher().publishAll(messages).get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertThat(summary.count(Verdict.CONFIRMED)).isEqualTo(99);
    assertThat(summary.failures())
        .singleElement()
        .satisfies(
            failure -> {
              assertThat(failure.index()).isEqualTo(50);
              assertThat(failure.message()).isSameAs(messages.get(50));
            });
    assertThat(rig.stored()).hasSize(99);
  }

  @Test
  void theStatus_countsEveryOutcome_andIsEmptyAtTheEnd() throws Exception {
    Publisher publisher = rig.publisher();
    awaitAll(new Load().publish(publisher, "m", 500));

    PublisherStatus status = publisher.status();

    assertThat(status.state()).isEqualTo(PublisherStatus.State.OPEN);
    assertThat(status.outcomes()).containsEntry(Verdict.CONFIRMED, 500L);
    assertThat(status.inFlight()).isZero();
    assertThat(status.inFlightBytes()).isZero();
    assertThat(status.queued()).isZero();
    assertThat(status.strayAnswers()).isZero();
  }

  // --------------------------------------------------------------------------- refused locally

  @Test
  void whatCannotBeSent_isRefusedWithoutTheBroker_andItsNeighboursAreConfirmed() throws Exception {
    Publisher publisher = rig.publisher(settings -> settings.withMaxMessageBytes(1_000));
    Load load = new Load();
    List<CompletableFuture<PublishOutcome>> futures =
        new ArrayList<>(load.publish(publisher, "a", 20));
    CompletableFuture<PublishOutcome> large = publisher.publish(Message.of(new byte[1_001]));
    CompletableFuture<PublishOutcome> invalid = publisher.publish(rig.invalid());
    futures.addAll(load.publish(publisher, "b", 20));
    awaitAll(futures);

    assertThat(outcome(large))
        .isInstanceOfSatisfying(
            NotSent.class,
            end -> {
              assertThat(end.reason()).isEqualTo(NotSent.Reason.MESSAGE_TOO_LARGE);
              assertThat(end.retry()).isEqualTo(Retry.FUTILE);
              assertThat(end.detail()).contains("1001").contains("1000");
            });
    assertThat(outcome(invalid))
        .isInstanceOfSatisfying(
            NotSent.class,
            end -> {
              assertThat(end.reason()).isEqualTo(NotSent.Reason.INVALID_MESSAGE);
              assertThat(end.retry()).isEqualTo(Retry.FUTILE);
              assertThat(end.detail()).isNotBlank();
            });
    List<String> all = new ArrayList<>(names("a", 20));
    all.addAll(names("b", 20));
    assertThat(rig.stored()).isEqualTo(all);
  }

  @Test
  @SuppressWarnings("NullAway") // null is what is to be refused
  void noMessage_isMisuse() {
    Publisher publisher = rig.publisher();

    assertThatNullPointerException().isThrownBy(() -> publisher.publish(null));
  }

  @Test
  void anEmptyPayload_isAMessage() throws Exception {
    assertThat(outcome(rig.publisher().publish(Message.of(new byte[0]))).verdict())
        .isEqualTo(Verdict.CONFIRMED);
    assertThat(rig.stored()).containsExactly("");
  }

  // ------------------------------------------------------------------------------- a full queue

  @Test
  void aFullQueue_refusesAtOnceOrAfterMaxBlock_andWhatWasTakenIsSent() throws Exception {
    Publisher publisher =
        rig.publisher(
            settings ->
                settings
                    .withMaxInFlight(2)
                    .withMaxQueued(3)
                    .withMaxBlock(Duration.ofMillis(300))
                    .withConfirmTimeout(LIMIT)
                    .withMaxWait(LIMIT));
    rig.proxy.stall(Direction.FROM_BROKER);
    Load load = new Load();
    List<CompletableFuture<PublishOutcome>> taken = load.publish(publisher, "m", 2);
    await().atMost(LIMIT).until(() -> publisher.status().inFlight() == 2);
    taken.addAll(load.publish(publisher, "n", 3));

    CompletableFuture<PublishOutcome> atOnce = publisher.tryPublish(Load.message("x-0"));
    assertThat(atOnce).isDone();
    long began = System.nanoTime();
    CompletableFuture<PublishOutcome> later = publisher.publish(Load.message("y-0"));
    Duration blocked = Duration.ofNanos(System.nanoTime() - began);

    for (CompletableFuture<PublishOutcome> refused : List.of(atOnce, later)) {
      assertThat(outcome(refused))
          .isInstanceOfSatisfying(
              NotSent.class,
              end -> {
                assertThat(end.reason()).isEqualTo(NotSent.Reason.QUEUE_FULL);
                assertThat(end.retry()).isEqualTo(Retry.SAFE);
              });
    }
    assertThat(blocked).isBetween(Duration.ofMillis(290), Duration.ofSeconds(20));
    rig.proxy.unstall();
    awaitAll(taken);
    load.assertAll(Verdict.CONFIRMED, 5);
    assertThat(rig.stored()).containsExactly("m-0", "m-1", "n-0", "n-1", "n-2");
  }

  @Test
  void anInterruptedCaller_keepsItsInterrupt_andItsMessageIsNotSent() throws Exception {
    Publisher publisher =
        rig.publisher(
            settings -> settings.withMaxInFlight(1).withMaxQueued(1).withConfirmTimeout(LIMIT));
    rig.proxy.stall(Direction.FROM_BROKER);
    List<CompletableFuture<PublishOutcome>> taken =
        new ArrayList<>(new Load().publish(publisher, "m", 1));
    await().atMost(LIMIT).until(() -> publisher.status().inFlight() == 1);
    taken.addAll(new Load().publish(publisher, "n", 1));
    AtomicReference<CompletableFuture<PublishOutcome>> future = new AtomicReference<>();
    AtomicBoolean kept = new AtomicBoolean();
    Thread caller =
        new Thread(
            () -> {
              future.set(publisher.publish(Load.message("x-0")));
              kept.set(Thread.currentThread().isInterrupted());
            });
    caller.start();
    await().atMost(LIMIT).until(() -> caller.getState() == Thread.State.TIMED_WAITING);

    caller.interrupt();
    caller.join(LIMIT.toMillis());

    assertThat(kept).isTrue();
    assertThat(outcome(Objects.requireNonNull(future.get())))
        .isInstanceOfSatisfying(
            NotSent.class, end -> assertThat(end.reason()).isEqualTo(NotSent.Reason.INTERRUPTED));
    rig.proxy.unstall();
    awaitAll(taken);
    assertThat(rig.stored()).containsExactly("m-0", "n-0");
  }

  // ---------------------------------------------------------------------------------- callbacks

  @Test
  void aCallbackThatThrows_disturbsNobody() throws Exception {
    Publisher publisher = rig.publisher();
    Load load = new Load();
    List<CompletableFuture<PublishOutcome>> futures = load.publish(publisher, "m", 200);
    List<CompletableFuture<Void>> thrown = new ArrayList<>();
    for (CompletableFuture<PublishOutcome> future : futures) {
      thrown.add(
          future.thenAccept(
              end -> {
                throw new IllegalStateException("thrown by a callback");
              }));
    }
    futures.addAll(load.publish(publisher, "n", 200));

    awaitAll(futures);

    await().atMost(LIMIT).until(() -> thrown.stream().allMatch(CompletableFuture::isDone));
    assertThat(thrown).allMatch(CompletableFuture::isCompletedExceptionally);
    load.assertAll(Verdict.CONFIRMED, 400);
    assertThat(rig.stored()).hasSize(400);
  }

  @Test
  void aCallbackThatBlocks_holdsUpNoOtherOutcome() throws Exception {
    Publisher publisher = rig.publisher();
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch blocking = new CountDownLatch(3);
    List<CompletableFuture<Void>> blocked = new ArrayList<>();
    try {
      for (CompletableFuture<PublishOutcome> future : new Load().publish(publisher, "m", 3)) {
        blocked.add(
            future.thenAccept(
                end -> {
                  blocking.countDown();
                  awaitUninterrupted(release);
                }));
      }
      assertThat(blocking.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();

      Load load = new Load();
      awaitAll(load.publish(publisher, "n", 500));

      load.assertAll(Verdict.CONFIRMED, 500);
      assertThat(publisher.drain(LIMIT)).isZero();
      assertThat(blocked).noneMatch(CompletableFuture::isDone);
    } finally {
      release.countDown();
    }
    assertThat(rig.stored()).hasSize(503);
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    try {
      boolean ended = latch.await(LIMIT.toSeconds(), TimeUnit.SECONDS);
      assertThat(ended).isTrue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void callbacksThatPublishAndWait_finish_alsoOneInTheOther() throws Exception {
    Publisher publisher = rig.publisher();
    List<CompletableFuture<Verdict>> nested = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      String name = "n" + i;
      nested.add(
          publisher
              .publish(Load.message(name + "-0"))
              .thenApply(
                  first ->
                      publisher
                          .publish(Load.message(name + "-1"))
                          .thenApply(
                              second ->
                                  publisher.publish(Load.message(name + "-2")).join().verdict())
                          .join()));
    }

    for (CompletableFuture<Verdict> each : nested) {
      assertThat(each.get(LIMIT.toSeconds(), TimeUnit.SECONDS)).isEqualTo(Verdict.CONFIRMED);
    }
    List<String> stored = rig.stored();
    assertThat(stored).hasSize(30);
    Load.assertOnceInOrder(stored);
  }

  @Test
  void aFutureThatTheCallerCancels_callsNoMessageBack() throws Exception {
    Publisher publisher = rig.publisher(settings -> settings.withMaxInFlight(1));
    rig.proxy.stall(Direction.FROM_BROKER);
    List<CompletableFuture<PublishOutcome>> futures = new Load().publish(publisher, "m", 5);
    futures.forEach(future -> future.cancel(true));

    rig.proxy.unstall();

    assertThat(publisher.drain(LIMIT)).isZero();
    assertThat(publisher.status().outcomes()).containsEntry(Verdict.CONFIRMED, 5L);
    assertThat(rig.stored()).isEqualTo(names("m", 5));
  }

  // ------------------------------------------------------------------------------ drain, close

  @Test
  void drain_waitsForWhatWasPublishedBefore_andNotForOthers() throws Exception {
    Publisher publisher = rig.publisher();
    Load others = new Load();
    others.start(publisher, 2);
    try {
      for (int i = 0; i < 5; i++) {
        List<CompletableFuture<PublishOutcome>> own = new Load().publish(publisher, "own" + i, 50);

        assertThat(publisher.drain(LIMIT)).isZero();

        assertThat(own).allMatch(CompletableFuture::isDone);
      }
    } finally {
      others.stop(LIMIT);
    }
    assertThat(rig.messaging.drain(LIMIT)).isZero();
  }

  @Test
  void drain_keepsItsTime_andSaysHowManyHaveNoOutcome() throws Exception {
    Publisher publisher = rig.publisher(settings -> settings.withConfirmTimeout(LIMIT));
    rig.proxy.stall(Direction.FROM_BROKER);
    List<CompletableFuture<PublishOutcome>> futures = new Load().publish(publisher, "m", 10);

    assertThat(publisher.drain(Duration.ZERO)).isEqualTo(10);
    assertThat(publisher.drain(Duration.ofMillis(100))).isEqualTo(10);

    rig.proxy.unstall();
    assertThat(publisher.drain(LIMIT)).isZero();
    assertThat(futures).allMatch(CompletableFuture::isDone);
  }

  @Test
  void close_waitsForWhatIsQueuedAndInFlight() throws Exception {
    Load load = new Load();
    Publisher publisher = rig.publisher(settings -> settings.withCloseTimeout(LIMIT));
    List<CompletableFuture<PublishOutcome>> futures = load.publish(publisher, "m", 1_000);

    publisher.close();

    assertThat(futures).allMatch(CompletableFuture::isDone);
    load.assertAll(Verdict.CONFIRMED, 1_000);
    assertThat(publisher.status().state()).isEqualTo(PublisherStatus.State.CLOSED);
    assertThat(rig.stored()).isEqualTo(names("m", 1_000));
  }

  @Test
  void close_whileOthersPublish_settlesAll_andNothingIsTakenAfterIt() throws Exception {
    Load load = new Load();
    Publisher publisher = rig.publisher();
    load.start(publisher, 4);
    await().atMost(LIMIT).until(() -> load.count(Verdict.CONFIRMED) > 100);

    publisher.close();

    PublishOutcome after = outcome(publisher.publish(Load.message("after-0")));
    load.stop(LIMIT);
    assertThat(after)
        .isInstanceOfSatisfying(
            NotSent.class,
            end -> {
              assertThat(end.reason()).isEqualTo(NotSent.Reason.CLOSED);
              assertThat(end.retry()).isEqualTo(Retry.SAFE);
            });
    publisher.close();
    List<String> stored = rig.stored();
    load.assertTrue(stored);
    Load.assertOnceInOrder(stored);
    assertThat(new HashSet<>(stored)).hasSize(load.count(Verdict.CONFIRMED));
  }

  @Test
  void closingTheMessaging_closesItsPublishers() throws Exception {
    Load load = new Load();
    Publisher one = rig.publisher();
    Publisher other = rig.publisher();
    List<CompletableFuture<PublishOutcome>> futures = load.publish(one, "one", 300);
    futures.addAll(load.publish(other, "other", 300));

    rig.messaging.close();

    assertThat(futures).allMatch(CompletableFuture::isDone);
    assertThat(one.status().state()).isEqualTo(PublisherStatus.State.CLOSED);
    assertThat(other.status().state()).isEqualTo(PublisherStatus.State.CLOSED);
    load.assertTrue(rig.stored());
    load.assertAll(Verdict.CONFIRMED, 600);
  }
}
