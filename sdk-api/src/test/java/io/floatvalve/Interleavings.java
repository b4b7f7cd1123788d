package io.floatvalve;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Options;
import org.jetbrains.lincheck.datastructures.StressOptions;

/**
 * Runs the operations of a class on several threads, in many interleavings, and holds the results
 * against those of some order of the same operations on one thread.
 *
 * <p>Short by default; {@code -Dfloatvalve.proofs=long} looks much further.
 */
public final class Interleavings {
  private static final boolean LONG = "long".equals(System.getProperty("floatvalve.proofs"));

  private Interleavings() {}

  /** Returns a number of rounds: the first, or the second in the long form. */
  public static int rounds(int inShort, int inLong) {
    return LONG ? inLong : inShort;
  }

  /** Looks for interleavings, one after another, by switching threads where they could meet. */
  public static void explore(Class<?> operations) {
    sized(new ModelCheckingOptions(), rounds(3, 100), rounds(60, 3_000)).check(operations);
  }

  /** Lets real threads race. */
  public static void race(Class<?> operations) {
    sized(new StressOptions(), rounds(3, 100), rounds(300, 10_000)).check(operations);
  }

  /** Holds that exploring finds a fault in a class that has one. */
  public static void findsTheRaceIn(Class<?> operations) {
    Options<?, ?> options =
        sized(new ModelCheckingOptions(), 50, 300).minimizeFailedScenario(false);
    assertThatThrownBy(() -> options.check(operations)).isInstanceOf(LincheckAssertionError.class);
  }

  private static <O extends Options<O, ?>> O sized(O options, int scenarios, int interleavings) {
    return options
        .iterations(scenarios)
        .invocationsPerIteration(interleavings)
        .threads(2)
        .actorsPerThread(4)
        .actorsBefore(2)
        .actorsAfter(2);
  }
}
