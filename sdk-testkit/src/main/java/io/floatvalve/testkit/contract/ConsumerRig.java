package io.floatvalve.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.testkit.FaultProxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Consumers at a broker through a proxy, of a place that is another one for each test, and a
 * publisher round the proxy.
 */
final class ConsumerRig {
  final ConsumedBroker broker;
  final FaultProxy proxy;
  final Messaging messaging;
  Address place;
  Address deadLetters;
  private final List<Event> events = new CopyOnWriteArrayList<>();
  private final RigBroker connected;
  private final List<AutoCloseable> consumers = new ArrayList<>();

  ConsumerRig(ConsumedBroker broker) throws Exception {
    this.broker = broker;
    proxy = broker.openProxy();
    connected = new RigBroker(broker.connect(proxy), proxy);
    messaging = Messaging.over(connected, events::add);
    place = broker.newPlace();
    deadLetters = broker.newPlace();
  }

  /** Closes the consumers of one test, and makes other places for the next. */
  void renew() throws Exception {
    closeConsumers();
    place = broker.newPlace();
    deadLetters = broker.newPlace();
    events.clear();
  }

  private void closeConsumers() throws Exception {
    for (AutoCloseable each : consumers) {
      each.close();
    }
    consumers.clear();
  }

  ConsumerSettings settings() {
    return broker.from(place).withDeadLetter(deadLetters);
  }

  Consumer consumer(UnaryOperator<ConsumerSettings> settings) {
    Consumer consumer = messaging.consumer(settings.apply(settings()));
    consumers.add(consumer);
    return consumer;
  }

  Consumer consumer() {
    return consumer(settings -> settings);
  }

  PullConsumer pullConsumer(UnaryOperator<ConsumerSettings> settings) {
    PullConsumer consumer = messaging.pullConsumer(settings.apply(settings()));
    consumers.add(consumer);
    return consumer;
  }

  /** Publishes messages in this order, and sees that all are stored. */
  void publish(List<Message> messages) throws Exception {
    List<CompletableFuture<PublishOutcome>> outcomes = new ArrayList<>();
    try (Publisher publisher = broker.publisher(place)) {
      for (Message each : messages) {
        outcomes.add(publisher.publish(each));
      }
      for (CompletableFuture<PublishOutcome> each : outcomes) {
        assertThat(each.get(60, TimeUnit.SECONDS).verdict()).isEqualTo(Verdict.CONFIRMED);
      }
    }
  }

  /** Publishes messages that are named by a key, which they have, and their number from 0. */
  void publish(String key, int count) throws Exception {
    publish(Handled.messages(key, 0, count));
  }

  long left() throws Exception {
    return broker.left(place);
  }

  List<ConsumedBroker.DeadLetter> deadLetters() throws Exception {
    return broker.deadLetters(deadLetters);
  }

  /** Returns what was told of the consumers of this test. */
  <E extends Event> Stream<E> events(Class<E> type) {
    return events.stream()
        .filter(event -> type.isInstance(event) && event.who().contains(place.name()))
        .map(type::cast);
  }

  /** Closes all; what is returned ends when that is done, beside the next test. */
  CompletableFuture<Void> end() {
    return connected.end(messaging);
  }
}
