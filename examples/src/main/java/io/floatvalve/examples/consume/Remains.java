package io.floatvalve.examples.consume;

import io.floatvalve.examples.cli.PulsarAtHand;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;

/**
 * Finds out which messages are left for a subscription: a plain consumer takes them all and
 * acknowledges none, so that they stay.
 */
final class Remains {
  private static final int FIRST_WAIT_MILLIS = 2_000;
  private static final int NEXT_WAIT_MILLIS = 500;
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(8);

  private Remains() {}

  /** Enters in the account what is left of what one feeder sent. */
  static void find(PulsarAtHand pulsar, String topic, String group, String run, Account account)
      throws PulsarClientException {
    long deadline = System.nanoTime() + LIMIT_NANOS;
    try (Consumer<byte[]> consumer =
        pulsar
            .client()
            .newConsumer()
            .topic(topic)
            .subscriptionName(group)
            .subscriptionType(SubscriptionType.Shared)
            .enableBatchIndexAcknowledgment(true)
            .subscribe()) {
      int wait = FIRST_WAIT_MILLIS;
      Message<byte[]> next = consumer.receive(wait, TimeUnit.MILLISECONDS);
      while (next != null && System.nanoTime() < deadline) {
        int number = Feeder.number(run, next);
        if (number >= 0) {
          account.left(number);
        }
        wait = NEXT_WAIT_MILLIS;
        next = consumer.receive(wait, TimeUnit.MILLISECONDS);
      }
    }
  }
}
