package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.AMQP;
import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.ConsumerStatus.State;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.Delivery.Answer;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.event.Event;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Settlement;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.WireTap;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What went wrong for others when they stopped, took long, or refused one of several messages. */
@NeedsRabbit
@Timeout(120)
class SettlingFieldCasesTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final AtomicInteger NAMES = new AtomicInteger();

  private final RabbitNode node = RabbitNode.shared();
  private final RabbitUnderTest broker = new RabbitUnderTest(node);

  private String queue(String what, String type) throws Exception {
    String name = what + "-" + ProcessHandle.current().pid() + "-" + NAMES.incrementAndGet();
    broker.plainly(
        channel -> channel.queueDeclare(name, true, false, false, Map.of("x-queue-type", type)));
    return name;
  }

  /** Returns a name for a queue that a consumer is to declare. */
  private static String own(String what) {
    return what + "-own-" + ProcessHandle.current().pid() + "-" + NAMES.incrementAndGet();
  }

  private RabbitBroker.Settings through(FaultProxy proxy, Duration heartbeat) {
    return RabbitBroker.Settings.at(node.uri().replace(":" + node.port(), ":" + proxy.port()))
        .withHeartbeat(heartbeat);
  }

  private void publish(String queue, int count) throws Exception {
    broker.plainly(
        channel -> {
          AMQP.Confirm.SelectOk confirms = channel.confirmSelect();
          for (int i = 0; i < count; i++) {
            byte[] body = Integer.toString(i).getBytes(StandardCharsets.UTF_8);
            channel.basicPublish("", queue, null, body);
          }
          try {
            channel.waitForConfirmsOrDie(LIMIT.toMillis());
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
          return confirms;
        });
  }

  private void awaitReady(String queue, long count) {
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(ready(queue)).as("ready in %s", queue).isEqualTo(count));
  }

  private long ready(String queue) throws Exception {
    return broker.plainly(channel -> channel.messageCount(queue));
  }

  private static int number(Delivery delivery) {
    return Integer.parseInt(new String(delivery.message().payload(), StandardCharsets.UTF_8));
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void rk13_stoppingUnderLoad_losesNothing_andGivesBackInOrder(String type) throws Exception {
    String queue = queue("rk13", type);
    publish(queue, 1_000);
    Queue<Integer> started = new ConcurrentLinkedQueue<>();
    AtomicInteger done = new AtomicInteger();
    List<Integer> rest = new ArrayList<>();
    try (Messaging messaging = Messaging.over(RabbitBroker.connect(node.uri()))) {
      Consumer consumer =
          messaging.consumer(
              ConsumerSettings.from(Address.queue(queue))
                  .withWorkers(4)
                  .withPermits(PermitPolicy.fixed(200)));
      consumer.handle(
          delivery -> {
            started.add(number(delivery));
            TimeUnit.MILLISECONDS.sleep(20);
            done.incrementAndGet();
            return Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> done.get() >= 50);

      assertThat(consumer.drain(Duration.ofSeconds(10))).isZero();
      consumer.close();

      assertThat(done).hasValue(started.size());
      awaitReady(queue, 1_000 - started.size());
      try (PullConsumer second =
          messaging.pullConsumer(
              ConsumerSettings.from(Address.queue(queue)).withMaxUnsettled(1_000))) {
        while (rest.size() < 1_000 - started.size()) {
          Delivery next = second.receive(LIMIT).orElseThrow();
          rest.add(number(next));
          assertThat(next.accept()).isEqualTo(Answer.ACCEPTED);
        }
      }
    }

    if (type.equals("classic")) { // a quorum queue keeps it where an order is asked for
      assertThat(rest).isSorted();
    }
    Set<Integer> all = new HashSet<>(rest);
    all.addAll(started);
    assertThat(all).containsAll(IntStream.range(0, 1_000).boxed().toList());
    assertThat(rest).as("handled by the first one, and again").doesNotContainAnyElementsOf(started);
    awaitReady(queue, 0);
  }

  /**
   * A quorum queue keeps acknowledgements back while many commands of a channel are under way, and
   * forgets them when the channel ends: as many as can be told one by one, right before the end.
   */
  @ParameterizedTest
  @ValueSource(ints = {200, 1_000})
  void rk13_closingAfterManySingleAcknowledgements_losesNone(int published) throws Exception {
    String queue = queue("rk13-single", "quorum");
    publish(queue, published);
    try (Messaging messaging = Messaging.over(RabbitBroker.connect(node.uri()));
        PullConsumer consumer =
            messaging.pullConsumer(
                ConsumerSettings.from(Address.queue(queue)).withMaxUnsettled(200))) {
      List<Delivery> deliveries = new ArrayList<>();
      while (deliveries.size() < 200) {
        deliveries.add(consumer.receive(LIMIT).orElseThrow());
      }
      for (int i = 1; i < 200; i += 2) {
        assertThat(deliveries.get(i).accept()).isEqualTo(Answer.ACCEPTED);
      }
    }

    awaitReady(queue, published - 100);
  }

  @Test
  void rk14_anExclusiveQueueThatIsStillLocked_isTriedAgain_andHoldsUpNoOther() throws Exception {
    List<String> queues = List.of(queue("rk14", "classic"), queue("rk14", "quorum"), own("rk14"));
    Queue<Event> events = new ConcurrentLinkedQueue<>();
    Map<String, AtomicInteger> handled = new HashMap<>();
    try (FaultProxy proxy = broker.openProxy();
        Messaging messaging =
            Messaging.over(
                RabbitBroker.connect(through(proxy, Duration.ofSeconds(10))), events::add)) {
      List<Consumer> consumers = new ArrayList<>();
      for (String queue : queues) {
        AtomicInteger count = handled.computeIfAbsent(queue, name -> new AtomicInteger());
        ConsumerSettings settings = ConsumerSettings.from(Address.queue(queue));
        Consumer consumer =
            messaging.consumer(
                queue.equals(queues.get(2))
                    ? settings.withNative(
                        RabbitBroker.ConsumeSettings.defaults()
                            .withTopology(RabbitBroker.Topology.exclusive()))
                    : settings);
        consumer.handle(
            delivery -> {
              count.incrementAndGet();
              return Settlement.accept();
            });
        consumers.add(consumer);
        publish(queue, 1);
        await().atMost(LIMIT).until(() -> count.get() == 1);
      }

      assertThat(proxy.abandon()).as("connections that the broker thinks are there").isPositive();

      for (int i = 0; i < 2; i++) {
        Consumer consumer = consumers.get(i);
        await().atMost(LIMIT).until(() -> consumer.status().state() == State.RUNNING);
        await().atMost(LIMIT).until(() -> consumer.status().reopened() == 1);
        publish(queues.get(i), 1);
        AtomicInteger count = Objects.requireNonNull(handled.get(queues.get(i)));
        await().atMost(LIMIT).until(() -> count.get() == 2);
      }
      Consumer locked = consumers.get(2);
      assertThat(events)
          .as("tried while it is locked")
          .anyMatch(
              event -> event instanceof Event.Recovering && event.who().contains(queues.get(2)));
      assertThat(locked.status().state()).isNotEqualTo(State.FAILED);
      await().atMost(LIMIT).until(() -> locked.status().state() == State.RUNNING);
      publish(queues.get(2), 1);
      AtomicInteger count = Objects.requireNonNull(handled.get(queues.get(2)));
      await().atMost(LIMIT).until(() -> count.get() == 2);
    }
  }

  @Test
  void rk15_aHandlerLongerThanSeveralHeartbeats_keepsTheConnection_andHandlesOnce()
      throws Exception {
    String queue = queue("rk15", "classic");
    publish(queue, 1);
    AtomicInteger deliveries = new AtomicInteger();
    try (FaultProxy proxy = broker.openProxy();
        Messaging messaging =
            Messaging.over(RabbitBroker.connect(through(proxy, Duration.ofSeconds(2))))) {
      WireTap tap = WireTap.on(proxy);
      Consumer consumer =
          messaging.consumer(
              ConsumerSettings.from(Address.queue(queue))
                  .withWorkers(1)
                  .withPermits(PermitPolicy.fixed(1)));
      consumer.handle(
          delivery -> {
            deliveries.incrementAndGet();
            TimeUnit.SECONDS.sleep(10);
            return Settlement.accept();
          });

      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 1);
      assertThat(consumer.drain(LIMIT)).isZero();

      assertThat(deliveries).hasValue(1);
      assertThat(consumer.status().reopened()).isZero();
      assertThat(consumer.status().stale()).isZero();
      assertThat(proxy.connections()).as("connections, all kept").isEqualTo(proxy.accepted());
      assertThat(tap.methods("basic.deliver")).hasSize(1);
      assertThat(tap.methods("basic.ack")).hasSize(1);
    }
    awaitReady(queue, 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void rk16_refusingOneMessage_leavesTheOthersInTheirHandlers(String type) throws Exception {
    String queue = queue("rk16", type);
    publish(queue, 2);
    try (Messaging messaging = Messaging.over(RabbitBroker.connect(node.uri()));
        PullConsumer consumer =
            messaging.pullConsumer(
                ConsumerSettings.from(Address.queue(queue))
                    .withRetryDelays(List.of(Duration.ZERO)))) {
      Delivery first = consumer.receive(LIMIT).orElseThrow();
      Delivery second = consumer.receive(LIMIT).orElseThrow();

      assertThat(second.retry()).isEqualTo(Answer.ACCEPTED);
      Delivery again = consumer.receive(LIMIT).orElseThrow();

      assertThat(number(again)).isEqualTo(number(second));
      assertThat(again.attempt()).isEqualTo(2);
      assertThat(consumer.receive(Duration.ofMillis(500))).as("the first, again").isEmpty();
      assertThat(first.accept()).isEqualTo(Answer.ACCEPTED);
      assertThat(again.accept()).isEqualTo(Answer.ACCEPTED);
      assertThat(consumer.drain(LIMIT)).isZero();
      assertThat(consumer.status().reopened()).isZero();
    }
    awaitReady(queue, 0);
  }
}
