package io.floatvalve.rabbit;

import static io.floatvalve.rabbit.ConsumeRig.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.model.Ordering;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.rabbit.RabbitBroker.Topology;
import io.floatvalve.spi.ReceiveLink;
import io.floatvalve.spi.ReceiveLink.Received;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The prefetch of a live consumer, changed. */
@NeedsRabbit
@Timeout(180)
class ResizeTest {
  private final ConsumeRig rig = new ConsumeRig(RabbitNode.shared());
  private final ReceiveLinkRig links = new ReceiveLinkRig(RabbitNode.shared());

  @AfterEach
  void close() {
    links.close();
    rig.close();
  }

  static Stream<Arguments> queues() {
    ConsumeSettings unknown = ConsumeSettings.defaults();
    return Stream.of(
        Arguments.of("classic", unknown),
        Arguments.of("classic", unknown.withTopology(Topology.classic())),
        Arguments.of("quorum", unknown));
  }

  /** However often the prefetch is changed: each message once, in order, none redelivered. */
  @ParameterizedTest
  @MethodSource("queues")
  void changesUnderLoad_redeliverNothing_andKeepTheOrder(String type, ConsumeSettings settings)
      throws Exception {
    int messages = 20_000;
    String queue = rig.queue(type);
    rig.publish(queue, 0, messages);
    ReceiveLink link = links.open(queue, 8, 1L << 30, settings);
    Random random = new Random(7);
    ArrayDeque<Received> inHand = new ArrayDeque<>();
    int expected = 0;
    int changes = 0;
    int most = 0;
    link.window(20, 0);
    long next = System.nanoTime();
    long deadline = next + LIMIT.toNanos();

    while (expected < messages || !inHand.isEmpty()) {
      assertThat(System.nanoTime()).as("still at " + expected).isLessThan(deadline);
      Received received = link.poll();
      if (received != null) {
        assertThat(ConsumeRig.text(received.message().payload())).isEqualTo("" + expected++);
        assertThat(received.redelivered()).isFalse();
        inHand.add(received);
      }
      if (inHand.size() > 8 || received == null) {
        Received oldest = inHand.poll();
        if (oldest != null) {
          link.ack(oldest);
        }
      }
      most = Math.max(most, link.observe().waiting());
      if (System.nanoTime() >= next && expected < messages - 1_000) {
        link.window(1 + random.nextInt(300), 0);
        changes++;
        next = System.nanoTime() + 60_000_000;
      }
    }

    assertThat(link.flush(LIMIT)).isZero();
    link.close(LIMIT);
    assertThat(rig.ready(queue)).isZero();
    assertThat(changes).isPositive();
    assertThat(most).isLessThan(1_300); // two of the largest, and what drains
    assertThat(links.heard).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void changedPrefetch_isInEffect_alsoWhereNothingIsSettled(String type) throws Exception {
    String queue = rig.queue(type);
    rig.publish(queue, 0, 300);
    ReceiveLink link = links.open(queue, 1);

    link.window(8, 0);
    await().atMost(LIMIT).until(() -> link.waiting() == 10);
    link.window(40, 0);

    // The 10 of the first consumer, and 49 (40 and 1 and a batch of 8) of the second.
    await().atMost(LIMIT).until(() -> link.waiting() == 59);
    if (type.equals("classic")) { // a quorum queue still counts one that has messages to settle
      await().atMost(LIMIT).until(() -> rig.consumers(queue) == 1);
    }
    assertThat(link.observe().outstanding()).isZero();
    assertThat(link.observe().window()).isEqualTo(59 - 1 - 8);
    assertThat(rig.ready(queue)).isEqualTo(300 - 59);
    link.close(LIMIT);
    await().atMost(LIMIT).until(() -> rig.ready(queue) == 300);
  }

  @Test
  void shrinking_waitsUntilThePreviousConsumerHasDrained() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 500);
    ReceiveLink link = links.open(queue, 1);
    link.window(100, 0);
    await().atMost(LIMIT).until(() -> link.waiting() > 100);
    link.window(50, 0);
    int held = 101 + 20 + 51 + 10;
    await().atMost(LIMIT).until(() -> link.waiting() == held);

