package io.floatvalve.rate;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/**
 * Tells from the times of answers, or of arrivals, whether a broker holds us back without a word.
 * Pure: time comes in. Not thread-safe; one for each way to a broker.
 *
 * <p>Two shapes are known. A broker that counts by <b>windows of a second</b> serves as fast as it
 * can until the second's part is used up, then nothing until the next one: a sawtooth. One with a
 * <b>token bucket</b> serves at a rate as even as no disk ever does, however much waits. So there
 * are four signs, of which one is a suspicion, two make it likely:
 *
 * <ol>
 *   <li>{@link Sign#PHASE}: at least three gaps in ten seconds, all of which end at the same point
 *       of the second (their circular concentration is above 0.9).
 *   <li>{@link Sign#EQUAL}: from one such end to the next, a second later, equally much was served,
 *       within a tenth, at least twice.
 *   <li>{@link Sign#PLATEAU}: in each of three seconds in a row (five where it is fewer than a
 *       hundred) equally much was served, within 5 %, while more was wanted all the time.
 *   <li>{@link Sign#QUOTA}: what was served so is the quota, within a tenth.
 * </ol>
 *
 * <p>A <b>gap</b> is a silence of at least 200 ms, before which much was waiting at the broker (at
 * least 8, and a tenth of the last second's count) and after which at least 5 are served within 50
 * ms. Time in which this process stood still, or could not have been served, is none of it. It is
 * not a gap, then, when a disk stalls for less, when little waited, or when a producer sends once a
 * second.
 *
 * <p>What is even because <b>we</b> are even is no plateau: the pace that our own pacer keeps, and
 * what is offered steadily and answered at once. Where the quota is known, likely needs a second
 * with 80 % of it.
 *
 * <p><b>What it cannot tell</b>: a broker that stands still for more than 200 ms at the same point
 * of each second under a load that never ends looks the same; a broker that is as fast as the quota
 * by chance does, too; and fewer than 8 a second are not judged.
 */
public final class ThrottleDetector {
  /*
   * Hot path: `answered` and `arrived` add to a bucket of 100 ms and compare two times. A gap is
   * noted when it ends and judged by the tick 50 ms later, which knows by then whether the process
   * stood still meanwhile: the client's thread may wake up before the timer's. All state lies in
   * arrays made once; evidence is made only when the signs change.
   */
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000 * MILLI;
  private static final long BUCKET_NANOS = 100 * MILLI;
  private static final int BUCKETS = 100;
  private static final int BUCKETS_A_SECOND = 10;
  private static final long HISTORY_NANOS = BUCKETS * BUCKET_NANOS;

  private static final long GAP_NANOS = 200 * MILLI;
  private static final long AFTER_NANOS = 50 * MILLI;
  private static final int LEAST_AFTER = 5;
  private static final int LEAST_WAITING = 8;
  private static final double WAITING_PART = 0.1;
  private static final long NEVER = Long.MIN_VALUE;
  private static final long WAITING_UNKNOWN = -1;
  private static final int GAPS = 64; // more of 200 ms do not fit into the history

  private static final int LIKELY_SIGNS = 2;
  private static final int LEAST_GAPS = 3;
  private static final double CONCENTRATED = 0.9;
  private static final long NEXT_END_NANOS = 1_500 * MILLI;
  private static final int LEAST_PAIRS = 2;
  private static final double EQUAL_PART = 0.1;
  private static final double PLATEAU_PART = 0.05;
  private static final int LEAST_A_SECOND = 8;
  private static final int FEW_A_SECOND = 100;
  private static final int WINDOWS = 3;
  private static final int WINDOWS_OF_FEW = 5;
  private static final double OUR_PACE_PART = 0.95;
  private static final double QUOTA_PART = 0.1;
  private static final double PEAK_PART = 0.8;

  private static final long LATE_NANOS = 50 * MILLI;
  private static final long SLOW_NANOS = 50 * MILLI;
  private static final int SLOW_TIMES = 4;
  private static final double BEYOND_THE_WAY = 1.5;
  private static final int SMOOTHED = 16;
  private static final long HOLD_NANOS = 5 * SECOND;

