package io.floatvalve.pulsar;

import static io.floatvalve.pulsar.LinkRig.PATIENCE;
import static io.floatvalve.pulsar.LinkRig.topic;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Nacked;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever happens to the broker or the network, each message has one outcome, and it is true. */
@NeedsPulsar(ownProcess = true)
@Timeout(300)
final class PublishFaultsTest {
  private static final long EACH_NANOS = 500_000;

  private static PublisherSettings to(String topic) {
    return PublisherSettings.to(Address.topic(topic))
        .withOpenTimeout(Duration.ofSeconds(30))
        .withConfirmTimeout(Duration.ofSeconds(3))
        .withMaxWait(Duration.ofSeconds(3))
        .withMaxBlock(Duration.ofSeconds(1));
  }

  private static PublishOutcome outcome(CompletableFuture<PublishOutcome> future) throws Exception {
    return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  private static Message text(String text) {
    return Message.of(text.getBytes(UTF_8));
  }

  /** Publishes numbered messages from a thread of its own, and notes what becomes of each. */
  private static final class Load implements AutoCloseable {
    final Map<String, Verdict> outcomes = new ConcurrentHashMap<>();
    final AtomicInteger published = new AtomicInteger();
    final AtomicInteger twice = new AtomicInteger();
    final AtomicInteger confirmed = new AtomicInteger();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final Thread thread;

    Load(Publisher publisher) {
      thread =
          new Thread(
              () -> {
                while (!stopped.get()) {
                  String name = Integer.toString(published.getAndIncrement());
                  var unused =
                      publisher.publish(text(name)).thenAccept(end -> note(name, end.verdict()));
                  LockSupport.parkNanos(EACH_NANOS);
                }
              },
              "load");
      thread.setDaemon(true);
      thread.start();
    }

    private void note(String name, Verdict verdict) {
      if (outcomes.put(name, verdict) != null) {
        twice.incrementAndGet();
      }
      if (verdict == Verdict.CONFIRMED) {
        confirmed.incrementAndGet();
      }
    }

    void awaitMoreConfirmed(int count) {
      int before = confirmed.get();
      await().atMost(PATIENCE).until(() -> confirmed.get() >= before + count);
    }

    int count(Verdict verdict) {
      return (int) outcomes.values().stream().filter(verdict::equals).count();
    }

    @Override
    public void close() {
      stopped.set(true);
      await().atMost(PATIENCE).until(() -> !thread.isAlive());
      await().atMost(PATIENCE).until(() -> outcomes.size() == published.get());
    }

    void assertTrue(Collection<String> stored) {
      assertThat(twice).hasValue(0);
      Set<String> distinct = new HashSet<>(stored);
      outcomes.forEach(
          (name, verdict) -> {
            if (verdict == Verdict.CONFIRMED) {
              assertThat(distinct.contains(name)).as("%s is confirmed, and stored", name).isTrue();
            } else if (verdict == Verdict.NOT_SENT) {
              assertThat(distinct.contains(name)).as("%s is not sent, yet stored", name).isFalse();
            }
          });
      assertThat(outcomes.keySet()).containsAll(distinct);
    }
  }

  private static void assertOnceInOrder(List<String> stored) {
    int last = -1;
    for (String name : stored) {
      assertThat(Integer.parseInt(name)).isGreaterThan(last);
      last = Integer.parseInt(name);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void brokerKilledAndStartedAgain_losesNothingConfirmed(boolean batching) throws Exception {
    String topic = topic("killed");
    try (PulsarNode node = PulsarNode.start();
        Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher =
          messaging.publisher(
              to(topic).withNative(PulsarBroker.PublishSettings.defaults().withBatching(batching)));
      Load load = new Load(publisher);
      try (load) {
        load.awaitMoreConfirmed(500);
        node.kill();
        await()
            .atMost(PATIENCE)
            .until(() -> publisher.status().state() == PublisherStatus.State.RECOVERING);
        node.restart();
        load.awaitMoreConfirmed(500);
      }
      assertThat(publisher.status().reopened()).isPositive();
      load.assertTrue(PublishFieldCasesTest.stored(node, topic));
    }
  }

  @ParameterizedTest
  @EnumSource(Cut.class)
  void connectionCut_whereDuplicatesAreDropped_storesEachOnceAndConfirmsIt(Cut how, PulsarNode node)
      throws Exception {
    String topic = PublishFieldCasesTest.onceTopic(node, "cut");
    try (FaultProxy proxy = node.openProxy();
        Messaging messaging = LinkRig.messaging(LinkRig.through(proxy))) {
      Publisher publisher =
          messaging.publisher(
              to(topic)
                  .withConfirmTimeout(Duration.ofSeconds(30))
                  .withMaxWait(Duration.ofSeconds(30))
                  .withMaxBlock(Duration.ofSeconds(30))
                  .withNative(
                      PulsarBroker.PublishSettings.defaults()
                          .withProducerName("cut-" + how)
                          .withBatching(how != Cut.RESET)));
      long epoch = publisher.status().epoch();
      Load load = new Load(publisher);
      try (load) {
        for (int i = 1; i <= 3; i++) {
          load.awaitMoreConfirmed(200);
          int times = i;
          proxy.stall(Direction.FROM_BROKER); // what is stored now comes a second time
          int sent = load.published.get();
          await().atMost(PATIENCE).until(() -> load.published.get() > sent + 10);
          proxy.cut(how);
          proxy.unstall();
          await().atMost(PATIENCE).until(() -> publisher.status().reopened() >= times);
        }
        load.awaitMoreConfirmed(200);
      }
      List<String> stored = PublishFieldCasesTest.stored(node, topic);
      assertThat(load.count(Verdict.CONFIRMED)).isEqualTo(load.published.get());
      load.assertTrue(stored);
      assertOnceInOrder(stored);
      assertThat(publisher.status().epoch()).as("one link all along").isEqualTo(epoch);
    }
  }

  @Test
  void topicUnloaded_goesOnWithTheSameProducer(PulsarNode node) throws Exception {
    String topic = topic("unloaded");
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher = messaging.publisher(to(topic));
      long epoch = publisher.status().epoch();
      Load load = new Load(publisher);
      try (load) {
        load.awaitMoreConfirmed(200);
        node.rest().unloadTopic(topic);
        load.awaitMoreConfirmed(200);
      }
      load.assertTrue(PublishFieldCasesTest.stored(node, topic));
      assertThat(publisher.status().epoch()).isEqualTo(epoch);
      assertThat(load.count(Verdict.NACKED)).isZero();
    }
  }

  @Test
  void unreachable_keepsMessagesUnsent_andSaysSo(PulsarNode node) throws Exception {
    String topic = topic("unreachable");
    try (FaultProxy proxy = node.openProxy();
        Messaging messaging = LinkRig.messaging(LinkRig.through(proxy))) {
      Publisher publisher = messaging.publisher(to(topic));
      Load load = new Load(publisher);
      try (load) {
        load.awaitMoreConfirmed(200);
        proxy.refuse();
        proxy.cut(Cut.RESET);
        await()
            .atMost(PATIENCE)
            .until(() -> publisher.status().state() == PublisherStatus.State.RECOVERING);
        await().atMost(PATIENCE).until(() -> load.count(Verdict.NOT_SENT) > 0);
        NotSent waited = (NotSent) outcome(publisher.publish(text("-1")));
        assertThat(waited.reason()).isEqualTo(NotSent.Reason.RECOVERING);
        assertThat(waited.detail()).contains("no connection");
        proxy.accept();
        load.awaitMoreConfirmed(200);
      }
      load.assertTrue(PublishFieldCasesTest.stored(node, topic));
    }
  }

  @Test
  void terminatedTopic_nacks_andTheNextWait(PulsarNode node) throws Exception {
    String topic = topic("terminated");
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher = messaging.publisher(to(topic).withConfirmTimeout(PATIENCE));
      assertThat(outcome(publisher.publish(text("0"))).verdict()).isEqualTo(Verdict.CONFIRMED);

      node.rest().send("POST", "persistent/public/default/" + topic + "/terminate", "");
      Nacked refused = (Nacked) outcome(publisher.publish(text("1")));

      assertThat(refused.reason()).contains("terminated");
      await()
          .atMost(PATIENCE)
          .until(() -> publisher.status().state() == PublisherStatus.State.RECOVERING);
      NotSent waited = (NotSent) outcome(publisher.publish(text("2")));
      assertThat(waited.detail()).contains("erminated");
      assertThat(PublishFieldCasesTest.stored(node, topic)).containsExactly("0");
    }
  }

  @Test
  void fencedOffByAnother_waits_saysWhy_andGoesOnWhenTheOtherIsGone(PulsarNode node)
      throws Exception {
    String topic = topic("fenced");
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher =
          messaging.publisher(
              to(topic)
                  .withMaxWait(Duration.ofSeconds(1))
                  .withNative(
                      PulsarBroker.PublishSettings.defaults()
                          .withAccessMode(ProducerAccessMode.Exclusive)));
      assertThat(outcome(publisher.publish(text("0"))).verdict()).isEqualTo(Verdict.CONFIRMED);

      try (Producer<byte[]> other =
          LinkRig.plain(node)
              .newProducer()
              .topic(topic)
              .accessMode(ProducerAccessMode.ExclusiveWithFencing)
              .create()) {
        awaitUnsent(publisher, "ence");
        other.send("other".getBytes(UTF_8));
      }

      await()
          .atMost(PATIENCE)
          .until(() -> publisher.status().state() == PublisherStatus.State.OPEN);
      assertThat(outcome(publisher.publish(text("1"))).verdict()).isEqualTo(Verdict.CONFIRMED);
      assertThat(PublishFieldCasesTest.stored(node, topic)).containsExactly("0", "other", "1");
    }
  }

