package io.floatvalve.examples.lines;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * How many lines came to each fate. Immutable.
 *
 * @param counts those that came to none are left out
 */
public record Tally(Map<Fate, Long> counts) {
  public Tally {
    counts =
        counts.isEmpty() ? Map.of() : Collections.unmodifiableMap(new EnumMap<Fate, Long>(counts));
  }

  public long count(Fate fate) {
    return counts.getOrDefault(fate, 0L);
  }

  public long total() {
    return counts.values().stream().mapToLong(Long::longValue).sum();
  }

  public boolean allConfirmed() {
    return count(Fate.CONFIRMED) == total();
  }
}
