package io.floatvalve.examples.readme;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker;

/** Publishes one message and looks at what became of it. README.md shows what is marked. */
final class ReadmeExample {
  private ReadmeExample() {}

  static void publish(byte[] payload) {
    // tag::publish
    try (var messaging = Messaging.over(RabbitBroker.connect("amqp://localhost"))) {
      var orders = messaging.publisher(PublisherSettings.to(Address.queue("orders")));
      PublishOutcome outcome = orders.publish(Message.of(payload)).join();
      switch (outcome.verdict()) {
        case CONFIRMED -> log("stored");
        case RETURNED, NACKED, UNKNOWN, NOT_SENT ->
            log("not stored, or not known to be: " + outcome);
      }
    }
    // end::publish
  }

  private static void log(String what) {
    System.out.println(what);
  }
}
