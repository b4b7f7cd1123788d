package io.floatvalve.publish;

/**
 * Finds how many messages should be in flight: enough that the broker is never idle, and few more.
 * Pure: time comes in, the limit goes out. Not thread-safe.
 *
 * <p>With window {@code W}, rate {@code r} and confirm round trip {@code R}, Little's law says
 * {@code W = r R}. Let {@code B}, the base, be the round trip with nothing of ours waiting. Above
 * {@code r B} a larger window buys queueing alone, so the round trip tells how large it should be:
 *
 * <pre>
 *   target  T = B + 0.75 min(B, 60 ms) + min(1.5 ms + 65 / r, 12 ms)
 *   step    ln W += 0.5 clip(ln(T / R), -0.35, 0.7)      once a round, R its mean
 *   rest    W = r T
 * </pre>
 *
 * <ol>
 *   <li><b>The target</b> leaves a queue of three quarters of the base, because round trips vary
 *       with their length and because a broker that commits in groups looks like a long way, of
 *       which more in flight makes more. Beyond 60 ms no variation needs it. The queue never falls
 *       below 1.5 ms and the time of 65 messages, because brokers confirm in lumps of tens; at most
 *       12 ms of that, for slow brokers. A queue counted in messages also makes publishers equal:
 *       who has less of the rate gets the longer target. As in Vegas (Brakmo and Peterson, 1994)
 *       and Copa (Arun and Balakrishnan, 2018).
 *   <li><b>A round</b> ends when all that was in flight at its start is settled, and not before 10
 *       ms and 4 answers. Until the first round at rest each step is a whole one, so the window
 *       doubles.
 *   <li><b>Probe.</b> The base hides behind our own queue. So at each 700 ms of the clock the
 *       window goes down to a quarter of {@code r B} until what was in flight is settled and one
 *       round more; the base is what that round shows. The broker works on while its queue drains,
 *       so this costs little. It is BBR's PROBE_RTT (Cardwell et al., 2016). Publishers that share
 *       a clock probe together, so that none takes another's queue for its own base; BBR arrives at
 *       the same by itself. A single probe can be spoiled by a pause: a base rises only when two in
 *       a row say so. It falls with every round that is below it, and when it fell by a quarter the
 *       next probe follows at once.
 *   <li><b>What cannot be drained is base.</b> Beside a publisher with a large fixed window the
 *       probe shows the neighbour's queue. Taking that for base is what keeps our share, without a
 *       mode of its own as in Copa.
 *   <li><b>Check.</b> A round trip above twice the target for two rounds, or a window that came
 *       down by a third, may mean a longer way or a slower broker, with opposite answers. So the
 *       window is halved for one round. Two windows {@code W} and {@code qW} with round trips
 *       {@code R} and {@code R'} lie on a line whose end at no window is {@code (R' - q R) / (1 -
 *       q)}. Where that is at least half of {@code R'}, the way has become longer: it is the new
 *       base, to be probed in 200 ms, and the window is restored. Else the broker is slower, the
 *       window stays halved, and is halved again until it fits. The window never goes below a half
 *       on suspicion.
 *   <li><b>A pause or one slow answer</b> raises the mean of two rounds at most, and then the
 *       halved window shows that it is over: the window is restored.
 *   <li><b>Silence</b> ends a probe or a check: what is never answered must not fill a low window.
 *   <li><b>Who is the limit.</b> A round in which fewer than half of the answers found messages
 *       waiting to be sent, or the window was less than half used on average, changes nothing: the
 *       application was the limit. If it was less than a quarter used, nothing of ours waited at
 *       the broker, and the base follows the round trip.
 * </ol>
 */
final class AdaptiveWindow {
  private static final long MILLI = 1_000_000;
  private static final int START = 16;
  private static final int LEAST = 4; // below, one slow answer would hold up all others

  private static final double BASE_PART = 0.75;
  private static final double BASE_PART_OF_NANOS = 60 * MILLI;
  private static final double QUEUE_NANOS = 1.5 * MILLI;
  private static final double QUEUE_MESSAGES = 65;
  private static final double MOST_QUEUE_NANOS = 12 * MILLI;

  private static final double GAIN = 0.5;
  private static final double MOST_DOWN = -0.35;
  private static final double MOST_UP = 0.7;
  private static final double AT_REST = 0.35;

