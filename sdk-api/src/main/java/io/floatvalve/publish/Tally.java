package io.floatvalve.publish;

import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.util.EnumMap;
import java.util.Map;

/** How many publishes came to each end, and why where that is known. Not thread-safe. */
final class Tally {
  private long confirmed;
  private long returned;
  private long nacked;
  private final Map<Unknown.Cause, Long> unknown = new EnumMap<>(Unknown.Cause.class);
  private final Map<NotSent.Reason, Long> notSent = new EnumMap<>(NotSent.Reason.class);

  Tally() {
    for (Unknown.Cause each : Unknown.Cause.values()) {
      unknown.put(each, 0L);
    }
    for (NotSent.Reason each : NotSent.Reason.values()) {
      notSent.put(each, 0L);
    }
  }

  void count(PublishOutcome outcome) {
    switch (outcome.verdict()) {
      case CONFIRMED -> confirmed++;
      case RETURNED -> returned++;
      case NACKED -> nacked++;
      case UNKNOWN -> unknown.merge(((Unknown) outcome).cause(), 1L, Long::sum);
      case NOT_SENT -> notSent.merge(((NotSent) outcome).reason(), 1L, Long::sum);
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
    return sum(unknown);
  }

  long notSent() {
    return sum(notSent);
  }

  /** Returns the counts; all five are there. */
  Map<Verdict, Long> toMap() {
    Map<Verdict, Long> map = new EnumMap<>(Verdict.class);
    map.put(Verdict.CONFIRMED, confirmed);
    map.put(Verdict.RETURNED, returned);
    map.put(Verdict.NACKED, nacked);
    map.put(Verdict.UNKNOWN, sum(unknown));
    map.put(Verdict.NOT_SENT, sum(notSent));
    return map;
  }

  /** Returns how many are unknown for each cause; all are there. Not a copy. */
  Map<Unknown.Cause, Long> unknownBy() {
    return unknown;
  }

  /** Returns how many were not sent for each reason; all are there. Not a copy. */
  Map<NotSent.Reason, Long> notSentBy() {
    return notSent;
  }

  private static long sum(Map<?, Long> counts) {
    return counts.values().stream().mapToLong(Long::longValue).sum();
  }
}
