package io.floatvalve.pulsar;

import static io.floatvalve.pulsar.LinkRig.PATIENCE;
import static io.floatvalve.pulsar.LinkRig.topic;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.explain.Certainty;
import io.floatvalve.explain.Finding;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.WindowPolicy;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaStatus;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarLimits.Rate;
import io.floatvalve.testkit.PulsarNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Reader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What went wrong for others in publishing, replayed on a real broker. */
@NeedsPulsar(ownProcess = true)
@Timeout(300)
final class PublishFieldCasesTest {
  private static final int RATE = 200;
  private static final String ONCE = "public/once"; // its topics drop duplicates

  private static PublisherSettings to(String topic) {
    return PublisherSettings.to(Address.topic(topic))
        .withOpenTimeout(Duration.ofSeconds(30))
        .withConfirmTimeout(Duration.ofSeconds(30));
  }

  private static PulsarBroker.PublishSettings plain() {
    return PulsarBroker.PublishSettings.defaults();
  }

  private static Message text(String text) {
    return Message.of(text.getBytes(UTF_8));
  }

  private static PublishOutcome outcome(CompletableFuture<PublishOutcome> future) throws Exception {
    return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  private static List<PublishOutcome> outcomes(List<CompletableFuture<PublishOutcome>> futures)
      throws Exception {
    List<PublishOutcome> outcomes = new ArrayList<>();
    for (CompletableFuture<PublishOutcome> future : futures) {
      outcomes.add(outcome(future));
    }
    return outcomes;
  }

  private static List<CompletableFuture<PublishOutcome>> publish(
      Publisher publisher, String name, int count) {
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      futures.add(publisher.publish(text(name + "-" + i)));
    }
    return futures;
  }

  /** Returns all that a topic holds, in its order. */
  static List<String> stored(PulsarNode node, String topic) throws IOException {
    List<String> texts = new ArrayList<>();
    try (Reader<byte[]> reader =
        LinkRig.plain(node).newReader().topic(topic).startMessageId(MessageId.earliest).create()) {
      while (reader.hasMessageAvailable()) {
        texts.add(new String(reader.readNext().getData(), UTF_8));
      }
    }
    return texts;
  }

  /** Returns a topic that drops duplicates. */
  static String onceTopic(PulsarNode node, String what) {
    try {
      node.rest().createNamespace(ONCE);
    } catch (IllegalStateException e) {
      assertThat(e).hasMessageContaining("409"); // it is there
    }
    node.rest().send("POST", "namespaces/" + ONCE + "/deduplication", "true");
    return "persistent://" + ONCE + "/" + topic(what);
  }

  @Test
  void pp01_answerHeldBack_isUnknown_andPublishedAgainItIsThereTwice(PulsarNode node)
      throws Exception {
    String topic = topic("pp01");
    try (FaultProxy proxy = node.openProxy();
        Messaging messaging = LinkRig.messaging(LinkRig.through(proxy))) {
      Publisher publisher =
          messaging.publisher(to(topic).withConfirmTimeout(Duration.ofSeconds(4)));
      Message payment = Message.builder("pay".getBytes(UTF_8)).key("payment-7").build();
      assertThat(outcome(publisher.publish(text("first"))).verdict()).isEqualTo(Verdict.CONFIRMED);

      proxy.stall(Direction.FROM_BROKER);
      Unknown held = (Unknown) outcome(publisher.publish(payment));
      proxy.unstall();
      PublishOutcome again = outcome(publisher.publish(payment));

      assertThat(held.cause()).isEqualTo(Unknown.Cause.CONFIRM_TIMEOUT);
      assertThat(held.retry()).isEqualTo(PublishOutcome.Retry.MAY_DUPLICATE);
      assertThat(again.verdict()).isEqualTo(Verdict.CONFIRMED);
      assertThat(stored(node, topic)).containsExactly("first", "pay", "pay");
      assertThat(publisher.status().lateConfirms()).isEqualTo(1);
    }
  }