  private static final long ROUND_NANOS = 10 * MILLI;
  private static final long SHORT_ROUND_NANOS = 3 * MILLI;
  private static final long LONG_ROUND_NANOS = 100 * MILLI;
  private static final int ROUND_ANSWERS = 4;
  private static final long PROBE_EVERY_NANOS = 700 * MILLI;
  private static final long DOUBT_NANOS = 200 * MILLI;
  private static final double PROBE_PART = 0.25;
  private static final double CHECK_BELOW = 0.7;

  private enum Phase {
    /** The law holds. */
    STEADY,
    /** The window is low; what was in flight before has yet to be settled. */
    PROBE_DRAIN,
    /** The round that shows the base. */
    PROBE,
    /** The window is halved; what was in flight before has yet to be settled. */
    CHECK_DRAIN,
    /** The round that tells a longer way from a slower broker. */
    CHECK,
    /** The window is restored; what was sent before that tells nothing of it. */
    REFILL
  }

  private final int most;
  private final int least;
  private Phase phase = Phase.STEADY;
  private int limit;
  private double window;
  private double checkedWindow; // the largest since a check; one more below a part of it
  private double baseNanos = -1; // negative until the first answer
  private double lastProbeNanos;
  private double perNano; // messages, in the last round that the window held
  private boolean starting = true;
  private boolean held; // whether the window was the limit in the last round
  private int roundsAbove;
  private double suspectNanos; // the round trip that led to a check
  private long probeAt;
  private long answeredNanos;

  // of the round
  private long startNanos;
  private long endsAt; // how many must be settled
  private int answers;
  private int answersHeld;
  private long count;
  private double sumNanos;

  /**
   * Begins for a new link.
   *
   * @param most the largest limit, from 1
   */
  AdaptiveWindow(int most) {
    this.most = most;
    this.least = Math.min(LEAST, most);
    this.window = Math.min(START, most);
    this.checkedWindow = window;
    this.limit = (int) window;
  }

  /** Returns how many may be in flight, from 1. */
  int limit() {
    return limit;
  }

  /** Returns what the limit is but for moments, while it probes or checks; from 1. */
  int size() {
    return (int) Math.round(window);
  }

  /** Returns the round trip of a message that waits for none of ours; negative if not known. */
  double baseNanos() {
    return baseNanos;
  }

  /**
   * Learns of an answer that settled something.
   *
   * @param now by a clock that only goes on; publishers to one broker had better share it
   * @param settledNow how many it settled, from 1
   * @param roundTripNanos how long these were in flight, together
   * @param sent how many were sent on the link so far
   * @param settled how many of them are settled, these among them
   * @param waiting whether messages wait to be sent
   * @return {@link #limit()}
   */
  int answered(
      long now, int settledNow, double roundTripNanos, long sent, long settled, boolean waiting) {
    answeredNanos = now;
    if (baseNanos < 0) {
      baseNanos = roundTripNanos / settledNow;
      lastProbeNanos = baseNanos;
      probeAt = nextProbe(now);
      begin(Phase.STEADY, now, sent);
      return limit;
    }
    answers++;
    answersHeld += waiting ? 1 : 0;
    count += settledNow;
    sumNanos += roundTripNanos;
    if (phase == Phase.STEADY && held && roundsAbove == 0 && now - probeAt >= 0) {
      drain(Phase.PROBE_DRAIN, Math.min(window / 2, PROBE_PART * perNano * baseNanos), sent);
    }
    if (settled >= endsAt) {
      switch (phase) {
        case PROBE_DRAIN -> begin(Phase.PROBE, now, sent);
        case CHECK_DRAIN -> begin(Phase.CHECK, now, sent);
        case REFILL -> begin(Phase.STEADY, now, sent);
        case PROBE -> {
          if (over(now, SHORT_ROUND_NANOS)) {
            probed(now, sent);
          }
        }
        case CHECK -> {
          if (over(now, SHORT_ROUND_NANOS)) {
            checked(now, sent);
          }
        }
        case STEADY -> {
          if (over(now, ROUND_NANOS)) {
            steady(now, sent);
          }
        }
      }
    }
    return limit;
  }

  /**
   * Ends a probe or a check to which no answer comes: messages that are never answered fill a
   * lowered window. Called some times a second.
   *
   * @param now by the clock of {@link #answered}
   * @param sent how many were sent on the link so far
   * @return {@link #limit()}
   */
  int tick(long now, long sent) {
    if (phase != Phase.STEADY
        && phase != Phase.REFILL
        && now - answeredNanos > Math.max(LONG_ROUND_NANOS, 2 * targetNanos())) {
      probeAt = nextProbe(now);
      restore(now, sent);
    }
    return limit;
  }

