package io.floatvalve.rabbit;

import static io.floatvalve.rabbit.ConsumeRig.LIMIT;
import static io.floatvalve.rabbit.ConsumeRig.number;
import static io.floatvalve.rabbit.ConsumeRig.reading;
import static io.floatvalve.rabbit.ConsumeRig.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.event.Event;
import io.floatvalve.explain.Finding;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.rabbit.RabbitBroker.Topology;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.WireTap;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What went wrong in the field with consumers of RabbitMQ, each case by its number. */
@NeedsRabbit(ownProcess = true)
@Timeout(180)
class ConsumeFieldCasesTest {
  private final RabbitNode node = RabbitNode.shared();
  private FaultProxy proxy;
  private WireTap tap;
  private ConsumeRig rig;

  @BeforeEach
  void open() throws Exception {
    proxy = FaultProxy.to(node.host(), node.port());
    tap = WireTap.on(proxy);
    rig = new ConsumeRig(node, throughProxy().withHeartbeat(Duration.ofSeconds(2)));
  }

  @AfterEach
  void close() {
    rig.close();
    proxy.close();
  }

  private RabbitBroker.Settings throughProxy() {
    return RabbitBroker.Settings.at(node.uri().replace(":" + node.port(), ":" + proxy.port()));
  }

  private static Set<Integer> numbers(int from, int to) {
    Set<Integer> all = ConcurrentHashMap.newKeySet();
    IntStream.range(from, to).forEach(all::add);
    return all;
  }

  /** RK-01; more of it in {@link ResizeTest}. */
  @Test
  void rk01_changedPrefetch_isTheBrokersToo() throws Exception {
    String queue = rig.queue("classic");
    AtomicInteger published = new AtomicInteger();

    try (Consumer consumer = rig.messaging.consumer(reading(queue).withWorkers(4))) {
      consumer.handle(delivery -> Settlement.accept());
      // As many as it takes: a fast machine is through with a few thousand before a change is due.
      await()
          .atMost(LIMIT)
          .until(
              () -> {
                int from = published.getAndAdd(1_000);
                rig.publish(queue, from, from + 1_000);
                return tap.methods("basic.consume").size() > 1;
              });
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == published.get());
    }