  @Test
  void pp01_whereDuplicatesAreDropped_publishedAgainUnderItsNumber_itIsThereOnce(PulsarNode node)
      throws Exception {
    String topic = onceTopic(node, "pp01");
    try (FaultProxy proxy = node.openProxy();
        Messaging messaging = LinkRig.messaging(LinkRig.through(proxy))) {
      Publisher publisher =
          messaging.publisher(
              to(topic)
                  .withConfirmTimeout(Duration.ofSeconds(4))
                  .withNative(plain().withProducerName("till").withSequenceHeader("number")));
      Message first = Message.builder("first".getBytes(UTF_8)).header("number", 6L).build();
      Message payment = Message.builder("pay".getBytes(UTF_8)).header("number", 7L).build();
      assertThat(outcome(publisher.publish(first)).verdict()).isEqualTo(Verdict.CONFIRMED);

      proxy.stall(Direction.FROM_BROKER);
      assertThat(outcome(publisher.publish(payment)).verdict()).isEqualTo(Verdict.UNKNOWN);
      proxy.unstall();
      PublishOutcome again = outcome(publisher.publish(payment));

      assertThat(again)
          .isInstanceOfSatisfying(
              Unknown.class,
              end -> assertThat(end.cause()).isEqualTo(Unknown.Cause.UNCLEAR_ANSWER));
      assertThat(stored(node, topic)).containsExactly("first", "pay");
    }
  }

  @Test
  void pp04_manyThreads_whereDuplicatesAreDropped_loseNothing(PulsarNode node) throws Exception {
    String topic = onceTopic(node, "pp04");
    int threads = 32;
    int each = 2_000;
    Queue<CompletableFuture<PublishOutcome>> futures = new ConcurrentLinkedQueue<>();
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher =
          messaging.publisher(to(topic).withNative(plain().withProducerName("many")));
      List<Thread> running = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        String name = "t" + t;
        Thread thread = new Thread(() -> futures.addAll(publish(publisher, name, each)));
        thread.start();
        running.add(thread);
      }
      for (Thread thread : running) {
        thread.join();
      }

