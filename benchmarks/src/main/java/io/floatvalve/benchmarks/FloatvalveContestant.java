package io.floatvalve.benchmarks;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.model.Settlement;
import io.floatvalve.pulsar.PulsarBroker;
import java.time.Duration;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/** Floatvalve, with the settings that a user gets who sets nothing. */
final class FloatvalveContestant implements Contestant {
  private final Consumer consumer;
  private final Work work;

  FloatvalveContestant(Messaging messaging, Plan plan) {
    work = plan.work();
    consumer =
        messaging.consumer(
            ConsumerSettings.from(Address.topic(plan.topic()))
                .withGroup(SUBSCRIPTION)
                .withOrdering(plan.ordering())
                .withWorkers(plan.workers())
                .withOpenTimeout(Duration.ofMinutes(1))
                .withCloseTimeout(Duration.ofSeconds(5))
                .withNative(
                    PulsarBroker.ConsumeSettings.defaults()
                        .withInitialPosition(SubscriptionInitialPosition.Earliest)));
  }

  @Override
  public void start() {
    consumer.handle(
        delivery -> {
          work.handle();
          return Settlement.accept();
        });
  }

  @Override
  public int waiting() {
    return consumer.status().waiting();
  }

  @Override
  public long waitingBytes() {
    return consumer.status().waitingBytes();
  }

  @Override
  public int permits() {
    return consumer.status().permits();
  }

  @Override
  public void close() {
    consumer.close();
  }
}
