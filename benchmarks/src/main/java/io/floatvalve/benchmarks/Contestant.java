package io.floatvalve.benchmarks;

import io.floatvalve.model.Ordering;

/** A consumer under load: the plain client's, or Floatvalve's. It is open and asks for nothing. */
interface Contestant extends AutoCloseable {
  /** The subscription that all use. */
  String SUBSCRIPTION = "load";

  /** Whose it is. */
  enum Side {
    /** The plain client's: a fixed receive queue or prefetch, and loops that handle. */
    PLAIN,
    /** Floatvalve's, with adaptive permits. */
    FLOATVALVE
  }

  /** What is done to each message, on a thread for that. */
  interface Work {
    /** Handles a message; may block. */
    void handle() throws InterruptedException;
  }

  /**
   * What to consume, and how.
   *
   * @param workers how many messages are handled at a time; 1 where the order is to be kept and the
   *     side keeps it by that alone
   */
  record Plan(String topic, Ordering ordering, int workers, Work work) {}

  /** Opens a contestant. */
  interface Opener {
    /** Opens one of this side. */
    Contestant open(Side side, Plan plan) throws Exception;
  }

  /** Begins to consume. */
  void start();

  /** Returns how many messages wait here, beyond those that are handled. */
  int waiting();

  /** Returns how many messages wait here and are handled. */
  int held();

  /** Returns how many bytes of payload wait here, as far as the side tells: else -1. */
  long waitingBytes();

  /** Returns how much may be on its way and waiting. */
  int permits();

  /** Returns whether its connection was lost since it was opened. */
  boolean wasDisconnected();

  @Override
  void close();
}
