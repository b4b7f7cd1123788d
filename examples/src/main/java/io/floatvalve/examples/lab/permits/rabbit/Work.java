package io.floatvalve.examples.lab.permits.rabbit;

/** What a handler does with a message. */
@FunctionalInterface
interface Work {
  /**
   * Handles a message; it is acknowledged afterwards.
   *
   * @param number what it was sent as, from 0
   */
  void on(int number) throws InterruptedException;
}
