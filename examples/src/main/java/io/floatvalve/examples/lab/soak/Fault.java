package io.floatvalve.examples.lab.soak;

import java.io.IOException;

/**
 * Something that breaks.
 *
 * @param name as in {@code --faults}
 */
record Fault(String name, Act act) {
  /** Has it happen, and be over. */
  interface Act {
    void on(Soak soak) throws IOException, InterruptedException;
  }
}
