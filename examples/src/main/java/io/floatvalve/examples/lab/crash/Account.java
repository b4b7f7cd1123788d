package io.floatvalve.examples.lab.crash;

import io.floatvalve.publish.PublishOutcome.Verdict;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The outcomes of one run held against what lies in the queue.
 *
 * @param published messages
 * @param counts how many came to each end; all five are there
 * @param open those without an outcome, or with more than one
 * @param lost confirmed, but not in the queue
 * @param untrue returned or not sent, but in the queue all the same
 * @param stored messages in the queue
 * @param twice how many of them are copies
 * @param longest the longest time from a publish to its outcome
 */
record Account(
    int published,
    Map<Verdict, Integer> counts,
    int open,
    int lost,
    int untrue,
    int stored,
    int twice,
    Duration longest) {

  /**
   * Holds outcomes against a queue.
   *
   * @param storedIds the ids in the queue, those that are there twice twice
   * @param keptSinceNanos messages published before may have gone with a deleted queue; by {@link
   *     System#nanoTime}
   */
  static Account of(List<Load.Told> all, Collection<String> storedIds, long keptSinceNanos) {
    Set<String> distinct = new HashSet<>(storedIds);
    Map<Verdict, Integer> counts = new EnumMap<>(Verdict.class);
    for (Verdict verdict : Verdict.values()) {
      counts.put(verdict, 0);
    }
    int open = 0;
    int lost = 0;
    int untrue = 0;
    long longest = 0;
    for (Load.Told sent : all) {
      Verdict verdict = sent.verdict();
      if (verdict == null || sent.ends() != 1) {
        open++;
        continue;
      }
      counts.merge(verdict, 1, Integer::sum);
      longest = Math.max(longest, sent.nanos());
      boolean there = distinct.contains(sent.id());
      switch (verdict) {
        case CONFIRMED -> lost += !there && sent.beganNanos() - keptSinceNanos >= 0 ? 1 : 0;
        case RETURNED, NOT_SENT -> untrue += there ? 1 : 0;
        case NACKED, UNKNOWN -> {
          // both may be there or not
        }
      }
    }
    return new Account(
        all.size(),
        counts,
        open,
        lost,
        untrue,
        storedIds.size(),
        storedIds.size() - distinct.size(),
        Duration.ofNanos(longest));
  }

  int count(Verdict verdict) {
    return counts.getOrDefault(verdict, 0);
  }

  /** Returns whether every message has one outcome and none is untrue. */
  boolean isTrue() {
    return open == 0 && lost == 0 && untrue == 0 && twice == 0;
  }
}
