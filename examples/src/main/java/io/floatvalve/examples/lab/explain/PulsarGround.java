package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/** Pulsar: a topic with a subscription. */
final class PulsarGround implements Ground {
  /** The subscription of every scene. */
  static final String GROUP = "lab";

  private static final Duration CLOSING = Duration.ofMillis(500);

  private final PulsarAtHand pulsar;
  private final AtomicInteger places = new AtomicInteger();

  PulsarGround(PulsarAtHand pulsar) {
    this.pulsar = pulsar;
  }

  @Override
  public String name() {
    return "pulsar";
  }

  PulsarAtHand pulsar() {
    return pulsar;
  }

  @Override
  public Messaging messaging() {
    return seeing(pulsar.messaging(event -> {}));
  }

  @Override
  public FaultProxy proxy() {
    return pulsar.proxy();
  }

  @Override
  public Messaging messaging(FaultProxy proxy) {
    return seeing(pulsar.messaging(proxy, event -> {}));
  }

  private Messaging seeing(Messaging messaging) {
    pulsar
        .node()
        .ifPresent(
            node ->
                messaging.viewedBy(
                    PulsarBroker.Admin.at(node.adminUrl())
                        .withInterval(Duration.ofMillis(500))
                        .views()));
    return messaging;
  }

  @Override
  public String place(String what) {
    String topic = pulsar.topic(what + "-" + places.incrementAndGet());
    pulsar.rest().createTopic(topic);
    pulsar.rest().createSubscriptionFromFirst(topic, GROUP);
    return topic;
  }

  @Override
  public String ordered(String what) {
    return place(what); // the subscription's type sees to it
  }

  @Override
  public Address refusing(String what) {
    String topic = pulsar.topic(what + "-" + places.incrementAndGet());
    pulsar.rest().createTopic(topic);
    pulsar.rest().send("POST", "persistent/public/default/" + topic + "/terminate", "");
    return Address.topic(topic);
  }

  @Override
  public ConsumerSettings from(String place) {
    return ConsumerSettings.from(Address.topic(place))
        .withGroup(GROUP)
        .withCloseTimeout(CLOSING)
        .withNative(
            PulsarBroker.ConsumeSettings.defaults()
                .withInitialPosition(SubscriptionInitialPosition.Earliest));
  }

  @Override
  public PublisherSettings to(String place) {
    return PublisherSettings.to(Address.topic(place)).withCloseTimeout(CLOSING);
  }

  @Override
  public void close() throws IOException {
    // the broker is closed by whoever opened it
  }
}
