package io.floatvalve.rabbit;

import static io.floatvalve.rabbit.ConsumeRig.LIMIT;
import static io.floatvalve.rabbit.ConsumeRig.number;
import static io.floatvalve.rabbit.ConsumeRig.reading;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.event.Event;
import io.floatvalve.model.Settlement;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A consumer whose broker, network or queue fails, and that comes back by itself. */
@NeedsRabbit(ownProcess = true)
@Timeout(180)
class ConsumeFaultsTest {
  private final RabbitNode node = RabbitNode.shared();
  private FaultProxy proxy;
  private ConsumeRig rig;

  @BeforeEach
  void open() throws Exception {
    proxy = FaultProxy.to(node.host(), node.port());
    rig =
        new ConsumeRig(
            node,
            RabbitBroker.Settings.at(node.uri().replace(":" + node.port(), ":" + proxy.port()))
                .withHeartbeat(Duration.ofSeconds(5)));
  }

  @AfterEach
  void close() {
    rig.close();
    proxy.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void cutAgainAndAgain_losesNothing(String type) throws Exception {
    String queue = rig.queue(type);
    int messages = 5_000;
    rig.publish(queue, 0, messages);
    Map<Integer, Integer> times = new ConcurrentHashMap<>();
    AtomicInteger handled = new AtomicInteger();

    try (Consumer consumer = rig.messaging.consumer(reading(queue).withWorkers(8))) {
      consumer.handle(
          delivery -> {
            times.merge(number(delivery), 1, Integer::sum);
            handled.incrementAndGet();
            new CountDownLatch(1).await(1, TimeUnit.MILLISECONDS);
            return Settlement.accept();
          });
      for (int i = 1; i <= 4; i++) {
        int enough = i * messages / 6;
        await().atMost(LIMIT).until(() -> handled.get() > enough);
        proxy.cut(i % 2 == 0 ? FaultProxy.Cut.RESET : FaultProxy.Cut.END);
      }
      await().atMost(LIMIT).until(() -> times.size() == messages);
      await().atMost(LIMIT).until(() -> rig.ready(queue) == 0 && unsettled(consumer) == 0);
      assertThat(consumer.drain(LIMIT)).isZero();
      assertThat(consumer.status().reopened()).isBetween(1L, 4L);
    }

    assertThat(rig.ready(queue)).isZero();
    rig.delete(queue);
  }

  private static long unsettled(Consumer consumer) {
    ConsumerStatus now = consumer.status();
    return now.waiting() + now.inHandlers() + now.settling();
  }

  @Test
  void killedBroker_isComeBackTo() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 2_000);
    Set<Integer> seen = ConcurrentHashMap.newKeySet();

    try (Consumer consumer = rig.messaging.consumer(reading(queue).withWorkers(4))) {
      consumer.handle(
          delivery -> {
            seen.add(number(delivery));
            new CountDownLatch(1).await(1, TimeUnit.MILLISECONDS);
            return Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> seen.size() > 500);
      node.kill();
      await()
          .atMost(LIMIT)
          .until(() -> consumer.status().state() == ConsumerStatus.State.RECOVERING);
      node.restart();

      await().atMost(LIMIT).until(() -> seen.size() == 2_000);
      assertThat(rig.heard(Event.LinkLost.class, "")).isTrue();
      assertThat(rig.heard(Event.Recovering.class, "")).isTrue();
    }
    assertThat(rig.ready(queue)).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void deletedQueue_isTold_andConsumedFromWhenItIsThereAgain(String type) throws Exception {
    String queue = rig.queue(type);
    rig.publish(queue, 0, 10);
    Set<Integer> seen = ConcurrentHashMap.newKeySet();

    try (Consumer consumer = rig.messaging.consumer(reading(queue))) {
      consumer.handle(
          delivery -> {
            seen.add(number(delivery));
            return Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> seen.size() == 10);
      rig.delete(queue);
      await().atMost(LIMIT).until(() -> rig.heard(Event.LinkLost.class, "was deleted"));
      await().atMost(LIMIT).until(() -> rig.heard(Event.Recovering.class, "404"));
      rig.declare(queue, type, Map.of());
      rig.publish(queue, 10, 20);

      await().atMost(LIMIT).until(() -> seen.size() == 20);
    }
  }

  /** Opening works, consuming does not: that must not be tried as fast as the broker answers. */
  @Test
  void exclusiveConsumerBesideAnother_isTriedAgainWithBackOff_untilTheOtherGoes() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 10);
    CountDownLatch gone = new CountDownLatch(1);
    Set<Integer> seen = ConcurrentHashMap.newKeySet();

    try (ConsumeRig other = new ConsumeRig(node);
        Consumer consumer =
            rig.messaging.consumer(
                reading(queue).withNative(ConsumeSettings.defaults().withExclusive(true)))) {
      try (Consumer first = other.messaging.consumer(reading(queue))) {
        first.handle(
            delivery -> {
              gone.await(60, TimeUnit.SECONDS);
              return Settlement.retry();
            });
        await().atMost(LIMIT).until(() -> other.consumers(queue) == 1);
        consumer.handle(
            delivery -> {
              seen.add(number(delivery));
              return Settlement.accept();
            });
        await().atMost(LIMIT).until(() -> rig.heard(Event.LinkLost.class, "403"));
        long began = System.nanoTime();
        await().atMost(LIMIT).until(() -> losses() >= 5);
        // At once twice, then after 100, 200 and 400 ms.
        assertThat(Duration.ofNanos(System.nanoTime() - began))
            .isGreaterThan(Duration.ofMillis(300));
        gone.countDown();
      }

      await().atMost(LIMIT).until(() -> seen.size() == 10);
      assertThat(rig.ready(queue)).isZero();
    }
  }

  private long losses() {
    return List.copyOf(rig.events).stream().filter(Event.LinkLost.class::isInstance).count();
  }
}
