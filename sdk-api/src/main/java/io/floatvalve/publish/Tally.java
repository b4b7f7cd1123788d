package io.floatvalve.publish;

import io.floatvalve.publish.PublishOutcome.Verdict;
import java.util.EnumMap;
import java.util.Map;

/** How many publishes came to each end. Not thread-safe. */
final class Tally {
  private long confirmed;
  private long returned;
  private long nacked;
  private long unknown;
  private long notSent;

  void count(Verdict verdict) {
    switch (verdict) {
      case CONFIRMED -> confirmed++;
      case RETURNED -> returned++;
      case NACKED -> nacked++;
      case UNKNOWN -> unknown++;
      case NOT_SENT -> notSent++;
    }
  }

  long confirmed() {
    return confirmed;
  }

  /** Returns how many the broker did not take. */
  long refused() {
    return returned + nacked;
  }

  long unknown() {
    return unknown;
  }

  long notSent() {
    return notSent;
  }

  /** Returns the counts; all five are there. */
  Map<Verdict, Long> toMap() {
    Map<Verdict, Long> map = new EnumMap<>(Verdict.class);
    map.put(Verdict.CONFIRMED, confirmed);
    map.put(Verdict.RETURNED, returned);
    map.put(Verdict.NACKED, nacked);
    map.put(Verdict.UNKNOWN, unknown);
    map.put(Verdict.NOT_SENT, notSent);
    return map;
  }
}
