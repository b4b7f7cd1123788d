package io.floatvalve.examples.lab.soak;

import java.io.IOException;
import java.time.Duration;

/** Reads, by the client library alone and past all faults, what is stored. */
interface Witness extends AutoCloseable {
  /**
   * Waits until it has read all there is.
   *
   * @return whether it has
   */
  boolean awaitAll(Duration limit) throws IOException, InterruptedException;

  @Override
  void close();
}