  private boolean over(long now, long leastNanos) {
    long nanos = now - startNanos;
    return nanos >= leastNanos && (answers >= ROUND_ANSWERS || nanos >= LONG_ROUND_NANOS);
  }

  private void steady(long now, long sent) {
    double roundTrip = sumNanos / count;
    double nanos = now - startNanos;
    double use = sumNanos / (nanos * limit);
    held = use >= 0.5 && answersHeld * 2 >= answers;
    if (roundTrip < baseNanos) {
      baseNanos = roundTrip;
    } else if (use < 0.25) {
      baseNanos += (roundTrip - baseNanos) / 4;
      lastProbeNanos = baseNanos;
    }
    if (!held) {
      roundsAbove = 0;
      begin(Phase.STEADY, now, sent);
      return;
    }
    perNano = count / nanos;
    double target = targetNanos();
    if (roundTrip > 2 * target && limit > least) {
      starting = false;
      if (++roundsAbove == 2) {
        check(roundTrip, sent);
      } else {
        begin(Phase.STEADY, now, sent);
      }
      return;
    }
    roundsAbove = 0;
    double error = Math.log(target / roundTrip);
    starting &= error > AT_REST;
    double step = starting ? error : GAIN * Math.max(MOST_DOWN, error);
    window = bounded(window * Math.exp(Math.min(starting ? MOST_UP : GAIN * MOST_UP, step)));
    checkedWindow = Math.max(checkedWindow, window);
    if (window < CHECK_BELOW * checkedWindow) {
      check(roundTrip, sent);
    } else {
      limit = (int) Math.round(window);
      begin(Phase.STEADY, now, sent);
    }
  }

  private void check(double roundTrip, long sent) {
    suspectNanos = roundTrip;
    drain(Phase.CHECK_DRAIN, window / 2, sent);
  }

  private void checked(long now, long sent) {
    double roundTrip = sumNanos / count;
    double part = limit / window;
    double way = part < 1 ? (roundTrip - part * suspectNanos) / (1 - part) : 0;
    if (roundTrip > targetNanos()) {
      if (way > Math.max(baseNanos, roundTrip / 2)) {
        baseNanos = way;
        lastProbeNanos = way;
        probeAt = Math.min(probeAt, now + DOUBT_NANOS);
      } else {
        window = limit;
        if (roundTrip > 2 * targetNanos() && limit > least) {
          check(roundTrip, sent);
          return;
        }
      }
    }
    restore(now, sent);
  }

  private void probed(long now, long sent) {
    double roundTrip = sumNanos / count;
    double base = Math.min(roundTrip, Math.max(baseNanos, lastProbeNanos));
    probeAt = base < 0.75 * baseNanos ? now : nextProbe(now);
    baseNanos = base;
    lastProbeNanos = roundTrip;
    restore(now, sent);
  }

  private void restore(long now, long sent) {
    roundsAbove = 0;
    checkedWindow = window;
    limit = (int) Math.round(window);
    begin(Phase.REFILL, now, sent);
  }

  /** Returns the round trip that the window is to bring about. */
  double targetNanos() {
    double queue = perNano > 0 ? QUEUE_NANOS + QUEUE_MESSAGES / perNano : MOST_QUEUE_NANOS;
    return baseNanos
        + BASE_PART * Math.min(BASE_PART_OF_NANOS, baseNanos)
        + Math.min(MOST_QUEUE_NANOS, queue);
  }

  private double bounded(double wanted) {
    return Math.max(least, Math.min(most, wanted));
  }

  /** Lowers the limit for a while; a phase begins that ends when what is in flight is settled. */
  private void drain(Phase next, double lowered, long sent) {
    phase = next;
    limit = (int) bounded(lowered);
    endsAt = sent;
  }

  private void begin(Phase next, long now, long sent) {
    phase = next;
    startNanos = now;
    endsAt = sent;
    answers = 0;
    answersHeld = 0;
    count = 0;
    sumNanos = 0;
  }

  private static long nextProbe(long now) {
    return (Math.floorDiv(now, PROBE_EVERY_NANOS) + 1) * PROBE_EVERY_NANOS;
  }
}
