package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.GetResponse;
import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.spi.Broker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.contract.ConsumedBroker;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** A node as the contracts of consuming see it: places are durable queues of one type. */
final class ConsumedRabbit implements ConsumedBroker {
  private static final AtomicLong NAMES = new AtomicLong();

  private final RabbitNode node;
  private final String type;
  private final RabbitUnderTest plain;
  private final Messaging publishing;

  /** Takes a node, and closes it in the end; closing a shared one does nothing. */
  ConsumedRabbit(RabbitNode node, String type) {
    this.node = node;
    this.type = type;
    this.plain = new RabbitUnderTest(node);
    this.publishing = Messaging.over(RabbitBroker.connect(node.uri()));
  }

  @Override
  public FaultProxy openProxy() throws IOException {
    return plain.openProxy();
  }

  @Override
  public Broker connect(FaultProxy proxy) {
    return plain.connect(proxy);
  }

  @Override
  public Address newPlace() throws Exception {
    String queue =
        "consumed-" + ProcessHandle.current().pid() + "-" + type + "-" + NAMES.incrementAndGet();
    plain.plainly(
        channel -> channel.queueDeclare(queue, true, false, false, Map.of("x-queue-type", type)));
    return Address.queue(queue);
  }

  @Override
  public Publisher publisher(Address place) {
    return publishing.publisher(PublisherSettings.to(place));
  }

  @Override
  public ConsumerSettings from(Address place) {
    return ConsumerSettings.from(place);
  }

  @Override
  public long left(Address place) throws Exception {
    return plain.plainly(channel -> channel.messageCount(place.name()));
  }

  @Override
  public List<DeadLetter> deadLetters(Address place) throws Exception {
    return plain.plainly(channel -> letters(channel, place.name()));
  }

  private static List<DeadLetter> letters(Channel channel, String queue) throws IOException {
    List<DeadLetter> letters = new ArrayList<>();
    GetResponse got = channel.basicGet(queue, false); // given back with the channel
    while (got != null) {
      letters.add(letter(got.getProps(), got.getBody()));
      got = channel.basicGet(queue, false);
    }
    return letters;
  }

  private static DeadLetter letter(BasicProperties properties, byte[] body) {
    Map<String, Object> headers = properties.getHeaders();
    return new DeadLetter(
        PropertyMap.toMessage(properties, body),
        headers.get("x-floatvalve-attempts") instanceof Number attempts ? attempts.intValue() : 0,
        String.valueOf(headers.get("x-floatvalve-reason")),
        headers.get("x-floatvalve-failed-at") instanceof Date date
            ? date.toInstant()
            : Instant.parse(String.valueOf(headers.get("x-floatvalve-failed-at"))));
  }

  /** A quorum queue on 3.10 mostly does, and at times does not. */
  @Override
  public boolean keepsOrderAcrossLoss() {
    return !type.equals("quorum");
  }

  @Override
  public int largestAckBatch() {
    return 32; // with the few permits and workers of the contract
  }

  @Override
  public void kill() {
    node.kill();
  }

  @Override
  public void restart() {
    node.restart();
  }

  @Override
  public void close() {
    publishing.close();
    node.close();
  }
}
