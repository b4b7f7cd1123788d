package io.floatvalve.examples.lab.soak;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** A broker with a place for messages, the network before it, and the faults it can have. */
interface Stage extends AutoCloseable {
  /** Returns what the broker promises. */
  Book.Terms terms();

  /** Returns what a client has to be told to find it. */
  Map<String, String> forClient();

  /** Returns all faults that there are here. */
  List<Fault> faults();

  /** Begins to tell which messages are stored, and goes on with it whatever happens. */
  Witness witness(Book book) throws IOException;

  /** Returns how many messages wait in the place that the client handles. */
  long left() throws IOException;

  @Override
  void close() throws IOException;
}