    link.window(10, 0);
    link.window(200, 0);
    link.window(10, 0);

    assertThat(link.observe().window()).isEqualTo(held - 1 - 10);
    for (int i = 0; i < held; i++) {
      Received received = Objects.requireNonNull(link.poll());
      assertThat(ConsumeRig.text(received.message().payload())).isEqualTo("" + i);
      link.ack(received);
    }
    await()
        .atMost(LIMIT)
        .until(
            () -> {
              Received received = link.poll();
              if (received != null) {
                link.ack(received);
              }
              return link.observe().window() == 10;
            });
    link.close(LIMIT);
  }

  /** What came by the consumer that stays would come again at once. */
  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void shrinking_givesBackWhatCameByTheConsumerThatGoes_andNothingElse(String type)
      throws Exception {
    String queue = rig.queue(type);
    rig.publish(queue, 0, 49);
    ReceiveLink link = unordered(queue);
    link.window(40, 0);
    await().atMost(LIMIT).until(() -> link.waiting() == 49); // the queue is empty
    AtomicInteger back = new AtomicInteger(link.giveBackWaiting(0));
    assertThat(back).hasValue(0);

    link.window(2, 0);

    await()
        .atMost(LIMIT)
        .until(
            () -> {
              back.addAndGet(link.giveBackWaiting(0));
              // 2, one for the handler, an acknowledgement; and up to 8 that were to show that the
              // new one is served, came by the old one again, and are counted by a quorum queue
              return link.waiting() <= 12 && rig.ready(queue) == 49 - link.waiting();
            });
    int kept = link.waiting();
    assertThat(back).hasValueGreaterThanOrEqualTo(49 - kept);
    assertThat(link.giveBackWaiting(0)).isZero();
    assertThat(link.waiting()).isEqualTo(kept);
    link.close(LIMIT);
  }

  /** A quorum queue counts it as a failure, and may have a limit of few. */
  @Test
  void whatCameBackBefore_isNotGivenBack_whereThatCounts() throws Exception {
    String queue = rig.queue("quorum", Map.of("x-delivery-limit", 2));
    rig.publish(queue, 0, 49);
    ReceiveLink first = unordered(queue);
    first.window(40, 0);
    await().atMost(LIMIT).until(() -> first.waiting() == 49);
    first.close(LIMIT); // all go back, and are counted
    ReceiveLink link = unordered(queue);
    link.window(40, 0);
    await().atMost(LIMIT).until(() -> link.waiting() == 49);
    rig.publish(queue, 49, 100);

    link.window(2, 0);
    await().atMost(LIMIT).until(() -> link.waiting() == 53);

    assertThat(link.giveBackWaiting(0)).isZero();
    assertThat(link.waiting()).isEqualTo(53);
    link.close(LIMIT);
  }

  private ReceiveLink unordered(String queue) {
    return links.open(queue, 1, 1L << 30, ConsumeSettings.defaults(), Ordering.NONE);
  }

  /** A queue that serves one consumer alone, and nobody told us. */
  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void singleActiveConsumer_isFoundOut_andKeepsItsPrefetch(String type) throws Exception {
    String queue = rig.queue(type, Map.of("x-single-active-consumer", true));
    rig.publish(queue, 0, 2_000);
    ReceiveLink link = links.open(queue, 1);
    link.window(8, 0);
    int expected = 0;
    boolean asked = false;

    while (expected < 2_000) {
      Received received = link.poll();
      if (received != null) {
        assertThat(ConsumeRig.text(received.message().payload())).isEqualTo("" + expected++);
        link.ack(received);
        if (!asked) {
          asked = true;
          link.window(40, 0);
        }
      }
      assertThat(links.heard).isEmpty();
    }

    rig.publish(queue, 2_000, 2_010); // the queue is alive
    await().atMost(LIMIT).until(() -> link.waiting() == 10);
    await().atMost(LIMIT).until(() -> rig.consumers(queue) == 1);
    await().atMost(LIMIT).until(() -> link.observe().window() == 8); // once it is tried again
    link.close(LIMIT);
  }

  @Test
  void declaredSingleActiveConsumer_exclusive_andStream_areFixed_andSaySo() throws Exception {
    Topology single = Topology.quorum().withArguments(Map.of("x-single-active-consumer", true));
    for (ConsumeSettings settings :
        new ConsumeSettings[] {
          ConsumeSettings.defaults().withTopology(single),
          ConsumeSettings.defaults().withTopology(Topology.quorum()).withExclusive(true),
          ConsumeSettings.defaults().withTopology(Topology.stream())
        }) {
      String queue = ConsumeRig.newName("fixed");
      ReceiveLink link = links.open(queue, 2, 1L << 30, settings);
      assertThat(link.traits().resizable()).isFalse();
      assertThat(link.traits().note()).contains("the prefetch is fixed");
      link.window(4, 0);
      link.window(400, 0);
      assertThat(link.observe().window()).isEqualTo(32);
      link.close(LIMIT);
      rig.delete(queue);
    }
  }

  @Test
  void flush_saysWhatAConnectionTookWithIt() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 3);
    RabbitNode node = RabbitNode.shared();
    try (FaultProxy proxy = FaultProxy.to(node.host(), node.port());
        ReceiveLinkRig cut =
            new ReceiveLinkRig(
                RabbitNode.of("amqp://guest:guest@" + proxy.host() + ":" + proxy.port()))) {
      ReceiveLink link =
          cut.open(
              queue,
              4,
              1L << 30,
              ConsumeSettings.defaults().withAcknowledgementDelay(Duration.ofMinutes(1)));
      link.window(100, 0);
      await().atMost(LIMIT).until(() -> link.waiting() == 3);
      for (int i = 0; i < 3; i++) {
        link.ack(Objects.requireNonNull(link.poll()));
      }

      proxy.cut(FaultProxy.Cut.RESET);
      await().atMost(LIMIT).until(() -> !cut.heard.isEmpty());

      assertThat(link.flush(LIMIT)).isEqualTo(3);
    }
  }

  @Test
  void firstPrefetch_isWhatTheBudgetHoldsOfMessagesThatNobodyHasSeen() throws Exception {
    String queue = rig.queue("classic");
    for (int i = 0; i < 20; i++) {
      rig.publish(queue, null, new byte[1 << 20]);
    }
    ReceiveLink link = links.open(queue, 64, 4 << 20, ConsumeSettings.defaults());

    link.window(8, 0); // with handlers and a batch it would be 86

    await().atMost(LIMIT).until(() -> link.waiting() == 8);
    await().atMost(LIMIT).until(() -> rig.ready(queue) == 12);
    link.close(LIMIT);
  }

  @Test
  void smallMessages_raiseThePrefetch_andLargeOnesLowerIt() throws Exception {
    String queue = rig.queue("classic");
    for (int i = 0; i < 4; i++) {
      rig.publish(queue, null, new byte[100]);
    }
    ReceiveLink link = links.open(queue, 4, 500_000, ConsumeSettings.defaults());
    link.window(8, 0);
    assertThat(link.observe().window()).isEqualTo(1);
    // 8 permits, and what the consumer before had delivered.
    await().atMost(LIMIT).until(() -> link.observe().window() >= 8 && link.waiting() == 4);
    for (int i = 0; i < 60; i++) {
      rig.publish(queue, null, new byte[100_000]);
    }

    // Twice 500,000 bytes hold 10 of them; the consumer had been given 14.
    int[] handled = {0};
    await()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(5))
        .until(
            () -> {
              Received received = link.poll();
              if (received != null) {
                link.ack(received);
                handled[0]++;
              }
              return link.observe().window() + 4 + 1 <= 10;
            });
    assertThat(handled[0]).isLessThan(64);
    link.close(LIMIT);
  }
}
