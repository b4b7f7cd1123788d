package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.floatvalve.consume.Delivery.Answer;
import io.floatvalve.event.Event;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
final class ConsumerTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  private final FakeBroker broker = new FakeBroker();
  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private final ConsumeSide side = new ConsumeSide(broker, events::add);
  private final ConsumerSettings settings =
      ConsumerSettings.from(Address.topic("t"))
          .withRetryDelays(List.of(Duration.ZERO))
          .withCloseTimeout(Duration.ofSeconds(5));

  @BeforeAll
  static void lookOften() {
    Awaitility.setDefaultPollDelay(Duration.ZERO);
    Awaitility.setDefaultPollInterval(Duration.ofMillis(3));
  }

  @AfterEach
  void close() {
    broker.goOnTicking();
    side.close();
    broker.close(Duration.ZERO);
    assertThat(broker.wrongs()).isEmpty();
  }

  private static int id(Delivery delivery) {
    return delivery.unwrap(Integer.class);
  }

  private static List<Integer> upTo(int count) {
    return IntStream.range(0, count).boxed().toList();
  }

  private void awaitAcked(int count) {
    await().atMost(LONG).untilAsserted(() -> assertThat(broker.acked()).hasSize(count));
  }

  @Test
  void everyMessage_isHandledOnceAndAcknowledged() {
    Set<Integer> seen = ConcurrentHashMap.newKeySet();
    Consumer consumer = side.open(settings);
    broker.feed(5_000);

    consumer.handle(
        delivery -> {
          seen.add(id(delivery));
          return Settlement.accept();
        });

    awaitAcked(5_000);
    assertThat(seen).hasSize(5_000);
    await().atMost(LONG).until(() -> consumer.status().accepted() == 5_000); // after the ack
    ConsumerStatus status = consumer.status();
    assertThat(status.inHandlers() + status.parked() + status.settling()).isZero();
    assertThat(consumer.latency().stage("started-handled").orElseThrow().count()).isEqualTo(5_000);
  }

  @Test
  void messageThatComesWhileOthersAreHandled_isFoundWithoutATick() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger begun = new AtomicInteger();
    Consumer consumer = side.open(settings.withWorkers(40));
    consumer.handle(
        delivery -> {
          begun.incrementAndGet();
          go.await();
          return Settlement.accept();
        });

    broker.stopTicks();
    for (int i = 1; i <= 40; i++) {
      int handlers = i;
      broker.feed(1);
      await().atMost(LONG).until(() -> begun.get() == handlers);
    }
    go.countDown();

    awaitAcked(40);
  }

  @Test
  void nothingIsAskedFor_beforeThereIsAHandler() {
    Consumer consumer = side.open(settings);

    broker.feed(10);

    assertThat(broker.backlog()).isEqualTo(10);
    assertThat(consumer.status().state()).isEqualTo(ConsumerStatus.State.IDLE);
  }

  @Test
  void secondHandler_isRefused() {
    Consumer consumer = side.open(settings);
    consumer.handle(delivery -> Settlement.accept());

    assertThatThrownBy(() -> consumer.handle(delivery -> Settlement.accept()))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void trickle_isHandledWithoutWaitingForATick() throws Exception {
    Semaphore handled = new Semaphore(0);
    side.open(settings)
        .handle(
            delivery -> {
              handled.release();
              return Settlement.accept();
            });

    broker.stopTicks();
    for (int i = 0; i < 10_000; i++) {
      broker.feed(1);
      assertThat(handled.tryAcquire(LONG.toSeconds(), TimeUnit.SECONDS))
          .as("number %s", i)
          .isTrue();
    }
  }

  @Test
  void slowHandlers_areWorkersAtMost_andHoldLittleBeyond() {
    AtomicInteger now = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    Semaphore go = new Semaphore(0);
    side.open(settings.withWorkers(3))
        .handle(
            delivery -> {
              most.accumulateAndGet(now.incrementAndGet(), Math::max);
              go.acquire();
              now.decrementAndGet();
              return Settlement.accept();
            });

    broker.feed(2_000);

    await().atMost(LONG).untilAtomic(now, org.hamcrest.Matchers.equalTo(3));
    go.release(3);
    await().atMost(LONG).until(() -> broker.acked().size() == 3 && now.get() == 3);
    assertThat(most).hasValue(3);
    assertThat(broker.link().mostWaiting).isLessThanOrEqualTo(8);
    go.release(2_000);
    awaitAcked(2_000);
  }

  @Test
  void linkThatIsToldSeldom_isSoonToldThatItsFirstNumberWasAGuess_andThenSeldom() {
    broker.resizeEvery = Duration.ofHours(1);
    side.open(settings.withWorkers(3)).handle(delivery -> Settlement.accept());

    AtomicInteger fed = new AtomicInteger();
    Runnable some = // after which handlers find nothing: that is what the number grows by
        () -> {
          broker.feed(64);
          awaitAcked(fed.addAndGet(64));
        };
    await()
        .atMost(LONG)
        .until(
            () -> {
              some.run();
              return broker.link().permitsTold().size() == 2;
            });
    for (int i = 0; i < 20; i++) {
      some.run();
    }
    List<Integer> told = broker.link().permitsTold();
    assertThat(told).hasSize(2);
    assertThat(told.get(1)).isGreaterThan(told.get(0));
  }

  @Test
  void slowConsumer_leavesTheBacklogToItsSibling() {
    AtomicInteger slow = new AtomicInteger();
    side.open(settings.withWorkers(1))
        .handle(
            delivery -> {
              slow.incrementAndGet();
              LockSupport.parkNanos(50_000_000);
              return Settlement.accept();
            });
    FakeBroker.FakeLink slowLink = broker.link();
    side.open(settings.withWorkers(1)).handle(delivery -> Settlement.accept());

    broker.feed(2_000);
    awaitAcked(2_000);

    assertThat(slowLink.mostWaiting).isLessThanOrEqualTo(16);
    assertThat(slow).hasValueLessThan(500); // an even share is 1,000, and takes 50 s
  }

  @Test
  void fastConsumer_thatTurnsSlow_givesBackWhatItHasPrefetched() {
    AtomicBoolean isSlow = new AtomicBoolean();
    Consumer first = side.open(settings.withWorkers(1));
    first.handle(
        delivery -> {
          if (isSlow.get()) {
            LockSupport.parkNanos(100_000_000);
          }
          return Settlement.accept();
        });
    await()
        .atMost(LONG)
        .until(
            () -> {
              if (broker.backlog() == 0) { // it grows when it finds nothing
                broker.feed(1_000);
              }
              return first.status().permits() >= 500;
            });

    isSlow.set(true);
    broker.feed(3_000);

    await().atMost(LONG).until(() -> first.status().givenBack() > 0);
    await().atMost(LONG).until(() -> first.status().permits() <= 8);
    side.open(settings.withWorkers(1)).handle(delivery -> Settlement.accept());
    await().atMost(LONG).until(() -> broker.backlog() == 0);
    await().atMost(LONG).until(() -> new HashSet<>(broker.acked()).size() == fedSoFar());
  }

  private int fedSoFar() {
    return Collections.max(broker.acked()) + 1;
  }

  @Test
  void unfinishedStages_countAsWorkers_andCostNoThread() {
    Set<Thread> ofOthers = handlerThreads(); // which have ended, but perhaps not yet died
    Queue<CompletableFuture<Settlement>> open = new ConcurrentLinkedQueue<>();
    side.open(settings.withWorkers(100))
        .handleAsync(
            delivery -> {
              CompletableFuture<Settlement> stage = new CompletableFuture<>();
              open.add(stage);
              return stage;
            });

    broker.feed(1_000);

    await().atMost(LONG).until(() -> open.size() == 100);
    Set<Thread> threads = handlerThreads();
    threads.removeAll(ofOthers);
    assertThat(threads)
        .hasSizeLessThan(50); // a few to get there; how many is the scheduler's affair
    int done = 0;
    while (done < 1_000) {
      CompletableFuture<Settlement> stage = open.poll();
      if (stage != null) {
        stage.complete(Settlement.accept());
        done++;
      }
    }
    awaitAcked(1_000);
  }

  private static Set<Thread> handlerThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("floatvalve-handler"))
        .collect(Collectors.toSet());
  }

  @Test
  void stageThatIsCompleteAtOnce_isSettledByTheWorker() {
    side.open(settings)
        .handleAsync(delivery -> CompletableFuture.completedFuture(Settlement.accept()));

    broker.feed(2_000);

    awaitAcked(2_000);
  }

  @Test
  void stageThatFails_isRetried() {
    side.open(settings)
        .handleAsync(delivery -> CompletableFuture.failedFuture(new IllegalStateException("no")));

    broker.feed(1);

    awaitAcked(1);
    assertThat(broker.copies()).hasSize(1);
    assertThat(broker.copies().get(0).copy().reason()).contains("no");
  }

  @Test
  void exception_isRetriedByACopyThatIsConfirmedFirst() {
    broker.copiesWait = true;
    side.open(settings.withRetryDelays(List.of(Duration.ofSeconds(7))))
        .handle(
            delivery -> {
              throw new IllegalStateException("not today");
            });

    broker.feed(1);

    await().atMost(LONG).until(() -> broker.copies().size() == 1);
    FakeBroker.Sent sent = broker.copies().get(0);
    assertThat(sent.copy().deadLetter()).isFalse();
    assertThat(sent.copy().attempts()).isEqualTo(1);
    assertThat(sent.copy().delay()).isEqualTo(Duration.ofSeconds(7));
    assertThat(sent.copy().reason()).contains("not today");
    assertThat(broker.acked()).isEmpty();
    sent.done().done(null);
    awaitAcked(1);
  }

  @Test
  void copyThatFails_isTriedAgain_andTheOriginalStays() {
    broker.copyFailure = "the dead letters are full";
    Consumer consumer = side.open(settings);
    consumer.handle(delivery -> Settlement.reject("bad"));

    broker.feed(1);

    await().atMost(LONG).until(() -> broker.copies().size() >= 2);
    assertThat(broker.acked()).isEmpty();
    assertThat(events).anyMatch(event -> event instanceof Event.CopyFailed);
    broker.copyFailure = null;
    awaitAcked(1);
    await().atMost(LONG).until(() -> consumer.status().rejected() == 1);
    assertThat(consumer.status().copiesFailed()).isPositive();
  }

  @Test
  void whereNothingMayBeDeclared_retriesAreInPlace_andRejectsAreTheBrokers() {
    broker.copyable = false;
    broker.deadLetters = false;
    Map<Integer, Integer> attempts = new ConcurrentHashMap<>();
    Consumer consumer = side.open(settings.withMaxAttempts(3));
    consumer.handle(
        delivery -> {
          attempts.merge(id(delivery), 1, Integer::sum);
          if (id(delivery) == 0) {
            throw new IllegalStateException("poison");
          }
          return Settlement.accept();
        });

    broker.feed(21);

    await().atMost(LONG).until(() -> broker.rejected().equals(List.of(0)));
    awaitAcked(20);
    assertThat(attempts).containsEntry(0, 3).hasSize(21);
    assertThat(consumer.status().retriedInPlace()).isEqualTo(2);
    assertThat(events)
        .anyMatch(event -> event instanceof Event.Rejected rejected && rejected.attempts() == 3);
  }

  @Test
  void handlerThatThrowsAnError_freesItsSlot_andIsAnEvent() {
    AtomicBoolean thrown = new AtomicBoolean();
    side.open(settings.withWorkers(1))
        .handle(
            delivery -> {
              if (thrown.compareAndSet(false, true)) {
                throw new StackOverflowError("deep");
              }
              return Settlement.accept();
            });

    broker.feed(10);

    awaitAcked(10);
    assertThat(events).anyMatch(event -> event instanceof Event.HandlerError);
    assertThat(broker.copies()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void byKey_aKeyNeverRunsInParallelNorOutOfOrder_whateverFails(long seed) {
    Random random = new Random(seed);
    int keys = 7;
    boolean[] fails = new boolean[3_000];
    for (int i = 0; i < fails.length; i++) {
      fails[i] = random.nextInt(20) == 0;
    }
    Map<String, List<Integer>> done = new ConcurrentHashMap<>();
    Map<String, AtomicInteger> running = new ConcurrentHashMap<>();
    Set<String> wrong = ConcurrentHashMap.newKeySet();
    AtomicInteger now = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    side.open(settings.withOrdering(Ordering.BY_KEY).withWorkers(5))
        .handle(
            delivery -> {
              String key = String.valueOf(delivery.message().key());
              AtomicInteger here = running.computeIfAbsent(key, k -> new AtomicInteger());
              if (here.incrementAndGet() > 1) {
                wrong.add("parallel at " + id(delivery));
              }
              most.accumulateAndGet(now.incrementAndGet(), Math::max);
              LockSupport.parkNanos(50_000); // too slow to be left to one worker
              now.decrementAndGet();
              here.decrementAndGet();
              if (fails[id(delivery)] && delivery.attempt() == 1) {
                throw new IllegalStateException();
              }
              done.computeIfAbsent(key, k -> Collections.synchronizedList(new ArrayList<>()))
                  .add(id(delivery));
              return Settlement.accept();
            });

    broker.feed(3_000, 10, id -> "k" + (id * 31 + id / 7) % keys);

    awaitAcked(3_000);
    assertThat(wrong).isEmpty();
    assertThat(done).hasSize(keys);
    done.values().forEach(each -> assertThat(each).isSorted());
    assertThat(most).hasValueGreaterThan(1);
  }

  @Test
  void byKey_aBusyKeyDoesNotHoldUpAnother() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    side.open(settings.withOrdering(Ordering.BY_KEY).withWorkers(4))
        .handle(
            delivery -> {
              if (id(delivery) == 0) {
                go.await();
              }
              return Settlement.accept();
            });

    broker.feed(10, 10, id -> id < 5 ? "busy" : "other");

    awaitAcked(5);
    assertThat(broker.acked()).containsExactlyInAnyOrder(5, 6, 7, 8, 9);
    go.countDown();
    awaitAcked(10);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void byKey_aKeyThatIsTold_keepsOrder(boolean async) {
    List<Integer> odd = Collections.synchronizedList(new ArrayList<>());
    List<Integer> even = Collections.synchronizedList(new ArrayList<>());
    Consumer consumer =
        side.open(
            settings
                .withOrdering(Ordering.BY_KEY)
                .withKeyOf(
                    message -> {
                      LockSupport.parkNanos(1_000);
                      return Integer.parseInt(String.valueOf(message.messageId())) % 2 == 0
                          ? "even"
                          : "odd";
                    }));
    if (async) {
      consumer.handleAsync(
          delivery ->
              CompletableFuture.supplyAsync(
                  () -> {
                    (id(delivery) % 2 == 0 ? even : odd).add(id(delivery));
                    return Settlement.accept();
                  }));
    } else {
      consumer.handle(
          delivery -> {
            (id(delivery) % 2 == 0 ? even : odd).add(id(delivery));
            return Settlement.accept();
          });
    }

    broker.feed(2_000);

    awaitAcked(2_000);
    assertThat(odd).isSorted().hasSize(1_000);
    assertThat(even).isSorted().hasSize(1_000);
  }

  @Test
  void keyThatCannotBeTold_countsAsAFailureOfTheHandler() {
    broker.deadLetters = false;
    side.open(
            settings
                .withOrdering(Ordering.BY_KEY)
                .withMaxAttempts(2)
                .withKeyOf(
                    message -> {
                      throw new IllegalStateException("no key in it");
                    }))
        .handle(delivery -> Settlement.accept());

    broker.feed(1);

    await().atMost(LONG).until(() -> broker.rejected().equals(List.of(0)));
    assertThat(events)
        .anyMatch(
            event -> event instanceof Event.Rejected it && it.reason().contains("no key in it"));
  }

  @Test
  void total_oneAtATime_inOrder_failuresAreTriedAgainInPlace() {
    List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
    AtomicInteger now = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    side.open(
            settings
                .withOrdering(Ordering.TOTAL)
                .withRetryDelays(List.of(Duration.ofMillis(20)))
                .withWorkers(8))
        .handle(
            delivery -> {
              most.accumulateAndGet(now.incrementAndGet(), Math::max);
              now.decrementAndGet();
              if (id(delivery) % 10 == 3 && delivery.attempt() < 3) {
                throw new IllegalStateException();
              }
              seen.add(id(delivery));
              return Settlement.accept();
            });

    broker.feed(50);

    awaitAcked(50);
    assertThat(seen).isEqualTo(upTo(50));
    assertThat(most).hasValue(1);
    assertThat(broker.copies()).isEmpty();
  }

  @Test
  void pause_startsNothingMore_andResumeHandsOutWhatWaited() {
    AtomicInteger calls = new AtomicInteger();
    Consumer consumer = side.open(settings);
    consumer.pause();
    consumer.handle(
        delivery -> {
          calls.incrementAndGet();
          return Settlement.accept();
        });
    broker.feed(500);
    await().atMost(LONG).until(() -> consumer.status().waiting() > 0);

    assertThat(consumer.status().state()).isEqualTo(ConsumerStatus.State.PAUSED);
    assertThat(calls).hasValue(0);
    consumer.resume();

    awaitAcked(500);
    assertThat(calls).hasValue(500);
    assertThat(broker.returned()).isEmpty();
  }

  @Test
  void pause_underLoad_isAGate() {
    AtomicInteger calls = new AtomicInteger();
    Consumer consumer = side.open(settings.withWorkers(4));
    broker.feed(1_000);
    consumer.handle(
        delivery -> {
          calls.incrementAndGet();
          return Settlement.accept();
        });

    for (int i = 0; i < 200; i++) {
      consumer.pause();
      await().atMost(LONG).until(() -> consumer.status().inHandlers() == 0);
      int before = calls.get();
      broker.feed(20);
      LockSupport.parkNanos(1_000);
      assertThat(calls).hasValue(before);
      consumer.resume();
    }

    awaitAcked(5_000);
  }

  @Test
  void drain_givesBackWhatWasNotBegun_andWaitsForTheRest() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = side.open(settings.withWorkers(2).withPermits(PermitPolicy.fixed(50)));
    consumer.handle(
        delivery -> {
          go.await();
          return Settlement.accept();
        });
    broker.feed(100);
    await().atMost(LONG).until(() -> consumer.status().inHandlers() == 2);
    await().atMost(LONG).until(() -> consumer.status().waiting() >= 40);

    assertThat(consumer.drain(Duration.ofMillis(50))).isEqualTo(2);
    assertThat(broker.backlog()).isEqualTo(98);
    go.countDown();
    assertThat(consumer.drain(LONG)).isZero();

    assertThat(broker.acked()).containsExactlyInAnyOrder(0, 1);
    assertThat(broker.link().flushed).isTrue();
    assertThat(consumer.status().givenBack()).isEqualTo(broker.returned().size()).isPositive();
  }

  @Test
  void drain_saysWhatTheBrokerWasNotTold() {
    Consumer consumer = side.open(settings);
    consumer.handle(delivery -> Settlement.accept());
    broker.feed(10);
    awaitAcked(10);

    broker.link().unheard = 3;

    assertThat(consumer.drain(LONG)).isEqualTo(3);
  }

  @Test
  void drain_saysWhatALostLinkTookWithIt() {
    Consumer consumer = side.open(settings);
    consumer.handle(delivery -> Settlement.accept());
    broker.feed(10);
    awaitAcked(10);
    broker.link().unheard = 3;
    broker.refusal = new MessagingException(MessagingException.Kind.UNREACHABLE, "down", null);

    broker.link().lose();
    await().atMost(LONG).until(() -> consumer.status().state() == ConsumerStatus.State.RECOVERING);

    assertThat(consumer.drain(LONG)).isEqualTo(3);
  }

  @Test
  void retryInPlace_afterLongerThanTheBrokerWaits_isWarnedOf_atOpening_andWhenAskedFor() {
    broker.longestHold = Duration.ofSeconds(10);
    var delays = List.of(Duration.ofSeconds(1), Duration.ofSeconds(4));
    side.open(settings.withOrdering(Ordering.TOTAL).withRetryDelays(delays).withMaxAttempts(4));
    assertThat(notes()).isEmpty(); // 9 s in all
    side.open(settings.withOrdering(Ordering.TOTAL).withRetryDelays(delays).withMaxAttempts(5));
    assertThat(notes()).singleElement().asString().contains("PT13S", "PT10S");
    events.clear();

    Consumer asked = side.open(settings.withOrdering(Ordering.BY_KEY));
    assertThat(notes()).isEmpty();
    asked.handle(delivery -> Settlement.retryAfter(Duration.ofSeconds(10)));
    broker.feed(3);
    await().atMost(LONG).until(() -> asked.status().retriedInPlace() == 3);
    assertThat(notes()).singleElement().asString().contains("PT10.", "PT10S");
  }

  @Test
  void retryByACopy_mayWaitForLongerThanTheBrokerWaits() {
    broker.longestHold = Duration.ofSeconds(10);

    side.open(settings.withRetryDelays(List.of(LONG)));

    assertThat(notes()).isEmpty();
  }

  private List<String> notes() {
    return events.stream()
        .filter(Event.ConsumerNote.class::isInstance)
        .map(each -> ((Event.ConsumerNote) each).note())
        .toList();
  }

  @Test
  void drain_byKey_givesBackWhatIsParkedInLanes() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = side.open(settings.withOrdering(Ordering.BY_KEY).withWorkers(2));
    consumer.handle(
        delivery -> {
          go.await();
          return Settlement.accept();
        });
    broker.feed(10, 10, id -> "one");
    await().atMost(LONG).until(() -> consumer.status().parked() > 0);

    assertThat(consumer.drain(Duration.ZERO)).isEqualTo(1);
    go.countDown();
    assertThat(consumer.drain(LONG)).isZero();

    assertThat(broker.acked()).containsExactly(0);
    assertThat(broker.backlog()).isEqualTo(9);
  }

  @Test
  void handlerThatCloses_isNotWaitedFor() {
    CountDownLatch closed = new CountDownLatch(1);
    Consumer consumer = side.open(settings.withCloseTimeout(LONG));
    consumer.handle(
        delivery -> {
          consumer.close();
          closed.countDown();
          return Settlement.accept();
        });

    broker.feed(1);

    await().atMost(Duration.ofSeconds(10)).until(() -> closed.await(1, TimeUnit.MILLISECONDS));
  }

  @Test
  void settling_firstCallWins_fromAnyThread() throws Exception {
    for (int round = 0; round < 200; round++) {
      try (PullConsumer consumer = side.openPull(settings)) {
        broker.feed(1);
        Delivery delivery = consumer.receive(LONG).orElseThrow();
        CountDownLatch go = new CountDownLatch(1);
        List<CompletableFuture<Answer>> answers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          answers.add(
              CompletableFuture.supplyAsync(
                  () -> {
                    awaitQuietly(go);
                    return delivery.accept();
                  }));
        }

        go.countDown();

        List<Answer> all = answers.stream().map(CompletableFuture::join).toList();
        assertThat(all).containsOnlyOnce(Answer.ACCEPTED);
        assertThat(Collections.frequency(all, Answer.ALREADY)).isEqualTo(3);
      }
    }
    assertThat(broker.acked()).isEqualTo(upTo(200));
  }

  @Test
  void claim_isGrantedToOne() throws Exception {
    int rounds = 50_000;
    List<Taken> all = IntStream.range(0, rounds).mapToObj(i -> Takens.of(i, null, 1)).toList();
    CountDownLatch go = new CountDownLatch(2);
    AtomicInteger claims = new AtomicInteger();
    Runnable claiming =
        () -> {
          go.countDown();
          awaitQuietly(go);
          all.forEach(each -> claims.addAndGet(each.claim() ? 1 : 0));
        };

    Thread other = new Thread(claiming);
    other.start();
    claiming.run();
    other.join();

    assertThat(claims).hasValue(rounds);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void deliveryThatSettledItself_isNotSettledAgainByTheHandlersWord() {
    List<Answer> answers = Collections.synchronizedList(new ArrayList<>());
    side.open(settings)
        .handle(
            delivery -> {
              answers.add(delivery.accept());
              answers.add(delivery.reject("too late"));
              throw new IllegalStateException("too late as well");
            });

    broker.feed(1);

    awaitAcked(1);
    await().atMost(LONG).until(() -> answers.size() == 2);
    assertThat(answers).containsExactly(Answer.ACCEPTED, Answer.ALREADY);
    assertThat(broker.copies()).isEmpty();
  }

  @Test
  void lostLink_itsDeliveriesAreStale_andComeAgainByAnother() throws Exception {
    PullConsumer consumer = side.openPull(settings);
    broker.feed(3);
    Delivery old = consumer.receive(LONG).orElseThrow();

    broker.link().lose();
    Set<Integer> again = new HashSet<>();
    while (again.size() < 3) {
      Delivery next = consumer.receive(LONG).orElseThrow();
      again.add(id(next));
      assertThat(next.accept()).isEqualTo(Answer.ACCEPTED);
    }

    assertThat(old.accept()).isEqualTo(Answer.STALE);
    assertThat(old.accept()).isEqualTo(Answer.STALE);
    assertThat(broker.acked()).hasSize(3);
    assertThat(consumer.status().reopened()).isEqualTo(1);
    assertThat(consumer.status().lastLoss()).isEqualTo("cut");
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13})
  void underLosses_nothingIsLost_andKeysNeverRunInParallel(long seed) {
    Random random = new Random(seed);
    Set<String> wrong = ConcurrentHashMap.newKeySet();
    Map<String, AtomicInteger> running = new ConcurrentHashMap<>();
    Consumer consumer = side.open(settings.withOrdering(Ordering.BY_KEY).withWorkers(4));
    consumer.handle(
        delivery -> {
          String key = String.valueOf(delivery.message().key());
          AtomicInteger here = running.computeIfAbsent(key, k -> new AtomicInteger());
          if (here.incrementAndGet() > 1) {
            wrong.add(key);
          }
          LockSupport.parkNanos(20_000);
          here.decrementAndGet();
          return id(delivery) % 50 == 7 && delivery.attempt() == 1
              ? Settlement.retry()
              : Settlement.accept();
        });

    for (int i = 0; i < 12; i++) {
      broker.feed(250, 10, id -> "k" + id % 5);
      int wanted = 250 * i + random.nextInt(200);
      await().atMost(LONG).until(() -> new HashSet<>(broker.acked()).size() >= wanted);
      FakeBroker.FakeLink link = broker.link();
      if (random.nextBoolean()) {
        link.lose();
      } else {
        link.cut();
      }
    }

    await().atMost(LONG).until(() -> new HashSet<>(broker.acked()).size() == 3_000);
    assertThat(wrong).isEmpty();
    assertThat(consumer.drain(LONG)).isZero();
  }

  @Test
  void openingThatFails_isTriedAgain_withEvents() {
    Consumer consumer = side.open(settings);
    consumer.handle(delivery -> Settlement.accept());
    broker.refusal =
        new MessagingException(MessagingException.Kind.UNREACHABLE, "nobody there", null);

    broker.link().lose();

    await()
        .atMost(LONG)
        .until(() -> events.stream().filter(Event.Recovering.class::isInstance).count() >= 2);
    assertThat(consumer.status().state()).isEqualTo(ConsumerStatus.State.RECOVERING);
    broker.refusal = null;
    broker.feed(5);
    awaitAcked(5);
  }

  @Test
  void openingThatIsRefused_isAnException() {
    broker.refusal = new MessagingException(MessagingException.Kind.NOT_FOUND, "no queue", null);

    assertThatThrownBy(() -> side.open(settings)).isInstanceOf(MessagingException.class);
  }

  @Test
  void messageThatComesAgainWhileItIsHandled_isHeldBack_andSharesItsEnd() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger runs = new AtomicInteger();
    Consumer consumer = side.open(settings);
    consumer.handle(
        delivery -> {
          runs.incrementAndGet();
          go.await();
          return Settlement.accept();
        });
    broker.feed(1);
    await().atMost(LONG).untilAtomic(runs, org.hamcrest.Matchers.equalTo(1));

    broker.link().again(0);
    await().atMost(LONG).until(() -> consumer.status().parked() == 1);
    go.countDown();

    await().atMost(LONG).until(() -> consumer.status().duplicates() == 1);
    assertThat(runs).hasValue(1);
    assertThat(broker.acked()).containsExactly(0, 0);
    assertThat(consumer.status().taken()).isEqualTo(2);
    assertThat(consumer.status().redelivered()).isEqualTo(1);
  }

  @Test
  void afterAReconnect_whatHandlersHoldIsHeldBack_alsoIfTheBrokerDoesNotCount() {
    broker.countsDeliveries = false;
    Semaphore go = new Semaphore(0);
    Map<Integer, Integer> runs = new ConcurrentHashMap<>();
    Consumer consumer = side.open(settings.withWorkers(2));
    consumer.handle(
        delivery -> {
          runs.merge(id(delivery), 1, Integer::sum);
          go.acquire();
          return Settlement.accept();
        });
    broker.feed(10);
    await().atMost(LONG).until(() -> consumer.status().inHandlers() == 2);

    broker.link().cut();
    go.release(100);

    await().atMost(LONG).until(() -> new HashSet<>(broker.acked()).size() == 10);
    await().atMost(LONG).until(() -> consumer.status().parked() == 0);
    assertThat(runs).hasSize(10);
    assertThat(runs.values()).containsOnly(1);
  }

  @Test
  void messageThatCameAgainAfterItWasHeldForLong_isNotHandledAgain() {
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger runs = new AtomicInteger();
    Consumer consumer = side.open(settings.withWorkers(1).withOrdering(Ordering.TOTAL));
    consumer.handle(
        delivery -> {
          runs.incrementAndGet();
          go.await();
          return Settlement.accept();
        });
    broker.feed(1);
    await().atMost(LONG).untilAtomic(runs, org.hamcrest.Matchers.equalTo(1));

    broker.link().again(0); // waits in the client until the handler is free
    await().atMost(LONG).until(() -> consumer.status().oldestUnsettled().toMillis() > 700);
    go.countDown();

    await().atMost(LONG).until(() -> consumer.status().duplicates() == 1);
    assertThat(runs).hasValue(1);
    assertThat(broker.acked()).containsExactly(0, 0);
  }

  @Test
  void handlerThatHangs_isNamedWithItsMessageAndAge() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    side.open(settings.withHandlerWarning(Duration.ofMillis(50)).withWorkers(2))
        .handle(
            delivery -> {
              if (id(delivery) == 3) {
                go.await();
              }
              return Settlement.accept();
            });

    broker.feed(10);

    await()
        .atMost(LONG)
        .until(
            () ->
                events.stream()
                    .anyMatch(
                        event ->
                            event instanceof Event.HandlerStuck stuck
                                && stuck.message().equals("message 3")
                                && stuck.age().toMillis() >= 50
                                && !stuck.thread().isEmpty()));
    awaitAcked(9);
    go.countDown();
    awaitAcked(10);
  }

  @Test
  void fastHandlerThatSuddenlyHangs_doesNotHoldUpTheOthers() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    side.open(settings.withWorkers(16))
        .handle(
            delivery -> {
              if (id(delivery) >= 5_000 && id(delivery) % 500 == 0) {
                go.await();
              }
              return Settlement.accept();
            });
    broker.feed(5_000);
    awaitAcked(5_000);

    broker.feed(5_000);

    awaitAcked(9_990);
    go.countDown();
    awaitAcked(10_000);
  }

  @Test
  void messageLargerThanTheByteBudget_isAdmittedAlone() {
    AtomicInteger bytes = new AtomicInteger();
    Set<String> wrong = ConcurrentHashMap.newKeySet();
    side.open(settings.withWorkers(8).withPermits(PermitPolicy.adaptive().withMaxBytes(1_000)))
        .handle(
            delivery -> {
              int size = delivery.message().payload().length;
              int all = bytes.addAndGet(size);
              if (all > 1_000 && all != size) {
                wrong.add(id(delivery) + ": " + all);
              }
              LockSupport.parkNanos(100_000);
              bytes.addAndGet(-size);
              return Settlement.accept();
            });

    for (int i = 0; i < 50; i++) {
      broker.feed(3, 300, id -> null);
      broker.feed(1, 5_000, id -> null);
    }

    awaitAcked(200);
    assertThat(wrong).isEmpty();
  }

  @Test
  void pull_handsOutAtMostMaxUnsettled_andGoesOnWhenOneIsSettled() throws Exception {
    PullConsumer consumer = side.openPull(settings.withMaxUnsettled(3));
    broker.feed(10);
    List<Delivery> out = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      out.add(consumer.receive(LONG).orElseThrow());
    }

    assertThat(consumer.receive(Duration.ofMillis(20))).isEmpty();
    CompletableFuture<Answer> settled = CompletableFuture.supplyAsync(out.get(1)::accept);
    assertThat(consumer.receive(LONG)).isPresent();

    assertThat(settled.join()).isEqualTo(Answer.ACCEPTED);
    assertThat(consumer.status().inHandlers()).isEqualTo(3);
  }

  @Test
  void pull_total_theNextComesWhenTheOneBeforeIsSettled() throws Exception {
    PullConsumer consumer = side.openPull(settings.withOrdering(Ordering.TOTAL));
    broker.feed(5);
    Delivery first = consumer.receive(LONG).orElseThrow();

    assertThat(consumer.receive(Duration.ZERO)).isEmpty();
    assertThat(first.retry()).isEqualTo(Answer.ACCEPTED);
    Delivery again = consumer.receive(LONG).orElseThrow();

    assertThat(id(again)).isEqualTo(id(first));
    assertThat(again.attempt()).isEqualTo(2);
    assertThat(again.redelivered()).isTrue();
    assertThat(first.accept()).isEqualTo(Answer.ALREADY);
    again.accept();
    assertThat(id(consumer.receive(LONG).orElseThrow())).isEqualTo(1);
  }

  @Test
  void pull_closing_endsAWait_andMakesDeliveriesStale() throws Exception {
    PulledConsumer consumer = (PulledConsumer) side.openPull(settings);
    broker.feed(1);
    Delivery delivery = consumer.receive(LONG).orElseThrow();
    CompletableFuture<Boolean> waiting =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return consumer.receive(LONG).isPresent();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });

    await().atMost(LONG).until(consumer::isAwaited);
    consumer.close();

    assertThat(waiting.join()).isFalse();
    assertThat(delivery.accept()).isEqualTo(Answer.STALE);
    assertThatThrownBy(() -> consumer.receive(LONG)).isInstanceOf(MessagingException.class);
    assertThat(broker.backlog()).isEqualTo(1);
  }

  @Test
  void thousandConsumers_needNoThreadEach() {
    int before = Thread.activeCount();
    List<Consumer> all = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      Consumer consumer = side.open(settings);
      consumer.handle(delivery -> Settlement.accept());
      all.add(consumer);
    }

    assertThat(Thread.activeCount()).isLessThan(before + 500); // they share 256 at most
    broker.feed(100);
    awaitAcked(100);
    assertThat(all).allMatch(each -> each.status().state() == ConsumerStatus.State.RUNNING);
  }
}
