package io.floatvalve.testkit;

import java.util.stream.LongStream;

/**
 * The seeds of tests with random input: always the same few; {@code -Dfloatvalve.proofs=long} for a
 * thousand times as many, {@code -Dfloatvalve.seed=N} for one, as the name of a failed test says.
 */
public final class Seeds {
  private Seeds() {}

  /** Returns the seeds, so many of them in the short form. */
  public static LongStream of(int inShort) {
    Long one = Long.getLong("floatvalve.seed");
    if (one != null) {
      return LongStream.of(one);
    }
    boolean all = "long".equals(System.getProperty("floatvalve.proofs"));
    return LongStream.rangeClosed(1, all ? inShort * 1_000L : inShort);
  }
}