  /** What speaks for throttling. */
  public enum Sign {
    /** Silences end at the same point of the second. */
    PHASE,
    /** Between two such ends equally much is served. */
    EQUAL,
    /** Every second equally much is served, though more is wanted. */
    PLATEAU,
    /** What is served is the quota. */
    QUOTA
  }

  /** What all signs together say. */
  public enum Verdict {
    /** Nothing speaks for it. */
    NONE,
    /** One sign: there may be other reasons. */
    SUSPECTED,
    /** Two signs or more. */
    LIKELY
  }

  /**
   * Why it is thought so.
   *
   * @param verdict what the signs say
   * @param signs those that were seen
   * @param gaps silences in the last ten seconds
   * @param longestGapNanos the longest of them; 0 without
   * @param perSecond what is served a second where that is even; 0 where it is not
   * @param peakSecond the most served in a second of the last ten
   * @param quota what is known of it; infinite if nothing
   */
  public record Evidence(
      Verdict verdict,
      Set<Sign> signs,
      int gaps,
      long longestGapNanos,
      double perSecond,
      long peakSecond,
      double quota) {}

  private final long tickNanos;
  private double quota = Double.POSITIVE_INFINITY;

  // what was served, by bucket of 100 ms
  private final long originNanos;
  private final int[] served = new int[BUCKETS];
  private final boolean[] wanting = new boolean[BUCKETS]; // at every tick in it
  private final double[] paces = new double[BUCKETS];
  private final long[] stoodStill = new long[BUCKETS]; // nanoseconds
  private long bucket; // the newest
  private boolean ticked; // in the newest
  private long total;

  private long lastNanos; // when something was served last
  private long lastWaiting; // what still waited then
  private long bestNanos = Long.MAX_VALUE; // the shortest round trip
  private double meanNanos; // of the last ones
  private boolean any;

  // gaps, oldest first, in a ring
  private final long[] starts = new long[GAPS];
  private final long[] ends = new long[GAPS];
  private final long[] totals = new long[GAPS]; // served before its end
  private final long[] stood = new long[GAPS]; // time of it that does not count
  private final int[] after = new int[GAPS];
  private final int[] waited = new int[GAPS]; // of those after it, there before it
  private final boolean[] known = new boolean[GAPS]; // that enough waited
  private long firstGap;
  private long judgedGap; // those before it are gaps indeed
  private long nextGap;

  private long lastTick;
  private long phaseAt = NEVER; // when each sign was seen last
  private long equalAt = NEVER;
  private long plateauAt = NEVER;
  private long quotaAt = NEVER;
  private final Set<Sign> signs = EnumSet.noneOf(Sign.class);
  private double level;
  private Evidence evidence;

  /**
   * Begins with no history.
   *
   * @param nowNanos by the clock of all later calls, which only goes on
   * @param tickNanos how often {@link #tick} is to be called, at most 100 ms; what comes much later
   *     than that tells that the process stood still
   */
  public ThrottleDetector(long nowNanos, long tickNanos) {
    this.originNanos = nowNanos;
    this.tickNanos = tickNanos;
    this.lastTick = nowNanos;
    this.evidence = evidenceOf(Verdict.NONE, 0);
  }

  /**
   * Sets what a second may hold for us.
   *
   * @param perSecond above 0; infinite if it is not known
   */
  public void quota(double perSecond) {
    if (!(perSecond > 0)) {
      throw new IllegalArgumentException("quota must be above 0 a second: " + perSecond);
    }
    quota = perSecond;
  }

  /**
   * Forgets what was seen, because the conditions have changed: the link, or our own rate. The
   * verdict stands for five seconds more, in which it is confirmed or not.
   */
  public void forget() {
    Arrays.fill(wanting, false);
    firstGap = nextGap;
    judgedGap = nextGap;
    any = false;
  }

  /**
   * Learns that publishes were answered; allocates nothing.
   *
   * @param count how many, from 1
   * @param roundTripNanos how long they were in flight, on average
   * @param waiting how many are left: in flight, or waiting to be
   */
  public void answered(long nowNanos, int count, long roundTripNanos, long waiting) {
    bestNanos = Math.min(bestNanos, roundTripNanos);
    meanNanos += (roundTripNanos - meanNanos) / SMOOTHED;
    served(nowNanos, count, lastWaiting);
    lastWaiting = waiting;
  }

