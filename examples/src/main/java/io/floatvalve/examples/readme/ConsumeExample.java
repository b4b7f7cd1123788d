package io.floatvalve.examples.readme;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.pulsar.PulsarBroker;
import java.time.Duration;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/** Consumes from Pulsar. README.md, docs/flow-control.md and docs/ordering.md show parts of it. */
final class ConsumeExample {
  private ConsumeExample() {}

  static void consume() throws InterruptedException {
    // tag::consume
    try (var messaging = Messaging.over(PulsarBroker.connect("pulsar://localhost:6650"));
        var orders =
            messaging.consumer(
                ConsumerSettings.from(Address.topic("orders")).withGroup("billing"))) {
      orders.handle(
          delivery -> {
            bill(delivery.message()); // what it throws means: try again later
            return Settlement.accept();
          });
      awaitShutdown();
    } // lets handlers finish, gives back what none has begun, sends the acknowledgements
    // end::consume
  }

  static Consumer permits(Messaging messaging) {
    // tag::permits
    var settings =
        ConsumerSettings.from(Address.topic("images"))
            .withGroup("thumbnails")
            .withWorkers(4)
            .withPermits(PermitPolicy.adaptive().withBounds(2, 200).withMaxBytes(16L << 20));
    // end::permits
    return messaging.consumer(settings);
  }

  static void watch(Consumer consumer) {
    // tag::status
    ConsumerStatus now = consumer.status();
    log(now.permits() + " permits, " + now.outstanding() + " of them at the broker");
    log(now.waiting() + " messages wait here, " + now.inHandlers() + " are in handlers");
    log("the oldest that is not settled was taken " + now.oldestUnsettled() + " ago");
    // end::status
  }

  static Consumer ordered(Messaging messaging) {
    // tag::order
    var settings =
        ConsumerSettings.from(Address.topic("accounts"))
            .withGroup("ledger")
            .withOrdering(Ordering.BY_KEY)
            .withNative(
                PulsarBroker.ConsumeSettings.defaults()
                    .withInitialPosition(SubscriptionInitialPosition.Earliest));
    // end::order
    return messaging.consumer(settings);
  }

  static long drain(Consumer consumer) {
    // tag::drain
    long unsettled = consumer.drain(Duration.ofSeconds(30));
    // end::drain
    return unsettled;
  }

  private static void bill(Message message) {
    log("billing " + message.payload().length + " bytes");
  }

  private static void awaitShutdown() throws InterruptedException {
    Thread.currentThread().join();
  }

  private static void log(String what) {
    System.out.println(what);
  }
}
