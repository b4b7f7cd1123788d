package io.floatvalve.latency;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Records latencies of one stage from any thread: it never waits, never throws, and allocates
 * nothing once it has seen a latency of that order of magnitude.
 *
 * <p>Values are nanoseconds up to 1 hour, kept to within 1 % and not finer than 1 µs. A longer one
 * is counted as 1 hour and as {@linkplain LatencySnapshot.Stage#clamped() clamped}. A negative one
 * is no latency but a clock that is wrong: it is {@linkplain LatencySnapshot.Stage#negative()
 * counted apart} and enters no percentile. It takes some 200 bytes, and 1 KB more for each doubling
 * of the latency that occurs.
 */
public final class LatencyRecorder {
  /*
   * Counts only ever grow, and nothing is reset. So any number of readers may copy them at any time;
   * each sample is in a copy or not yet, and the difference of two copies holds each sample between
   * them once. The slots are those of an HdrHistogram of the same range and precision: a run of 128
   * for each doubling, made when the first value falls into it.
   */
  static final long LOWEST_NANOS = 1_000;
  static final long HIGHEST_NANOS = 3_600_000_000_000L;
  static final int DIGITS = 2;

  private static final int UNIT_BITS = 9; // slots are 512 ns wide at first
  private static final int RUN_BITS = 7;
  private static final int RUN = 1 << RUN_BITS;
  private static final int MASK = RUN - 1;
  private static final int BASE = Long.SIZE - UNIT_BITS - RUN_BITS - 1;
  private static final long LEAST_MASK = (2L * RUN - 1) << UNIT_BITS;
  private static final int RUNS = run(HIGHEST_NANOS) + 1;

  private static final VarHandle COUNTS = MethodHandles.arrayElementVarHandle(long[].class);
  private static final VarHandle RUNS_HELD = MethodHandles.arrayElementVarHandle(long[][].class);
  private static final VarHandle CLAMPED;
  private static final VarHandle NEGATIVE;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      CLAMPED = lookup.findVarHandle(LatencyRecorder.class, "clamped", long.class);
      NEGATIVE = lookup.findVarHandle(LatencyRecorder.class, "negative", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String name;
  private final long[] @Nullable [] runs = new long[RUNS][];

  @SuppressWarnings("UnusedVariable") // by CLAMPED
  private long clamped;

  @SuppressWarnings("UnusedVariable") // by NEGATIVE
  private long negative;

  /**
   * Makes an empty recorder.
   *
   * @param name of the stage
   */
  public LatencyRecorder(String name) {
    this.name = name;
  }

  /** Records a latency in nanoseconds; never throws. */
  public void record(long nanos) {
    long value = nanos;
    if (nanos < 0) {
      long unused = (long) NEGATIVE.getAndAdd(this, 1L);
      return;
    }
    if (nanos > HIGHEST_NANOS) {
      value = HIGHEST_NANOS;
      long unused = (long) CLAMPED.getAndAdd(this, 1L);
    }
    int bucket = bucket(value);
    int slot = (int) (value >>> (bucket + UNIT_BITS));
    long unused = (long) COUNTS.getAndAdd(held(slot < RUN ? 0 : bucket + 1), slot & MASK, 1L);
  }

  /** Records as {@link #record} does, where callers exclude each other: costs less. */
  public void recordAlone(long nanos) {
    if (nanos < 0 || nanos > HIGHEST_NANOS) {
      record(nanos);
      return;
    }
    int bucket = bucket(nanos);
    int slot = (int) (nanos >>> (bucket + UNIT_BITS));
    long[] counts = held(slot < RUN ? 0 : bucket + 1);
    COUNTS.setOpaque(counts, slot & MASK, counts[slot & MASK] + 1);
  }

  private static int bucket(long value) {
    return BASE - Long.numberOfLeadingZeros(value | LEAST_MASK);
  }

  private static int run(long value) {
    int bucket = bucket(value);
    return value >>> (bucket + UNIT_BITS) < RUN ? 0 : bucket + 1;
  }

  private long[] held(int run) {
    long[] counts = (long[]) RUNS_HELD.getAcquire(runs, run);
    return counts == null ? madeAt(run) : counts;
  }

  private long[] madeAt(int run) {
    long[] made = new long[RUN];
    long[] before = (long[]) RUNS_HELD.compareAndExchange(runs, run, (long[]) null, made);
    return before == null ? made : before;
  }

  /** Returns the latencies of these recorders since they were made; those without are left out. */
  public static LatencySnapshot snapshot(Iterable<LatencyRecorder> recorders) {
    return snapshot(recorders, 0);
  }

  /**
   * Returns the latencies of these recorders since they were made; those without are left out.
   *
   * @param oldestNanos the age of the oldest that has not come to its end yet; 0 if there is none
   */
  public static LatencySnapshot snapshot(Iterable<LatencyRecorder> recorders, long oldestNanos) {
    Map<String, LatencySnapshot.Stage> stages = new LinkedHashMap<>();
    for (LatencyRecorder each : recorders) {
      LatencySnapshot.Stage stage = each.stage();
      if (stage.count() > 0 || stage.negative() > 0) {
        stages.put(each.name, stage);
      }
    }
    return new LatencySnapshot(stages, oldestNanos);
  }

  private LatencySnapshot.Stage stage() {
    int last = RUNS;
    while (last > 0 && RUNS_HELD.getAcquire(runs, last - 1) == null) {
      last--;
    }
    Histogram copy = new Histogram(LOWEST_NANOS, last == 0 ? 2 * LOWEST_NANOS : top(last), DIGITS);
    for (int run = 0; run < last; run++) {
      long[] counts = (long[]) RUNS_HELD.getAcquire(runs, run);
      for (int i = 0; counts != null && i < RUN; i++) {
        long count = (long) COUNTS.getOpaque(counts, i);
        if (count > 0) {
          copy.recordValueWithCount(lowest(run, i), count);
        }
      }
    }
    return new LatencySnapshot.Stage(
        copy, (long) CLAMPED.getOpaque(this), (long) NEGATIVE.getOpaque(this));
  }

  /** Returns a value that so many runs hold, and no fewer. */
  private static long top(int runs) {
    return Math.max(2 * LOWEST_NANOS, lowest(runs - 1, MASK));
  }

  private static long lowest(int run, int index) {
    return run == 0 ? (long) index << UNIT_BITS : (long) (RUN + index) << (run - 1 + UNIT_BITS);
  }
}