  /**
   * Learns that a message arrived; allocates nothing.
   *
   * @param arrivedNanos when
   * @param sinceNanos since when the broker had it, by the same clock
   */
  public void arrived(long arrivedNanos, long sinceNanos) {
    served(arrivedNanos, 1, WAITING_UNKNOWN);
    if (nextGap > judgedGap) {
      int gap = (int) ((nextGap - 1) % GAPS);
      if (lastNanos - ends[gap] <= AFTER_NANOS && sinceNanos <= starts[gap]) {
        waited[gap]++;
      }
    }
  }

  private void served(long nowNanos, int count, long waiting) {
    long now = any ? Math.max(nowNanos, lastNanos) : nowNanos;
    if (any && now - lastNanos >= GAP_NANOS) {
      boolean enough =
          waiting >= Math.max(LEAST_WAITING, (long) (WAITING_PART * secondBefore(lastNanos)));
      if (enough || waiting == WAITING_UNKNOWN) {
        noteGap(lastNanos, now, enough);
      }
    }
    lastNanos = now;
    any = true;
    total += count;
    advance(now);
    long at = (now - originNanos) / BUCKET_NANOS;
    if (at >= 0 && at > bucket - BUCKETS) {
      served[(int) (at % BUCKETS)] += count;
    }
    if (nextGap > judgedGap) {
      int gap = (int) ((nextGap - 1) % GAPS);
      if (now - ends[gap] <= AFTER_NANOS) {
        after[gap] += count;
      }
    }
  }

  private void noteGap(long start, long end, boolean enoughWaited) {
    if (nextGap - firstGap == GAPS) {
      firstGap++;
      judgedGap = Math.max(judgedGap, firstGap);
    }
    int gap = (int) (nextGap++ % GAPS);
    starts[gap] = start;
    ends[gap] = end;
    totals[gap] = total;
    stood[gap] = 0;
    after[gap] = 0;
    waited[gap] = 0;
    known[gap] = enoughWaited;
  }

  /**
   * Tells whether publishers want more of the broker than it serves: they have to wait for it, and
   * that not only for as long as the way is. What {@link #tick} is to know.
   *
   * @param queued whether messages wait to be sent
   * @param inFlight how many are sent and not answered
   * @param oldestNanos how long the oldest of them is
   */
  public boolean isWanting(boolean queued, int inFlight, long oldestNanos) {
    if (bestNanos == Long.MAX_VALUE) {
      return false;
    }
    boolean slow =
        inFlight >= LEAST_WAITING
            && oldestNanos >= SLOW_NANOS
            && oldestNanos / SLOW_TIMES >= bestNanos;
    return slow
        || (queued
            && Math.max(meanNanos, (double) oldestNanos) >= BEYOND_THE_WAY * (double) bestNanos);
  }

  /**
   * Lets a moment pass, and judges.
   *
   * @param able whether the broker could have served us: connected, not blocked, permits granted
   * @param wanting whether more is wanted of the broker than it serves: {@link #isWanting}, or
   *     messages wait there that could arrive
   * @param pace what our own pacer lets pass a second; infinite for all
   * @return whether the verdict is another
   */
  public boolean tick(long nowNanos, boolean able, boolean wanting, double pace) {
    long since = lastTick;
    lastTick = nowNanos;
    boolean late = nowNanos - since > tickNanos + LATE_NANOS;
    if (!able || late) {
      standStill(since, nowNanos);
    }
    advance(nowNanos);
    int at = (int) (bucket % BUCKETS);
    stoodStill[at] += late ? nowNanos - since : 0;
    this.wanting[at] = able && wanting && (!ticked || this.wanting[at]);
    ticked = true;
    paces[at] = Math.min(paces[at], pace);
    judgeGaps(nowNanos);
    return judge(nowNanos);
  }

  /** Returns why the verdict is what it is. */
  public Evidence evidence() {
    return evidence;
  }

