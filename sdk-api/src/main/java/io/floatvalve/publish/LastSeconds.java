package io.floatvalve.publish;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/**
 * What was counted about once a second, for as long as it is recent. Not thread-safe; knows no
 * clock. The engine's; applications do not call it.
 *
 * @param <T> what was counted by some moment
 */
public final class LastSeconds<T> {
  private static final long SAMPLE_NANOS = 950_000_000L;
  private static final long RECENT_NANOS = 2_000_000_000L;
  private static final long LATELY_NANOS = 500_000_000L;
  private static final int SAMPLES = 4;

  private record Sample<T>(long nanos, T counted) {}

  private final Deque<Sample<T>> samples = new ArrayDeque<>(SAMPLES);

  /** Begins with what was counted first. */
  public LastSeconds(long nowNanos, T first) {
    samples.add(new Sample<>(nowNanos, first));
  }

  /** Returns whether it is time for another one. */
  public boolean isDue(long nowNanos) {
    return nowNanos - samples.getLast().nanos() >= SAMPLE_NANOS;
  }

  /** Adds one, in place of the oldest where there are enough. */
  public void add(long nowNanos, T counted) {
    if (samples.size() == SAMPLES) {
      samples.removeFirst();
    }
    samples.add(new Sample<>(nowNanos, counted));
  }

  /** Returns the newest. */
  public T newest() {
    return samples.getLast().counted();
  }

  /** Returns the newest that is old enough to tell of some seconds, or the oldest. */
  public T base(long nowNanos) {
    Sample<T> found = samples.getFirst();
    for (Sample<T> each : samples) {
      if (nowNanos - each.nanos() >= RECENT_NANOS) {
        found = each;
      }
    }
    return found.counted();
  }

  /** Returns the newest that is old enough to tell how it is now, or the oldest. */
  public T lately(long nowNanos) {
    Iterator<Sample<T>> backwards = samples.descendingIterator();
    Sample<T> found = backwards.next();
    if (nowNanos - found.nanos() < LATELY_NANOS && backwards.hasNext()) {
      found = backwards.next();
    }
    return found.counted();
  }

  /** Returns whether that is so long ago that it is recent. */
  public static boolean isRecent(long nowNanos, long thenNanos) {
    return nowNanos - thenNanos < RECENT_NANOS;
  }
}
