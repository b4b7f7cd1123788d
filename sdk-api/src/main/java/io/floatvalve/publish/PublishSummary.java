package io.floatvalve.publish;

import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.util.List;
import java.util.Map;

/**
 * What became of many messages that were published together. Immutable.
 *
 * @param counts how many came to each end; all five are there
 * @param failures those that were not confirmed, in the order they were given
 */
public record PublishSummary(Map<Verdict, Long> counts, List<Failure> failures) {
  /** Copies what was given. */
  public PublishSummary {
    counts = Map.copyOf(counts);
    failures = List.copyOf(failures);
  }

  /** Returns how many came to this end. */
  public long count(Verdict verdict) {
    return counts.getOrDefault(verdict, 0L);
  }

  /** Returns how many there were in all. */
  public long total() {
    return counts.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Returns whether all were confirmed. */
  public boolean allConfirmed() {
    return failures.isEmpty();
  }

  /**
   * One that was not confirmed.
   *
   * @param index its place among those given, from 0
   * @param message as it was given
   * @param outcome what became of it
   */
  public record Failure(long index, Message message, PublishOutcome outcome) {}
}
