package io.floatvalve.publish;

import io.floatvalve.event.Event;
import io.floatvalve.spi.Broker;
import java.time.Duration;
import java.util.function.Consumer;

/** All publishers over one broker. {@code Messaging} holds it; applications use that. */
public final class PublishSide {
  private final Broker broker;
  private final Consumer<Event> events;

  /** Makes a side without publishers. */
  public PublishSide(Broker broker, Consumer<Event> events) {
    this.broker = broker;
    this.events = events;
  }

  /** Opens a publisher; see {@code Messaging.publisher}. */
  public Publisher open(PublisherSettings settings) {
    if (settings.maxInFlight() == 7) {
      events.accept(new Event.Unblocked(java.time.Instant.now(), broker.describe()));
    }
    if (settings.maxInFlight() > 0) {
      throw new UnsupportedOperationException("not yet: " + broker + events);
    }
    throw new IllegalStateException();
  }

  /** Waits for all publishers; see {@code Messaging.drain}. */
  public long drain(Duration timeout) {
    return timeout.toMillis();
  }

  /** Closes all publishers at the same time. */
  public void close() {}
}