  @Test
  void backlogQuotaExceeded_losesNothing_saysWhy_andGoesOnWhenThereIsRoom() throws Exception {
    String topic = topic("quota");
    try (PulsarNode node = PulsarNode.start(List.of("backlogQuotaCheckIntervalInSeconds=1"));
        Messaging messaging = LinkRig.messaging(node)) {
      String path = "persistent/public/default/" + topic;
      node.rest().createTopic(topic);
      node.rest().createSubscriptionFromFirst(topic, "nobody");
      Publisher publisher = messaging.publisher(to(topic).withMaxWait(Duration.ofSeconds(1)));
      Load load = new Load(publisher);
      try (load) {
        load.awaitMoreConfirmed(200);
        node.rest()
            .send(
                "POST",
                path + "/backlogQuota",
                "{\"limitSize\":10,\"policy\":\"producer_exception\"}");
        awaitUnsent(publisher, "uota");
        node.rest().send("DELETE", path + "/backlogQuota", "");
        load.awaitMoreConfirmed(200);
      }
      List<String> stored = PublishFieldCasesTest.stored(node, topic);
      stored.removeIf(String::isEmpty);
      load.assertTrue(stored);
    }
  }

  /** Publishes empty messages until one is not sent for a reason with this in it. */
  private static void awaitUnsent(Publisher publisher, String reason) {
    await()
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(200))
        .untilAsserted(
            () ->
                assertThat(outcome(publisher.publish(Message.of(new byte[0]))))
                    .isInstanceOfSatisfying(
                        NotSent.class, end -> assertThat(end.detail()).contains(reason)));
  }

  @Test
  void topicDeletedWhileIdle_isMadeAgainByANewProducer(PulsarNode node) throws Exception {
    String topic = topic("deleted");
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher =
          messaging.publisher(to(topic).withMaxWait(PATIENCE).withConfirmTimeout(PATIENCE));
      assertThat(outcome(publisher.publish(text("0"))).verdict()).isEqualTo(Verdict.CONFIRMED);

      node.rest().deleteTopic(topic);
      await()
          .atMost(PATIENCE)
          .until(
              () -> publisher.status().reopened() > 0 || !publisher.status().lastLoss().isEmpty());

      assertThat(outcome(publisher.publish(text("1"))).verdict()).isEqualTo(Verdict.CONFIRMED);
      assertThat(PublishFieldCasesTest.stored(node, topic)).containsExactly("1");
    }
  }
}
