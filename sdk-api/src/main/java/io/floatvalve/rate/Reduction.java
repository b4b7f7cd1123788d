package io.floatvalve.rate;

import io.floatvalve.rate.ThrottleDetector.Evidence;
import io.floatvalve.rate.ThrottleDetector.Verdict;

/**
 * Which part of our limits to use while a broker throttles: less at once, more again slowly. Pure:
 * time comes in. Not thread-safe.
 *
 * <pre>
 * cut    to 0.9 of what the broker serves, where that is known, else to 0.7 of the part so far;
 *        never to more than 0.9 of the part so far, nor to less than 0.1
 * raise  by 0.02 a second, once nothing has spoken for throttling for five seconds
 * </pre>
 *
 * <ol>
 *   <li><b>A cut goes below what is served</b>, because at exactly that rate what waits at the
 *       broker goes on waiting, and the pause in which it could be seen that all is well again
 *       never comes.
 *   <li><b>It is not repeated for seven seconds</b>: what speaks for throttling must have been seen
 *       since. The verdict is held for five, and needs three to be found.
 *   <li><b>It is multiplied down and added up</b>, as in TCP (Chiu and Jain, 1989): several
 *       processes under one limit that each do this come to equal parts.
 *   <li><b>A suspicion alone</b> changes nothing: it neither cuts nor raises.
 * </ol>
 */
public final class Reduction {
  private static final long SECOND = 1_000_000_000;
  private static final double BELOW_SERVED = 0.9;
  private static final double CUT = 0.7;
  private static final double LEAST_CUT = 0.9;
  private static final double LEAST = 0.1;
  private static final double RAISE_A_SECOND = 0.02;
  private static final long CALM_NANOS = 5 * SECOND;
  private static final long CUT_EVERY_NANOS = 7 * SECOND;
  private static final long RAISE_EVERY_NANOS = SECOND;

  private double part = 1;
  private long cutNanos;
  private boolean wasCut;
  private long calmSince;
  private boolean calm;
  private long raisedNanos;

  /** Returns which part of the limits to use, from 0.1 to 1. */
  public double part() {
    return part;
  }

  /**
   * Lets a moment pass.
   *
   * @param nowNanos by a clock that only goes on
   * @param evidence what speaks for throttling now
   * @param limit what all of our limits would let pass a second; infinite if they let all
   * @return whether the part is another; after a cut the detector had better forget
   */
  public boolean next(long nowNanos, Evidence evidence, double limit) {
    if (evidence.verdict() != Verdict.NONE) {
      calm = false;
    } else if (!calm) {
      calm = true;
      calmSince = nowNanos;
      raisedNanos = nowNanos;
    }
    if (evidence.verdict() == Verdict.LIKELY) {
      return (!wasCut || nowNanos - cutNanos >= CUT_EVERY_NANOS) && cut(nowNanos, evidence, limit);
    }
    if (part == 1 || !calm || nowNanos - calmSince < CALM_NANOS) {
      raisedNanos = nowNanos;
      return false;
    }
    if (nowNanos - raisedNanos < RAISE_EVERY_NANOS) {
      return false;
    }
    raisedNanos = nowNanos;
    part = Math.min(1, part + RAISE_A_SECOND);
    return true;
  }

  private boolean cut(long nowNanos, Evidence evidence, double limit) {
    cutNanos = nowNanos;
    wasCut = true;
    double before = part;
    double wanted =
        evidence.perSecond() > 0 && limit < Double.POSITIVE_INFINITY
            ? BELOW_SERVED * evidence.perSecond() / limit
            : CUT * part;
    part = Math.max(LEAST, Math.min(LEAST_CUT * part, wanted));
    return part != before;
  }
}
