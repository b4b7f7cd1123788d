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
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.explain.Explanation;
import io.floatvalve.explain.Finding;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.spi.ReceiveLink;
import io.floatvalve.spi.ReceiveLink.Received;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarFrame;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.PulsarTap;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.pulsar.client.api.Producer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What went wrong for others, replayed on a real broker. */
@NeedsPulsar(ownProcess = true)
@Timeout(300)
final class FieldCasesTest {
  private static ConsumerSettings from(String topic) {
    return ConsumerSettings.from(Address.topic(topic))
        .withGroup("s")
        .withOpenTimeout(Duration.ofSeconds(30))
        .withNative(LinkRig.earliest());
  }

  private static int number(Delivery delivery) {
    return Integer.parseInt(new String(delivery.message().payload(), UTF_8));
  }

  private static void send(PulsarNode node, String topic, int from, int to) throws Exception {
    send(node, topic, from, to, 1);
  }

  /** Sends in batches of this size; 1 is without batches. */
  private static void send(PulsarNode node, String topic, int from, int to, int size)
      throws Exception {
    try (Producer<byte[]> producer =
        LinkRig.plain(node)
            .newProducer()
            .topic(topic)
            .enableBatching(size > 1)
            .batchingMaxMessages(Math.max(2, size))
            .batchingMaxPublishDelay(1, TimeUnit.MINUTES)
            .maxPendingMessages(50_000)
            .create()) {
      for (int i = from; i < to; i++) {
        producer.sendAsync(Integer.toString(i).getBytes(UTF_8));
      }
      producer.flush();
    }
  }

  private static long backlog(PulsarNode node, String topic) {
    return node.rest().topicStats(topic).number("subscriptions", "s", "msgBacklog");
  }

