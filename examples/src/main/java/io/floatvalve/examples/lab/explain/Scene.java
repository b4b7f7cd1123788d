package io.floatvalve.examples.lab.explain;

import java.io.IOException;

/**
 * Something that goes wrong, or does not.
 *
 * @param cause what is staged, in words
 * @param expected the name of the finding that it should have first; empty for none
 * @param broker where it can be staged: {@code rabbit}, {@code pulsar} or empty for both
 * @param quick whether a quick run has it
 * @param staging brings it about
 */
record Scene(String cause, String expected, String broker, boolean quick, Staging staging) {
  /** Brings a scene about. */
  @FunctionalInterface
  interface Staging {
    /** Stages it on fresh ground; closes what it opens. Calls the watch at onset. */
    void stage(Ground ground, Watch watch) throws IOException;
  }
}
