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
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** RabbitMQ: classic queues. */
final class RabbitGround implements Ground {
  private static final Duration CLOSING = Duration.ofMillis(500);

  private final RabbitAtHand rabbit;
  private final Queues queues;
  private int places; // guarded by this

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
    return seeing(rabbit.messaging(event -> {}));
  }

  @Override
  public FaultProxy proxy() throws IOException {
    return FaultProxy.to(rabbit.host(), rabbit.port());
  }

  @Override
  public Messaging messaging(FaultProxy proxy) {
    return seeing(RabbitAtHand.messaging(rabbit.uriAt(proxy.host(), proxy.port()), event -> {}));
  }

  private Messaging seeing(Messaging messaging) {
    rabbit
        .node()
        .ifPresent(
            node ->
                messaging.viewedBy(
                    RabbitBroker.Management.at(node.managementUrl())
                        .withInterval(Duration.ofMillis(500))
                        .views()));
    return messaging;
  }

  @Override
  public synchronized String place(String what) throws IOException {
    return queues.classic(what + "-" + ++places);
  }

  @Override
  public synchronized String ordered(String what) throws IOException {
    return queues.classic(what + "-" + ++places, Map.of("x-single-active-consumer", true));
  }

  @Override
  public synchronized Address refusing(String what) throws IOException {
    return Address.exchange(queues.unboundExchange(what + "-" + ++places), "nobody");
  }

  @Override
  public ConsumerSettings from(String place) {
    return ConsumerSettings.from(Address.queue(place))
        .withCloseTimeout(CLOSING)
        .withNative(RabbitBroker.ConsumeSettings.defaults().withRetryQueues(false));
  }

  @Override
  public PublisherSettings to(String place) {
    return PublisherSettings.to(Address.queue(place)).withCloseTimeout(CLOSING);
  }

  @Override
  public void close() throws IOException {
    queues.close();
  }
}