  @Test
  void pc01_paused_handlesNothingOfWhatWasGranted(PulsarNode node) throws Exception {
    String topic = topic("pc01");
    Queue<Integer> handled = new ConcurrentLinkedQueue<>();
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer consumer = messaging.consumer(from(topic).withPermits(PermitPolicy.fixed(100)))) {
      consumer.handle(
          delivery -> {
            handled.add(number(delivery));
            return Settlement.accept();
          });
      consumer.pause();
      send(node, topic, 0, 500);
      await().atMost(PATIENCE).until(() -> consumer.status().waiting() == 100);

      assertThat(handled).isEmpty();
      consumer.resume();
      await().atMost(PATIENCE).until(() -> handled.size() >= 500);
      assertThat(handled)
          .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 500).boxed().toList());
    }
  }

  @Test
  void pc02_reconnectWhilePaused_isGrantedTheWindowAndHandlesNothing(PulsarNode node)
      throws Exception {
    String topic = topic("pc02");
    Queue<Integer> handled = new ConcurrentLinkedQueue<>();
    PulsarTap tap = new PulsarTap();
    try (FaultProxy proxy = node.openProxy().tap(tap);
        Messaging messaging = LinkRig.messaging(LinkRig.through(proxy));
        Consumer consumer = messaging.consumer(from(topic).withPermits(PermitPolicy.fixed(10)))) {
      consumer.handle(
          delivery -> {
            handled.add(number(delivery));
            return Settlement.accept();
          });
      send(node, topic, 0, 15);
      await().atMost(PATIENCE).until(() -> handled.size() == 15 && backlog(node, topic) == 0);
      consumer.pause();
      send(node, topic, 15, 105);
      await().atMost(PATIENCE).until(() -> consumer.status().waiting() == 10);
      tap.clear();

      proxy.cut(FaultProxy.Cut.RESET);
      await()
          .atMost(PATIENCE)
          .until(
              () ->
                  tap.frames(PulsarFrame.Subscribe.class).size() == 1
                      && tap.permitsGranted() > 0
                      && consumer.status().waiting() == 10);

      assertThat(handled).hasSize(15);
      assertThat(tap.permitsGranted()).isEqualTo(10);
      consumer.resume();
      await().atMost(PATIENCE).until(() -> handled.size() >= 105);
      assertThat(handled)
          .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 105).boxed().toList());
    }
  }

  @Test
  void pc05_corruptBatches_doNotStarveTheConsumer() throws Exception {
    // With broker entry metadata before it, the client does not look at the checksum.
    try (PulsarNode node =
        PulsarNode.start(List.of("exposingBrokerEntryMetadataToClientEnabled=false"))) {
      String topic = topic("pc05");
      send(node, topic, 0, 3000, 100);
      Map<Integer, Integer> handled = new ConcurrentHashMap<>();
      BatchCorrupter corrupter = new BatchCorrupter();
      try (FaultProxy proxy = node.openProxy().tap(corrupter);
          Messaging messaging = LinkRig.messaging(LinkRig.through(proxy));
          Consumer consumer =
              messaging.consumer(from(topic).withPermits(PermitPolicy.fixed(300)))) {
        consumer.handle(
            delivery -> {
              handled.merge(number(delivery), 1, Integer::sum);
              return Settlement.accept();
            });

        // The client itself acknowledges what it cannot read: that is lost, and counted.
        await()
            .atMost(PATIENCE)
            .untilAsserted(
                () ->
                    assertThat(handled.size() + 100 * consumer.status().broken())
                        .as("%s, %s changed", consumer.status(), corrupter.corrupted)
                        .isGreaterThanOrEqualTo(3000));
        assertThat(consumer.status().broken()).isGreaterThanOrEqualTo(9);
        await().atMost(PATIENCE).until(() -> backlog(node, topic) == 0);
      }
    }
  }

  @Test
  void pc06_batchOvershootsThePermits_andNothingStalls(PulsarNode node) throws Exception {
    String topic = topic("pc06");
    Map<Integer, Integer> handled = new ConcurrentHashMap<>();
    AtomicInteger byOther = new AtomicInteger();
    CountDownLatch go = new CountDownLatch(1);
    send(node, topic, 0, 100, 100);
    ConsumerSettings settings = from(topic).withPermits(PermitPolicy.fixed(1)).withWorkers(1);
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer slow = messaging.consumer(settings)) {
      slow.handle(
          delivery -> {
            go.await();
            handled.merge(number(delivery), 1, Integer::sum);
            TimeUnit.MILLISECONDS.sleep(50);
            return Settlement.accept();
          });
      await().atMost(PATIENCE).until(() -> slow.status().waiting() == 99);
      assertThat(slow.status().outstanding()).isNegative();
      assertThat(slow.status().inHandlers()).isEqualTo(1);

      try (Consumer other = messaging.consumer(settings)) {
        other.handle(
            delivery -> {
              byOther.incrementAndGet();
              handled.merge(number(delivery), 1, Integer::sum);
              return Settlement.accept();
            });
        messaging.viewedBy(admin(node));
        Finding.StarvedBySiblings starved = found(other::explain, Finding.StarvedBySiblings.class);
        assertThat(starved.permits().orElse(0)).isNegative();
        assertThat(starved.held()).isEqualTo(100);
        assertThat(starved.evidence().toString()).contains("batch granularity");

        send(node, topic, 100, 1100, 100);
        await().atMost(PATIENCE).until(() -> byOther.get() == 1000);
        go.countDown();
        await().atMost(PATIENCE).until(() -> handled.size() == 1100);
        assertThat(handled).containsValue(1).doesNotContainValue(2);
      }
    }
  }

  @Test
  void pc07_stuckConsumer_doesNotHoardTheBacklog(PulsarNode node) throws Exception {
    String topic = topic("pc07");
    send(node, topic, 0, 800);
    AtomicInteger byOther = new AtomicInteger();
    CountDownLatch stuck = new CountDownLatch(1);
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer busy = messaging.consumer(from(topic).withWorkers(1))) {
      busy.handle(
          delivery -> {
            stuck.await();
            return Settlement.accept();
          });
      await().atMost(PATIENCE).until(() -> busy.status().inHandlers() == 1);
      try (Consumer other = messaging.consumer(from(topic))) {
        other.handle(
            delivery -> {
              byOther.incrementAndGet();
              return Settlement.accept();
            });

        await().atMost(PATIENCE).until(() -> byOther.get() >= 720);
        stuck.countDown();
        await().atMost(PATIENCE).until(() -> backlog(node, topic) == 0);
      }
    }
  }

  @Test
  void pc08_smallestWindow_takesBatchesToo_andZeroIsRefused(PulsarNode node) throws Exception {
    String topic = topic("pc08");
    AtomicInteger handled = new AtomicInteger();
    assertThatThrownBy(() -> PermitPolicy.fixed(0)).isInstanceOf(IllegalArgumentException.class);
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer consumer = messaging.consumer(from(topic).withPermits(PermitPolicy.fixed(1)))) {
      consumer.handle(
          delivery -> {
            handled.incrementAndGet();
            return Settlement.accept();
          });

      send(node, topic, 0, 5);
      send(node, topic, 5, 10, 5);

      await().atMost(PATIENCE).until(() -> handled.get() == 10);
    }
  }

  @Test
  void pc12_unackedStaysBelowTheBrokersLimit(PulsarNode node) throws Exception {
    String topic = topic("pc12");
    node.rest().createTopic(topic);
    node.rest().topicLimits(topic).setMaxUnackedMessagesPerConsumer(50);
    send(node, topic, 0, 500);
    AtomicInteger handled = new AtomicInteger();
    AtomicBoolean blocked = new AtomicBoolean();
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer consumer =
            messaging.consumer(
                from(topic)
                    .withWorkers(4)
                    .withPermits(PermitPolicy.adaptive().withBounds(2, 20))
                    .withNative(LinkRig.earliest().withAcknowledgementDelay(Duration.ZERO)))) {
      consumer.handle(
          delivery -> {
            // Fast but for one in a while: what was acknowledged is not, what waits is unacked.
            if (handled.incrementAndGet() % 50 == 0) {
              TimeUnit.MILLISECONDS.sleep(200);
            }
            return Settlement.accept();
          });

      await()
          .pollInterval(Duration.ofMillis(10))
          .atMost(PATIENCE)
          .until(
              () -> {
                var stats = node.rest().topicStats(topic);
                if (stats.number("subscriptions", "s", "unackedMessages") >= 50) {
                  blocked.set(true);
                }
                return handled.get() >= 500;
              });
      assertThat(blocked).isFalse();
    }
    send(node, topic, 500, 1000); // and what is said of those who keep to no limit
    try (Messaging messaging = LinkRig.messaging(node);
        PullConsumer consumer =
            messaging.pullConsumer(
                from(topic)
                    .withMaxUnsettled(1_000)
                    .withPermits(PermitPolicy.fixed(100))
                    .withCloseTimeout(Duration.ZERO))) {
      messaging.viewedBy(admin(node));
      for (int i = 0; i < 50; i++) {
        Delivery next = consumer.receive(PATIENCE).orElseThrow();
        if (i < 10) {
          var unused = next.settle(Settlement.accept());
        }
      }
      Finding.BlockedOnUnacked full = found(consumer::explain, Finding.BlockedOnUnacked.class);
      assertThat(full.limit()).isEqualTo(50);
      assertThat(full.more()).isEqualTo(full.unacked() - 25);
      assertThat(full.what()).contains(Long.toString(full.unacked()));
    }
  }

  private static BrokerViews admin(PulsarNode node) {
    return PulsarBroker.Admin.at(node.adminUrl()).withInterval(Duration.ofMillis(200)).views();
  }

  /** Waits for a finding to be the first. */
  private static <F extends Finding> F found(Supplier<Explanation> explain, Class<F> kind) {
    return kind.cast(
        await()
            .atMost(PATIENCE)
            .until(
                () -> explain.get().findings(),
                all -> !all.isEmpty() && kind.isInstance(all.get(0)))
            .get(0));
  }

  @Test
  void pc13_keyShared_keysMoveInOrderOnceTheHolderIsDone(PulsarNode node) throws Exception {
    String topic = topic("pc13");
    Map<String, Queue<Integer>> byKey = new ConcurrentHashMap<>();
    AtomicInteger total = new AtomicInteger();
    AtomicInteger byNewcomer = new AtomicInteger();
    CountDownLatch go = new CountDownLatch(1);
    ConsumerSettings settings = from(topic).withOrdering(Ordering.BY_KEY).withWorkers(20);
    sendKeyed(node, topic, "k", 0, 200);
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer holder = messaging.consumer(settings.withPermits(PermitPolicy.fixed(200)))) {
      holder.handle(
          delivery -> {
            go.await();
            note(byKey, delivery);
            total.incrementAndGet();
            return Settlement.accept();
          });
      await().atMost(PATIENCE).until(() -> holder.status().inHandlers() == 20);
      try (Consumer newcomer = messaging.consumer(settings)) {
        newcomer.handle(
            delivery -> {
              note(byKey, delivery);
              byNewcomer.incrementAndGet();
              total.incrementAndGet();
              return Settlement.accept();
            });
        sendKeyed(node, topic, "k", 200, 400);
        sendKeyed(node, topic, "z", 0, 200);
        await().atMost(PATIENCE).until(() -> byNewcomer.get() > 0);
        messaging.viewedBy(admin(node));
        Finding.KeySharedDraining draining =
            found(newcomer::explain, Finding.KeySharedDraining.class);
        assertThat(draining.keys()).isPositive();
        assertThat(draining.unacked()).isPositive();
        assertThat(draining.holder()).isNotEmpty();

        go.countDown();
        await().atMost(PATIENCE).until(() -> total.get() >= 600);

        assertThat(total).hasValue(600);
        assertThat(byKey.values()).allSatisfy(each -> assertThat(List.copyOf(each)).isSorted());
      }
    }
  }

  private static void note(Map<String, Queue<Integer>> byKey, Delivery delivery) {
    byKey
        .computeIfAbsent(
            String.valueOf(delivery.message().key()), key -> new ConcurrentLinkedQueue<>())
        .add(number(delivery));
  }

  private static void sendKeyed(PulsarNode node, String topic, String prefix, int from, int to)
      throws Exception {
    try (Producer<byte[]> producer =
        LinkRig.plain(node).newProducer().topic(topic).enableBatching(false).create()) {
      for (int i = from; i < to; i++) {
        producer
            .newMessage()
            .key(prefix + i % 20)
            .value(Integer.toString(i).getBytes(UTF_8))
            .sendAsync();
      }
      producer.flush();
    }
  }

  @Test
  void pc14_slowHandler_runsOnce_evenWithAnAckTimeoutBelowIt(PulsarNode node) throws Exception {
    for (Duration ackTimeout : List.of(Duration.ZERO, Duration.ofSeconds(1))) {
      String topic = topic("pc14");
      send(node, topic, 0, 3);
      AtomicInteger runs = new AtomicInteger();
      try (Messaging messaging = LinkRig.messaging(node);
          Consumer consumer =
              messaging.consumer(
                  from(topic)
                      .withWorkers(1)
                      .withNative(LinkRig.earliest().withAckTimeout(ackTimeout)))) {
        consumer.handle(
            delivery -> {
              runs.incrementAndGet();
              TimeUnit.MILLISECONDS.sleep(1500);
              return Settlement.accept();
            });

        await().atMost(PATIENCE).until(() -> backlog(node, topic) == 0);
        assertThat(consumer.explain().findings())
            .filteredOn(Finding.AckTimeoutTooShort.class::isInstance)
            .hasSize(ackTimeout.isZero() ? 0 : 1);
        assertThat(consumer.drain(PATIENCE)).isZero();
        assertThat(runs).as("with an ack timeout of %s", ackTimeout).hasValue(3);
      }
    }
  }

  @Test
  void pc16_slashInTheSubscription_stillHasDeadLetters(PulsarNode node) throws Exception {
    String topic = topic("pc16");
    send(node, topic, 42, 43);
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer consumer =
            messaging.consumer(from(topic).withGroup("team/a").withMaxAttempts(1))) {
      consumer.handle(
          delivery -> {
            throw new IllegalStateException("poison");
          });

      await().atMost(PATIENCE).until(() -> consumer.status().rejected() == 1);
      Queue<Integer> letters = new ConcurrentLinkedQueue<>();
      try (Consumer dead =
          messaging.consumer(from(topic + "-team=002Fa-DLQ").withGroup("team/a"))) {
        dead.handle(
            delivery -> {
              letters.add(number(delivery));
              return Settlement.accept();
            });
        await().atMost(PATIENCE).until(() -> letters.size() == 1);
        assertThat(letters).containsExactly(42);
      }
    }
  }

  @Test
  void pc20_cleanStop_leavesNoAcknowledgementBehind(PulsarNode node) throws Exception {
    String topic = topic("pc20");
    send(node, topic, 0, 50);
    AtomicInteger handled = new AtomicInteger();
    try (Messaging messaging = LinkRig.messaging(node)) {
      Consumer consumer =
          messaging.consumer(
              from(topic)
                  .withNative(LinkRig.earliest().withAcknowledgementDelay(Duration.ofMinutes(1))));
      consumer.handle(
          delivery -> {
            handled.incrementAndGet();
            return Settlement.accept();
          });
      await().atMost(PATIENCE).until(() -> handled.get() == 50);
      assertThat(backlog(node, topic)).isEqualTo(50);

      consumer.close();

      await().atMost(PATIENCE).until(() -> backlog(node, topic) == 0);
    }
  }

  @Test
  void pc20_killedClient_bringsBackWhatWasNotConfirmed_andNothingElse(PulsarNode node)
      throws Exception {
    String topic = topic("pc20");
    send(node, topic, 0, 50);
    Queue<Integer> again = new ConcurrentLinkedQueue<>();
    try (FaultProxy proxy = node.openProxy();
        PulsarRigged killed = new PulsarRigged(proxy)) {
      ReceiveLink link =
          killed.broker.openReceive(
              LinkRig.request(
                  topic,
                  Ordering.NONE,
                  LinkRig.earliest().withReceipts(true).withAcknowledgementDelay(Duration.ZERO)),
              new LinkRig.Heard());
      link.window(50, 0);
      List<Received> taken = take(link, 50);
      taken.subList(0, 20).forEach(link::ack);
      assertThat(link.flush(PATIENCE)).isZero();
      proxy.stall(FaultProxy.Direction.TO_BROKER); // from here on it is as good as killed
      taken.subList(20, 50).forEach(each -> assertThat(link.ack(each)).isTrue());
      assertThat(link.flush(Duration.ofMillis(300))).isEqualTo(30);
      proxy.refuse();
      proxy.cut(FaultProxy.Cut.RESET);

      try (Messaging messaging = LinkRig.messaging(node);
          Consumer next = messaging.consumer(from(topic))) {
        next.handle(
            delivery -> {
              again.add(number(delivery));
              return Settlement.accept();
            });
        await().atMost(PATIENCE).until(() -> backlog(node, topic) == 0);
        assertThat(again)
            .containsExactlyInAnyOrderElementsOf(
                taken.subList(20, 50).stream().map(LinkRig::number).toList());
      }
    }
  }

  /** A broker whose end nobody waits for. */
  private static final class PulsarRigged implements AutoCloseable {
    private final PulsarBroker broker;

    private PulsarRigged(FaultProxy proxy) {
      broker = PulsarBroker.connect(LinkRig.through(proxy));
    }

    @Override
    public void close() {
      broker.close(LinkRig.SOON);
    }
  }

  @Test
  void pc22_oneOfABatchRetried_comesAlone(PulsarNode node) throws Exception {
    String topic = topic("pc22");
    send(node, topic, 0, 5, 5);
    Queue<Integer> handled = new ConcurrentLinkedQueue<>();
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer consumer = messaging.consumer(from(topic))) {
      consumer.handle(
          delivery -> {
            handled.add(number(delivery));
            return number(delivery) == 2 && delivery.attempt() == 1
                ? Settlement.retryAfter(Duration.ofMillis(100))
                : Settlement.accept();
          });

      await().atMost(PATIENCE).until(() -> handled.size() >= 6 && backlog(node, topic) == 0);
      assertThat(consumer.drain(PATIENCE)).isZero();
      assertThat(handled).containsExactlyInAnyOrder(0, 1, 2, 3, 4, 2);
    }
  }

  @Test
  void pc22_brokerWithoutBatchIndexes_bringsBackOnlyWhatIsOpen() throws Exception {
    try (PulsarNode node =
        PulsarNode.start(List.of("acknowledgmentAtBatchIndexLevelEnabled=false"))) {
      try (FaultProxy proxy = node.openProxy()) {
        PulsarBroker broker = PulsarBroker.connect(LinkRig.through(proxy));
        String topic = topic("pc22");
        send(node, topic, 0, 5, 5);
        LinkRig.Heard heard = new LinkRig.Heard();
        ReceiveLink link =
            broker.openReceive(LinkRig.request(topic, Ordering.NONE, LinkRig.earliest()), heard);
        link.window(4, 0);
        List<Received> taken = take(link, 5);
        for (Received each : taken) {
          if (LinkRig.number(each) != 2) {
            link.ack(each);
          }
        }
        assertThat(link.observe().partlyAcked()).isEqualTo(1);

        link.giveBack(List.of(taken.get(2)));
        Received again = take(link, 1).get(0);

        assertThat(LinkRig.number(again)).isEqualTo(2);
        link.ack(again);
        await().atMost(PATIENCE).until(() -> backlog(node, topic) == 0);
        assertThat(link.poll()).isNull();
        assertThat(link.observe().partlyAcked()).isZero();
        link.close(PATIENCE);
        broker.close(LinkRig.SOON);
      }
    }
  }

  private static List<Received> take(ReceiveLink link, int count) {
    List<Received> taken = new ArrayList<>();
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              for (Received next = link.poll(); next != null; next = link.poll()) {
                taken.add(next);
              }
              return taken.size() >= count;
            });
    return taken;
  }

  @Test
  void pc26_windowGrowsForAFastHandler(PulsarNode node) throws Exception {
    String topic = topic("pc26");
    send(node, topic, 0, 20_000, 100);
    AtomicInteger handled = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    try (Messaging messaging = LinkRig.messaging(node);
        Consumer consumer = messaging.consumer(from(topic))) {
      int first = consumer.status().permits();
      consumer.handle(
          delivery -> {
            TimeUnit.MICROSECONDS.sleep(100);
            handled.incrementAndGet();
            return Settlement.accept();
          });

      await()
          .pollInterval(Duration.ofMillis(20))
          .atMost(PATIENCE)
          .until(
              () -> {
                most.accumulateAndGet(consumer.status().permits(), Math::max);
                return handled.get() >= 20_000;
              });
      assertThat(most.get()).isGreaterThan(16 * Math.max(1, first));
    }
  }
}
