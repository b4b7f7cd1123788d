package io.floatvalve.metrics;

import io.floatvalve.rate.PeakSecond.Reading;
import io.floatvalve.rate.ThrottleDetector.Evidence;
import io.floatvalve.rate.ThrottleDetector.Verdict;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.util.Set;

/** What stubs have used. */
final class Usages {
  private static final double NO_QUOTA = Double.POSITIVE_INFINITY;

  private Usages() {}

  static Usage none() {
    return of(new Reading(0, 0, 0, 0, 0, NO_QUOTA, 0, 0), Verdict.NONE, Duration.ZERO, 0);
  }

  /** Returns what was used of a quota of messages; bytes have none. */
  static Usage of(Reading messages, Verdict verdict, Duration held, long refused) {
    return new Usage(
        messages,
        new Reading(70, 80, 90, 10, 1_000, NO_QUOTA, 0, 0),
        new Evidence(verdict, Set.of(), 0, 0, 0, 0, messages.quota()),
        held,
        refused,
        0);
  }
}
