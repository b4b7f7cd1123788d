package io.floatvalve.examples.readme;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.model.Address;
import io.floatvalve.model.Settlement;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.rabbit.RabbitBroker.StreamOffset;
import io.floatvalve.rabbit.RabbitBroker.Topology;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Consumes from RabbitMQ. docs/flow-control.md and docs/retries.md show parts of it. */
final class RabbitConsumeExample {
  private RabbitConsumeExample() {}

  static void consume() throws InterruptedException {
    // tag::consume
    try (var messaging = Messaging.over(RabbitBroker.connect("amqp://localhost"));
        var orders = messaging.consumer(ConsumerSettings.from(Address.queue("orders")))) {
      orders.handle(
          delivery -> {
            bill(delivery); // what it throws means: try again later
            return Settlement.accept();
          });
      awaitShutdown();
    }
    // end::consume
  }

  static Consumer retries(Messaging messaging) {
    // tag::retries
    var settings =
        ConsumerSettings.from(Address.queue("orders"))
            .withMaxAttempts(4)
            .withRetryDelays(
                List.of(Duration.ofSeconds(1), Duration.ofSeconds(10), Duration.ofMinutes(5)))
            .withDeadLetter(Address.queue("orders.dead"));
    // end::retries
    return messaging.consumer(settings);
  }

  static Consumer declared(Messaging messaging) {
    // tag::topology
    var topology =
        Topology.quorum()
            .withArguments(Map.of("x-delivery-limit", 10))
            .withBinding("shop", "topic", "orders.#");
    var settings =
        ConsumerSettings.from(Address.queue("orders"))
            .withNative(ConsumeSettings.defaults().withTopology(topology));
    // end::topology
    return messaging.consumer(settings);
  }

  static Consumer stream(Messaging messaging) {
    // tag::stream
    var settings =
        ConsumerSettings.from(Address.queue("journal"))
            .withNative(ConsumeSettings.defaults().withStreamOffset(StreamOffset.first()));
    // end::stream
    return messaging.consumer(settings);
  }

  private static void bill(Delivery delivery) {
    System.out.println("billing " + delivery.message().payload().length + " bytes");
  }

  private static void awaitShutdown() throws InterruptedException {
    Thread.currentThread().join();
  }
}
