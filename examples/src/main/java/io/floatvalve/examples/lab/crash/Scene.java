package io.floatvalve.examples.lab.crash;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;

/** A place for messages, and a publisher to it through a proxy, for one fault. */
abstract class Scene implements AutoCloseable {
  static final Duration CONFIRM_TIMEOUT = Duration.ofSeconds(2);
  static final Duration MAX_WAIT = Duration.ofSeconds(4);
  static final Duration MAX_BLOCK = Duration.ofSeconds(2);

  private final Address address;
  private final FaultProxy proxy;
  private final Messaging messaging;
  private final List<Event> events = new CopyOnWriteArrayList<>();
  private long keptSinceNanos = System.nanoTime();

  /**
   * Begins.
   *
   * @param proxy which this closes
   * @param through begins messaging through the proxy, with a listener
   */
  Scene(Address address, FaultProxy proxy, Function<Consumer<Event>, Messaging> through) {
    this.address = address;
    this.proxy = proxy;
    this.messaging = through.apply(events::add);
  }

  FaultProxy proxy() {
    return proxy;
  }

  List<Event> events() {
    return events;
  }

  /** Returns settings under which every message has its outcome after some seconds. */
  PublisherSettings settings() {
    return PublisherSettings.to(address)
        .withConfirmTimeout(CONFIRM_TIMEOUT)
        .withMaxWait(MAX_WAIT)
        .withMaxBlock(MAX_BLOCK);
  }

  Publisher publisher(PublisherSettings settings) {
    return messaging.publisher(settings);
  }

  /** The place was made anew: what came to it before may be gone. */
  void keepsSinceNow() {
    keptSinceNanos = System.nanoTime();
  }

  /** Returns since when the place has kept what came to it, by {@link System#nanoTime}. */
  long keptSinceNanos() {
    return keptSinceNanos;
  }

  /** Returns the ids of all messages in the place. Called once, when nobody publishes any more. */
  abstract Collection<String> takeIds() throws IOException;

  @Override
  public void close() throws IOException {
    proxy.unstall();
    messaging.close();
    proxy.close();
  }
}
