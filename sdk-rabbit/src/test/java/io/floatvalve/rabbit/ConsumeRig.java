package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.MessageProperties;
import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.testkit.RabbitNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A node with queues, and messaging over it. */
final class ConsumeRig implements AutoCloseable {
  static final Duration LIMIT = Duration.ofSeconds(60);
  private static final AtomicInteger NAMES = new AtomicInteger();

  final RabbitNode node;
  final RabbitUnderTest broker;
  final List<Event> events = new CopyOnWriteArrayList<>();
  final Messaging messaging;

  ConsumeRig(RabbitNode node) {
    this(node, RabbitBroker.Settings.at(node.uri()));
  }

  ConsumeRig(RabbitNode node, RabbitBroker.Settings settings) {
    this.node = node;
    this.broker = new RabbitUnderTest(node);
    this.messaging = Messaging.over(RabbitBroker.connect(settings), events::add);
  }

  static String newName(String what) {
    return "consume-" + ProcessHandle.current().pid() + "-" + what + "-" + NAMES.incrementAndGet();
  }

  String queue(String type) throws Exception {
    return queue(type, Map.of());
  }

  String queue(String type, Map<String, Object> more) throws Exception {
    String name = newName(type);
    declare(name, type, more);
    return name;
  }

  void declare(String name, String type, Map<String, Object> more) throws Exception {
    Map<String, Object> arguments = new HashMap<>(more);
    arguments.put("x-queue-type", type);
    broker.plainly(channel -> channel.queueDeclare(name, true, false, false, arguments));
  }

  void delete(String queue) throws Exception {
    broker.plainly(channel -> channel.queueDelete(queue));
  }

  /** Publishes these numbers as texts, confirmed. */
  void publish(String queue, int from, int to) throws Exception {
    broker.plainly(
        channel -> {
          channel.confirmSelect();
          for (int i = from; i < to; i++) {
            byte[] body = Integer.toString(i).getBytes(StandardCharsets.UTF_8);
            channel.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, body);
          }
          return confirmed(channel);
        });
  }

  void publish(String queue, @Nullable BasicProperties properties, byte[] body) throws Exception {
    broker.plainly(
        channel -> {
          channel.confirmSelect();
          channel.basicPublish("", queue, properties, body);
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

  long ready(String queue) throws Exception {
    return broker.plainly(channel -> channel.messageCount(queue));
  }

  long consumers(String queue) throws Exception {
    return broker.plainly(channel -> channel.consumerCount(queue));
  }

  /** Takes all that is ready. */
  List<GetResponse> takeAll(String queue) throws Exception {
    return broker.plainly(
        channel -> {
          List<GetResponse> all = new ArrayList<>();
          GetResponse got = channel.basicGet(queue, true);
          while (got != null) {
            all.add(got);
            got = channel.basicGet(queue, true);
          }
          return all;
        });
  }

  boolean heard(Class<? extends Event> kind, String part) {
    return events.stream().anyMatch(e -> kind.isInstance(e) && e.what().contains(part));
  }

  static String text(byte[] body) {
    return new String(body, StandardCharsets.UTF_8);
  }

  static int number(Delivery delivery) {
    return Integer.parseInt(text(delivery.message().payload()));
  }

  static ConsumerSettings reading(String queue) {
    return ConsumerSettings.from(Address.queue(queue));
  }

  @Override
  public void close() {
    messaging.close();
  }
}
