package io.floatvalve.rabbit;

import static io.floatvalve.rabbit.ConsumeRig.LIMIT;
import static io.floatvalve.rabbit.ConsumeRig.number;
import static io.floatvalve.rabbit.ConsumeRig.reading;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.GetResponse;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.event.Event;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.rabbit.RabbitBroker.StreamOffset;
import io.floatvalve.rabbit.RabbitBroker.Topology;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.WireTap;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Consuming from a real node, as an application does it. */
@NeedsRabbit
@Timeout(120)
class ConsumeTest {
  private final ConsumeRig rig = new ConsumeRig(RabbitNode.shared());

  @AfterEach
  void close() {
    rig.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void everyMessage_isHandledOnce_andAcknowledged(String type) throws Exception {
    String queue = rig.queue(type, Map.of());
    rig.publish(queue, 0, 3_000);
    Map<Integer, Integer> seen = new ConcurrentHashMap<>();

    try (Consumer consumer = rig.messaging.consumer(reading(queue))) {
      consumer.handle(
          delivery -> {
            seen.merge(number(delivery), 1, Integer::sum);
            return Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 3_000);
      assertThat(consumer.drain(LIMIT)).isZero();
    }

    assertThat(seen).hasSize(3_000).containsValue(1).doesNotContainValue(2);
    await().atMost(LIMIT).until(() -> rig.ready(queue) == 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void oneThatFails_isTriedAgain(String type) throws Exception {
    String queue = rig.queue(type, Map.of());
    rig.publish(queue, 0, 10);
    Map<Integer, Integer> seen = new ConcurrentHashMap<>();

    try (Consumer consumer =
        rig.messaging.consumer(reading(queue).withRetryDelays(List.of(Duration.ofMillis(20))))) {
      consumer.handle(
          delivery -> {
            int times = seen.merge(number(delivery), 1, Integer::sum);
            assertThat(delivery.attempt()).isEqualTo(times);
            return number(delivery) == 3 && times < 3 ? Settlement.retry() : Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 10);
    }

    assertThat(seen).containsEntry(3, 3).containsEntry(4, 1);
    assertThat(rig.ready(queue)).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void rejected_goesWhereTheQueueSays(String type) throws Exception {
    String dead = rig.queue("classic", Map.of());
    String queue =
        rig.queue(type, Map.of("x-dead-letter-exchange", "", "x-dead-letter-routing-key", dead));
    rig.publish(queue, 0, 10);

    try (Consumer consumer = rig.messaging.consumer(reading(queue))) {
      consumer.handle(
          delivery -> number(delivery) % 2 == 0 ? Settlement.reject("even") : Settlement.accept());
      await().atMost(LIMIT).until(() -> rig.ready(dead) == 5);
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 5);
    }

    assertThat(rig.ready(queue)).isZero();
    assertThat(rig.events).filteredOn(Event.Rejected.class::isInstance).hasSize(5);
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void retry_waitsAtTheBroker_andCountsInTheCopy(String type) throws Exception {
    String queue = rig.queue(type);
    String dead = ConsumeRig.newName("dead"); // made when it is missing
    BasicProperties properties =
        new BasicProperties.Builder()
            .headers(Map.of("colour", "red", "CC", List.of("nowhere")))
            .expiration("60000")
            .messageId("m-1")
            .deliveryMode(2)
            .build();
    rig.publish(queue, properties, "7".getBytes(StandardCharsets.UTF_8));
    List<Integer> attempts = new CopyOnWriteArrayList<>();

    try (Consumer consumer =
        rig.messaging.consumer(
            reading(queue)
                .withMaxAttempts(3)
                .withRetryDelays(List.of(Duration.ofMillis(50), Duration.ofMillis(100)))
                .withDeadLetter(Address.queue(dead)))) {
      consumer.handle(
          delivery -> {
            attempts.add(delivery.attempt());
            throw new IllegalStateException("it broke");
          });
      await().atMost(LIMIT).until(() -> rig.ready(dead) == 1);
      await().atMost(LIMIT).until(() -> consumer.status().rejected() == 1);
      assertThat(consumer.status().retried()).isEqualTo(2);
      assertThat(consumer.status().copiesFailed()).isZero();
    }

    assertThat(attempts).containsExactly(1, 2, 3);
    assertThat(rig.ready(queue)).isZero();
    GetResponse kept = rig.takeAll(dead).get(0);
    assertThat(kept.getBody()).asString().isEqualTo("7");
    assertThat(kept.getProps().getMessageId()).isEqualTo("m-1");
    assertThat(kept.getProps().getExpiration()).isNull();
    Map<String, Object> headers = kept.getProps().getHeaders();
    assertThat(headers)
        .containsEntry(PropertyMap.ATTEMPTS, 3)
        .containsKey(CopyProperties.FAILED_AT);
    assertThat(headers.get("colour")).hasToString("red");
    assertThat(String.valueOf(headers.get(CopyProperties.REASON))).contains("3", "it broke");
    assertThat(headers.get(CopyProperties.ORIGIN_QUEUE)).hasToString(queue);
    assertThat(headers.get(CopyProperties.ORIGIN_KEY)).hasToString(queue);
    for (String each : List.of(".retry.50ms", ".retry.100ms")) {
      assertThat(rig.ready(queue + each)).isZero();
      rig.delete(queue + each);
    }
  }

  @Test
  void retry_whoseQueueIsGone_isToldAndTriedAgain_andNothingIsLost() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 1);
    List<Integer> attempts = new CopyOnWriteArrayList<>();

    try (Consumer consumer =
        rig.messaging.consumer(reading(queue).withRetryDelays(List.of(Duration.ofMillis(70))))) {
      rig.delete(queue + ".retry.70ms");
      consumer.handle(
          delivery -> {
            attempts.add(delivery.attempt());
            return delivery.attempt() == 1 ? Settlement.retry() : Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> rig.heard(Event.CopyFailed.class, "312"));
      rig.declare(
          queue + ".retry.70ms",
          "classic",
          Map.of(
              "x-message-ttl",
              70L,
              "x-dead-letter-exchange",
              "",
              "x-dead-letter-routing-key",
              queue));
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 1);
    }

    assertThat(attempts).containsExactly(1, 2);
    rig.delete(queue + ".retry.70ms");
  }

  @Test
  void withAnOrder_retriesAreInPlace_andNothingIsDeclared() throws Exception {
    String queue = rig.queue("quorum");
    rig.publish(queue, 0, 5);
    List<String> seen = new CopyOnWriteArrayList<>();

    try (Consumer consumer =
        rig.messaging.consumer(
            reading(queue)
                .withOrdering(Ordering.TOTAL)
                .withRetryDelays(List.of(Duration.ofMillis(30))))) {
      consumer.handle(
          delivery -> {
            seen.add(number(delivery) + "/" + delivery.attempt());
            return number(delivery) == 1 && delivery.attempt() < 3
                ? Settlement.retry()
                : Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 5);
    }

    assertThat(seen).containsExactly("0/1", "1/1", "1/2", "1/3", "2/1", "3/1", "4/1");
    Assertions.assertThatThrownBy(() -> rig.ready(queue + ".retry.30ms"))
        .rootCause()
        .hasMessageContainingAll("404", queue + ".retry.30ms");
  }

  @Test
  void topology_isDeclared_andADifferenceIsRefusedInTheBrokersWords() throws Exception {
    String queue = ConsumeRig.newName("declared");
    String exchange = ConsumeRig.newName("exchange");
    Topology topology =
        Topology.quorum()
            .withArguments(Map.of("x-delivery-limit", 7))
            .withBinding(exchange, "topic", "orders.*");
    try (Consumer consumer =
        rig.messaging.consumer(
            reading(queue).withNative(ConsumeSettings.defaults().withTopology(topology)))) {
      rig.broker.plainly(
          channel -> {
            channel.basicPublish(exchange, "orders.eu", null, new byte[] {'4'});
            return true;
          });
      Set<Integer> seen = ConcurrentHashMap.newKeySet();
      consumer.handle(
          delivery -> {
            seen.add(number(delivery));
            return Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> seen.contains(4));
    }
    ConsumerSettings other =
        reading(queue)
            .withNative(
                ConsumeSettings.defaults()
                    .withTopology(Topology.quorum().withArguments(Map.of("x-delivery-limit", 8))));

    Assertions.assertThatThrownBy(() -> rig.messaging.consumer(other))
        .isInstanceOfSatisfying(
            MessagingException.class,
            e -> {
              assertThat(e.kind()).isEqualTo(MessagingException.Kind.CONFLICT);
              assertThat(e).hasMessageContainingAll("x-delivery-limit", "8", "7", queue);
            });
    rig.broker.plainly(channel -> channel.exchangeDelete(exchange));
  }

  @Test
  void stream_isReadFromAnOffset_andGoesOnAfterACut() throws Exception {
    String queue = ConsumeRig.newName("stream");
    rig.declare(queue, "stream", Map.of());
    rig.publish(queue, 0, 200);
    try (FaultProxy proxy = FaultProxy.to(rig.node.host(), rig.node.port());
        ConsumeRig cut =
            new ConsumeRig(
                rig.node,
                RabbitBroker.Settings.at(
                    rig.node.uri().replace(":" + rig.node.port(), ":" + proxy.port())))) {
      List<Integer> seen = new CopyOnWriteArrayList<>();
      try (Consumer consumer =
          cut.messaging.consumer(
              reading(queue)
                  .withOrdering(Ordering.TOTAL)
                  .withNative(ConsumeSettings.defaults().withStreamOffset(StreamOffset.at(50))))) {
        consumer.handle(
            delivery -> {
              seen.add(number(delivery));
              return number(delivery) == 120 && delivery.attempt() == 1
                  ? Settlement.retryAfter(Duration.ofMillis(1))
                  : Settlement.accept();
            });
        await().atMost(LIMIT).until(() -> seen.contains(199));
        proxy.cut(FaultProxy.Cut.RESET);
        rig.publish(queue, 200, 300);
        await().atMost(LIMIT).until(() -> seen.contains(299));
      }

      assertThat(seen).startsWith(50, 51).doesNotContain(49);
      assertThat(Set.copyOf(seen)).hasSize(250);
      // What was acknowledged before the cut does not come again, but for what came last.
      assertThat(seen).hasSizeLessThan(251 + 100);
    }
    rig.delete(queue);
  }

  @Test
  void acknowledgements_goTogether_andEachMessageIsCoveredOnce() throws Exception {
    String queue = rig.queue("classic");
    rig.publish(queue, 0, 2_000);
    try (FaultProxy proxy = FaultProxy.to(rig.node.host(), rig.node.port())) {
      WireTap tap = WireTap.on(proxy);
      try (ConsumeRig tapped =
              new ConsumeRig(
                  rig.node,
                  RabbitBroker.Settings.at(
                      rig.node.uri().replace(":" + rig.node.port(), ":" + proxy.port())));
          Consumer consumer =
              tapped.messaging.consumer(
                  reading(queue).withWorkers(4).withPermits(PermitPolicy.fixed(200)))) {
        consumer.handle(delivery -> Settlement.accept());
        await().atMost(LIMIT).until(() -> consumer.status().accepted() == 2_000);
        assertThat(consumer.drain(LIMIT)).isZero();
      }
      List<WireTap.Event> acks = tap.methods("basic.ack");
      Set<Long> open = new TreeSet<>();
      for (WireTap.Event each : tap.methods("basic.deliver")) {
        assertThat(open.add(each.deliveryTag().orElseThrow())).isTrue();
      }
      assertThat(open).hasSize(2_000);
      for (WireTap.Event each : acks) {
        long tag = each.deliveryTag().orElseThrow();
        assertThat(open.removeIf(o -> each.multiple() ? o <= tag : o == tag)).isTrue();
      }
      assertThat(open).isEmpty();
      assertThat(acks).hasSizeLessThan(1_000);
    }
    assertThat(rig.ready(queue)).isZero();
  }

  @Test
  void message_hasWhatWasPublished() throws Exception {
    String queue = rig.queue("classic", Map.of());
    rig.broker.plainly(
        channel -> {
          channel.basicPublish(
              "",
              queue,
              new AMQP.BasicProperties.Builder()
                  .contentType("text/plain")
                  .messageId("m-1")
                  .headers(Map.of("colour", "red", PropertyMap.KEY, "k-1"))
                  .build(),
              "hello".getBytes(StandardCharsets.UTF_8));
          return true;
        });

    try (PullConsumer consumer = rig.messaging.pullConsumer(reading(queue))) {
      Delivery delivery = consumer.receive(LIMIT).orElseThrow();
      Message message = delivery.message();
      assertThat(message.payload()).asString().isEqualTo("hello");
      assertThat(message.contentType()).isEqualTo("text/plain");
      assertThat(message.messageId()).isEqualTo("m-1");
      assertThat(message.key()).isEqualTo("k-1");
      assertThat(message.headers()).isEqualTo(Map.of("colour", "red"));
      assertThat(delivery.unwrap(com.rabbitmq.client.Delivery.class).getBody())
          .asString()
          .isEqualTo("hello");
      assertThat(delivery.redelivered()).isFalse();
      assertThat(delivery.accept()).isEqualTo(Delivery.Answer.ACCEPTED);
    }
    assertThat(rig.ready(queue)).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "classic, NONE, 0",
    "classic, TOTAL, 0",
    "quorum, TOTAL, 0",
    "quorum, NONE, 5",
    "quorum, TOTAL, 5"
  })
  void closing_givesBackWhatWasNotBegun_inOrder(String type, Ordering ordering, int deliveryLimit)
      throws Exception {
    String queue =
        rig.queue(type, deliveryLimit == 0 ? Map.of() : Map.of("x-delivery-limit", deliveryLimit));
    rig.publish(queue, 0, 100);

    try (PullConsumer consumer =
        rig.messaging.pullConsumer(reading(queue).withMaxUnsettled(50).withOrdering(ordering))) {
      for (int i = 0; i < 10; i++) {
        consumer.receive(LIMIT).orElseThrow().accept();
      }
      await().atMost(LIMIT).until(() -> consumer.status().waiting() > 20);
    }

    assertThat(rig.broker.stored(Address.queue(queue)))
        .isEqualTo(IntStream.range(10, 100).mapToObj(Integer::toString).toList());
  }

  /** What is given back for a sibling must not come again and again to handlers that are stuck. */
  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void handlersThatAreStuck_giveBackWhatWaits_once(String type) throws Exception {
    String queue = rig.queue(type, Map.of());
    rig.publish(queue, 0, 12_000);
    CountDownLatch freed = new CountDownLatch(1);
    AtomicInteger begun = new AtomicInteger();

    try (Consumer consumer = rig.messaging.consumer(reading(queue).withWorkers(8))) {
      consumer.handle(
          delivery -> {
            if (begun.incrementAndGet() > 4_000) {
              freed.await();
            }
            TimeUnit.MILLISECONDS.sleep(1);
            return Settlement.accept();
          });
      // The least prefetch, which is twelve, and the two that are kept of the consumer before.
      await().atMost(LIMIT).until(() -> begun.get() >= 4_008 && waiting(consumer) <= 14);
      TimeUnit.SECONDS.sleep(1); // what was given back before may be in the middle of a change
      long before = consumer.status().givenBack();

      TimeUnit.SECONDS.sleep(2);

      assertThat(waiting(consumer)).isLessThanOrEqualTo(14);
      assertThat(consumer.status().givenBack()).isEqualTo(before);
      freed.countDown();
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 12_000);
    }
  }

  private static int waiting(Consumer consumer) {
    return consumer.status().waiting();
  }

  @Test
  void missingQueue_isSaidAtOnce() {
    Assertions.assertThatThrownBy(() -> rig.messaging.consumer(reading("no-such-queue")))
        .isInstanceOfSatisfying(
            MessagingException.class,
            e -> {
              assertThat(e.kind()).isEqualTo(MessagingException.Kind.NOT_FOUND);
              assertThat(e).hasMessageContaining("no-such-queue");
            });
  }

  @Test
  void whatIsNoQueue_isRefused() {
    for (ConsumerSettings settings :
        List.of(
            ConsumerSettings.from(Address.exchange("amq.direct", "k")),
            ConsumerSettings.from(Address.topic("t")),
            ConsumerSettings.from(Address.queue("a"), Address.queue("b")))) {
      Assertions.assertThatThrownBy(() -> rig.messaging.consumer(settings))
          .isInstanceOfSatisfying(
              MessagingException.class,
              e -> assertThat(e.kind()).isEqualTo(MessagingException.Kind.INVALID));
    }
  }
}
