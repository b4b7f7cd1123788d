package io.floatvalve.examples.cli;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import java.util.function.Consumer;

/** A broker that a command works on: one that was given, or one started for this run alone. */
public interface BrokerAtHand extends AutoCloseable {
  /** Says in the findings which broker it is. */
  void describeTo(Findings findings);

  /** Begins messaging over it. */
  Messaging messaging(Consumer<Event> listener);

  @Override
  void close();
}