  private void standStill(long from, long to) {
    for (long i = judgedGap; i < nextGap; i++) {
      int gap = (int) (i % GAPS);
      stood[gap] += Math.max(0, Math.min(to, ends[gap]) - Math.max(from, starts[gap]));
      if (from < ends[gap] && to > ends[gap] - AFTER_NANOS) {
        stood[gap] = Long.MAX_VALUE / 2; // when it ended for the broker is not known
      }
    }
    if (any && lastNanos < to) { // one that has not ended
      lastNanos = to;
    }
  }

  private void advance(long nowNanos) {
    long now = (nowNanos - originNanos) / BUCKET_NANOS;
    if (now - bucket > BUCKETS) {
      bucket = now - BUCKETS;
    }
    while (bucket < now) {
      boolean wantedBefore = wanting[(int) (bucket % BUCKETS)];
      bucket++;
      ticked = false;
      int at = (int) (bucket % BUCKETS);
      served[at] = 0;
      wanting[at] = wantedBefore; // until a tick knows better
      paces[at] = Double.POSITIVE_INFINITY;
      stoodStill[at] = 0;
    }
  }

  private void judgeGaps(long now) {
    while (judgedGap < nextGap && now - ends[(int) (judgedGap % GAPS)] > AFTER_NANOS) {
      int gap = (int) (judgedGap % GAPS);
      boolean waitedEnough =
          known[gap] || waited[gap] >= Math.max(LEAST_WAITING, (after[gap] + 1) / 2);
      boolean real =
          after[gap] >= LEAST_AFTER
              && waitedEnough
              && ends[gap] - starts[gap] - stood[gap] >= GAP_NANOS;
      if (real) {
        judgedGap++;
      } else {
        removeGap(judgedGap);
      }
    }
    while (firstGap < judgedGap && now - ends[(int) (firstGap % GAPS)] > HISTORY_NANOS) {
      firstGap++;
    }
  }

  private void removeGap(long gap) {
    for (long i = gap; i + 1 < nextGap; i++) {
      int to = (int) (i % GAPS);
      int from = (int) ((i + 1) % GAPS);
      starts[to] = starts[from];
      ends[to] = ends[from];
      totals[to] = totals[from];
      stood[to] = stood[from];
      after[to] = after[from];
      waited[to] = waited[from];
      known[to] = known[from];
    }
    nextGap--;
  }

  private boolean judge(long now) {
    double equal = 0;
    if (inPhase()) {
      phaseAt = now;
      equal = equalCounts();
      if (equal > 0) {
        equalAt = now;
      }
    }
    double plateau = plateau();
    if (plateau > 0) {
      plateauAt = now;
    }
    double even = plateau > 0 ? plateau : equal;
    if (even > 0) {
      level = even;
      if (even >= (1 - QUOTA_PART) * quota && even <= (1 + QUOTA_PART) * quota) {
        quotaAt = now;
      }
    }
    return conclude(now);
  }

  private boolean conclude(long now) {
    signs.clear();
    note(Sign.PHASE, phaseAt, now);
    note(Sign.EQUAL, equalAt, now);
    note(Sign.PLATEAU, plateauAt, now);
    note(Sign.QUOTA, quotaAt, now);
    long peak = signs.isEmpty() ? 0 : peakSecond();
    boolean busy = quota == Double.POSITIVE_INFINITY || peak >= PEAK_PART * quota;
    Verdict verdict =
        signs.isEmpty()
            ? Verdict.NONE
            : signs.size() >= LIKELY_SIGNS && busy ? Verdict.LIKELY : Verdict.SUSPECTED;
    boolean changed = verdict != evidence.verdict();
    if (changed || !signs.equals(evidence.signs())) {
      evidence = evidenceOf(verdict, peak);
    }
    return changed;
  }

  private void note(Sign sign, long seenAt, long now) {
    if (seenAt != NEVER && now - seenAt <= HOLD_NANOS) {
      signs.add(sign);
    }
  }

  private Evidence evidenceOf(Verdict verdict, long peak) {
    long longest = 0;
    for (long i = firstGap; i < judgedGap; i++) {
      longest = Math.max(longest, ends[(int) (i % GAPS)] - starts[(int) (i % GAPS)]);
    }
    boolean even = signs.contains(Sign.PLATEAU) || signs.contains(Sign.EQUAL);
    return new Evidence(
        verdict,
        Set.copyOf(signs),
        (int) (judgedGap - firstGap),
        longest,
        even ? level : 0,
        peak,
        quota);
  }

