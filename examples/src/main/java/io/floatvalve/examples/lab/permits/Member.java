package io.floatvalve.examples.lab.permits;

/** One consumer of an experiment, plain or ours. Thread-safe. */
interface Member extends AutoCloseable {
  /** Which client it is. */
  enum Side {
    /** Pulsar's own, with its defaults. */
    PLAIN,
    /** Ours, with its defaults. */
    SDK
  }

  /** Returns how many messages wait in it and are in its handlers. */
  int held();

  /** Returns the payloads that wait in it, in bytes. */
  long waitingBytes();

  @Override
  void close();
}