    List<Integer> said =
        tap.methods("basic.qos").stream()
            .map(each -> Integer.parseInt(each.arguments().get("prefetch-count")))
            .toList();
    assertThat(said).hasSizeGreaterThan(1).first().isEqualTo(4 + 4 + 1);
    assertThat(said.get(1)).isGreaterThan(said.get(0));
    assertThat(tap.methods("basic.consume")).hasSize(said.size());
  }

  @Test
  void rk03_prefetchIsNeverZero_andWhatIsInHandIsBounded() throws Exception {
    String queue = rig.queue("quorum");
    rig.publish(queue, 0, 3_000);

    try (PullConsumer consumer =
        rig.messaging.pullConsumer(
            reading(queue).withMaxUnsettled(10).withPermits(PermitPolicy.fixed(20)))) {
      for (int i = 0; i < 10; i++) {
        assertThat(consumer.receive(LIMIT)).isPresent();
      }
      assertThat(consumer.receive(Duration.ofMillis(200))).isEmpty();

      await().atMost(LIMIT).until(() -> consumer.status().outstanding() == 0);
      assertThat(rig.ready(queue)).isEqualTo(3_000 - 20 - 10 - 6);
      assertThat(consumer.status().permits()).isEqualTo(20);
      assertThat(consumer.status().inHandlers()).isEqualTo(10);
      Finding.BlockedOnUnacked full =
          await()
              .atMost(LIMIT)
              .until(
                  () -> {
                    assertThat(consumer.receive(Duration.ofMillis(10))).isEmpty();
                    return consumer.explain().findings();
                  },
                  found -> !found.isEmpty() && found.get(0) instanceof Finding.BlockedOnUnacked)
              .stream()
              .map(Finding.BlockedOnUnacked.class::cast)
              .findFirst()
              .orElseThrow();
      assertThat(full.what()).contains("waits for acknowledgements");
      assertThat(full.unacked()).isEqualTo(10);
    }
    assertThat(tap.methods("basic.qos"))
        .isNotEmpty()
        .allMatch(each -> !"0".equals(each.arguments().get("prefetch-count")));
  }

  @Test
  void rk04_slowConsumer_doesNotStopPublishers_andLosesNothingWhenCutOff() throws Exception {
    String queue = rig.queue("classic");
    String other = rig.queue("classic");
    rig.publish(queue, 0, 6_000);
    Set<Integer> handled = ConcurrentHashMap.newKeySet();
    Consumer consumer =
        rig.messaging.consumer(
            reading(queue).withWorkers(2).withPermits(PermitPolicy.fixed(3_000)));
    consumer.handle(
        delivery -> {
          handled.add(number(delivery));
          new CountDownLatch(1).await(50, TimeUnit.MILLISECONDS);
          return Settlement.accept();
        });
    await().atMost(LIMIT).until(() -> consumer.status().waiting() > 1_500);

    try (Publisher publisher =
        rig.messaging.publisher(
            PublisherSettings.to(Address.queue(other)).withConfirmTimeout(LIMIT))) {
      for (int i = 0; i < 5; i++) {
        var outcome = publisher.publish(Message.of(new byte[1])).get(60, TimeUnit.SECONDS);
        assertThat(outcome.verdict()).isEqualTo(Verdict.CONFIRMED);
      }
    }
    proxy.refuse();
    proxy.cut(FaultProxy.Cut.RESET);
    await().atMost(LIMIT).until(() -> rig.consumers(queue) == 0);

    Set<Integer> left = ConcurrentHashMap.newKeySet();
    rig.broker.stored(Address.queue(queue)).forEach(each -> left.add(Integer.valueOf(each)));
    left.addAll(handled);
    assertThat(left).isEqualTo(numbers(0, 6_000));
    proxy.accept();
  }

  @Test
  void rk05_settlingWhatAnOldConnectionDelivered_isStale_andHarmsNothing() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 5);

    try (PullConsumer consumer = rig.messaging.pullConsumer(reading(queue))) {
      List<Delivery> before = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        before.add(consumer.receive(LIMIT).orElseThrow());
      }
      assertThat(before).noneMatch(Delivery::redelivered);
      proxy.cut(FaultProxy.Cut.RESET);
      List<Delivery> again = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        again.add(consumer.receive(LIMIT).orElseThrow());
      }

      assertThat(before.get(1).accept()).isEqualTo(Delivery.Answer.STALE);
      assertThat(before.get(4).accept()).isEqualTo(Delivery.Answer.STALE);
      assertThat(again).allMatch(Delivery::redelivered);
      assertThat(consumer.status().stale()).isEqualTo(5);

      assertThat(again.get(0).accept()).isEqualTo(Delivery.Answer.ACCEPTED);
      assertThat(consumer.status().reopened()).isEqualTo(1);
    }
    assertThat(rig.broker.stored(Address.queue(queue))).containsExactly("1", "2", "3", "4");
  }

  @Test
  void rk08_ackTimeout_isNamed_andTheConsumerComesBack() throws Exception {
    node.ctl(
        "eval",
        "application:set_env(rabbit, consumer_timeout, 3000),"
            + " application:set_env(rabbit, channel_tick_interval, 1000).");
    try (ConsumeRig slow = new ConsumeRig(node)) {
      String queue = slow.queue("classic");
      slow.publish(queue, 0, 3);
      Set<Integer> done = ConcurrentHashMap.newKeySet();
      CountDownLatch first = new CountDownLatch(1);
      try (Consumer consumer =
          slow.messaging.consumer(reading(queue).withOrdering(Ordering.TOTAL))) {
        consumer.handle(
            delivery -> {
              if (number(delivery) == 0 && !delivery.redelivered()) {
                first.await();
              }
              done.add(number(delivery));
              return Settlement.accept();
            });
        await()
            .atMost(LIMIT)
            .until(
                () ->
                    slow.heard(Event.LinkLost.class, "timed out")
                        && slow.heard(Event.LinkLost.class, "unsettled for longest"));
        first.countDown();

        await().atMost(LIMIT).until(() -> done.containsAll(numbers(0, 3)));
        await().atMost(LIMIT).until(() -> slow.consumers(queue) == 1);
        assertThat(consumer.status().stale()).isPositive();
      }
      assertThat(slow.ready(queue)).isZero();
    } finally {
      node.ctl(
          "eval",
          "application:set_env(rabbit, consumer_timeout, 1800000),"
              + " application:set_env(rabbit, channel_tick_interval, 60000).");
    }
  }

  @Test
  void rk10_poisonMessage_isTriedSoOften_andHoldsUpNoOther() throws Exception {
    for (boolean retryQueues : new boolean[] {true, false}) {
      String queue = rig.queue("classic");
      String dead = rig.queue("classic");
      rig.publish(queue, 0, 21);
      Map<Integer, Integer> times = new ConcurrentHashMap<>();
      try (Consumer consumer =
          rig.messaging.consumer(
              reading(queue)
                  .withWorkers(1)
                  .withMaxAttempts(3)
                  .withRetryDelays(List.of(Duration.ofMillis(50)))
                  .withDeadLetter(Address.queue(dead))
                  .withNative(ConsumeSettings.defaults().withRetryQueues(retryQueues)))) {
        consumer.handle(
            delivery -> {
              times.merge(number(delivery), 1, Integer::sum);
              return number(delivery) == 0 ? Settlement.retry() : Settlement.accept();
            });
        await().atMost(LIMIT).until(() -> rig.ready(dead) == 1);
        await().atMost(LIMIT).until(() -> consumer.status().accepted() == 20);
      }
      assertThat(times).containsEntry(0, 3).hasSize(21);
      assertThat(rig.ready(queue)).isZero();
    }
  }

  @Test
  void rk13_stopUnderLoad_losesNothing_repeatsNothing_andKeepsTheOrder() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 1_000);
    Map<Integer, Integer> started = new ConcurrentHashMap<>();
    try (Consumer consumer =
        rig.messaging.consumer(
            reading(queue).withWorkers(4).withPermits(PermitPolicy.fixed(200)))) {
      consumer.handle(
          delivery -> {
            started.merge(number(delivery), 1, Integer::sum);
            new CountDownLatch(1).await(20, TimeUnit.MILLISECONDS);
            return Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> started.size() > 40);
      assertThat(consumer.drain(LIMIT)).isZero();
    }

    List<Integer> rest =
        rig.broker.stored(Address.queue(queue)).stream().map(Integer::valueOf).toList();
    assertThat(rest).isSorted().doesNotContainAnyElementsOf(started.keySet());
    assertThat(started.values()).allMatch(times -> times == 1);
    Set<Integer> all = ConcurrentHashMap.newKeySet();
    all.addAll(rest);
    all.addAll(started.keySet());
    assertThat(all).isEqualTo(numbers(0, 1_000));
  }

  @Test
  void rk14_lockedExclusiveQueue_holdsUpNoOtherConsumer_andComesBackWhenItCan() throws Exception {
    String own = ConsumeRig.newName("exclusive");
    List<String> shared = List.of(rig.queue("classic"), rig.queue("classic"));
    List<Consumer> consumers = new ArrayList<>();
    for (String each : shared) {
      consumers.add(rig.messaging.consumer(reading(each)));
    }
    consumers.add(
        rig.messaging.consumer(
            reading(own)
                .withNative(ConsumeSettings.defaults().withTopology(Topology.exclusive()))));
    Set<Integer> seen = ConcurrentHashMap.newKeySet();
    for (Consumer each : consumers) {
      each.handle(
          delivery -> {
            seen.add(number(delivery));
            return Settlement.accept();
          });
    }
    proxy.refuse();
    proxy.cut(FaultProxy.Cut.RESET);
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(node.uri());
    factory.setAutomaticRecoveryEnabled(false);

    try (Connection old = factory.newConnection()) { // as one that the broker holds for alive
      await()
          .atMost(LIMIT)
          .ignoreExceptions()
          .until(
              () -> {
                Channel channel = old.createChannel();
                return channel.queueDeclare(own, false, true, true, null) != null;
              });
      proxy.accept();
      rig.publish(shared.get(0), 0, 1);
      rig.publish(shared.get(1), 1, 2);
      await().atMost(LIMIT).until(() -> seen.containsAll(numbers(0, 2)));
      await().atMost(LIMIT).until(() -> rig.heard(Event.Recovering.class, "405 RESOURCE_LOCKED"));
    }

    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(consumers.get(2).status().state()).hasToString("RUNNING"));
    rig.messaging
        .publisher(PublisherSettings.to(Address.queue(own)))
        .publish(Message.of("2".getBytes(StandardCharsets.UTF_8)))
        .get(60, TimeUnit.SECONDS);
    await().atMost(LIMIT).until(() -> seen.contains(2));
  }

  @Test
  void rk15_handlerLongerThanHeartbeats_keepsItsConnection() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 1);
    Map<Integer, Integer> times = new ConcurrentHashMap<>();

    try (Consumer consumer = rig.messaging.consumer(reading(queue).withWorkers(1))) {
      consumer.handle(
          delivery -> {
            times.merge(number(delivery), 1, Integer::sum);
            new CountDownLatch(1).await(7, TimeUnit.SECONDS); // three heartbeats of 2 s
            return Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 1);
      assertThat(consumer.status().reopened()).isZero();
    }

    assertThat(times).isEqualTo(Map.of(0, 1));
    assertThat(rig.ready(queue)).isZero();
  }

  @Test
  void rk16_refusingOne_leavesAllOthersAlone() throws Exception {
    String dead = rig.queue("classic");
    String queue =
        rig.queue(
            "classic", Map.of("x-dead-letter-exchange", "", "x-dead-letter-routing-key", dead));
    rig.publish(queue, 0, 2);
    ConsumerSettings settings =
        reading(queue).withNative(ConsumeSettings.defaults().withRetryQueues(false));

    try (PullConsumer consumer = rig.messaging.pullConsumer(settings)) {
      Delivery first = consumer.receive(LIMIT).orElseThrow();
      Delivery second = consumer.receive(LIMIT).orElseThrow();
      assertThat(second.reject("no")).isEqualTo(Delivery.Answer.ACCEPTED);
      await().atMost(LIMIT).until(() -> rig.ready(dead) == 1);
      assertThat(rig.ready(queue)).isZero();
      assertThat(first.accept()).isEqualTo(Delivery.Answer.ACCEPTED);
    }

    assertThat(rig.takeAll(dead)).extracting(each -> text(each.getBody())).containsExactly("1");
    assertThat(rig.ready(queue)).isZero();
    assertThat(tap.methods("basic.reject")).hasSize(1).noneMatch(WireTap.Event::requeue);
    assertThat(tap.methods("basic.nack")).noneMatch(WireTap.Event::multiple);
  }
}
