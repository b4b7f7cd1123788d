package io.floatvalve.examples.perf;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.publish.PublisherSettings;
import java.io.IOException;
import java.util.function.Consumer;

/** A broker under load. */
public interface Target extends AutoCloseable {
  /** Returns {@code rabbit} or {@code pulsar}. */
  String kind();

  /** Says in the findings which broker it is. */
  void describeTo(Findings findings);

  /** Returns one line about it. */
  String describe();

  /** Begins messaging over it. */
  Messaging messaging(Consumer<Event> listener);

  /** Makes an empty place for a load; returns what publishes there. */
  PublisherSettings place(Load load) throws IOException;

  /** Returns what consumes from the place made last. */
  ConsumerSettings consumers();

  /** Removes the place made last, where that is possible. */
  void remove() throws IOException;

  @Override
  void close() throws IOException;
}
