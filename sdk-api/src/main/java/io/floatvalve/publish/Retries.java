package io.floatvalve.publish;

import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.Nacked;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import org.jspecify.annotations.Nullable;

/** What became of the earlier attempts of a message that is sent again. Not thread-safe. */
final class Retries {
  long dueNanos;
  private int attempts;
  private @Nullable PublishOutcome worst;
  private @Nullable Confirmed late;

  /** Returns how many attempts have ended. */
  int attempts() {
    return attempts;
  }

  /** Notes the end of an attempt that is not the last one. */
  void ended(PublishOutcome outcome) {
    attempts++;
    if (worst == null || rank(outcome) >= rank(worst)) {
      worst = outcome;
    }
  }

  /** Notes that an earlier attempt was confirmed after its time was over. */
  void confirmedLate(Confirmed confirmed) {
    late = confirmed;
  }

  /** Returns the confirm of an earlier attempt, or null: with it nothing need be sent again. */
  @Nullable Confirmed late() {
    return late;
  }

  /** Returns the outcome of all attempts, the last of which ended so. */
  PublishOutcome all(PublishOutcome last) {
    if (last.verdict() == Verdict.CONFIRMED) {
      return last;
    }
    if (late != null) {
      return late;
    }
    PublishOutcome earlier = worst;
    if (earlier == null || rank(earlier) <= rank(last)) {
      return last;
    }
    if (earlier instanceof Unknown unknown) {
      return new Unknown(unknown.cause(), unknown.detail(), last.attempts());
    }
    return earlier instanceof Nacked nacked ? new Nacked(nacked.reason(), last.attempts()) : last;
  }

  private static int rank(PublishOutcome outcome) {
    return switch (outcome.verdict()) {
      case UNKNOWN -> 2;
      case NACKED -> 1;
      case CONFIRMED, RETURNED, NOT_SENT -> 0;
    };
  }
}
