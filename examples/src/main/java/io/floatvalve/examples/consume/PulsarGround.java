package io.floatvalve.examples.consume;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.pulsar.PulsarBroker;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.jspecify.annotations.Nullable;

/** A topic of a Pulsar. */
final class PulsarGround implements Ground {
  private static final int FIRST_WAIT_MILLIS = 2_000;
  private static final int NEXT_WAIT_MILLIS = 500;
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(8);

  private final PulsarAtHand pulsar;
  private final String topic;
  private final String group;

  /**
   * Takes a broker, and closes it in the end.
   *
   * @param from the topic, or null for one of its own
   */
  PulsarGround(PulsarAtHand pulsar, @Nullable String from, String group) {
    this.pulsar = pulsar;
    this.topic = from == null ? pulsar.topic("consume") : from;
    this.group = group;
  }

  @Override
  public void describeTo(Findings findings) {
    pulsar.describeTo(findings);
  }

  @Override
  public String name() {
    return topic + " as " + group;
  }

  @Override
  public ConsumerSettings at(ConsumerSettings checked) {
    return ConsumerSettings.from(Address.topic(topic))
        .withGroup(group)
        .withWorkers(checked.workers())
        .withOrdering(checked.ordering())
        .withPermits(checked.permits())
        .withCloseTimeout(checked.closeTimeout())
        .withNative(
            PulsarBroker.ConsumeSettings.defaults()
                .withReceipts(true)
                .withInitialPosition(SubscriptionInitialPosition.Earliest));
  }

  @Override
  public Messaging messaging(Consumer<Event> listener) {
    return pulsar.messaging(listener);
  }

  @Override
  public Spout spout(boolean byKey) throws PulsarClientException {
    Producer<byte[]> producer =
        pulsar
            .client()
            .newProducer()
            .topic(topic)
            // Under Key_Shared a batch goes to one consumer as a whole, so it must hold one key.
            .batcherBuilder(byKey ? BatcherBuilder.KEY_BASED : BatcherBuilder.DEFAULT)
            .sendTimeout(30, TimeUnit.SECONDS)
            .create();
    return new Spout() {
      @Override
      public void send(
          String key,
          Map<String, String> headers,
          byte[] payload,
          Consumer<@Nullable String> answered) {
        var unused =
            producer
                .newMessage()
                .key(key)
                .properties(headers)
                .value(payload)
                .sendAsync()
                .whenComplete(
                    (id, error) ->
                        answered.accept(error == null ? null : String.valueOf(error.getMessage())));
      }

      @Override
      public void close() throws PulsarClientException {
        producer.close();
      }
    };
  }

  /** A plain consumer takes them all and acknowledges none. */
  @Override
  public void remains(String run, Account account) throws PulsarClientException {
    long deadline = System.nanoTime() + LIMIT_NANOS;
    try (org.apache.pulsar.client.api.Consumer<byte[]> consumer =
        pulsar
            .client()
            .newConsumer()
            .topic(topic)
            .subscriptionName(group)
            .subscriptionType(SubscriptionType.Shared)
            .enableBatchIndexAcknowledgment(true)
            .subscribe()) {
      Message<byte[]> next = consumer.receive(FIRST_WAIT_MILLIS, TimeUnit.MILLISECONDS);
      while (next != null && System.nanoTime() < deadline) {
        int number = Feeder.number(run, next.getProperties());
        if (number >= 0) {
          account.left(number);
        }
        next = consumer.receive(NEXT_WAIT_MILLIS, TimeUnit.MILLISECONDS);
      }
    }
  }

  @Override
  public String leaves() {
    return pulsar.isOwn() ? "" : "The subscription '" + group + "' stays on " + topic + ".";
  }

  @Override
  public void close() throws IOException {
    pulsar.close();
  }
}