      assertThat(outcomes(List.copyOf(futures)))
          .hasSize(threads * each)
          .allMatch(end -> end.verdict() == Verdict.CONFIRMED);
    }
    assertThat(stored(node, topic)).hasSize(threads * each).doesNotHaveDuplicates();
  }

  @Test
  void pp05_aBurstOfLargeMessages_isRefusedOneByOne_andLeavesNoPlaceTaken(PulsarNode node)
      throws Exception {
    String topic = topic("pp05");
    try (FaultProxy proxy = node.openProxy();
        Messaging messaging = LinkRig.messaging(LinkRig.through(proxy))) {
      Publisher publisher =
          messaging.publisher(
              to(topic)
                  .withWindow(WindowPolicy.fixed(5))
                  .withMaxQueued(5)
                  .withNative(plain().withChunking(true).withChunkBytes(100)));
      proxy.stall(Direction.FROM_BROKER);
      List<CompletableFuture<PublishOutcome>> taken = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        taken.add(publisher.publish(Message.of(new byte[2_000])));
      }
      await().atMost(PATIENCE).until(() -> publisher.status().inFlight() == 5);
      for (int i = 0; i < 5; i++) {
        taken.add(publisher.tryPublish(Message.of(new byte[2_000])));
      }
      for (int i = 0; i < 5; i++) {
        NotSent refused = (NotSent) outcome(publisher.tryPublish(Message.of(new byte[2_000])));
        assertThat(refused.reason()).isEqualTo(NotSent.Reason.QUEUE_FULL);
        assertThat(refused.retry()).isEqualTo(PublishOutcome.Retry.SAFE);
      }
      proxy.unstall();

      assertThat(outcomes(taken)).allMatch(end -> end.verdict() == Verdict.CONFIRMED);
      assertThat(outcomes(publish(publisher, "small", 100)))
          .allMatch(end -> end.verdict() == Verdict.CONFIRMED);
      assertThat(publisher.status().inFlight()).isZero();
    }
    assertThat(stored(node, topic)).hasSize(110);
  }

  @Test
  void tooLargeForTheBroker_isNotSent_andItsNeighboursAreConfirmed(PulsarNode node)
      throws Exception {
    for (boolean batching : new boolean[] {true, false}) {
      String topic = topic("large");
      try (Messaging messaging = LinkRig.messaging(node)) {
        Publisher publisher =
            messaging.publisher(to(topic).withNative(plain().withBatching(batching)));
        var before = publisher.publish(text("before"));
        var large = publisher.publish(Message.of(new byte[6 << 20]));
        var after = publisher.publish(text("after"));

        NotSent refused = (NotSent) outcome(large);
        assertThat(refused.reason()).isEqualTo(NotSent.Reason.MESSAGE_TOO_LARGE);
        assertThat(outcome(before).verdict()).isEqualTo(Verdict.CONFIRMED);
        assertThat(outcome(after).verdict()).isEqualTo(Verdict.CONFIRMED);
        assertThat(publisher.status().inFlight()).isZero();
      }
      assertThat(stored(node, topic)).containsExactly("before", "after");
    }
  }

  @Test
  void pp07_publishRate_isKeptByPacing_andWithoutThatItIsNamed(PulsarNode node) throws Exception {
    String topic = topic("pp07");
    node.rest().createTopic(topic);
    node.rest().topicLimits(topic).setPublishRate(Rate.ofMessages(RATE));
    Queue<Event> told = new ConcurrentLinkedQueue<>();
    BrokerViews views =
        PulsarBroker.Admin.at(node.adminUrl()).withInterval(Duration.ofMillis(500)).views();
    PublisherSettings settings =
        to(topic)
            .withWindow(WindowPolicy.fixed(10_000))
            .withConfirmTimeout(Duration.ofSeconds(2))
            .withNative(plain().withBatching(false));
    try (Messaging messaging =
        LinkRig.messaging(PulsarBroker.Settings.at(node.serviceUrl()), told::add)) {
      messaging.viewedBy(views);
      Publisher paced =
          messaging.publisher(
              settings.withQuota(
                  QuotaPolicy.none()
                      .withPublish(QuotaPolicy.Scope.TOPIC, Quota.messagesPerSecond(RATE))));
      assertThat(outcomes(publish(paced, "paced", RATE)))
          .allSatisfy(each -> assertThat(each.verdict()).isEqualTo(Verdict.CONFIRMED));
      assertThat(limitedTimes(node, topic)).isZero();

      Publisher hasty = messaging.publisher(settings);
      List<CompletableFuture<PublishOutcome>> futures = publish(hasty, "hasty", 6 * RATE);

      await()
          .atMost(PATIENCE)
          .until(
              () ->
                  hasty.explain().findings().stream()
                      .anyMatch(
                          each ->
                              each instanceof Finding.ThrottledPublish throttled
                                  && throttled.certainty() == Certainty.CERTAIN));
      await().atMost(PATIENCE).until(() -> isSuspected(told));
      assertThat(outcomes(futures))
          .extracting(PublishOutcome::verdict)
          .containsOnly(Verdict.CONFIRMED, Verdict.UNKNOWN);
      await().atMost(PATIENCE).until(() -> stored(node, topic).size() >= 7 * RATE);
      assertThat(stored(node, topic)).hasSize(7 * RATE).doesNotHaveDuplicates();
    }
  }

  @Test
  void partitions_areCountedByThemselves_andKeysGoWhereTheClientSendsThem(PulsarNode node)
      throws Exception {
    String topic = topic("partitions");
    node.rest().createPartitionedTopic(topic, 3);
    QuotaPolicy policy =
        QuotaPolicy.none().withPublish(QuotaPolicy.Scope.PARTITION, Quota.messagesPerSecond(2_000));
    Map<Integer, Long> byPartition = new HashMap<>();
    try (Messaging messaging = LinkRig.messaging(node);
        Producer<byte[]> plain = LinkRig.plain(node).newProducer().topic(topic).create()) {
      Publisher publisher = messaging.publisher(to(topic).withQuota(policy));
      List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        futures.add(publisher.publish(Message.builder(new byte[1]).key("key-" + i).build()));
      }
      for (int i = 0; i < 60; i++) {
        Confirmed ours = (Confirmed) outcome(futures.get(i));
        MessageIdAdv theirs = (MessageIdAdv) plain.newMessage().key("key-" + i).send();
        assertThat(ours.receipt()).matches("[^:]*:[^:]*:" + theirs.getPartitionIndex() + "(:.*)?");
        byPartition.merge(theirs.getPartitionIndex(), 1L, Long::sum);
      }
    }
    assertThat(byPartition).hasSize(3);
    for (QuotaStatus.ScopeStatus each : policy.status().scopes()) {
      int partition = Integer.parseInt(each.name().replaceFirst(".*, partition ", ""));
      assertThat(each.messages()).isEqualTo(byPartition.get(partition));
    }
    assertThat(policy.status().scopes()).hasSize(3);
  }

  /** All that goes over a throttled connection stands still with it, permits and answers too. */
  @Test
  void publishersAndConsumers_haveConnectionsOfTheirOwn(PulsarNode node) throws Exception {
    String topic = topic("apart");
    try (Messaging messaging = LinkRig.messaging(node)) {
      Consumer consumer =
          messaging.consumer(ConsumerSettings.from(Address.topic(topic)).withGroup("g"));
      consumer.handle(delivery -> Settlement.accept());
      Publisher publisher = messaging.publisher(to(topic));
      assertThat(outcome(publisher.publish(text("m"))).verdict()).isEqualTo(Verdict.CONFIRMED);

      String stats = node.rest().send("GET", "persistent/public/default/" + topic + "/stats", "");

      Matcher addresses = Pattern.compile("\"address\"\\s*:\\s*\"([^\"]+)\"").matcher(stats);
      assertThat(addresses.results().map(each -> each.group(1)))
          .as("of one publisher and one consumer")
          .hasSize(2)
          .doesNotHaveDuplicates();
    }
  }

  private static boolean isSuspected(Queue<Event> told) {
    return told.stream().anyMatch(Event.ThrottlingSuspected.class::isInstance);
  }

  private static long limitedTimes(PulsarNode node, String topic) {
    return node.rest().topicStats(topic).number("publishRateLimitedTimes");
  }

  @Test
  void pp09_aCallbackThatPublishesAndWaits_finishes_andDisturbsNoConsumer(PulsarNode node)
      throws Exception {
    String topic = topic("pp09");
    AtomicInteger handled = new AtomicInteger();
    try (Messaging messaging =
            LinkRig.messaging(PulsarBroker.Settings.at(node.serviceUrl()).withIoThreads(1));
        Consumer consumer =
            messaging.consumer(
                ConsumerSettings.from(Address.topic(topic))
                    .withGroup("s")
                    .withOpenTimeout(Duration.ofSeconds(30))
                    .withNative(LinkRig.earliest()))) {
      consumer.handle(
          delivery -> {
            handled.incrementAndGet();
            return Settlement.accept();
          });
      Publisher publisher = messaging.publisher(to(topic));

      var second =
          publisher
              .publish(text("first"))
              .thenApply(end -> publisher.publish(text("second")).join().verdict());

      assertThat(second.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isEqualTo(Verdict.CONFIRMED);
      await().atMost(PATIENCE).until(() -> handled.get() == 2);
    }
  }

  @Test
  void pp10_closing_sendsWhatIsQueuedAndBatched(PulsarNode node) throws Exception {
    String topic = topic("pp10");
    List<CompletableFuture<PublishOutcome>> futures;
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher =
          messaging.publisher(
              to(topic)
                  .withCloseTimeout(Duration.ofSeconds(30))
                  .withNative(plain().withLinger(Duration.ofMillis(100))));
      futures = publish(publisher, "m", 100);
    }

    assertThat(outcomes(futures)).allMatch(end -> end.verdict() == Verdict.CONFIRMED);
    assertThat(stored(node, topic)).hasSize(100);
  }

  @Test
  void pp10_closingWhileTheNetworkStalls_takesItsTimeAndLeavesAllUnknown(PulsarNode node)
      throws Exception {
    String topic = topic("pp10");
    try (FaultProxy proxy = node.openProxy();
        Messaging messaging = LinkRig.messaging(LinkRig.through(proxy))) {
      Publisher publisher =
          messaging.publisher(
              to(topic)
                  .withWindow(WindowPolicy.fixed(1_000))
                  .withCloseTimeout(Duration.ofSeconds(1)));
      proxy.stall();
      List<CompletableFuture<PublishOutcome>> futures = publish(publisher, "m", 100);
      await().atMost(PATIENCE).until(() -> publisher.status().inFlight() == 100);

      long began = System.nanoTime();
      publisher.close();
      Duration took = Duration.ofNanos(System.nanoTime() - began);

      assertThat(took).isBetween(Duration.ofMillis(900), Duration.ofSeconds(20));
      assertThat(outcomes(futures))
          .allSatisfy(
              end -> assertThat(((Unknown) end).cause()).isEqualTo(Unknown.Cause.PUBLISHER_CLOSED));
      proxy.unstall();
    }
  }

  @Test
  void pp11_aDelayOfNothing_leavesTheBatchWhole_andARealOneIsTold(PulsarNode node)
      throws Exception {
    String topic = topic("pp11");
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher =
          messaging.publisher(
              to(topic)
                  .withWindow(WindowPolicy.fixed(1_000))
                  .withNative(plain().withLinger(Duration.ofMillis(100))));
      List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        Duration none = i % 2 == 0 ? Duration.ZERO : Duration.ofSeconds(-1);
        futures.add(publisher.publish(Message.builder(new byte[10]).delay(none).build()));
      }
      CompletableFuture<Void> all =
          CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new));
      all.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      assertThat(entries(node, topic)).isLessThanOrEqualTo(25); // two, where nothing pauses

      long before = entries(node, topic);
      for (int i = 0; i < 3; i++) {
        var delayed = Message.builder(new byte[10]).delay(Duration.ofSeconds(1)).build();
        assertThat(outcome(publisher.publish(delayed)).verdict()).isEqualTo(Verdict.CONFIRMED);
      }
      assertThat(entries(node, topic)).isEqualTo(before + 3);
    }
  }

  private static long entries(PulsarNode node, String topic) {
    String stats =
        node.rest().send("GET", "persistent/public/default/" + topic + "/internalStats", "");
    return Long.parseLong(stats.replaceAll("(?s).*\"entriesAddedCounter\"\\s*:\\s*(\\d+).*", "$1"));
  }

  @Test
  void pp13_whoWaits_doesNotWaitForTheLinger_whichHasACap(PulsarNode node) throws Exception {
    String topic = topic("pp13");
    Duration linger = Duration.ofMillis(100);
    assertThatThrownBy(() -> plain().withLinger(Duration.ofSeconds(10)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("PT0.1S");
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher =
          messaging.publisher(
              to(topic).withNative(plain().withLinger(linger).withBatchBytes(1_024)));
      Duration waited = linger;
      Duration large = linger;
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      // A busy machine may be as late as a linger would be, but not each time.
      while ((isLong(waited, linger) || isLong(large, linger)) && System.nanoTime() < deadline) {
        var unused = publish(publisher, "m", 2);
        Confirmed third = (Confirmed) outcome(publisher.publish(text("third")));
        waited = least(waited, third.latency());
        var future = publisher.publish(Message.of(new byte[2_048]));
        await().atMost(PATIENCE).until(future::isDone); // that is no waiting in our sense
        large = least(large, ((Confirmed) outcome(future)).latency());
      }

      assertThat(waited).as("while somebody waits").isLessThan(linger.dividedBy(2));
      assertThat(large).as("of one larger than a batch").isLessThan(linger.dividedBy(2));
    }
  }

  private static boolean isLong(Duration latency, Duration linger) {
    return latency.compareTo(linger.dividedBy(2)) >= 0;
  }

  private static Duration least(Duration one, Duration other) {
    return one.compareTo(other) <= 0 ? one : other;
  }
}
