package io.floatvalve.pulsar;

import static io.floatvalve.pulsar.LinkRig.PATIENCE;
import static io.floatvalve.pulsar.LinkRig.topic;
import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.model.Ordering;
import io.floatvalve.spi.ReceiveLink;
import io.floatvalve.spi.ReceiveLink.Copy;
import io.floatvalve.spi.ReceiveLink.Received;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarFrame;
import io.floatvalve.testkit.PulsarNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The link on a real broker; what it grants is read off the wire. */
@NeedsPulsar(ownProcess = true)
@Timeout(300)
final class PulsarLinkTest {
  @Test
  void nothingIsGranted_beforeTheFirstWindow(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("first");
      rig.send(topic, 0, 10);

      ReceiveLink link = rig.open(topic);

      assertThat(rig.tap.frames(PulsarFrame.Flow.class)).isEmpty();
      assertThat(link.observe().waiting()).isZero();
      link.window(4, 0);
      await().atMost(PATIENCE).until(() -> link.waiting() == 4);
      assertThat(rig.tap.frames(PulsarFrame.Flow.class))
          .extracting(PulsarFrame.Flow::permits)
          .containsExactly(4);
      assertThat(link.observe().outstanding()).isZero();
    }
  }

  @Test
  void growing_isGrantedAtOnce_andShrinkingHolds(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("resize");
      rig.send(topic, 0, 500);
      ReceiveLink link = rig.open(topic);
      link.window(4, 0);
      await().atMost(PATIENCE).until(() -> link.waiting() == 4);

      link.window(200, 0);
      await().atMost(PATIENCE).until(() -> link.waiting() == 200);
      assertThat(rig.tap.permitsGranted()).isEqualTo(200);

      link.window(10, 0);
      assertThat(link.observe().window()).isEqualTo(10);
      for (Received each : rig.take(link, 190)) {
        link.ack(each);
      }
      assertThat(rig.tap.permitsGranted()).isEqualTo(200);
      assertThat(link.observe().unsent()).isZero();

      for (Received each : rig.take(link, 310)) {
        link.ack(each);
      }
      assertThat(rig.tap.messagesSent()).isEqualTo(500);
      assertThat(rig.tap.permitsGranted()).isLessThanOrEqualTo(510);
    }
  }

  @Test
  void shrinking_whatIsStillAtTheBroker_waitsUntilItIsHere(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("late");
      ReceiveLink link = rig.open(topic);
      link.window(100, 0);
      await().atMost(PATIENCE).until(() -> rig.tap.permitsGranted() == 100);

      link.window(5, 0);
      assertThat(link.observe().window()).isEqualTo(100);
      assertThat(link.observe().outstanding()).isEqualTo(100);

      rig.send(topic, 0, 100);
      await().atMost(PATIENCE).until(() -> link.observe().window() == 5);
      assertThat(rig.take(link, 100)).hasSize(100);
      await().atMost(PATIENCE).until(() -> link.observe().unsent() >= 0);
      assertThat(rig.tap.permitsGranted()).isLessThanOrEqualTo(105);
    }
  }

  @Test
  void reconnect_isGrantedTheCurrentWindow_notTheFirst(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("cut");
      rig.send(topic, 0, 100);
      ReceiveLink link = rig.open(topic);
      link.window(50, 0);
      await().atMost(PATIENCE).until(() -> link.waiting() == 50);
      link.window(10, 0);
      List<Received> held = rig.take(link, 45);
      await() // until nothing that was granted is under way
          .atMost(PATIENCE)
          .until(
              () ->
                  link.observe().outstanding() == 0
                      && rig.tap.permitsGranted() == rig.tap.messagesSent());
      rig.tap.clear();

      rig.proxy.cut(Cut.RESET);
      await().atMost(PATIENCE).until(() -> rig.heard.reconnected.get() == 1);

      assertThat(rig.heard.disconnected).hasValue(1);
      await().atMost(PATIENCE).until(() -> rig.tap.permitsGranted() > 0);
      assertThat(rig.tap.frames(PulsarFrame.Flow.class))
          .extracting(PulsarFrame.Flow::permits)
          .containsExactly(10);
      held.forEach(each -> assertThat(link.ack(each)).isTrue());
      Set<Integer> seen = held.stream().map(LinkRig::number).collect(toCollection(TreeSet::new));
      while (seen.size() < 100) {
        Received next = rig.take(link, 1).get(0);
        assertThat(next.redelivered()).isTrue();
        seen.add(LinkRig.number(next));
        link.ack(next);
      }
      assertThat(seen).containsExactlyElementsOf(IntStream.range(0, 100).boxed().toList());
    }
  }

  /** With nobody to look after the link, which would find a message that is not told. */
  @Test
  void available_comesAfterEachPollThatFoundNothing(PulsarNode node) throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("wake");
      ReceiveLink link = rig.open(topic);
      link.window(4, 0);
      await().atMost(PATIENCE).until(() -> rig.tap.permitsGranted() == 4);
      rig.broker.ticker().execute(() -> LinkRig.hold(end));
      for (int i = 0; i < 200; i++) {
        rig.heard.available.drainPermits();
        if (link.poll() != null) {
          throw new AssertionError("nothing was sent");
        }
        rig.send(topic, i, i + 1);
        assertThat(rig.heard.available.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
        Received next = Objects.requireNonNull(link.poll());
        assertThat(LinkRig.number(next)).isEqualTo(i);
        assertThat(next.arrivedNanos()).isLessThanOrEqualTo(System.nanoTime());
        link.ack(next);
      }
    } finally {
      end.countDown();
    }
  }

  @Test
  void available_comesForEachOfManyThatArriveWhileOthersAreTaken(PulsarNode node) throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("flood");
      node.rest().createPartitionedTopic(topic, 3);
      ReceiveLink link = rig.open(topic);
      link.window(12, 0);
      await().atMost(PATIENCE).until(() -> rig.tap.permitsGranted() == 12);
      rig.broker.ticker().execute(() -> LinkRig.hold(end));

      rig.send(topic, 0, 3_000);

      rig.take(link, 3_000).forEach(link::ack);
    } finally {
      end.countDown();
    }
  }

  @Test
  void batch_countsByItsContent_andOvershoots(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("batch");
      rig.sendBatches(topic, 0, 300, 100);
      ReceiveLink link = rig.open(topic);

      link.window(1, 0);
      await().atMost(PATIENCE).until(() -> link.waiting() == 100);

      assertThat(link.observe().window()).isEqualTo(1);
      assertThat(link.observe().outstanding()).isEqualTo(-99);
      for (int i = 0; i < 300; i++) {
        Received next = rig.take(link, 1).get(0);
        assertThat(LinkRig.number(next)).isEqualTo(i);
        link.ack(next);
      }
      assertThat(link.observe().partlyAcked()).isZero();
    }
  }

  @Test
  void waiting_isGivenBack_andComesToAnother(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("back");
      rig.send(topic, 0, 100);
      ReceiveLink slow = rig.open(topic);
      slow.window(100, 0);
      await().atMost(PATIENCE).until(() -> slow.waiting() == 100);
      Received inHand = rig.take(slow, 1).get(0);
      ReceiveLink other = rig.open(topic);
      other.window(200, 0);

      slow.window(1, 0);
      int back = slow.giveBackWaiting(3);

      assertThat(back).isEqualTo(96);
      assertThat(slow.waiting()).isEqualTo(3);
      await().atMost(PATIENCE).until(() -> other.waiting() >= 95);
      Set<Integer> seen = new TreeSet<>();
      seen.add(LinkRig.number(inHand));
      slow.ack(inHand);
      while (seen.size() < 100) {
        for (ReceiveLink link : List.of(slow, other)) {
          Received next = link.poll();
          if (next != null) {
            assertThat(seen.add(LinkRig.number(next))).isTrue();
            link.ack(next);
          }
        }
      }
    }
  }

  @Test
  void partOfABatchThatWasTaken_isKept(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("part");
      rig.sendBatches(topic, 0, 30, 10);
      ReceiveLink link = rig.open(topic);
      link.window(30, 0);
      await().atMost(PATIENCE).until(() -> link.waiting() == 30);
      rig.take(link, 4);

      link.window(1, 0);
      int back = link.giveBackWaiting(0);

      assertThat(back).isEqualTo(20);
      assertThat(rig.take(link, 6)).extracting(LinkRig::number).containsExactly(4, 5, 6, 7, 8, 9);
    }
  }

  @Test
  void taken_isGivenBack_andDeliveredAgain(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("taken");
      rig.send(topic, 0, 3);
      ReceiveLink link = rig.open(topic);
      link.window(10, 0);
      List<Received> taken = rig.take(link, 3);

      link.giveBack(taken.subList(1, 3));

      List<Received> again = rig.take(link, 2);
      assertThat(again).extracting(LinkRig::number).containsExactlyInAnyOrder(1, 2);
      assertThat(again).allMatch(Received::redelivered);
      assertThat(again).allMatch(each -> each.deliveryCount() == 2);
      assertThat(again.get(0).identity()).isIn(taken.get(1).identity(), taken.get(2).identity());
    }
  }

  @Test
  void partitions_shareTheWindow_andLaterOnesToo(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("parts");
      node.rest().createPartitionedTopic(topic, 2);
      ReceiveLink link =
          rig.open(
              LinkRig.request(
                  topic,
                  Ordering.NONE,
                  LinkRig.earliest().withPartitionsCheck(Duration.ofMillis(200))));
      link.window(40, 0);
      await().atMost(PATIENCE).until(() -> rig.tap.permitsGranted() == 40);

      node.rest().updatePartitions(topic, 4);
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  // by name: the client asks again where a new partition is not ready yet
                  assertThat(
                          rig.tap.frames(PulsarFrame.Subscribe.class).stream()
                              .map(PulsarFrame.Subscribe::topic)
                              .distinct())
                      .hasSize(4));
      // 10 each; a third of the window for the one that is there a moment before the other.
      await()
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(rig.tap.permitsGranted()).isBetween(60L, 64L));

      rig.send(topic, 0, 400);
      Set<Integer> seen = new TreeSet<>();
      for (Received each : rig.take(link, 400)) {
        seen.add(LinkRig.number(each));
        link.ack(each);
      }
      assertThat(seen).hasSize(400);
      await().atMost(PATIENCE).until(() -> link.observe().window() == 40);
    }
  }

  @Test
  void flushed_acknowledgementsAreOnTheWire(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("flush");
      rig.send(topic, 0, 20);
      ReceiveLink link =
          rig.open(
              LinkRig.request(
                  topic,
                  Ordering.NONE,
                  LinkRig.earliest().withAcknowledgementDelay(Duration.ofMinutes(1))));
      link.window(20, 0);
      rig.take(link, 20).forEach(link::ack);
      assertThat(rig.tap.frames(PulsarFrame.Ack.class)).isEmpty();

      assertThat(link.flush(PATIENCE)).isZero();

      await()
          .atMost(PATIENCE)
          .until(
              () ->
                  rig.tap.frames(PulsarFrame.Ack.class).stream()
                          .mapToInt(ack -> ack.entries().size())
                          .sum()
                      == 20);
    }
  }

  @Test
  void receipts_areWaitedFor(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("receipt");
      rig.send(topic, 0, 20);
      ReceiveLink link =
          rig.open(LinkRig.request(topic, Ordering.NONE, LinkRig.earliest().withReceipts(true)));
      link.window(20, 0);
      List<Received> taken = rig.take(link, 20);
      rig.proxy.stall(FaultProxy.Direction.FROM_BROKER);
      taken.forEach(link::ack);

      assertThat(link.flush(Duration.ofMillis(300))).isPositive();
      rig.proxy.unstall();
      assertThat(link.flush(PATIENCE)).isZero();
      assertThat(node.rest().topicStats(topic).number("subscriptions", "s", "msgBacklog")).isZero();
    }
  }

  @Test
  void retriesAndDeadLetters_areConfirmedCopies_thatStay(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("copy");
      rig.send(topic, 7, 8);
      ReceiveLink link = rig.open(topic);
      link.window(10, 0);
      Received first = rig.take(link, 1).get(0);

      assertThat(copy(link, first, new Copy(false, 1, Duration.ofMillis(200), "no", Instant.now())))
          .isEmpty();
      link.ack(first);
      Received again = rig.take(link, 1).get(0);
      assertThat(LinkRig.number(again)).isEqualTo(7);
      assertThat(again.key()).isEqualTo("k7");
      assertThat(again.attempts()).isEqualTo(1);
      assertThat(again.message().headers()).isEmpty();

      assertThat(copy(link, again, new Copy(true, 2, Duration.ZERO, "never", Instant.now())))
          .isEmpty();
      link.ack(again);
      ReceiveLink dead = rig.open(topic + "-s-DLQ");
      dead.window(10, 0);
      Received letter = rig.take(dead, 1).get(0);
      assertThat(LinkRig.number(letter)).isEqualTo(7);
      assertThat(letter.attempts()).isEqualTo(2);
    }
  }

  private static String copy(ReceiveLink link, Received original, Copy copy) throws Exception {
    CompletableFuture<String> done = new CompletableFuture<>();
    link.copy(original, copy, failure -> done.complete(failure == null ? "" : failure));
    return done.get(60, TimeUnit.SECONDS);
  }

  @Test
  void total_keepsTheOrderOfThePartition(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("total");
      rig.send(topic, 0, 300);
      ReceiveLink link = rig.open(LinkRig.request(topic, Ordering.TOTAL, LinkRig.earliest()));
      assertThat(link.traits().givesBack()).isFalse();
      assertThat(link.traits().copies()).isFalse();
      link.window(20, 0);

      List<Integer> seen = new ArrayList<>();
      for (Received each : rig.take(link, 300)) {
        seen.add(LinkRig.number(each));
        link.ack(each);
      }

      assertThat(seen).containsExactlyElementsOf(IntStream.range(0, 300).boxed().toList());
      assertThat(rig.tap.frames(PulsarFrame.Subscribe.class).get(0).type()).isEqualTo("Failover");
    }
  }

  @Test
  void unbridged_isSmallFixedAndCorrect(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node, false)) {
      String topic = topic("plain");
      rig.send(topic, 0, 300);
      ReceiveLink link = rig.open(topic);
      assertThat(link.traits().resizable()).isFalse();
      assertThat(link.traits().note()).isNotEmpty();
      assertThat(rig.tap.frames(PulsarFrame.Flow.class)).isEmpty();

      link.window(4, 0);
      List<Integer> seen = new ArrayList<>();
      for (int i = 0; i < 300; i++) {
        Received next = rig.take(link, 1).get(0);
        seen.add(LinkRig.number(next));
        link.ack(next);
      }

      assertThat(seen).containsExactlyElementsOf(IntStream.range(0, 300).boxed().toList());
      assertThat(rig.tap.permitsGranted()).isLessThanOrEqualTo(316);
      assertThat(link.flush(PATIENCE)).isZero();
    }
  }

  @Test
  void stopped_asksForNoMore(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("stop");
      rig.send(topic, 0, 100);
      ReceiveLink link = rig.open(topic);
      link.window(10, 0);
      await().atMost(PATIENCE).until(() -> link.waiting() == 10);

      link.stop(Duration.ofSeconds(10));
      rig.take(link, 10).forEach(link::ack);

      assertThat(rig.tap.permitsGranted()).isEqualTo(10);
      assertThat(link.flush(PATIENCE)).isZero();
      link.close(PATIENCE);
      await()
          .atMost(PATIENCE)
          .until(
              () -> node.rest().topicStats(topic).number("subscriptions", "s", "msgBacklog") == 90);
    }
  }

  @Test
  void topicUnloaded_isReadOn(PulsarNode node) throws Exception {
    try (LinkRig rig = new LinkRig(node)) {
      String topic = topic("deleted");
      rig.send(topic, 0, 1);
      ReceiveLink link = rig.open(topic);
      link.window(10, 0);
      rig.take(link, 1).forEach(link::ack);

      node.rest().unloadTopic(topic);
      rig.send(topic, 1, 2);
      rig.take(link, 1).forEach(link::ack);

      // The client tells nobody: it is looked for, and may be seen after the message.
      await().atMost(PATIENCE).until(() -> rig.heard.reconnected.get() > 0);
      assertThat(rig.heard.lost).isNotDone();
    }
  }
}
