package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.util.Optional;

/** RabbitMQ: classic queues. */
final class RabbitGround implements Ground {
  private final RabbitAtHand rabbit;
  private int places;
  private final Queues queues;

  RabbitGround(RabbitAtHand rabbit) throws IOException {
    this.rabbit = rabbit;
    this.queues = new Queues(rabbit, "floatvalve.explain");
  }

  @Override
  public String name() {
    return "rabbit";
  }

  /** Returns the private node, if it is one. */
  Optional<RabbitNode> node() {
    return rabbit.node();
  }

  @Override
  public Messaging messaging() {
    return rabbit.messaging(event -> {});
  }

  @Override
  public FaultProxy proxy() throws IOException {
    return FaultProxy.to(rabbit.host(), rabbit.port());
  }

  @Override
  public Messaging messaging(FaultProxy proxy) {
    return RabbitAtHand.messaging(rabbit.uriAt(proxy.host(), proxy.port()), event -> {});
  }

  @Override
  public String place(String what) throws IOException {
    return queues.classic(what + "-" + ++places);
  }

  @Override
  public ConsumerSettings from(String place) {
    return ConsumerSettings.from(Address.queue(place))
        .withNative(RabbitBroker.ConsumeSettings.defaults().withRetryQueues(false));
  }

  @Override
  public PublisherSettings to(String place) {
    return PublisherSettings.to(Address.queue(place));
  }

  @Override
  public void close() throws IOException {
    queues.close();
  }
}
