package io.floatvalve.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.consume.ConsumerStatus.State;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.Delivery.Answer;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.event.Event;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.testkit.contract.ConsumedBroker.DeadLetter;
import io.floatvalve.testkit.contract.Handled.Call;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What consuming does on every broker while nothing is wrong with it. An adapter extends this and
 * shows its broker; the tests are then run as its own, on one connection and a place for each.
 */
@Timeout(180)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class ConsumerContract {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  // beyond the time that was set: the timer's step, a pause of a busy machine
  private static final Duration GRACE = Duration.ofSeconds(10);
  private static final List<Duration> DELAYS =
      List.of(Duration.ofMillis(300), Duration.ofMillis(700));

  private ConsumedBroker broker;
  private ConsumerRig rig;

  /** Makes the tests. */
  protected ConsumerContract() {}

  /** Returns the broker to test on. Called once; what it returns is closed at the end. */
  protected abstract ConsumedBroker broker() throws Exception;

  @BeforeAll
  final void openRig() throws Exception {
    broker = broker();
    rig = new ConsumerRig(broker);
  }

  @AfterAll
  final void closeRig() throws Exception {
    if (rig != null) {
      rig.end().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    }
    if (broker != null) {
      broker.close();
    }
  }

  @AfterEach
  final void renewRig() throws Exception {
    rig.renew();
  }

  private static void until(Callable<Boolean> condition) {
    await().atMost(LIMIT).until(condition);
  }

  private static void awaitOpen(CountDownLatch latch) throws InterruptedException {
    assertThat(latch.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
  }

  /** Nothing is unsettled, and whatever was taken came to one end. */
  private static void assertSumsToZero(ConsumerStatus status) {
    assertThat(status.inHandlers()).as("in handlers: %s", status).isZero();
    assertThat(status.parked()).as("parked: %s", status).isZero();
    assertThat(status.settling()).as("settling: %s", status).isZero();
    assertThat(status.unsettledBytes()).as("bytes: %s", status).isZero();
    assertThat(status.oldestUnsettled()).as("oldest: %s", status).isZero();
    long settled =
        status.accepted()
            + status.retried()
            + status.rejected()
            + status.stale()
            + status.duplicates();
    // What is given back may have been taken before, or may have waited in the client.
    assertThat(status.taken())
        .as("taken: %s", status)
        .isBetween(settled, settled + status.givenBack());
  }

  /** Ends a consumer that has handled all, and holds that nothing of the place is left. */
  private void assertAllSettled(Consumer consumer) throws Exception {
    assertThat(consumer.drain(LIMIT)).isZero();
    assertSumsToZero(consumer.status());
    consumer.close();
    awaitLeft(0);
  }

  private void awaitLeft(long count) {
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(rig.left()).as("left at the broker").isEqualTo(count));
  }

  /** Takes all that is left at the place, by another consumer; returns what came, in its order. */
  private List<String> rest(int count) {
    Queue<String> rest = new ConcurrentLinkedQueue<>();
    try (Consumer consumer = rig.consumer(settings -> settings.withOrdering(Ordering.TOTAL))) {
      consumer.handle(
          delivery -> {
            rest.add(Handled.text(delivery));
            return Settlement.accept();
          });
      await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(rest).as("the rest").hasSizeGreaterThanOrEqualTo(count));
      assertThat(consumer.drain(LIMIT)).isZero();
    }
    return List.copyOf(rest);
  }

  // ----------------------------------------------------------------------------------- handling

  /** Shows that an object was made from bytes. */
  private static final class Trap implements Serializable {
    private static final long serialVersionUID = 1;
    private static final AtomicInteger SPRUNG = new AtomicInteger();

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
      in.defaultReadObject();
      SPRUNG.incrementAndGet();
    }
  }

  @Test
  void aSerialisedObject_isHandedOverAsBytes_andNothingIsMadeOfIt() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(new Trap());
    }
    byte[] serialised = bytes.toByteArray();
    BlockingQueue<Delivery> handled = new LinkedBlockingQueue<>();
    rig.consumer()
        .handle(
            delivery -> {
              handled.add(delivery);
              return Settlement.accept();
            });

    rig.publish(
        List.of(
            Message.builder(serialised)
                .contentType("application/x-java-serialized-object")
                .header("java-object", serialised)
                .header("JMSType", "ObjectMessage")
                .build()));

    Delivery delivery = handled.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
    assertThat(delivery).isNotNull();
    assertThat(delivery.message().payload()).isEqualTo(serialised);
    assertThat(delivery.message().headers().get("java-object")).isEqualTo(serialised);
    assertThat(Trap.SPRUNG).hasValue(0);
  }

  @Test
  void handle_everyMessageOnce_andTheBrokerForgetsIt() throws Exception {
    List<Message> messages = Handled.messages("m", 0, 3_000);
    Handled handled = new Handled();
    Consumer consumer = rig.consumer();
    consumer.handle(handled.by(delivery -> Settlement.accept()));

    rig.publish(messages);

    until(() -> handled.returned() >= 3_000 && consumer.status().accepted() == 3_000);
    handled.assertOnceEach(messages);
    assertThat(consumer.status().taken()).isEqualTo(3_000);
    assertAllSettled(consumer);
    assertThat(rig.deadLetters()).isEmpty();
  }

  @Test
  void handle_noMoreThanAQuotaAdmits_andAllOfIt() throws Exception {
    List<Message> messages = Handled.messages("m", 0, 300);
    QuotaPolicy quota =
        QuotaPolicy.none().withHeadroom(1).withConsume(Scope.CLUSTER, Quota.messagesPerSecond(200));
    rig.publish(messages);
    Handled handled = new Handled();
    Consumer consumer = rig.consumer(settings -> settings.withQuota(quota));
    long began = System.nanoTime();

    consumer.handle(handled.by(delivery -> Settlement.accept()));

    until(() -> handled.returned() >= 300 && consumer.status().accepted() == 300);
    // 300 take a second and the half of another, less what each cycle may begin with
    assertThat(System.nanoTime() - began).isGreaterThan(Duration.ofMillis(1_400).toNanos());
    handled.assertOnceEach(messages);
    assertThat(quota.status().scopes().get(0).messages()).isEqualTo(300);
    assertAllSettled(consumer);
  }

  @Test
  void handle_whatWaitedBeforeThereWasAHandler_andNothingEarlier() throws Exception {
    List<Message> messages = Handled.messages("m", 0, 200);
    rig.publish(messages);
    Consumer consumer = rig.consumer();
    ConsumerStatus idle = consumer.status();
    Handled handled = new Handled();

    consumer.handle(handled.by(delivery -> Settlement.accept()));

    assertThat(idle.state()).isEqualTo(State.IDLE);
    assertThat(idle.taken()).isZero();
    assertThat(idle.waiting()).isZero();
    until(() -> consumer.status().accepted() == 200);
    handled.assertOnceEach(messages);
    assertThat(consumer.status().state()).isEqualTo(State.RUNNING);
    assertAllSettled(consumer);
  }

  @Test
  void aSecondHandler_isRefused_ofEitherKind() {
    Consumer consumer = rig.consumer();
    consumer.handle(delivery -> Settlement.accept());

    assertThatIllegalStateException()
        .isThrownBy(() -> consumer.handle(delivery -> Settlement.accept()));
    assertThatIllegalStateException()
        .isThrownBy(
            () ->
                consumer.handleAsync(
                    delivery -> CompletableFuture.completedFuture(Settlement.accept())));
  }

  @Test
  void handleAsync_aStageCountsAsInTheHandler_untilItIsComplete() throws Exception {
    List<Message> messages = Handled.messages("m", 0, 50);
    rig.publish(messages);
    Queue<CompletableFuture<Settlement>> stages = new ConcurrentLinkedQueue<>();
    Handled handled = new Handled();
    Consumer consumer = rig.consumer(settings -> settings.withWorkers(4));
    consumer.handleAsync(
        delivery -> {
          String text = handled.begin(delivery);
          CompletableFuture<Settlement> stage = new CompletableFuture<>();
          CompletableFuture<Settlement> recorded =
              stage.whenComplete((settlement, failure) -> handled.end(text));
          stages.add(stage);
          return recorded;
        });

    until(() -> stages.size() == 4 && consumer.status().waiting() > 0);
    assertThat(consumer.status().inHandlers()).isEqualTo(4);
    assertThat(consumer.status().accepted()).isZero();
    for (int done = 0; done < 50; done++) {
      until(() -> !stages.isEmpty());
      Objects.requireNonNull(stages.poll()).complete(Settlement.accept());
    }

    until(() -> consumer.status().accepted() == 50);
    handled.assertOnceEach(messages);
    assertThat(handled.mostAtATime()).isEqualTo(4);
    assertAllSettled(consumer);
  }

  @Test
  void handleAsync_aStageThatFails_orIsNull_meansARetry() throws Exception {
    rig.publish("m", 3);
    Handled handled = new Handled();
    Consumer consumer = rig.consumer(settings -> settings.withRetryDelays(DELAYS));
    consumer.handleAsync(
        delivery -> {
          String text = handled.begin(delivery);
          handled.end(text);
          if (delivery.attempt() > 1) {
            return CompletableFuture.completedFuture(Settlement.accept());
          }
          return switch (text) {
            case "m-0" -> CompletableFuture.failedFuture(new IllegalStateException("a failure"));
            case "m-1" -> null;
            default -> throw new IllegalStateException("thrown");
          };
        });

    until(() -> consumer.status().accepted() == 3);
    assertThat(handled.calls())
        .extracting(Call::attempt)
        .containsExactlyInAnyOrder(1, 1, 1, 2, 2, 2);
    assertAllSettled(consumer);
  }

  @Test
  void anExecutorThatIsGiven_runsTheHandlers_andIsNotClosed() throws Exception {
    rig.publish("m", 100);
    Set<String> threads = ConcurrentHashMap.newKeySet();
    ExecutorService executor =
        Executors.newFixedThreadPool(2, task -> new Thread(task, "given-executor"));
    try {
      Consumer consumer = rig.consumer(settings -> settings.withExecutor(executor).withWorkers(8));
      consumer.handle(
          delivery -> {
            threads.add(Thread.currentThread().getName());
            return Settlement.accept();
          });

      until(() -> consumer.status().accepted() == 100);
      assertAllSettled(consumer);

      assertThat(threads).containsExactly("given-executor");
      assertThat(executor.submit(() -> "still there").get()).isEqualTo("still there");
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void consumersOfAGroup_shareTheMessages_eachOnce() throws Exception {
    List<Message> messages = Handled.messages("m", 0, 1_000);
    Handled one = new Handled();
    Handled other = new Handled();
    Consumer first = rig.consumer();
    Consumer second = rig.consumer();
    first.handle(one.by(delivery -> Settlement.accept()));
    second.handle(other.by(delivery -> Settlement.accept()));

    rig.publish(messages);

    until(() -> first.status().accepted() + second.status().accepted() >= 1_000);
    List<String> all = new ArrayList<>(one.texts());
    all.addAll(other.texts());
    assertThat(all).containsExactlyInAnyOrderElementsOf(Handled.names("m", 0, 1_000));
    assertThat(one.begun()).isPositive();
    assertThat(other.begun()).isPositive();
    assertThat(first.drain(LIMIT)).isZero();
    first.close();
    assertAllSettled(second);
  }

  // ------------------------------------------------------------------------------------ content

  private static Message rich() {
    return Message.builder("Grüße, \u0000 and \uD83D\uDC1F".getBytes(StandardCharsets.UTF_8))
        .key("a key")
        .contentType("text/plain; charset=utf-8")
        .messageId("id-1")
        .correlationId("correlation-1")
        .replyTo("answers")
        .timestamp(Instant.parse("2024-02-29T12:34:56Z"))
        .priority(3)
        .header("text", "zażółć")
        .header("empty", "")
        .header("yes", true)
        .header("byte", (byte) -7)
        .header("short", (short) -30_000)
        .header("int", Integer.MIN_VALUE)
        .header("long", Long.MAX_VALUE)
        .header("float", 1.5f)
        .header("double", -2.25e100)
        .header("decimal", new BigDecimal("12345.678"))
        .header("instant", Instant.parse("2020-01-01T00:00:00Z"))
        .header("bytes", new byte[] {0, -1, 127})
        .header("list", List.of("a", 1, List.of(2L)))
        .header("map", Map.of("inner", Map.of("deep", false)))
        .build();
  }

  private static void assertSame(Message found, Message published) {
    assertThat(found.payload()).isEqualTo(published.payload());
    assertThat(found.headers())
        .usingRecursiveComparison()
        .ignoringCollectionOrder()
        .isEqualTo(published.headers());
    found
        .headers()
        .forEach(
            (name, value) ->
                assertThat(value)
                    .as("header %s", name)
                    .satisfiesAnyOf(
                        same -> assertThat(same).isInstanceOf(List.class),
                        same -> assertThat(same).isInstanceOf(Map.class),
                        same ->
                            assertThat(same)
                                .hasSameClassAs(
                                    Objects.requireNonNull(published.headers().get(name)))));
    assertThat(found.key()).isEqualTo(published.key());
    assertThat(found.contentType()).isEqualTo(published.contentType());
    assertThat(found.messageId()).isEqualTo(published.messageId());
    assertThat(found.correlationId()).isEqualTo(published.correlationId());
    assertThat(found.replyTo()).isEqualTo(published.replyTo());
    assertThat(found.timestamp()).isEqualTo(published.timestamp());
    assertThat(found.priority()).isEqualTo(published.priority());
  }

  @Test
  void aMessage_comesAsItWasPublished_alsoItsCopyForARetry_andItsDeadLetter() throws Exception {
    Message published = rich();
    List<Message> seen = new ArrayList<>();
    Consumer consumer =
        rig.consumer(settings -> settings.withMaxAttempts(2).withRetryDelays(DELAYS));
    consumer.handle(
        delivery -> {
          synchronized (seen) {
            seen.add(delivery.message());
          }
          return Settlement.retry();
        });

    rig.publish(List.of(published));

    until(() -> consumer.status().rejected() == 1);
    synchronized (seen) {
      assertThat(seen).hasSize(2).allSatisfy(each -> assertSame(each, published));
    }
    assertThat(rig.deadLetters())
        .singleElement()
        .satisfies(letter -> assertSame(letter.message(), published));
    assertAllSettled(consumer);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 300_000, 1_500_000})
  void aBodyOfAnySize_comesWhole(int size) throws Exception {
    byte[] body = new byte[size];
    for (int i = 0; i < size; i++) {
      body[i] = (byte) (i * 31 + i / 251);
    }
    CompletableFuture<Message> got = new CompletableFuture<>();
    Consumer consumer = rig.consumer();
    consumer.handle(
        delivery -> {
          got.complete(delivery.message());
          return Settlement.accept();
        });

    rig.publish(List.of(Message.of(body)));

    Message message = got.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    assertThat(Arrays.equals(message.payload(), body)).isTrue();
    assertThat(message.headers()).isEmpty();
    assertThat(message.key()).isNull();
    until(() -> consumer.status().accepted() == 1);
    assertAllSettled(consumer);
  }

  @Test
  void aDelivery_tellsAboutItself() throws Exception {
    rig.publish(List.of(Load.message("secret-0")));
    CompletableFuture<Delivery> got = new CompletableFuture<>();
    Consumer consumer = rig.consumer();
    consumer.handle(
        delivery -> {
          got.complete(delivery);
          return Settlement.accept();
        });

    Delivery delivery = got.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertThat(delivery.attempt()).isEqualTo(1);
    assertThat(delivery.deliveryCount()).isBetween(0, 1);
    assertThat(delivery.redelivered()).isFalse();
    assertThat(delivery.sinceArrival()).isBetween(Duration.ZERO, LIMIT);
    assertThat(delivery.message()).isSameAs(delivery.message());
    assertThat(delivery.unwrap(Object.class)).isNotNull();
    assertThatExceptionOfType(ClassCastException.class)
        .isThrownBy(() -> delivery.unwrap(StringBuilder.class));
    assertThat(delivery.toString()).doesNotContain("secret");
  }

  // ----------------------------------------------------------------------------------- settling

  @Test
  void settle_fromAnotherThread_theFirstWins_andTheOthersChangeNothing() throws Exception {
    rig.publish("m", 1);
    CompletableFuture<Delivery> got = new CompletableFuture<>();
    CompletableFuture<Settlement> stage = new CompletableFuture<>();
    Consumer consumer = rig.consumer();
    consumer.handleAsync(
        delivery -> {
          got.complete(delivery);
          return stage;
        });
    Delivery delivery = got.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertThat(CompletableFuture.supplyAsync(delivery::accept).get()).isEqualTo(Answer.ACCEPTED);
    assertThat(delivery.retry()).isEqualTo(Answer.ALREADY);
    assertThat(delivery.accept()).isEqualTo(Answer.ALREADY);
    assertThat(CompletableFuture.supplyAsync(() -> delivery.reject("no")).get())
        .isEqualTo(Answer.ALREADY);
    stage.complete(Settlement.reject("too late"));

    until(() -> consumer.status().accepted() == 1);
    assertAllSettled(consumer);
    assertThat(consumer.status().rejected()).isZero();
    assertThat(rig.deadLetters()).isEmpty();
  }

  @Test
  void settle_byManyThreadsAtOnce_isGrantedToOne() throws Exception {
    rig.publish("m", 20);
    PullConsumer consumer = rig.pullConsumer(settings -> settings);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      for (int i = 0; i < 20; i++) {
        Delivery delivery = consumer.receive(LIMIT).orElseThrow();
        CyclicBarrier start = new CyclicBarrier(4);
        Callable<Answer> settling =
            () -> {
              start.await(LIMIT.toSeconds(), TimeUnit.SECONDS);
              return delivery.accept();
            };
        List<Answer> answers = new ArrayList<>();
        for (var each : threads.invokeAll(List.of(settling, settling, settling, settling))) {
          answers.add(each.get());
        }
        assertThat(answers)
            .containsExactlyInAnyOrder(
                Answer.ACCEPTED, Answer.ALREADY, Answer.ALREADY, Answer.ALREADY);
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(consumer.status().accepted()).isEqualTo(20);
    consumer.close();
    awaitLeft(0);
  }

  @Test
  void aHandlerThatSettlesItself_isNotAskedAgain() throws Exception {
    rig.publish("m", 10);
    Handled handled = new Handled();
    Queue<Answer> answers = new ConcurrentLinkedQueue<>();
    Consumer consumer = rig.consumer();
    consumer.handle(
        handled.by(
            delivery -> {
              answers.add(delivery.accept());
              if (Handled.number(Handled.text(delivery)) % 2 == 0) {
                throw new IllegalStateException("thrown after it was settled");
              }
              return Settlement.reject("said after it was settled");
            }));

    until(() -> handled.returned() == 10);

    assertAllSettled(consumer);
    assertThat(answers).hasSize(10).containsOnly(Answer.ACCEPTED);
    assertThat(consumer.status().accepted()).isEqualTo(10);
    assertThat(handled.begun()).isEqualTo(10);
    assertThat(rig.deadLetters()).isEmpty();
  }

  @Test
  void settle_afterClose_isStale_andTheMessageComesAgain() throws Exception {
    rig.publish("m", 3);
    Queue<Delivery> open = new ConcurrentLinkedQueue<>();
    Consumer consumer = rig.consumer(settings -> settings.withCloseTimeout(Duration.ZERO));
    consumer.handleAsync(
        delivery -> {
          open.add(delivery);
          return new CompletableFuture<>();
        });
    until(() -> open.size() == 3);

    consumer.close();

    assertThat(open)
        .allSatisfy(
            delivery -> {
              assertThat(delivery.accept()).isEqualTo(Answer.STALE);
              assertThat(delivery.retry()).isEqualTo(Answer.STALE);
            });
    assertThat(consumer.status().stale()).isEqualTo(3);
    assertSumsToZero(consumer.status());
    assertThat(rest(3)).containsExactly("m-0", "m-1", "m-2");
  }

  // ------------------------------------------------------------------------ retry and dead letter

  @ParameterizedTest
  @EnumSource(Ordering.class)
  void retryAfter_comesAgainAfterTheDelay_notBefore(Ordering ordering) throws Exception {
    Duration delay = Duration.ofMillis(1_200);
    rig.publish("m", 1);
    Handled handled = new Handled();
    AtomicLong settled = new AtomicLong();
    Consumer consumer =
        rig.consumer(settings -> settings.withOrdering(ordering).withRetryDelays(List.of(delay)));
    consumer.handle(
        handled.by(
            delivery -> {
              if (delivery.attempt() == 1) {
                settled.set(System.nanoTime());
                return Settlement.retryAfter(delay);
              }
              return Settlement.accept();
            }));

    until(() -> consumer.status().accepted() == 1);

    assertThat(handled.calls()).extracting(Call::attempt).containsExactly(1, 2);
    Call second = handled.calls().get(1);
    assertThat(second.redelivered()).isTrue();
    assertThat(Duration.ofNanos(second.beganNanos() - settled.get())).isBetween(delay, LIMIT);
    assertThat(consumer.status().retried() + consumer.status().retriedInPlace()).isEqualTo(1);
    assertAllSettled(consumer);
  }

  @Test
  void retryAfter_longerThanAllRetryDelays_comesNoSooner() throws Exception {
    Duration delay = Duration.ofMillis(1_200);
    rig.publish("m", 1);
    Handled handled = new Handled();
    AtomicLong settled = new AtomicLong();
    Consumer consumer =
        rig.consumer(settings -> settings.withRetryDelays(List.of(Duration.ofMillis(100))));
    consumer.handle(
        handled.by(
            delivery -> {
              if (delivery.attempt() == 1) {
                settled.set(System.nanoTime());
                return Settlement.retryAfter(delay);
              }
              return Settlement.accept();
            }));

    until(() -> consumer.status().accepted() == 1);

    assertThat(handled.calls()).extracting(Call::attempt).containsExactly(1, 2);
    assertThat(Duration.ofNanos(handled.calls().get(1).beganNanos() - settled.get()))
        .isBetween(delay, LIMIT);
    assertAllSettled(consumer);
  }

  @Test
  void retry_withoutAnOrder_holdsUpNobody() throws Exception {
    rig.publish("m", 50);
    Handled handled = new Handled();
    Consumer consumer =
        rig.consumer(
            settings -> settings.withWorkers(1).withRetryDelays(List.of(Duration.ofSeconds(2))));
    consumer.handle(
        handled.by(
            delivery ->
                delivery.attempt() == 1 && Handled.text(delivery).equals("m-0")
                    ? Settlement.retry()
                    : Settlement.accept()));

    until(() -> consumer.status().accepted() == 50);

    List<String> texts = handled.texts();
    assertThat(texts).hasSize(51);
    assertThat(texts.get(50)).as("the last one").isEqualTo("m-0");
    assertAllSettled(consumer);
  }

  /** What makes a handler fail. */
  enum Failure {
    EXCEPTION,
    CHECKED,
    ERROR,
    NULL,
    RETRY;

    Settlement fail() throws Exception {
      return switch (this) {
        case EXCEPTION -> throw new IllegalStateException("poison");
        case CHECKED -> throw new java.io.IOException("poison");
        case ERROR -> throw new StackOverflowError("poison");
        case NULL -> nothing();
        case RETRY -> Settlement.failed("poison");
      };
    }

    @SuppressWarnings("NullAway") // what a handler must not return
    private static Settlement nothing() {
      return null;
    }
  }

  @ParameterizedTest
  @EnumSource(Failure.class)
  void aHandlerThatFails_isRetriedWithBackOff_andTheMessageRejectedInTheEnd(Failure failure)
      throws Exception {
    failsForEver(failure, Ordering.NONE);
  }

  @ParameterizedTest
  @EnumSource(
      value = Ordering.class,
      names = {"BY_KEY", "TOTAL"})
  void aHandlerThatFails_alsoUnderAnOrder(Ordering ordering) throws Exception {
    failsForEver(Failure.EXCEPTION, ordering);
  }

  private void failsForEver(Failure failure, Ordering ordering) throws Exception {
    List<Message> messages = Handled.messages("body", 0, 20);
    rig.publish(messages);
    Instant begun = Instant.now();
    Handled handled = new Handled();
    Map<Integer, Long> ended = new ConcurrentHashMap<>();
    Consumer consumer =
        rig.consumer(
            settings -> settings.withOrdering(ordering).withMaxAttempts(4).withRetryDelays(DELAYS));
    consumer.handle(
        handled.by(
            delivery -> {
              if (!Handled.text(delivery).equals("body-7")) {
                return Settlement.accept();
              }
              ended.put(delivery.attempt(), System.nanoTime());
              return failure.fail();
            }));

    until(() -> consumer.status().accepted() == 19 && consumer.status().rejected() == 1);

    handled.assertNothingMissing(messages);
    List<Call> calls = handled.calls("body-7");
    assertThat(calls).extracting(Call::attempt).containsExactly(1, 2, 3, 4);
    assertThat(handled.begun()).isEqualTo(23);
    for (int attempt = 1; attempt < 4; attempt++) {
      Duration waited =
          Duration.ofNanos(
              calls.get(attempt).beganNanos() - Objects.requireNonNull(ended.get(attempt)));
      Duration delay = DELAYS.get(Math.min(attempt, DELAYS.size()) - 1);
      assertThat(waited).as("before attempt %s", attempt + 1).isBetween(delay, LIMIT);
    }
    String reason = failure == Failure.NULL ? "settlement" : "poison";
    assertThat(rig.deadLetters())
        .singleElement()
        .satisfies(
            letter -> {
              assertThat(Handled.names(List.of(letter.message()))).containsExactly("body-7");
              assertThat(letter.attempts()).isEqualTo(4);
              assertThat(letter.reason()).contains(reason);
              // some brokers keep times to the second
              assertThat(letter.at()).isBetween(begun.minusSeconds(1), Instant.now());
            });
    assertThat(rig.events(Event.Rejected.class))
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.attempts()).isEqualTo(4);
              assertThat(event.reason()).contains(reason);
              assertThat(event.message()).isNotBlank().doesNotContain("body-7");
            });
    assertThat(rig.events(Event.HandlerError.class)).hasSize(failure == Failure.ERROR ? 4 : 0);
    assertAllSettled(consumer);
  }

  @ParameterizedTest
  @EnumSource(Ordering.class)
  void reject_goesToTheDeadLettersAtOnce_andSaysWhy(Ordering ordering) throws Exception {
    List<Message> messages = Handled.messages("m", 0, 30);
    rig.publish(messages);
    Handled handled = new Handled();
    Consumer consumer = rig.consumer(settings -> settings.withOrdering(ordering));
    consumer.handle(
        handled.by(
            delivery ->
                Handled.number(Handled.text(delivery)) % 3 == 0
                    ? Settlement.reject("a third: " + Handled.text(delivery))
                    : Settlement.accept()));

    until(() -> consumer.status().accepted() == 20 && consumer.status().rejected() == 10);

    handled.assertOnceEach(messages);
    List<DeadLetter> letters = rig.deadLetters();
    assertThat(letters)
        .hasSize(10)
        .allSatisfy(
            letter -> {
              String text = new String(letter.message().payload(), StandardCharsets.UTF_8);
              assertThat(letter.reason()).isEqualTo("a third: " + text);
              assertThat(letter.attempts()).isEqualTo(1);
            });
    assertAllSettled(consumer);
  }

  @Test
  void aReasonOfAnyLength_doesNotKeepTheMessageFromTheDeadLetters() throws Exception {
    rig.publish("m", 1);
    Consumer consumer = rig.consumer();
    consumer.handle(delivery -> Settlement.reject("wörd ".repeat(60_000)));

    until(() -> consumer.status().rejected() == 1);

    assertThat(rig.deadLetters())
        .singleElement()
        .satisfies(letter -> assertThat(letter.reason()).startsWith("wörd wörd "));
    assertThat(consumer.status().copiesFailed()).isZero();
    assertAllSettled(consumer);
  }

  // -------------------------------------------------------------------------------------- order

  @Test
  void withoutAnOrder_asManyRunAsThereAreWorkers_andNoMore() throws Exception {
    rig.publish("m", 100);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = rig.consumer(settings -> settings.withWorkers(5));
    consumer.handle(
        handled.by(
            delivery -> {
              awaitOpen(go);
              return Settlement.accept();
            }));
    until(() -> handled.running() == 5 && consumer.status().waiting() > 0);
    assertThat(consumer.status().inHandlers()).isEqualTo(5);
    go.countDown();

    until(() -> consumer.status().accepted() == 100);

    assertThat(handled.mostAtATime()).isEqualTo(5);
    assertAllSettled(consumer);
  }

  @Test
  void byKey_aKeyNeverRunsBesideItself_norOutOfOrder_andKeysRunInParallel() throws Exception {
    List<Message> messages = Handled.inTurn(16, 100);
    Handled handled = new Handled();
    Consumer consumer =
        rig.consumer(settings -> settings.withOrdering(Ordering.BY_KEY).withWorkers(8));
    consumer.handle(
        handled.by(
            delivery -> {
              int number = Handled.number(Handled.text(delivery));
              TimeUnit.MICROSECONDS.sleep(number % 7 * 200L);
              return Settlement.accept();
            }));

    rig.publish(messages);

    until(() -> consumer.status().accepted() == 1_600);
    handled.assertOnceEach(messages);
    handled.assertNoKeyBesideItself();
    handled.assertFirstInOrder();
    assertThat(handled.mostAtATime()).isBetween(2, 8);
    assertAllSettled(consumer);
  }

  @Test
  void byKey_aBusyKey_doesNotHoldUpTheOthers() throws Exception {
    List<Message> messages = new ArrayList<>(Handled.messages("slow", 0, 5));
    messages.addAll(Handled.inTurn(8, 100));
    rig.publish(messages);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = rig.consumer(settings -> settings.withOrdering(Ordering.BY_KEY));
    consumer.handle(
        handled.by(
            delivery -> {
              if (Handled.text(delivery).startsWith("slow-")) {
                awaitOpen(go);
              }
              return Settlement.accept();
            }));

    until(() -> consumer.status().accepted() == 800);
    assertThat(handled.texts("slow")).containsExactly("slow-0");
    go.countDown();

    until(() -> consumer.status().accepted() == 805);
    handled.assertOnceEach(messages);
    handled.assertNoKeyBesideItself();
    handled.assertFirstInOrder();
    assertAllSettled(consumer);
  }

  @Test
  void byKey_theNextBegins_whenTheOneBeforeIsSettledAndItsHandlerHasReturned() throws Exception {
    rig.publish("m", 2);
    rig.publish("other", 1);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = rig.consumer(settings -> settings.withOrdering(Ordering.BY_KEY));
    consumer.handle(
        handled.by(
            delivery -> {
              if (Handled.text(delivery).equals("m-0")) {
                assertThat(delivery.accept()).isEqualTo(Answer.ACCEPTED);
                awaitOpen(go);
              }
              return Settlement.accept();
            }));

    until(() -> consumer.status().accepted() == 2); // m-0 and the other key's
    assertThat(handled.texts("m")).containsExactly("m-0");
    go.countDown();

    until(() -> consumer.status().accepted() == 3);
    handled.assertNoKeyBesideItself();
    assertAllSettled(consumer);
  }

  @Test
  void byKey_aRetryInPlace_holdsUpItsKey_andNoOther() throws Exception {
    List<Message> messages = Handled.inTurn(6, 20);
    rig.publish(messages);
    Handled handled = new Handled();
    Map<String, Queue<String>> accepted = new ConcurrentHashMap<>();
    AtomicInteger othersDone = new AtomicInteger();
    AtomicBoolean othersWentOn = new AtomicBoolean();
    Consumer consumer =
        rig.consumer(
            settings ->
                settings
                    .withOrdering(Ordering.BY_KEY)
                    .withRetryDelays(List.of(Duration.ofMillis(1_500))));
    consumer.handle(
        handled.by(
            delivery -> {
              String text = Handled.text(delivery);
              String key = String.valueOf(delivery.message().key());
              if (text.equals("k0-3")) {
                if (delivery.attempt() == 1) {
                  return Settlement.retry();
                }
                othersWentOn.set(othersDone.get() > 15);
              }
              if (!key.equals("k0")) {
                othersDone.incrementAndGet();
              }
              accepted.computeIfAbsent(key, k -> new ConcurrentLinkedQueue<>()).add(text);
              return Settlement.accept();
            }));

    until(() -> consumer.status().accepted() == 120);

    assertThat(accepted).hasSize(6);
    accepted.forEach(
        (key, texts) -> assertThat(texts).containsExactlyElementsOf(Handled.names(key, 0, 20)));
    handled.assertNoKeyBesideItself();
    assertThat(handled.texts("k0").subList(3, 5)).containsExactly("k0-3", "k0-3");
    assertThat(othersWentOn).isTrue();
    assertAllSettled(consumer);
  }

  @Test
  void byKey_aRejectedMessage_letsTheNextOfItsKeyGo() throws Exception {
    rig.publish("m", 10);
    Handled handled = new Handled();
    Consumer consumer =
        rig.consumer(
            settings ->
                settings
                    .withOrdering(Ordering.BY_KEY)
                    .withMaxAttempts(2)
                    .withRetryDelays(List.of(Duration.ofMillis(50))));
    consumer.handle(
        handled.by(
            delivery -> {
              if (Handled.text(delivery).equals("m-4")) {
                throw new IllegalStateException("poison");
              }
              return Settlement.accept();
            }));

    until(() -> consumer.status().accepted() == 9 && consumer.status().rejected() == 1);

    List<String> expected = new ArrayList<>(Handled.names("m", 0, 10));
    expected.add(5, "m-4");
    assertThat(handled.texts()).containsExactlyElementsOf(expected);
    assertThat(rig.deadLetters()).hasSize(1);
    assertAllSettled(consumer);
  }

  @Test
  void byKey_messagesWithoutAKey_haveNoOrder() throws Exception {
    List<Message> messages =
        IntStream.range(0, 20).mapToObj(i -> Load.message("none-" + i)).toList();
    rig.publish(messages);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer =
        rig.consumer(settings -> settings.withOrdering(Ordering.BY_KEY).withWorkers(3));
    consumer.handle(
        handled.by(
            delivery -> {
              awaitOpen(go);
              return Settlement.accept();
            }));
    until(() -> handled.running() == 3);
    go.countDown();

    until(() -> consumer.status().accepted() == 20);
    handled.assertOnceEach(messages);
    assertAllSettled(consumer);
  }

  @Test
  void byKey_theKeyMayComeFromElsewhere_andOneThatCannotBeTold_isAFailure() throws Exception {
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      messages.add(
          Message.builder(("h" + i % 4 + "-" + i / 4).getBytes(StandardCharsets.UTF_8))
              .header("customer", "h" + i % 4)
              .build());
    }
    messages.add(Load.message("bad-0"));
    Handled handled = new Handled();
    Consumer consumer =
        rig.consumer(
            settings ->
                settings
                    .withOrdering(Ordering.BY_KEY)
                    .withMaxAttempts(1)
                    .withKeyOf(
                        message -> {
                          Object customer = message.headers().get("customer");
                          if (customer == null) {
                            throw new IllegalStateException("no customer");
                          }
                          return customer.toString();
                        }));
    consumer.handle(
        handled.by(
            delivery -> {
              TimeUnit.MILLISECONDS.sleep(1);
              return Settlement.accept();
            }));

    rig.publish(messages);

    until(() -> consumer.status().accepted() == 200 && consumer.status().rejected() == 1);
    handled.assertOnceEach(messages.subList(0, 200));
    handled.assertNoKeyBesideItself();
    handled.assertFirstInOrder();
    assertThat(handled.mostAtATime()).isGreaterThan(1);
    assertThat(rig.deadLetters())
        .singleElement()
        .satisfies(letter -> assertThat(letter.reason()).contains("no customer"));
    assertAllSettled(consumer);
  }

  @Test
  void total_oneAtATime_inOrder_alsoAcrossARetryInPlaceAndAReject() throws Exception {
    List<Message> messages = Handled.inTurn(4, 50);
    rig.publish(messages);
    Handled handled = new Handled();
    Consumer consumer =
        rig.consumer(
            settings ->
                settings
                    .withOrdering(Ordering.TOTAL)
                    .withWorkers(8)
                    .withRetryDelays(List.of(Duration.ofMillis(200))));
    consumer.handle(
        handled.by(
            delivery -> {
              String text = Handled.text(delivery);
              if (text.equals("k1-10") && delivery.attempt() < 3) {
                throw new IllegalStateException("twice");
              }
              return text.equals("k2-20") ? Settlement.reject("bad") : Settlement.accept();
            }));

    until(() -> consumer.status().accepted() == 199 && consumer.status().rejected() == 1);

    List<String> expected = new ArrayList<>();
    for (Message each : messages) {
      String text = new String(each.payload(), StandardCharsets.UTF_8);
      expected.add(text);
      if (text.equals("k1-10")) {
        expected.addAll(List.of(text, text));
      }
    }
    assertThat(handled.texts()).containsExactlyElementsOf(expected);
    assertThat(handled.mostAtATime()).isEqualTo(1);
    assertThat(consumer.status().retriedInPlace()).isEqualTo(2);
    assertAllSettled(consumer);
  }

  // --------------------------------------------------------------------------------------- flow

  @Test
  void pause_isAGate_underLoad_andResumeHandsOutWhatWaited() throws Exception {
    List<Message> messages = Handled.messages("m", 0, 7_000);
    rig.publish(messages.subList(0, 6_000));
    Handled handled = new Handled();
    Consumer consumer = rig.consumer(settings -> settings.withWorkers(4));
    consumer.handle(
        handled.by(
            delivery -> {
              TimeUnit.MILLISECONDS.sleep(2);
              return Settlement.accept();
            }));

    for (int round = 1; round <= 5; round++) {
      int before = 100 * round;
      await().pollDelay(Duration.ofMillis(5)).atMost(LIMIT).until(() -> handled.begun() >= before);
      consumer.pause();
      until(() -> consumer.status().inHandlers() == 0 && consumer.status().waiting() > 0);
      int begun = handled.begun();
      assertThat(consumer.status().state()).isEqualTo(State.PAUSED);
      rig.publish(messages.subList(5_800 + 200 * round, 6_000 + 200 * round)); // takes a while
      assertThat(handled.begun()).as("begun while paused").isEqualTo(begun);
      consumer.resume();
    }

    until(() -> consumer.status().accepted() == 7_000);
    handled.assertOnceEach(messages);
    assertAllSettled(consumer);
  }

  @Test
  void pausedBeforeItBegins_nothingBegins_andWhatWaitsIsWithinThePermits() throws Exception {
    Handled handled = new Handled();
    Consumer consumer = rig.consumer(settings -> settings.withPermits(PermitPolicy.fixed(20)));
    consumer.pause();
    consumer.handle(handled.by(delivery -> Settlement.accept()));
    rig.publish("m", 500);

    until(() -> consumer.status().waiting() >= 20);

    ConsumerStatus paused = consumer.status();
    // what the 16 workers may have is here as well, as they take nothing
    assertThat(paused.waiting())
        .isLessThanOrEqualTo(paused.permits() + 16 + broker.largestAckBatch());
    assertThat(handled.begun()).isZero();
    consumer.resume();
    until(() -> consumer.status().accepted() == 500);
    assertAllSettled(consumer);
  }

  @Test
  void permits_boundWhatAConsumerHolds_andAnotherGetsTheRest() throws Exception {
    int workers = 4;
    int permits = 10;
    rig.publish("m", 300);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer stuck =
        rig.consumer(
            settings -> settings.withWorkers(workers).withPermits(PermitPolicy.fixed(permits)));
    stuck.handle(
        handled.by(
            delivery -> {
              awaitOpen(go);
              return Settlement.accept();
            }));
    until(() -> handled.running() == workers && stuck.status().waiting() >= permits / 2);

    Consumer other = rig.consumer();
    other.handle(handled.by(delivery -> Settlement.accept()));

    int held = workers + permits + broker.largestAckBatch();
    until(() -> other.status().accepted() >= 300 - held);
    ConsumerStatus status = stuck.status();
    assertThat(status.inHandlers()).isEqualTo(workers);
    // Pulsar is granted again when half of the permits have been used.
    assertThat(status.waiting()).isBetween(permits / 2, permits + broker.largestAckBatch());
    assertThat(status.permits()).isBetween(permits, permits + broker.largestAckBatch());
    go.countDown();
    until(() -> stuck.status().accepted() + other.status().accepted() == 300);
    handled.assertOnceEach(Handled.messages("m", 0, 300));
    assertThat(stuck.drain(LIMIT)).isZero();
    stuck.close();
    assertAllSettled(other);
  }

  @Test
  void adaptivePermits_aStuckConsumer_leavesTheBacklogToAnother() throws Exception {
    rig.publish("m", 1_000);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer stuck = rig.consumer(settings -> settings.withWorkers(1));
    stuck.handle(
        handled.by(
            delivery -> {
              awaitOpen(go);
              return Settlement.accept();
            }));
    until(() -> handled.running() == 1);
    Consumer other = rig.consumer();
    other.handle(handled.by(delivery -> Settlement.accept()));

    until(() -> other.status().accepted() >= 950);

    go.countDown();
    until(() -> stuck.status().accepted() + other.status().accepted() == 1_000);
    handled.assertOnceEach(Handled.messages("m", 0, 1_000));
    assertThat(stuck.drain(LIMIT)).isZero();
    stuck.close();
    assertAllSettled(other);
  }

  private static List<Message> large(int count, int bytes) {
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] body = new byte[bytes];
      byte[] name = ("m-" + i + " ").getBytes(StandardCharsets.UTF_8);
      System.arraycopy(name, 0, body, 0, name.length);
      messages.add(Message.of(body));
    }
    return messages;
  }

  private static String nameOf(Delivery delivery) {
    String text = new String(delivery.message().payload(), 0, 10, StandardCharsets.UTF_8);
    return text.substring(0, text.indexOf(' '));
  }

  @Test
  void bytes_boundWhatHandlersHold() throws Exception {
    int size = 100_000;
    Set<String> handled = ConcurrentHashMap.newKeySet();
    Semaphore go = new Semaphore(0);
    Consumer consumer =
        rig.consumer(
            settings ->
                settings
                    .withWorkers(10)
                    .withPermits(PermitPolicy.adaptive().withMaxBytes(3L * size + size / 2)));
    consumer.handle(
        delivery -> {
          assertThat(go.tryAcquire(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
          handled.add(nameOf(delivery));
          return Settlement.accept();
        });

    rig.publish(large(40, size));

    until(() -> consumer.status().inHandlers() == 3);
    until(() -> consumer.status().waiting() > 0);
    assertThat(consumer.status().inHandlers()).isEqualTo(3);
    assertThat(consumer.status().unsettledBytes()).isEqualTo(3L * size);
    go.release(40);
    until(() -> consumer.status().accepted() == 40);
    assertThat(handled).hasSize(40);
    assertAllSettled(consumer);
  }

  @Test
  void aMessageLargerThanTheByteBudget_isAdmittedAlone() throws Exception {
    AtomicInteger now = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    Set<String> handled = ConcurrentHashMap.newKeySet();
    Consumer consumer =
        rig.consumer(
            settings -> settings.withPermits(PermitPolicy.adaptive().withMaxBytes(10_000)));
    consumer.handle(
        delivery -> {
          most.accumulateAndGet(now.incrementAndGet(), Math::max);
          TimeUnit.MILLISECONDS.sleep(5);
          handled.add(nameOf(delivery));
          now.decrementAndGet();
          return Settlement.accept();
        });

    rig.publish(large(20, 200_000));

    until(() -> consumer.status().accepted() == 20);
    assertThat(handled).hasSize(20);
    assertThat(most).hasValue(1);
    assertAllSettled(consumer);
  }

  // --------------------------------------------------------------------------------------- pull

  @Test
  void receive_handsOutEachOnce_toAnyThread() throws Exception {
    rig.publish("m", 500);
    Queue<String> got = new ConcurrentLinkedQueue<>();
    PullConsumer consumer = rig.pullConsumer(settings -> settings);
    List<Thread> threads = new ArrayList<>();
    Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    for (int t = 0; t < 4; t++) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  while (got.size() < 500) {
                    Optional<Delivery> next = consumer.receive(Duration.ofMillis(200));
                    next.ifPresent(
                        delivery -> {
                          got.add(Handled.text(delivery));
                          if (delivery.accept() != Answer.ACCEPTED) {
                            throw new IllegalStateException("not accepted");
                          }
                        });
                  }
                } catch (InterruptedException | RuntimeException e) {
                  failures.add(e);
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread each : threads) {
      each.join(LIMIT.toMillis());
    }

    assertThat(failures).isEmpty();
    assertThat(got).containsExactlyInAnyOrderElementsOf(Handled.names("m", 0, 500));
    assertThat(consumer.status().accepted()).isEqualTo(500);
    assertThat(consumer.drain(LIMIT)).isZero();
    assertSumsToZero(consumer.status());
    consumer.close();
    awaitLeft(0);
  }

  @Test
  void receive_waitsItsTime_andIsWokenByAMessage() throws Exception {
    PullConsumer consumer = rig.pullConsumer(settings -> settings);

    assertThat(consumer.receive(Duration.ZERO)).isEmpty();
    long began = System.nanoTime();
    assertThat(consumer.receive(Duration.ofMillis(300))).isEmpty();
    Duration waited = Duration.ofNanos(System.nanoTime() - began);

    assertThat(waited).isBetween(Duration.ofMillis(300), GRACE);
    CompletableFuture<Optional<Delivery>> next =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return consumer.receive(LIMIT);
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });
    rig.publish("m", 1);
    assertThat(next.get(LIMIT.toSeconds(), TimeUnit.SECONDS).map(Delivery::accept))
        .contains(Answer.ACCEPTED);
  }

  @Test
  void receive_whileInterrupted_throws() {
    PullConsumer consumer = rig.pullConsumer(settings -> settings);

    Thread.currentThread().interrupt();

    assertThatExceptionOfType(InterruptedException.class).isThrownBy(() -> consumer.receive(LIMIT));
    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void receive_handsOutAtMostMaxUnsettled_andGoesOnWhenOneIsSettled() throws Exception {
    rig.publish("m", 20);
    PullConsumer consumer = rig.pullConsumer(settings -> settings.withMaxUnsettled(3));
    List<Delivery> out = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      out.add(consumer.receive(LIMIT).orElseThrow());
    }
    until(() -> consumer.status().waiting() > 0);

    assertThat(consumer.receive(Duration.ofMillis(200))).isEmpty();
    assertThat(consumer.status().inHandlers()).isEqualTo(3);
    for (int i = 0; i < 17; i++) {
      assertThat(out.get(i).accept()).isEqualTo(Answer.ACCEPTED);
      out.add(consumer.receive(LIMIT).orElseThrow());
    }
    for (Delivery each : out.subList(17, 20)) {
      assertThat(each.accept()).isEqualTo(Answer.ACCEPTED);
    }

    assertThat(out.stream().map(Handled::text))
        .containsExactlyInAnyOrderElementsOf(Handled.names("m", 0, 20));
    consumer.close();
    awaitLeft(0);
  }

  @ParameterizedTest
  @EnumSource(
      value = Ordering.class,
      names = {"BY_KEY", "TOTAL"})
  void receive_underAnOrder_theNextComesWhenTheOneBeforeIsSettled(Ordering ordering)
      throws Exception {
    rig.publish("m", 5);
    PullConsumer consumer = rig.pullConsumer(settings -> settings.withOrdering(ordering));

    for (int i = 0; i < 5; i++) {
      Delivery next = consumer.receive(LIMIT).orElseThrow();
      assertThat(Handled.text(next)).isEqualTo("m-" + i);
      if (i == 0) {
        assertThat(consumer.receive(Duration.ofMillis(500))).isEmpty();
      }
      assertThat(next.accept()).isEqualTo(Answer.ACCEPTED);
    }

    consumer.close();
    awaitLeft(0);
  }

  @Test
  void receive_aRetryAndAReject_doAsInAHandler() throws Exception {
    rig.publish("m", 2);
    PullConsumer consumer = rig.pullConsumer(settings -> settings.withRetryDelays(DELAYS));
    int accepted = 0;
    while (accepted < 1) {
      Delivery next = consumer.receive(LIMIT).orElseThrow();
      if (Handled.text(next).equals("m-1")) {
        assertThat(next.reject("no")).isEqualTo(Answer.ACCEPTED);
      } else if (next.attempt() == 1) {
        assertThat(next.retry()).isEqualTo(Answer.ACCEPTED);
      } else {
        assertThat(next.attempt()).isEqualTo(2);
        assertThat(next.accept()).isEqualTo(Answer.ACCEPTED);
        accepted++;
      }
    }

    until(() -> consumer.status().rejected() == 1);
    assertThat(rig.deadLetters()).hasSize(1);
    assertThat(consumer.drain(LIMIT)).isZero();
    assertSumsToZero(consumer.status());
    consumer.close();
    awaitLeft(0);
  }

  @Test
  void pull_close_doesNotWaitForWhatIsOut_itIsStaleAndComesAgain() throws Exception {
    rig.publish("m", 10);
    PullConsumer consumer = rig.pullConsumer(settings -> settings.withMaxUnsettled(2));
    Delivery first = consumer.receive(LIMIT).orElseThrow();
    Delivery second = consumer.receive(LIMIT).orElseThrow();
    assertThat(first.accept()).isEqualTo(Answer.ACCEPTED);
    CompletableFuture<Optional<Delivery>> waiting = new CompletableFuture<>();
    Delivery third = consumer.receive(LIMIT).orElseThrow();
    Thread waiter =
        new Thread(
            () -> {
              try {
                waiting.complete(consumer.receive(LIMIT));
              } catch (InterruptedException | RuntimeException e) {
                waiting.completeExceptionally(e);
              }
            });
    waiter.start();
    until(() -> waiter.getState() == Thread.State.TIMED_WAITING);

    long began = System.nanoTime();
    consumer.close();

    assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(GRACE);
    assertThat(waiting.get(LIMIT.toSeconds(), TimeUnit.SECONDS)).isEmpty();
    assertThat(second.accept()).isEqualTo(Answer.STALE);
    assertThat(third.reject("no")).isEqualTo(Answer.STALE);
    assertThatExceptionOfType(MessagingException.class)
        .isThrownBy(() -> consumer.receive(Duration.ZERO))
        .satisfies(e -> assertThat(e.kind()).isEqualTo(MessagingException.Kind.CLOSED));
    assertThat(consumer.status().stale()).isEqualTo(2);
    List<String> left = new ArrayList<>(Handled.names("m", 0, 10));
    left.remove(Handled.text(first));
    assertThat(rest(9)).containsExactlyInAnyOrderElementsOf(left);
    assertThat(rig.deadLetters()).isEmpty();
  }

  @Test
  void pull_drain_waitsForWhatIsOut_forItsTime() throws Exception {
    rig.publish("m", 5);
    PullConsumer consumer = rig.pullConsumer(settings -> settings.withMaxUnsettled(2));
    Delivery first = consumer.receive(LIMIT).orElseThrow();
    Delivery second = consumer.receive(LIMIT).orElseThrow();

    assertThat(consumer.drain(Duration.ofMillis(200))).isEqualTo(2);
    assertThat(first.accept()).isEqualTo(Answer.ACCEPTED);
    assertThat(consumer.drain(Duration.ofMillis(200))).isEqualTo(1);
    assertThat(second.accept()).isEqualTo(Answer.ACCEPTED);
    assertThat(consumer.drain(LIMIT)).isZero();
    assertThat(consumer.receive(Duration.ZERO)).isEmpty();
    consumer.close();

    awaitLeft(3);
  }

  // ------------------------------------------------------------------------------ drain, close

  @ParameterizedTest
  @EnumSource(Ordering.class)
  void drain_letsHandlersFinish_andGivesBackWhatNoneHasBegun(Ordering ordering) throws Exception {
    List<Message> messages = Handled.inTurn(8, 60);
    rig.publish(messages);
    Handled handled = new Handled();
    Consumer consumer = rig.consumer(settings -> settings.withOrdering(ordering).withWorkers(4));
    consumer.handle(
        handled.by(
            delivery -> {
              TimeUnit.MILLISECONDS.sleep(5);
              return Settlement.accept();
            }));
    until(() -> handled.returned() >= 40);

    long unsettled = consumer.drain(LIMIT);

    int begun = handled.begun();
    assertThat(unsettled).isZero();
    assertThat(handled.running()).isZero();
    assertThat(consumer.status().state()).isEqualTo(State.DRAINING);
    assertSumsToZero(consumer.status());
    assertThat(consumer.status().accepted()).isEqualTo(begun);
    consumer.close();
    awaitLeft(480 - begun);
    List<String> rest = rest(480 - begun);
    assertThat(handled.begun()).as("begun after it was drained").isEqualTo(begun);
    List<String> all = new ArrayList<>(handled.texts());
    all.addAll(rest);
    assertThat(all).containsExactlyInAnyOrderElementsOf(Handled.names(messages));
    List<String> inOrder =
        messages.stream().map(each -> new String(each.payload(), StandardCharsets.UTF_8)).toList();
    if (ordering == Ordering.TOTAL) {
      assertThat(all).containsExactlyElementsOf(inOrder);
    }
    if (ordering != Ordering.NONE) { // else nothing is promised of what is given back
      assertThat(rest)
          .as("in the order of the broker")
          .containsExactlyElementsOf(inOrder.stream().filter(Set.copyOf(rest)::contains).toList());
    }
  }

  @Test
  void drain_keepsItsTime_andSaysHowManyAreNotSettled() throws Exception {
    rig.publish("m", 20);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = rig.consumer(settings -> settings.withWorkers(3));
    consumer.handle(
        handled.by(
            delivery -> {
              awaitOpen(go);
              return Settlement.accept();
            }));
    until(() -> handled.running() == 3);

    assertThat(consumer.drain(Duration.ZERO)).isEqualTo(3);
    long began = System.nanoTime();
    assertThat(consumer.drain(Duration.ofMillis(500))).isEqualTo(3);
    Duration took = Duration.ofNanos(System.nanoTime() - began);
    go.countDown();

    assertThat(took).isBetween(Duration.ofMillis(490), GRACE);
    assertThat(consumer.drain(LIMIT)).isZero();
    assertThat(handled.begun()).isEqualTo(3);
    consumer.close();
    awaitLeft(17);
  }

  @Test
  void drain_whileARetryWaitsInPlace_givesItBack() throws Exception {
    rig.publish("m", 3);
    Consumer consumer =
        rig.consumer(
            settings ->
                settings
                    .withOrdering(Ordering.TOTAL)
                    .withRetryDelays(List.of(Duration.ofHours(1))));
    consumer.handle(delivery -> Settlement.retry());
    until(() -> consumer.status().retriedInPlace() == 1);

    assertThat(consumer.drain(LIMIT)).isZero();

    assertSumsToZero(consumer.status());
    consumer.close();
    assertThat(rest(3)).containsExactly("m-0", "m-1", "m-2");
  }

  @Test
  void drain_byAHandler_doesNotWaitForItsOwnMessage() throws Exception {
    rig.publish("m", 10);
    CompletableFuture<Long> unsettled = new CompletableFuture<>();
    Consumer consumer = rig.consumer(settings -> settings.withWorkers(1));
    consumer.handle(
        delivery -> {
          unsettled.complete(consumer.drain(LIMIT));
          return Settlement.accept();
        });

    assertThat(unsettled.get(LIMIT.toSeconds() / 2, TimeUnit.SECONDS)).isEqualTo(1);

    assertThat(consumer.drain(LIMIT)).isZero();
    consumer.close();
    awaitLeft(9);
  }

  @Test
  void drain_anInterruptEndsTheWait_andIsKept() throws Exception {
    rig.publish("m", 1);
    CountDownLatch go = new CountDownLatch(1);
    Handled handled = new Handled();
    Consumer consumer = rig.consumer();
    consumer.handle(
        handled.by(
            delivery -> {
              awaitOpen(go);
              return Settlement.accept();
            }));
    until(() -> handled.running() == 1);

    Thread.currentThread().interrupt();
    long began = System.nanoTime();
    long unsettled = consumer.drain(LIMIT);

    assertThat(Thread.interrupted()).isTrue();
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(LIMIT.minus(GRACE));
    assertThat(unsettled).isEqualTo(1);
    go.countDown();
    assertThat(consumer.drain(LIMIT)).isZero();
  }

  @Test
  void close_aHandlerThatNeverReturns_isLeft_andItsMessageComesAgain() throws Exception {
    rig.publish("m", 50);
    Handled handled = new Handled();
    CountDownLatch go = new CountDownLatch(1);
    AtomicBoolean interrupted = new AtomicBoolean();
    Duration timeout = Duration.ofSeconds(1);
    Consumer consumer = rig.consumer(settings -> settings.withWorkers(2).withCloseTimeout(timeout));
    consumer.handle(
        handled.by(
            delivery -> {
              try {
                awaitOpen(go);
              } catch (InterruptedException e) {
                interrupted.set(true);
              }
              return Settlement.accept();
            }));
    until(() -> handled.running() == 2);

    long began = System.nanoTime();
    consumer.close();
    Duration took = Duration.ofNanos(System.nanoTime() - began);

    assertThat(took).isBetween(Duration.ofMillis(990), timeout.plus(GRACE));
    assertThat(consumer.status().state()).isEqualTo(State.CLOSED);
    assertThat(consumer.status().stale()).isEqualTo(2);
    assertSumsToZero(consumer.status());
    awaitLeft(50);
    assertThat(rest(50)).containsExactlyInAnyOrderElementsOf(Handled.names("m", 0, 50));
    assertThat(interrupted).isFalse();
    go.countDown();
    until(() -> handled.returned() == 2);
    assertThat(consumer.status().accepted()).isZero();
    assertThat(handled.begun()).isEqualTo(2);
    consumer.close();
  }

  @Test
  void close_sendsTheAcknowledgements_ofAll() throws Exception {
    rig.publish("m", 500);
    Consumer consumer = rig.consumer();
    consumer.handle(delivery -> Settlement.accept());
    until(() -> consumer.status().accepted() == 500);

    consumer.close();

    awaitLeft(0);
    assertSumsToZero(consumer.status());
  }

  @Test
  void closingTheMessaging_closesItsConsumers_andLeavesNoThread() throws Exception {
    rig.publish("m", 100);
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    Messaging messaging = Messaging.over(broker.connect(rig.proxy));
    Handled handled = new Handled();
    Consumer consumer = messaging.consumer(rig.settings().withRetryDelays(DELAYS));
    consumer.handle(
        handled.by(
            delivery ->
                switch (Handled.number(Handled.text(delivery))) {
                  case 7 -> Settlement.reject("bad");
                  case 8 -> delivery.attempt() == 1 ? Settlement.retry() : Settlement.accept();
                  default -> Settlement.accept();
                }));
    PullConsumer pull = messaging.pullConsumer(rig.settings());
    until(
        () ->
            consumer.status().accepted() + consumer.status().rejected() + pull.status().waiting()
                == 100);

    messaging.close();

    assertThat(consumer.status().state()).isEqualTo(State.CLOSED);
    assertThat(pull.status().state()).isEqualTo(State.CLOSED);
    assertSumsToZero(consumer.status());
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(newThreads(before)).as("threads left").isEmpty());
    ConsumerSettings settings = rig.settings();
    assertThatExceptionOfType(MessagingException.class)
        .isThrownBy(() -> messaging.consumer(settings))
        .satisfies(e -> assertThat(e.kind()).isEqualTo(MessagingException.Kind.CLOSED));
    messaging.close();
  }

  /** Those that are there now and were not; but for the JVM's own, and the test's tools'. */
  private static List<String> newThreads(Set<Thread> before) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.isAlive() && !before.contains(thread))
        .map(Thread::getName)
        .filter(
            name ->
                !name.startsWith("awaitility")
                    && !name.startsWith("ForkJoinPool.commonPool")
                    && !name.startsWith("CompletableFutureDelayScheduler")
                    && !name.startsWith("globalEventExecutor"))
        .toList();
  }

  // ------------------------------------------------------------------------------------ telling

  @Test
  void aHandlerThatNeverReturns_isNamedWithMessageAndAge_againWhenThatHasDoubled()
      throws Exception {
    Duration warning = Duration.ofMillis(200);
    rig.publish("secret", 2);
    CountDownLatch go = new CountDownLatch(1);
    Set<String> threads = ConcurrentHashMap.newKeySet();
    Consumer consumer = rig.consumer(settings -> settings.withHandlerWarning(warning));
    consumer.handle(
        delivery -> {
          threads.add(Thread.currentThread().getName());
          awaitOpen(go);
          return Settlement.accept();
        });

    until(() -> rig.events(Event.HandlerStuck.class).count() >= 4);

    List<Event.HandlerStuck> stuck = rig.events(Event.HandlerStuck.class).toList();
    assertThat(stuck.stream().map(Event.HandlerStuck::message).distinct())
        .as("the names of two messages")
        .hasSize(2)
        .allSatisfy(name -> assertThat(name).isNotBlank().doesNotContain("secret"));
    assertThat(stuck.stream().map(Event.HandlerStuck::thread).distinct())
        .containsExactlyInAnyOrderElementsOf(threads);
    assertThat(stuck).allSatisfy(each -> assertThat(each.age()).isBetween(warning, LIMIT));
    String name = stuck.get(0).message();
    List<Duration> ages =
        stuck.stream()
            .filter(each -> each.message().equals(name))
            .map(Event.HandlerStuck::age)
            .toList();
    for (int i = 1; i < ages.size(); i++) {
      assertThat(ages.get(i)).isGreaterThanOrEqualTo(ages.get(i - 1).multipliedBy(2));
    }
    assertThat(consumer.status().oldestUnsettled())
        .isGreaterThanOrEqualTo(ages.get(ages.size() - 1));
    go.countDown();
    until(() -> consumer.status().accepted() == 2);
    assertThat(consumer.status().oldestUnsettled()).isZero();
    assertAllSettled(consumer);
  }

  @Test
  void theStatusAndLatencies_followWhatHappens() throws Exception {
    rig.publish("m", 40);
    Semaphore go = new Semaphore(0);
    Consumer consumer =
        rig.consumer(settings -> settings.withWorkers(2).withPermits(PermitPolicy.fixed(8)));
    consumer.handle(
        delivery -> {
          assertThat(go.tryAcquire(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
          return Settlement.accept();
        });

    until(() -> consumer.status().inHandlers() == 2 && consumer.status().waiting() >= 4);
    ConsumerStatus busy = consumer.status();
    assertThat(busy.state()).isEqualTo(State.RUNNING);
    assertThat(busy.taken()).isEqualTo(2);
    assertThat(busy.waitingBytes()).isBetween(4L * 3, 40L * 4);
    assertThat(busy.unsettledBytes()).isBetween(2L * 3, 2L * 4);
    assertThat(busy.oldestUnsettled()).isPositive();
    assertThat(busy.epoch()).isPositive();
    assertThat(busy.accepted()).isZero();
    go.release(40);

    until(() -> consumer.status().accepted() == 40);
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              LatencySnapshot latency = consumer.latency();
              assertThat(latency.stage("arrived-started"))
                  .hasValueSatisfying(stage -> assertThat(stage.count()).isEqualTo(40));
              assertThat(latency.stage("started-handled"))
                  .hasValueSatisfying(stage -> assertThat(stage.count()).isEqualTo(40));
            });
    until(() -> consumer.status().waiting() == 0);
    assertThat(consumer.status().reopened()).isZero();
    assertThat(consumer.status().lastLoss()).isEmpty();
    assertAllSettled(consumer);
  }

  // ------------------------------------------------------------------------------------ refused

  @Test
  void whatTheBrokerCannotDo_isRefusedAtOpening() {
    ConsumerSettings elsewhere = ConsumerSettings.from(Address.exchange("x", "y")).withGroup("g");
    ConsumerSettings foreign = rig.settings().withNative("settings of another broker");

    for (ConsumerSettings each : List.of(elsewhere, foreign)) {
      assertThatExceptionOfType(MessagingException.class)
          .isThrownBy(() -> rig.messaging.consumer(each))
          .satisfies(e -> assertThat(e.kind()).isEqualTo(MessagingException.Kind.INVALID));
    }
  }
}
