package io.floatvalve.examples.lab.permits.rabbit;

import java.io.IOException;

/** One consumer of an experiment, plain or ours. Thread-safe. */
interface Member extends AutoCloseable {
  /** Returns how many messages wait in it and are in its handlers. */
  int held();

  /** Returns the payloads that wait in it, in bytes. */
  long waitingBytes();

  @Override
  void close() throws IOException;
}
