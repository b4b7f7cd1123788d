package io.floatvalve.examples.consume;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Findings;
import java.io.IOException;
import java.util.function.Consumer;

/** The broker of a run, and the place that it consumes from. Used by one thread. */
interface Ground extends AutoCloseable {
  /** Says in the findings which broker it is. */
  void describeTo(Findings findings);

  /** Returns the name of the place. */
  String name();

  /**
   * Returns settings that name the place, and what else only this broker has.
   *
   * @param checked all other settings
   */
  ConsumerSettings at(ConsumerSettings checked);

  /** Begins messaging. */
  Messaging messaging(Consumer<Event> listener);

  /**
   * Opens a plain producer to the place.
   *
   * @param byKey whether messages of a key must keep their order
   */
  Spout spout(boolean byKey) throws IOException;

  /** Enters in the account what is left there of what one feeder sent. It stays there. */
  void remains(String run, Account account) throws IOException;

  /** Returns what the run leaves behind, or empty. */
  String leaves();

  @Override
  void close() throws IOException;
}
