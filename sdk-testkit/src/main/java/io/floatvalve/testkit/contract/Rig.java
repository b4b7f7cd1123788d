package io.floatvalve.testkit.contract;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.FaultProxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;

/** A place at the broker, and a publisher to it through a proxy. */
final class Rig {
  final FaultProxy proxy;
  final Messaging messaging;
  final Address place;
  final List<Event> events = new CopyOnWriteArrayList<>();
  private final BrokerUnderTest broker;
  private final RigBroker connected;

  Rig(BrokerUnderTest broker) throws Exception {
    this.broker = broker;
    place = broker.newPlace();
    proxy = broker.openProxy();
    connected = new RigBroker(broker.connect(proxy), proxy);
    messaging = Messaging.over(connected, events::add);
  }

  Publisher publisher(UnaryOperator<PublisherSettings> settings) {
    return messaging.publisher(settings.apply(PublisherSettings.to(place)));
  }

  Publisher publisher() {
    return publisher(settings -> settings);
  }

  Message invalid() {
    return broker.invalid();
  }

  List<String> stored() throws Exception {
    return broker.stored(place);
  }

  /** Closes all; what is returned ends when that is done, beside the next test. */
  CompletableFuture<Void> end() {
    return connected.end(messaging);
  }
}
