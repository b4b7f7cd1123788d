package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.explain.Finding;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.Nacked;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Returned;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.PublishSummary;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.publish.RetryPolicy;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What went wrong for others, as far as it concerns publishing; each test is named by its case. */
@NeedsRabbit
@Timeout(120)
class PublishFieldCasesTest {
  private final RabbitNode node = RabbitNode.shared();
  private final List<Event> events = new CopyOnWriteArrayList<>();
  private final List<AutoCloseable> open = new ArrayList<>();
  private Connection connection;
  private Channel admin;

  @BeforeEach
  void connect() throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(node.uri());
    factory.setAutomaticRecoveryEnabled(false);
    connection = factory.newConnection();
    admin = connection.createChannel();
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : open) {
      each.close();
    }
    connection.close();
  }

  private Messaging messaging() {
    return messaging(node.uri());
  }

  private Messaging messaging(String uri) {
    Messaging messaging = Messaging.over(RabbitBroker.connect(uri), events::add);
    open.add(0, messaging);
    return messaging;
  }

  private FaultProxy proxy() throws IOException {
    FaultProxy proxy = FaultProxy.to(node.host(), node.port());
    open.add(proxy);
    return proxy;
  }

  private String through(FaultProxy proxy) {
    return node.uri().replace(":" + node.port(), ":" + proxy.port());
  }

  private String queue(String name, Map<String, Object> arguments) throws IOException {
    admin.queueDelete(name);
    admin.queueDeclare(name, true, false, false, arguments);
    return name;
  }

  private String queue(String name) throws IOException {
    return queue(name, Map.of());
  }

  private long depth(String queue) throws IOException {
    return admin.messageCount(queue);
  }

  private static PublisherSettings to(String queue) {
    return PublisherSettings.to(Address.queue(queue));
  }

  private static Message text(String text) {
    return Message.of(text.getBytes(StandardCharsets.UTF_8));
  }

  private static Message text(String text, Address address) {
    return Message.builder(text.getBytes(StandardCharsets.UTF_8)).address(address).build();
  }

  private static PublishOutcome outcome(CompletableFuture<PublishOutcome> future) throws Exception {
    return future.get(30, TimeUnit.SECONDS);
  }

  @Test
  void rc01_acksOutOfOrderAndMultiple_settleEachOnce() throws Exception {
    queue("rc01");
    Publisher publisher = messaging().publisher(to("rc01"));
    List<Message> messages = new ArrayList<>();
    for (int i = 1; i <= 40; i++) {
      messages.add(i % 4 == 0 ? text("m" + i, Address.queue("rc01-missing")) : text("m" + i));
    }

    PublishSummary summary = publisher.publishAll(messages).get(30, TimeUnit.SECONDS);

    assertThat(summary.count(Verdict.CONFIRMED)).isEqualTo(30);
    assertThat(summary.count(Verdict.RETURNED)).isEqualTo(10);
    assertThat(summary.failures()).allMatch(f -> (f.index() + 1) % 4 == 0);
    assertThat(summary.failures())
        .allMatch(
            f ->
                f.outcome() instanceof Returned r
                    && r.replyCode() == 312
                    && r.routingKey().equals("rc01-missing")
                    && r.message() == f.message());
    assertThat(publisher.status().inFlight()).isZero();
    assertThat(publisher.status().strayAnswers()).isZero();
    assertThat(depth("rc01")).isEqualTo(30);
  }

  @Test
  void rc05_manyThreadsOnOnePublisher_getOneResultEach() throws Exception {
    queue("rc05");
    Publisher publisher =
        messaging().publisher(to("rc05").withMaxInFlight(500).withMaxQueued(1_000));
    Set<String> receipts = java.util.concurrent.ConcurrentHashMap.newKeySet();
    AtomicInteger others = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 2; t++) {
      Thread thread =
          new Thread(
              () -> {
                Message message = Message.builder(new byte[10]).persistent(false).build();
                for (int i = 0; i < 20_000; i++) {
                  publisher
                      .publish(message)
                      .thenAccept(
                          o -> {
                            if (!(o instanceof Confirmed c) || !receipts.add(c.receipt())) {
                              others.incrementAndGet();
                            }
                          });
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }

    assertThat(publisher.drain(Duration.ofSeconds(60))).isZero();
    await().until(() -> receipts.size() + others.get() == 40_000);
    assertThat(others).hasValue(0);
    assertThat(depth("rc05")).isEqualTo(40_000);
  }

  @Test
  void rc07_tagsRestartAfterRecovery_andOldOnesAreUnknown() throws Exception {
    queue("rc07");
    FaultProxy proxy = proxy();
    Publisher publisher = messaging(through(proxy)).publisher(to("rc07"));
    outcome(publisher.publish(text("first")));
    proxy.stall(Direction.FROM_BROKER);
    List<CompletableFuture<PublishOutcome>> old = new ArrayList<>();
    for (int i = 1; i <= 5; i++) {
      old.add(publisher.publish(text("old" + i)));
    }
    await().until(() -> depth("rc07") == 6);

    proxy.cut(Cut.RESET);
    proxy.unstall();
    await().until(() -> publisher.status().reopened() == 1); // else it writes to the dead one
    List<CompletableFuture<PublishOutcome>> fresh = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      fresh.add(publisher.publish(text("new" + i)));
    }

    for (var each : old) {
      assertThat(outcome(each))
          .isInstanceOfSatisfying(
              Unknown.class, u -> assertThat(u.cause()).isEqualTo(Unknown.Cause.CONNECTION_LOST));
    }
    for (int i = 0; i < 3; i++) {
      Confirmed confirmed = (Confirmed) outcome(fresh.get(i));
      assertThat(confirmed.sequence()).isEqualTo(i + 1);
    }
    assertThat(depth("rc07")).isEqualTo(9);
  }

  @Test
  void rc08_channelUsedBefore_cannotBeGiven() {
    // The adapter makes each channel itself; nothing public takes or gives one.
    for (Class<?> type : List.of(RabbitBroker.class, Messaging.class, Publisher.class)) {
      assertThat(type.getMethods())
          .allSatisfy(
              m -> {
                assertThat(m.getReturnType()).isNotEqualTo(Channel.class);
                assertThat(m.getParameterTypes()).doesNotContain(Channel.class, Connection.class);
              });
    }
    assertThatThrownBy(() -> messaging().publisher(to("rc08").withNative(admin)))
        .isInstanceOf(MessagingException.class)
        .satisfies(
            e ->
                assertThat(((MessagingException) e).kind())
                    .isEqualTo(MessagingException.Kind.INVALID));
  }

  @Test
  void rc09_waitingForOnesOwnMessage_returnsOnABusyPublisher() throws Exception {
    queue("rc09");
    Publisher publisher = messaging().publisher(to("rc09"));
    AtomicBoolean stop = new AtomicBoolean();
    List<Thread> busy = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      Thread thread =
          new Thread(
              () -> {
                Message message = Message.builder(new byte[100]).persistent(false).build();
                while (!stop.get()) {
                  publisher.publish(message);
                }
              });
      thread.start();
      busy.add(thread);
    }
    try {
      for (int i = 0; i < 20; i++) {
        CompletableFuture<PublishOutcome> own = publisher.publish(text("own"));
        assertThat(outcome(own).verdict()).isEqualTo(Verdict.CONFIRMED);
        // what others publish meanwhile is not waited for
        assertThat(publisher.drain(Duration.ofSeconds(30))).isZero();
      }
    } finally {
      stop.set(true);
      for (Thread thread : busy) {
        thread.join();
      }
    }
  }

  @Test
  void rc10_continuationThatPublishesAndWaits_orCallsTheBroker_finishes() throws Exception {
    queue("rc10");
    Messaging messaging = messaging();
    Publisher publisher = messaging.publisher(to("rc10"));
    CompletableFuture<String> nested =
        publisher
            .publish(text("outer"))
            .thenApply(
                o -> {
                  PublishOutcome inner = publisher.publish(text("inner")).join();
                  try (Publisher second = messaging.publisher(to("rc10"))) { // waits for RPCs
                    return o.verdict()
                        + " "
                        + inner.verdict()
                        + " "
                        + second.publish(text("third")).join().verdict();
                  }
                });

    assertThat(nested.get(30, TimeUnit.SECONDS)).isEqualTo("CONFIRMED CONFIRMED CONFIRMED");
    assertThat(depth("rc10")).isEqualTo(3);
  }

  @Test
  void rc12_missingExchangeInMidStream_leavesNoneOpen_andPublishingGoesOn() throws Exception {
    queue("rc12");
    Publisher publisher = messaging().publisher(to("rc12").withMaxInFlight(2_000));
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 1; i <= 2_000; i++) {
      futures.add(
          publisher.publish(
              i == 1_000 ? text("bad", Address.exchange("rc12-none", "k")) : text("m" + i)));
    }
    List<PublishOutcome> outcomes = new ArrayList<>();
    for (var future : futures) {
      outcomes.add(outcome(future));
    }

    assertThat(outcomes.get(999))
        .isInstanceOfSatisfying(
            Unknown.class,
            u -> {
              assertThat(u.cause()).isEqualTo(Unknown.Cause.CHANNEL_CLOSED);
              assertThat(u.detail()).contains("404").contains("rc12-none");
            });
    assertThat(outcomes)
        .allMatch(o -> o.verdict() == Verdict.CONFIRMED || o.verdict() == Verdict.UNKNOWN);
    PublishSummary later =
        publisher.publishAll(Collections.nCopies(10, text("later"))).get(30, TimeUnit.SECONDS);
    assertThat(later.allConfirmed()).isTrue();
    Set<String> stored = drainTexts("rc12");
    for (int i = 1; i <= 999; i++) {
      assertThat(stored).contains("m" + i);
    }
    for (int i = 0; i < 2_000; i++) {
      if (outcomes.get(i).verdict() == Verdict.CONFIRMED) {
        assertThat(stored).contains("m" + (i + 1));
      }
    }
  }

  private Set<String> drainTexts(String queue) throws IOException {
    Set<String> texts = new HashSet<>();
    for (var got = admin.basicGet(queue, true); got != null; got = admin.basicGet(queue, true)) {
      texts.add(new String(got.getBody(), StandardCharsets.UTF_8));
    }
    return texts;
  }

  @Test
  void rc16_fanoutToAFullAndAFreeQueue_isNacked_thoughOneKeptIt_andRetriesKeepTheId()
      throws Exception {
    queue("rc16-full", Map.of("x-max-length", 1, "x-overflow", "reject-publish"));
    queue("rc16-ok");
    admin.exchangeDeclare("rc16", BuiltinExchangeType.FANOUT);
    admin.queueBind("rc16-full", "rc16", "");
    admin.queueBind("rc16-ok", "rc16", "");
    admin.basicPublish("", "rc16-full", new AMQP.BasicProperties(), new byte[1]);
    await().until(() -> depth("rc16-full") == 1);
    PublisherSettings settings = PublisherSettings.to(Address.exchange("rc16", ""));
    Publisher publisher =
        messaging().publisher(settings.withRetry(RetryPolicy.upTo(3).afterNacked()));

    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      futures.add(publisher.publish(Message.builder(new byte[1]).messageId("id" + i).build()));
    }

    for (var future : futures) {
      assertThat(outcome(future))
          .isInstanceOfSatisfying(Nacked.class, n -> assertThat(n.attempts()).isEqualTo(3));
    }
    List<String> ids = new ArrayList<>();
    for (var got = admin.basicGet("rc16-ok", true);
        got != null;
        got = admin.basicGet("rc16-ok", true)) {
      ids.add(got.getProps().getMessageId());
    }
    assertThat(ids).hasSizeBetween(10, 30);
    assertThat(new HashSet<>(ids)).hasSize(10).allMatch(id -> id.matches("id[0-9]"));
    assertThat(depth("rc16-full")).isEqualTo(1);
  }

  @Test
  void rc16_withoutRetry_aNackIsTheEnd() throws Exception {
    queue("rc16-never", Map.of("x-max-length", 1, "x-overflow", "reject-publish"));
    Publisher publisher = messaging().publisher(to("rc16-never"));
    assertThat(outcome(publisher.publish(text("first"))).verdict()).isEqualTo(Verdict.CONFIRMED);

    PublishOutcome refused = outcome(publisher.publish(text("second")));

    assertThat(refused.verdict()).isEqualTo(Verdict.NACKED);
    assertThat(refused.attempts()).isEqualTo(1);
  }

  @Test
  @NeedsRabbit(ownProcess = true)
  void rc18_memoryAlarm_hangsNeitherPublishNorClose_andTheNextPublisherGoesOn() throws Exception {
    queue("rc18");
    Messaging messaging = messaging();
    Publisher a =
        messaging.publisher(
            to("rc18")
                .withMaxBlock(Duration.ofMillis(500))
                .withCloseTimeout(Duration.ofSeconds(2))
                .withMaxInFlight(200));
    Publisher b = messaging.publisher(to("rc18").withMaxWait(Duration.ofMinutes(1)));
    outcome(b.publish(text("b0")));
    List<CompletableFuture<PublishOutcome>> futures = new CopyOnWriteArrayList<>();
    Message kilobyte = Message.of(new byte[1_000]);
    node.ctl("set_vm_memory_high_watermark", "0.00000001");
    CompletableFuture<PublishOutcome> waiting;
    try {
      await() // the alarm comes with some delay after the limit, the word of it after a publish
          .atMost(30, TimeUnit.SECONDS)
          .until(
              () -> {
                futures.add(a.publish(kilobyte));
                return a.status().state() == PublisherStatus.State.BLOCKED;
              });
      Thread publishing =
          new Thread(
              () -> {
                CompletableFuture<PublishOutcome> last;
                do { // until the queue is full, too
                  last = a.publish(kilobyte);
                  futures.add(last);
                } while (!last.isDone());
              });
      publishing.start();
      waiting = b.publish(text("b1"));
      publishing.join(30_000);
      assertThat(publishing.isAlive()).as("a caller hangs").isFalse();
      assertThat(a.status().inFlight()).isLessThanOrEqualTo(200);
      assertThat(a.status().flowReason()).contains("memory");
      assertThat(a.explain().findings().get(0))
          .isInstanceOfSatisfying(
              Finding.ConnectionBlocked.class,
              blocked -> {
                assertThat(blocked.what()).startsWith("blocked: ").contains("memory");
                assertThat(blocked.since()).isPositive();
              });
      await()
          .until(
              () ->
                  events.stream()
                      .anyMatch(
                          e ->
                              e instanceof Event.Blocked blocked
                                  && blocked.reason().contains("memory")));

      long began = System.nanoTime();
      a.close();

      assertThat(Duration.ofNanos(System.nanoTime() - began))
          .isBetween(Duration.ofMillis(1_900), Duration.ofSeconds(20));
      assertThat(waiting).isNotDone();
    } finally {
      node.memoryAlarm(false);
    }
    await()
        .atMost(30, TimeUnit.SECONDS)
        .pollInterval(Duration.ofMillis(5))
        .until(() -> b.status().flow() != PublisherStatus.Flow.BLOCKED);
    assertThat(outcome(waiting).verdict()).isEqualTo(Verdict.CONFIRMED);
    for (var future : futures) {
      assertThat(outcome(future).verdict())
          .isIn(Verdict.CONFIRMED, Verdict.UNKNOWN, Verdict.NOT_SENT);
    }
    assertThat(futures)
        .anyMatch(
            f ->
                f.join() instanceof NotSent refused
                    && refused.reason() == NotSent.Reason.CONNECTION_BLOCKED);
  }

  @Test
  void rc20_confirmThatNeverComes_isATimeoutOfItsOwn() throws Exception {
    queue("rc20");
    FaultProxy proxy = proxy();
    Publisher publisher =
        messaging(through(proxy))
            .publisher(to("rc20").withMaxInFlight(100).withConfirmTimeout(Duration.ofSeconds(3)));
    outcome(publisher.publish(text("first")));
    int messages = 20;
    List<Duration> ends = new ArrayList<>();
    proxy.stall(Direction.FROM_BROKER);
    List<CompletableFuture<Duration>> futures = new ArrayList<>();
    for (int i = 0; i < messages; i++) {
      long began = System.nanoTime();
      futures.add(
          publisher
              .publish(text("m" + i))
              .thenApply(
                  o -> {
                    assertThat(o)
                        .isInstanceOfSatisfying(
                            Unknown.class,
                            u -> {
                              assertThat(u.cause()).isEqualTo(Unknown.Cause.CONFIRM_TIMEOUT);
                              assertThat(u.detail()).contains("no answer for PT3S");
                            });
                    return Duration.ofNanos(System.nanoTime() - began);
                  }));
    }
    for (var future : futures) {
      ends.add(future.get(20, TimeUnit.SECONDS));
    }
    // After as long again the channel would be given up, and no place kept.
    assertThat(publisher.status().inFlight()).as("places are kept").isEqualTo(messages);
    assertThat(publisher.status().oldestInFlight()).isGreaterThan(Duration.ofSeconds(3));
    assertThat(publisher.explain().findings().get(0))
        .isInstanceOfSatisfying(
            Finding.BrokerSilent.class,
            silent -> {
              assertThat(silent.silentFor()).isGreaterThan(Duration.ofSeconds(1));
              assertThat(silent.inFlight()).isEqualTo(messages);
            });
    proxy.unstall();
    await().until(() -> publisher.status().inFlight() == 0);

    assertThat(ends).hasSize(messages).allMatch(end -> end.toMillis() >= 3_000);
    assertThat(publisher.status().lateConfirms()).isGreaterThanOrEqualTo(messages);
    assertThat(outcome(publisher.publish(text("after"))).verdict()).isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void rc20_silenceOverTwiceTheLimit_replacesTheChannel() throws Exception {
    queue("rc20-retired");
    FaultProxy proxy = proxy();
    Publisher publisher =
        messaging(through(proxy))
            .publisher(
                to("rc20-retired")
                    .withConfirmTimeout(Duration.ofMillis(500))
                    .withMaxWait(Duration.ofMinutes(1)));
    outcome(publisher.publish(text("first")));
    proxy.stall(Direction.FROM_BROKER);
    outcome(publisher.publish(text("lost")));

    await().until(() -> events.stream().anyMatch(e -> e instanceof Event.LinkRetired));

    proxy.unstall();
    assertThat(outcome(publisher.publish(text("after"))).verdict())
        .isIn(Verdict.CONFIRMED, Verdict.UNKNOWN);
    await().atMost(30, TimeUnit.SECONDS).until(() -> publisher.status().reopened() > 0);
    await() // half a second may be too short for a confirm on a busy machine
        .atMost(30, TimeUnit.SECONDS)
        .until(() -> outcome(publisher.publish(text("later"))).verdict() == Verdict.CONFIRMED);
  }

  @Test
  @NeedsRabbit(ownProcess = true)
  void rc19_blockedNoticeComesOnlyAfterAPublish_soTheStatusIsUnknownBefore() throws Exception {
    queue("rc19");
    Publisher publisher =
        messaging().publisher(to("rc19").withConfirmTimeout(Duration.ofSeconds(5)));
    node.memoryAlarm(true);
    try {
      assertThat(publisher.status().flow()).isEqualTo(PublisherStatus.Flow.UNKNOWN);
      assertThat(events).noneMatch(e -> e instanceof Event.Blocked);

      PublishOutcome outcome = outcome(publisher.publish(text("into the hole")));

      assertThat(outcome)
          .isInstanceOfSatisfying(
              Unknown.class,
              u -> {
                assertThat(u.cause()).isEqualTo(Unknown.Cause.CONFIRM_TIMEOUT);
                assertThat(u.detail()).contains("blocks the connection");
              });
      assertThat(publisher.status().flow()).isEqualTo(PublisherStatus.Flow.BLOCKED);
      await().until(() -> events.stream().anyMatch(e -> e instanceof Event.Blocked));
    } finally {
      node.memoryAlarm(false);
    }
    await().atMost(30, TimeUnit.SECONDS).until(() -> publisher.status().lateConfirms() == 1);
    assertThat(outcome(publisher.publish(text("after"))).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.status().flow()).isEqualTo(PublisherStatus.Flow.FREE);
    await().until(() -> events.stream().anyMatch(e -> e instanceof Event.Unblocked));
    assertThat(depth("rc19")).isEqualTo(2);
  }

  @Test
  void rc23_alternateExchange_hidesAWrongKeyFromMandatory() throws Exception {
    queue("rc23-aeq");
    admin.exchangeDelete("rc23-mx");
    admin.exchangeDelete("rc23-ghosted");
    admin.exchangeDeclare("rc23-ae", BuiltinExchangeType.FANOUT);
    admin.queueBind("rc23-aeq", "rc23-ae", "");
    admin.exchangeDeclare(
        "rc23-mx",
        BuiltinExchangeType.DIRECT,
        false,
        false,
        Map.of("alternate-exchange", "rc23-ae"));
    admin.exchangeDeclare(
        "rc23-ghosted",
        BuiltinExchangeType.DIRECT,
        false,
        false,
        Map.of("alternate-exchange", "rc23-none"));
    Messaging messaging = messaging();
    Publisher alternate =
        messaging.publisher(PublisherSettings.to(Address.exchange("rc23-mx", "typo")));
    Publisher ghosted =
        messaging.publisher(PublisherSettings.to(Address.exchange("rc23-ghosted", "typo")));

    assertThat(outcome(alternate.publish(text("a"))).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(depth("rc23-aeq")).isEqualTo(1);
    assertThat(outcome(ghosted.publish(text("b"))))
        .isInstanceOfSatisfying(
            Returned.class, r -> assertThat(r.replyText()).isEqualTo("NO_ROUTE"));
    assertThat(
            outcome(ghosted.publish(Message.builder(new byte[1]).mandatory(false).build()))
                .verdict())
        .isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void rc28_largeBodies_stayWithinTheByteWindow_andAreAllConfirmed() throws Exception {
    queue("rc28");
    FaultProxy proxy = proxy();
    proxy.rate(Direction.TO_BROKER, 10_000_000);
    Publisher publisher =
        messaging(through(proxy))
            .publisher(
                to("rc28")
                    .withMaxInFlight(1_000)
                    .withMaxInFlightBytes(20_000_000)
                    .withMaxQueuedBytes(20_000_000)
                    .withMaxMessageBytes(64_000_000)
                    .withMaxBlock(Duration.ofMinutes(1)));
    AtomicBoolean stop = new AtomicBoolean();
    List<Long> seen = new CopyOnWriteArrayList<>();
    Thread watch =
        new Thread(
            () -> {
              while (!stop.get()) {
                seen.add(publisher.status().inFlightBytes());
                java.util.concurrent.locks.LockSupport.parkNanos(2_000_000);
              }
            });
    watch.start();
    byte[] body = new byte[5_000_000];
    byte[] large = new byte[30_000_000];
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      futures.add(publisher.publish(Message.of(i == 10 ? large : body)));
    }
    for (var future : futures) {
      assertThat(outcome(future).verdict()).isEqualTo(Verdict.CONFIRMED);
    }
    stop.set(true);
    watch.join();

    assertThat(seen).allMatch(bytes -> bytes <= 20_000_000 || bytes == 30_000_000);
    assertThat(seen).contains(30_000_000L).anyMatch(bytes -> bytes >= 10_000_000);
    admin.queueDelete("rc28");
  }

  @Test
  void foreignPublisher_onTheSameQueue_disturbsNothing() throws Exception {
    queue("foreign");
    Publisher publisher = messaging().publisher(to("foreign"));
    admin.confirmSelect();
    for (int i = 0; i < 10; i++) {
      admin.basicPublish("", "foreign", new AMQP.BasicProperties(), new byte[1]);
      assertThat(((Confirmed) outcome(publisher.publish(text("m")))).sequence()).isEqualTo(i + 1);
    }
  }
}
