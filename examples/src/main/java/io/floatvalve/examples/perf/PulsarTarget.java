package io.floatvalve.examples.perf;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker;
import java.util.function.Consumer;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/** A Pulsar under load: a topic for each load. */
public final class PulsarTarget implements Target {
  private final PulsarAtHand pulsar;
  private int places;

  /** Owns the broker from here on. */
  public PulsarTarget(PulsarAtHand pulsar) {
    this.pulsar = pulsar;
  }

  @Override
  public String kind() {
    return "pulsar";
  }

  @Override
  public void describeTo(Findings findings) {
    pulsar.describeTo(findings);
  }

  @Override
  public String describe() {
    return pulsar.describe();
  }

  @Override
  public Messaging messaging(Consumer<Event> listener) {
    return pulsar.messaging(listener);
  }

  private Address address() {
    return Address.topic(pulsar.topic("perf-" + places));
  }

  @Override
  public PublisherSettings place(Load load) {
    places++;
    return PublisherSettings.to(address())
        .withNative(PulsarBroker.PublishSettings.defaults().withBatching(load.batching()));
  }

  @Override
  public ConsumerSettings consumers() {
    return ConsumerSettings.from(address())
        .withGroup("floatvalve-perf")
        .withNative(
            PulsarBroker.ConsumeSettings.defaults()
                .withInitialPosition(SubscriptionInitialPosition.Earliest));
  }

  @Override
  public void remove() {} // a topic that nobody uses goes by itself where the broker is set so

  @Override
  public void close() {
    pulsar.close();
  }
}