  private boolean inPhase() {
    long count = judgedGap - firstGap;
    if (count < LEAST_GAPS) {
      return false;
    }
    double cos = 0;
    double sin = 0;
    for (long i = firstGap; i < judgedGap; i++) {
      double angle = 2 * Math.PI * Math.floorMod(ends[(int) (i % GAPS)], SECOND) / SECOND;
      cos += Math.cos(angle);
      sin += Math.sin(angle);
    }
    return Math.sqrt(cos * cos + sin * sin) / count > CONCENTRATED;
  }

  /** Returns what is served from end to end where that is equal; else 0. */
  private double equalCounts() {
    long least = Long.MAX_VALUE;
    long most = 0;
    long sum = 0;
    int pairs = 0;
    for (long i = firstGap; i + 1 < judgedGap; i++) {
      int from = (int) (i % GAPS);
      int to = (int) ((i + 1) % GAPS);
      if (ends[to] - ends[from] <= NEXT_END_NANOS) {
        long count = totals[to] - totals[from];
        least = Math.min(least, count);
        most = Math.max(most, count);
        sum += count;
        pairs++;
      }
    }
    return pairs >= LEAST_PAIRS && most - least <= EQUAL_PART * most ? (double) sum / pairs : 0;
  }

  /** Returns what is served a second where that is even and more is wanted; else 0. */
  private double plateau() {
    int windows = secondAgo(1) < FEW_A_SECOND ? WINDOWS_OF_FEW : WINDOWS;
    long least = Long.MAX_VALUE;
    long most = 0;
    long sum = 0;
    for (int i = 1; i <= windows; i++) {
      long count = secondAgo(i);
      if (count < 0) {
        return 0;
      }
      least = Math.min(least, count);
      most = Math.max(most, count);
      sum += count;
    }
    double mean = (double) sum / windows;
    boolean even = most >= LEAST_A_SECOND && most - least <= Math.max(2, PLATEAU_PART * most);
    return even && mean < OUR_PACE_PART * ourPace(windows) ? mean : 0;
  }

  /**
   * Returns what was served in one of the last whole seconds, from 1; -1 if not all was wanted in
   * it.
   */
  private long secondAgo(int which) {
    long count = 0;
    long newest = bucket - 1 - (which - 1L) * BUCKETS_A_SECOND;
    for (long i = newest; i > newest - BUCKETS_A_SECOND; i--) {
      if (i < 0 || !wanting[(int) (i % BUCKETS)]) {
        return -1;
      }
      count += served[(int) (i % BUCKETS)];
    }
    return count;
  }

  /** Returns what our own pacer has let pass a second in the last ones, while we did not stand. */
  private double ourPace(int seconds) {
    double least = Double.POSITIVE_INFINITY;
    long stood = 0;
    for (long i = bucket - 1; i >= bucket - (long) seconds * BUCKETS_A_SECOND; i--) {
      least = Math.min(least, paces[(int) (i % BUCKETS)]);
      stood += stoodStill[(int) (i % BUCKETS)];
    }
    return least * Math.max(0, 1 - (double) stood / (seconds * SECOND));
  }

  /** Returns what was served in the second that ended then. */
  private long secondBefore(long nanos) {
    long count = 0;
    long newest = Math.min(bucket, (nanos - originNanos) / BUCKET_NANOS);
    long oldest = Math.max(0, Math.max(bucket - BUCKETS, newest - BUCKETS_A_SECOND) + 1);
    for (long i = newest; i >= oldest; i--) {
      count += served[(int) (i % BUCKETS)];
    }
    return count;
  }

  private long peakSecond() {
    long peak = 0;
    long sum = 0;
    for (long i = Math.max(0, bucket - BUCKETS + 1); i <= bucket; i++) {
      sum += served[(int) (i % BUCKETS)];
      long gone = i - BUCKETS_A_SECOND;
      if (gone > bucket - BUCKETS && gone >= 0) {
        sum -= served[(int) (gone % BUCKETS)];
      }
      peak = Math.max(peak, sum);
    }
    return peak;
  }
}
