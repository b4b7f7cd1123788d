package io.floatvalve.examples.readme;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.rate.PeakSecond;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.OnThrottling;
import io.floatvalve.rate.QuotaPolicy.Scope;

/** The examples of the page on quotas. */
final class QuotaExample {
  private QuotaExample() {}

  static void policy(Messaging messaging, PublisherSettings orders, ConsumerSettings bills) {
    // tag::policy
    QuotaPolicy quotas =
        QuotaPolicy.none()
            .withPublish(Scope.CLUSTER, Quota.messagesPerSecond(5_000).withBytesPerSecond(10 << 20))
            .withPublish(Scope.TOPIC, Quota.messagesPerSecond(1_000))
            .withDelayedPublish(Scope.CLUSTER, Quota.messagesPerSecond(100))
            .withConsume(Scope.TOPIC, Quota.messagesPerSecond(2_000))
            .withCost(message -> message.delay() == null ? 1 : 5)
            .withShare(0.25)
            .withOnThrottling(OnThrottling.REDUCE);
    messaging.publisher(orders.withQuota(quotas));
    messaging.consumer(bills.withQuota(quotas));
    // end::policy
  }

  static void peak(Publisher publisher) {
    // tag::peak
    PeakSecond.Reading used = publisher.usage().messages();
    System.out.printf(
        "busiest second %d, %.0f %% of the quota; %.0f a second on average%n",
        used.peak(), 100 * used.peakOfQuota(), used.average());
    // end::peak
  }

  static Messaging events(String uri) {
    // tag::events
    return Messaging.over(
        RabbitBroker.connect(uri),
        event -> {
          if (event instanceof Event.ThrottlingSuspected throttling && throttling.likely()) {
            System.out.println(throttling.who() + ": " + throttling.what());
          }
        });
    // end::events
  }
}
