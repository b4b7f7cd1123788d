package io.floatvalve.examples.lab.permits;

import java.util.Arrays;

/** When handlers began, and for how long they were at work. Thread-safe. */
final class Timeline {
  private final long[] starts; // guarded by this
  private int count; // guarded by this
  private long busyNanos; // guarded by this

  Timeline(int most) {
    starts = new long[most];
  }

  synchronized void began(long nanos) {
    if (count < starts.length) {
      starts[count] = nanos;
      count++;
    }
  }

  synchronized void worked(long nanos) {
    busyNanos += nanos;
  }

  synchronized int count() {
    return count;
  }

  synchronized long busyNanos() {
    return busyNanos;
  }

  /** Returns how many had begun by then. */
  synchronized int by(long nanos) {
    long[] sorted = Arrays.copyOf(starts, count);
    Arrays.sort(sorted);
    int at = Arrays.binarySearch(sorted, nanos);
    return at >= 0 ? at + 1 : -at - 1;
  }
}
