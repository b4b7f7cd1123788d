package io.floatvalve.benchmarks;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** How many messages were handled, and when, in steps of 10 ms. */
final class Progress {
  private static final long STEP_NANOS = 10_000_000;
  private static final int STEPS = 30_000;
  private static final int WINDOW = 5;
  private static final double FULL = 0.8;

  private final int total;
  private final AtomicInteger handled = new AtomicInteger();
  private final CountDownLatch all = new CountDownLatch(1);
  private final AtomicIntegerArray steps = new AtomicIntegerArray(STEPS);
  private volatile long firstNanos;
  private volatile long quarterNanos;
  private volatile long lastNanos;

  Progress(int total) {
    this.total = total;
  }

  /** Counts a message and returns which one it is, from 1. */
  int mark() {
    int n = handled.incrementAndGet();
    if (n == 1) {
      firstNanos = System.nanoTime();
    } else if (n == total / 4) {
      quarterNanos = System.nanoTime();
    } else if (n == total) {
      lastNanos = System.nanoTime();
      all.countDown();
    }
    return n;
  }

  /** Counts a message with its time; begins with the first one's. */
  int markTime() {
    int n = mark();
    int at = n == 1 ? 0 : step(System.nanoTime());
    if (at >= 0 && at < STEPS) {
      steps.incrementAndGet(at);
    }
    return n;
  }

  private int step(long nanos) {
    return (int) ((nanos - firstNanos) / STEP_NANOS);
  }

  int handled() {
    return handled.get();
  }

  void await(Duration limit) throws InterruptedException {
    if (!all.await(limit.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException(
          "after " + limit + " only " + handled + " of " + total + " were handled");
    }
  }

  long lastNanos() {
    return lastNanos;
  }

  /** Returns messages a second from the first to the last. */
  double rate() {
    return (total - 1) * 1e9 / (lastNanos - firstNanos);
  }

  /** Returns messages a second without the first quarter, in which a window grows. */
  double steadyRate() {
    return (total - total / 4) * 1e9 / (lastNanos - quarterNanos);
  }

  /** Returns the median count of a window up to a moment, without the first half of that time. */
  int usual(long untilNanos) {
    int until = step(untilNanos);
    int from = until / 2;
    int[] counts = new int[Math.max(1, until - WINDOW - from)];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = window(from + i);
    }
    java.util.Arrays.sort(counts);
    return counts[counts.length / 2];
  }

  /** Returns the milliseconds from a moment to the first window that is as full as usual. */
  double millisToFull(long sinceNanos, int usual) {
    int since = step(sinceNanos);
    for (int at = since; at < step(lastNanos); at++) {
      if (window(at) >= FULL * usual) {
        return (at - since) * (STEP_NANOS / 1e6);
      }
    }
    return Double.POSITIVE_INFINITY;
  }

  private int window(int at) {
    int sum = 0;
    for (int i = Math.max(0, at); i < Math.min(STEPS, at + WINDOW); i++) {
      sum += steps.get(i);
    }
    return sum;
  }
}
