package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.MessageProperties;
import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
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
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final AtomicInteger NAMES = new AtomicInteger();

  private final RabbitNode node = RabbitNode.shared();
  private final RabbitUnderTest broker = new RabbitUnderTest(node);
  private final List<Event> events = new CopyOnWriteArrayList<>();
  private final Messaging messaging = Messaging.over(RabbitBroker.connect(node.uri()), events::add);

  @AfterEach
  void close() {
    messaging.close();
  }

  private String queue(String type, Map<String, Object> more) throws Exception {
    String name =
        "consume-" + ProcessHandle.current().pid() + "-" + type + "-" + NAMES.incrementAndGet();
    Map<String, Object> arguments = new ConcurrentHashMap<>(more);
    arguments.put("x-queue-type", type);
    broker.plainly(channel -> channel.queueDeclare(name, true, false, false, arguments));
    return name;
  }

  private void publish(String queue, int from, int to) throws Exception {
    broker.plainly(
        channel -> {
          channel.confirmSelect();
          for (int i = from; i < to; i++) {
            channel.basicPublish(
                "", queue, MessageProperties.PERSISTENT_BASIC, Integer.toString(i).getBytes());
          }
          return confirmed(channel);
        });
  }

  private static boolean confirmed(Channel channel) {
    try {
      channel.waitForConfirmsOrDie(LIMIT.toMillis());
      return true;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private long ready(String queue) throws Exception {
    return broker.plainly(channel -> channel.messageCount(queue));
  }

  private static int number(Delivery delivery) {
    return Integer.parseInt(new String(delivery.message().payload(), StandardCharsets.UTF_8));
  }

  private static ConsumerSettings from(String queue) {
    return ConsumerSettings.from(Address.queue(queue));
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void everyMessage_isHandledOnce_andAcknowledged(String type) throws Exception {
    String queue = queue(type, Map.of());
    publish(queue, 0, 3_000);
    Map<Integer, Integer> seen = new ConcurrentHashMap<>();

    try (Consumer consumer = messaging.consumer(from(queue))) {
      consumer.handle(
          delivery -> {
            seen.merge(number(delivery), 1, Integer::sum);
            return Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 3_000);
      assertThat(consumer.drain(LIMIT)).isZero();
    }

    assertThat(seen).hasSize(3_000).containsValue(1).doesNotContainValue(2);
    await().atMost(LIMIT).until(() -> ready(queue) == 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void oneThatFails_isTriedAgain(String type) throws Exception {
    String queue = queue(type, Map.of());
    publish(queue, 0, 10);
    Map<Integer, Integer> seen = new ConcurrentHashMap<>();

    try (Consumer consumer =
        messaging.consumer(from(queue).withRetryDelays(List.of(Duration.ofMillis(20))))) {
      consumer.handle(
          delivery -> {
            int times = seen.merge(number(delivery), 1, Integer::sum);
            assertThat(delivery.attempt()).isEqualTo(times);
            return number(delivery) == 3 && times < 3 ? Settlement.retry() : Settlement.accept();
          });
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 10);
    }

    assertThat(seen).containsEntry(3, 3).containsEntry(4, 1);
    assertThat(ready(queue)).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum"})
  void rejected_goesWhereTheQueueSays(String type) throws Exception {
    String dead = queue("classic", Map.of());
    String queue =
        queue(type, Map.of("x-dead-letter-exchange", "", "x-dead-letter-routing-key", dead));
    publish(queue, 0, 10);

    try (Consumer consumer = messaging.consumer(from(queue))) {
      consumer.handle(
          delivery -> number(delivery) % 2 == 0 ? Settlement.reject("even") : Settlement.accept());
      await().atMost(LIMIT).until(() -> ready(dead) == 5);
      await().atMost(LIMIT).until(() -> consumer.status().accepted() == 5);
    }

    assertThat(ready(queue)).isZero();
    assertThat(events).filteredOn(Event.Rejected.class::isInstance).hasSize(5);
  }

  @Test
  void message_hasWhatWasPublished() throws Exception {
    String queue = queue("classic", Map.of());
    broker.plainly(
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

    try (PullConsumer consumer = messaging.pullConsumer(from(queue))) {
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
    assertThat(ready(queue)).isZero();
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
        queue(type, deliveryLimit == 0 ? Map.of() : Map.of("x-delivery-limit", deliveryLimit));
    publish(queue, 0, 100);

    try (PullConsumer consumer =
        messaging.pullConsumer(from(queue).withMaxUnsettled(50).withOrdering(ordering))) {
      for (int i = 0; i < 10; i++) {
        consumer.receive(LIMIT).orElseThrow().accept();
      }
      await().atMost(LIMIT).until(() -> consumer.status().waiting() > 20);
    }

    assertThat(broker.stored(Address.queue(queue)))
        .isEqualTo(IntStream.range(10, 100).mapToObj(Integer::toString).toList());
  }

  @Test
  void missingQueue_isSaidAtOnce() {
    Assertions.assertThatThrownBy(() -> messaging.consumer(from("no-such-queue")))
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
      Assertions.assertThatThrownBy(() -> messaging.consumer(settings))
          .isInstanceOfSatisfying(
              MessagingException.class,
              e -> assertThat(e.kind()).isEqualTo(MessagingException.Kind.INVALID));
    }
  }
}
