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
  /** One that a quick run does not have. */
  Scene(String cause, String expected, String broker, Staging staging) {
    this(cause, expected, broker, false, staging);
  }

  /** Returns whether nothing is wrong in it. */
  boolean isCalm() {
    return expected.isEmpty();
  }

  /** Returns whether it is asked for: by its finding, or by the end of its name. */
  boolean isCalled(String what) {
    return expected.equals(what) || cause.endsWith(what);
  }

  /** Brings a scene about. */
  @FunctionalInterface
  interface Staging {
    /** Stages it on fresh ground; closes what it opens. Calls the watch at onset. */
    void stage(Ground ground, Watch watch) throws IOException;
  }
}
