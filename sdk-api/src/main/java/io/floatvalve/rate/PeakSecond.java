package io.floatvalve.rate;

import java.util.Arrays;

/**
 * How much went through in the busiest second, which an average over a minute hides: a broker
 * limits by the second. Pure: time comes in. Not thread-safe.
 *
 * <p>A <i>second</i> here is any sliding one, not one of the calendar: two halves on either side of
 * a full second are one busy second to a broker.
 */
public final class PeakSecond {
  /*
   * Amounts lie in buckets of 10 ms, and a window of 101 of them holds every second that ends in
   * its newest: so no second is missed, wherever it begins, and what is told is at most what went
   * through in 1.01 s. Ten buckets of 100 ms can miss half (two bursts a second apart that a bucket
   * parts), eleven tell up to a tenth too much, which is more than most headrooms leave.
   *
   * The sum only grows between two moves of the window, so its largest value is the one at the end
   * of a bucket: the hot path adds to two fields, all else happens once a bucket. The last minute
   * is kept as 60 slots, each with its amount and the largest sum in it.
   */
  private static final long BUCKET_NANOS = 10_000_000;
  private static final int BUCKETS = 101;
  private static final int BUCKETS_A_SLOT = 100;
  private static final int SLOTS = 60;

  /** From this part of the quota on a second is busy. */
  static final double BUSY = 0.8;

  private final long[] buckets = new long[BUCKETS];
  private final long[] slotAmounts = new long[SLOTS];
  private final long[] slotPeaks = new long[SLOTS];
  private final long begunNanos;
  private long bucket; // the number of the newest, since it was begun
  private long sum; // of all buckets
  private long slotPeak; // of the newest slot, without the newest bucket
  private long slotAmount; // of the newest slot
  private long highest;
  private long total;
  private double quota = Double.POSITIVE_INFINITY;
  private long secondsBusy;
  private long secondsOver;

  /**
   * Begins with nothing.
   *
   * @param nowNanos by the clock of all later calls, which only goes on
   */
  public PeakSecond(long nowNanos) {
    this.begunNanos = nowNanos;
  }

  /**
   * Sets what a second may hold; it counts from now on.
   *
   * @param perSecond above 0; infinite for no quota
   */
  public void quota(double perSecond) {
    if (!(perSecond > 0)) {
      throw new IllegalArgumentException("quota must be above 0 a second: " + perSecond);
    }
    quota = perSecond;
  }

  /**
   * Adds what went through; allocates nothing.
   *
   * @param nowNanos a time before that of an earlier call counts as that
   * @param amount messages, bytes or what they cost; from 0
   */
  public void add(long nowNanos, long amount) {
    advance(nowNanos);
    buckets[(int) (bucket % BUCKETS)] += amount;
    sum += amount;
    slotAmount += amount;
    total += amount;
  }

  /** Returns what went through in the second that ends now. */
  public long lastSecond(long nowNanos) {
    advance(nowNanos);
    return sum;
  }

  /** Returns how it stands now. */
  public Reading reading(long nowNanos) {
    advance(nowNanos);
    long amount = slotAmount;
    long newestPeak = Math.max(slotPeak, sum);
    long peak = newestPeak;
    for (int i = 0; i < SLOTS; i++) {
      amount += slotAmounts[i];
      peak = Math.max(peak, slotPeaks[i]);
    }
    double newest = (bucket % BUCKETS_A_SLOT + 1) / (double) BUCKETS_A_SLOT;
    double since = (bucket + 1) / (double) BUCKETS_A_SLOT;
    double average = amount / Math.max(1, Math.min(since, SLOTS - 1 + newest));
    return new Reading(
        sum,
        peak,
        Math.max(highest, newestPeak),
        average,
        total,
        quota,
        secondsBusy + (newestPeak >= BUSY * quota ? 1 : 0),
        secondsOver + (newestPeak > quota ? 1 : 0));
  }

  private void advance(long nowNanos) {
    long now = (nowNanos - begunNanos) / BUCKET_NANOS;
    if (now <= bucket) {
      return;
    }
    if (now - bucket > (long) SLOTS * BUCKETS_A_SLOT + BUCKETS) {
      skip(now);
      return;
    }
    while (bucket < now) {
      slotPeak = Math.max(slotPeak, sum);
      bucket++;
      int at = (int) (bucket % BUCKETS);
      sum -= buckets[at];
      buckets[at] = 0;
      if (bucket % BUCKETS_A_SLOT == 0) {
        endSlot();
      }
    }
  }

  private void endSlot() {
    countSlot();
    int ended = (int) ((bucket / BUCKETS_A_SLOT - 1) % SLOTS);
    slotAmounts[ended] = slotAmount;
    slotPeaks[ended] = slotPeak;
    int next = (ended + 1) % SLOTS; // a minute old: the newest takes its place
    slotAmounts[next] = 0;
    slotPeaks[next] = 0;
    slotAmount = 0;
    slotPeak = 0;
  }

  private void countSlot() {
    highest = Math.max(highest, slotPeak);
    secondsBusy += slotPeak >= BUSY * quota ? 1 : 0;
    secondsOver += slotPeak > quota ? 1 : 0;
  }

  /** Nothing went through for more than a minute. */
  private void skip(long now) {
    slotPeak = Math.max(slotPeak, sum);
    countSlot();
    Arrays.fill(buckets, 0);
    Arrays.fill(slotAmounts, 0);
    Arrays.fill(slotPeaks, 0);
    sum = 0;
    slotAmount = 0;
    slotPeak = 0;
    bucket = now;
  }

  /**
   * What went through, in messages, bytes or what they cost.
   *
   * @param lastSecond in the second that ends now
   * @param peak in the busiest second of the last minute
   * @param highest in the busiest second of all
   * @param average a second, over the last minute, or since the beginning where that is shorter
   * @param total in all
   * @param quota what a second may hold, infinite if that is not known
   * @param secondsBusy in how many seconds it came to at least 80 % of the quota
   * @param secondsOver in how many seconds it came to more than the quota
   */
  public record Reading(
      long lastSecond,
      long peak,
      long highest,
      double average,
      long total,
      double quota,
      long secondsBusy,
      long secondsOver) {

    /** Returns how often the average goes into the peak; 0 while nothing went through. */
    public double peakToAverage() {
      return average > 0 ? peak / average : 0;
    }

    /** Returns which part of the quota the peak was; 0 where there is no quota. */
    public double peakOfQuota() {
      return peak / quota;
    }
  }
}
