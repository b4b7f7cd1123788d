package io.floatvalve.pulsar;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.model.Address;
import io.floatvalve.model.Ordering;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.spi.Broker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.contract.ConsumedBroker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Reader;

/** A node as the contracts of consuming see it: places are topics without partitions. */
final class ConsumedPulsar implements ConsumedBroker {
  private static final String GROUP = "s";

  private final PulsarNode node;
  private final Messaging publishing; // one for all tests: closing a client takes seconds

  /** Takes a node, and closes it in the end; closing a shared one does nothing. */
  ConsumedPulsar(PulsarNode node) {
    this.node = node;
    this.publishing = Messaging.over(PulsarBroker.connect(node.serviceUrl()));
  }

  @Override
  public FaultProxy openProxy() {
    return node.openProxy();
  }

  @Override
  public Broker connect(FaultProxy proxy) {
    return PulsarBroker.connect(LinkRig.through(proxy).withKeepAlive(Duration.ofSeconds(3)));
  }

  @Override
  public Address newPlace() {
    return Address.topic(LinkRig.topic("contract"));
  }

  @Override
  public Publisher publisher(Address place) {
    return publishing.publisher(
        PublisherSettings.to(place)
            .withOpenTimeout(Duration.ofSeconds(30))
            .withNative(PulsarBroker.PublishSettings.defaults().withBatching(false)));
  }

  @Override
  public ConsumerSettings from(Address place) {
    return ConsumerSettings.from(place)
        .withGroup(GROUP)
        .withOpenTimeout(Duration.ofSeconds(30))
        .withNative(LinkRig.earliest());
  }

  @Override
  public long left(Address place) throws Exception {
    return node.rest().topicStats(place.name()).number("subscriptions", GROUP, "msgBacklog");
  }

  @Override
  public List<DeadLetter> deadLetters(Address place) throws Exception {
    int count = 0;
    try (Reader<byte[]> reader =
        LinkRig.plain(node)
            .newReader()
            .topic(place.name())
            .startMessageId(MessageId.earliest)
            .create()) {
      while (reader.hasMessageAvailable()) {
        var unused = reader.readNext();
        count++;
      }
    }
    List<DeadLetter> letters = new ArrayList<>();
    try (PullConsumer consumer =
        publishing.pullConsumer(
            from(place)
                .withGroup("letters")
                .withOrdering(Ordering.NONE)
                .withMaxUnsettled(count + 1))) {
      while (letters.size() < count) {
        letters.add(letter(consumer.receive(LinkRig.PATIENCE).orElseThrow()));
      }
    }
    return letters;
  }

  private static DeadLetter letter(Delivery delivery) {
    Message<?> taken = delivery.unwrap(Message.class);
    Map<String, String> properties = taken.getProperties();
    return new DeadLetter(
        delivery.message(),
        Integer.parseInt(properties.getOrDefault(Taken.ATTEMPTS, "0")),
        properties.getOrDefault(Copies.REASON, ""),
        Instant.parse(properties.getOrDefault(Copies.FAILED_AT, "")));
  }

  @Override
  public int largestAckBatch() {
    return 0;
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
