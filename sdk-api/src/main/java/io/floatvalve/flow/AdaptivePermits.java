package io.floatvalve.flow;

/**
 * Finds the least number of permits with which handlers never wait for the network.
 *
 * <p>Too many permits cost nothing that the consumer itself would notice: they take messages away
 * from its siblings and fill its heap. Too few cost throughput: at most {@code permits} messages
 * come in a round trip. So the number grows on evidence that handlers waited, and shrinks on
 * evidence that messages did.
 *
 * <ol>
 *   <li><b>Start</b> with 4: more than one, so that the first round trips overlap with work. Fewer
 *       where the budget does not hold as many messages of 1 MiB: their size is not known yet.
 *   <li><b>Grow</b> when a handler found nothing, and as many messages as there are permits were
 *       taken since the last change, within half a second. Without the count one pause would be
 *       taken for many; without the time a trickle of messages, which no number of permits makes
 *       faster, would raise the number for ever. The new number is what handlers do in 50 ms (rate
 *       of service × time, Little's law), but at least twice and at most 16 times the old one: the
 *       first bound finds a long round trip, the second mistrusts one short sample.
 *   <li><b>Beyond 4 ms of work it must have paid</b>: less is nothing that a sibling or the heap
 *       would feel. Handlers also find nothing where the broker or the machine can do no more, and
 *       no number of permits helps that. So the growth before must have raised the rate by half of
 *       what it could at best; then the next one, to twice the number, is on trial for as long as a
 *       slow broker needs to hear of it, and is taken back if it did not pay. After that nothing is
 *       tried for half a minute, unless the rate falls to half: then things have changed.
 *   <li><b>Only where it can pay</b>: the share of their time that handlers stood idle must be more
 *       than what the permits are of half a second of work. Where they are a hundredth of that, a
 *       hundredth of idle time is worth more of them; many slow handlers that end at the same time
 *       find nothing each time, lose next to nothing by it, and would hoard.
 *   <li><b>Before the first end</b> of a handler nothing is known of their speed: never more than
 *       there are handlers without a message.
 *   <li><b>Never above</b> what handlers do in half a second, whatever the evidence: what waits
 *       longer than that had better wait at the broker, where siblings can have it.
 *   <li><b>Shrink</b>, at a tick, when no handler found the queue empty since the last one and its
 *       least length was more than 50 ms of work: that surplus stood there without use, and goes.
 *   <li><b>No progress is no evidence</b>: while nothing is taken, nothing shrinks. A handler that
 *       hangs for seconds says nothing about the speed after it, and full speed is wanted at once.
 *       If what waits is given back meanwhile, the number is put aside, and holds again with the
 *       first message taken; unless they hang again before as many were taken.
 *   <li><b>Bytes</b>: never more than the budget holds of messages as large as the largest of late.
 *       If what waits is over the budget all the same, the least number until it is not.
 * </ol>
 *
 * <p>The queue's length may exceed the permits, because one permit can bring a batch; the number
 * then falls to the least, and not below.
 */
final class AdaptivePermits implements PermitLaw {
  private static final int START = 4;
  private static final double AHEAD_SECONDS = 0.05;
  private static final double LONGEST_SECONDS = 0.5;
  private static final double FREE_SECONDS = 0.004;
  private static final int ROUNDS = 4;
  private static final long LEAST_TRIAL_NANOS = 50_000_000L;
  private static final long LONGEST_TRIAL_NANOS = 1_500_000_000L;
  private static final long AGAIN_NANOS = 30_000_000_000L;
  private static final double PART_OF_BEST = 0.5;
  private static final double LEAST_GAIN = 0.1;
  private static final long EVIDENCE_NANOS = 500_000_000L;
  private static final double RATE_FALL = 0.3;
  private static final long NEVER = Long.MIN_VALUE / 2;

  private final PermitPolicy policy;
  private final int workers;
  private final SizePeak size = new SizePeak();
  private int permits;
  private double perSecond; // taken; rises at once, falls slowly
  private long takenAtChange;
  private long nanosAtChange;
  private long busyAtChange;
  private int triedFrom; // what there were before the growth that has to show its worth, or 0
  private double rateBefore; // taken a nanosecond, with those
  private double busyBefore; // the share of their time that handlers were busy, with those
  private long nanosAtTrial;
  private long heardNanos; // so long until a broker hears of another number
  private double refusedRate; // where a growth did not pay, or 0
  private long nanosAtRefusal;
  private int putAside; // what holds again after handlers were stuck, or 0
  private long takenAtStuck = NEVER;
  private long takenNow;
  private boolean begun;
  private long takenAtTick;
  private long nanosAtTick;
  private boolean ticked;

  AdaptivePermits(PermitPolicy policy, int workers) {
    this.policy = policy;
    this.workers = workers;
    int start = Math.min(START, SizePeak.fittingUnseen(policy.maxBytes()));
    this.permits = Math.max(policy.least(), Math.min(policy.most(), start));
  }

  @Override
  public int permits() {
    return permits;
  }

  @Override
  public int permits(int most, long bytes) {
    return Math.min(permits, size.fitting(bytes, most));
  }

  @Override
  public void taken(int bytes) {
    size.saw(bytes);
  }

  @Override
  public void heardAfter(long nanos) {
    heardNanos = nanos;
  }

  @Override
  public int ranEmpty(long nanos, long taken, int unsettled, long busyNanos, double handlerNanos) {
    takenNow = taken;
    if (!begun) {
      begun = true;
      nanosAtChange = nanos; // the time before the first message is no trickle
      busyAtChange = busyNanos;
    }
    if (putAside > 0 && taken > takenAtStuck) {
      permits = Math.max(permits, bounded(Math.min(putAside, longest(handlerNanos))));
      putAside = 0;
      evidenceFrom(nanos, taken, busyNanos);
      return permits;
    }
    if (taken - takenAtChange < permits) {
      if (nanos - nanosAtChange > EVIDENCE_NANOS) {
        evidenceFrom(nanos, taken, busyNanos);
      }
      return permits;
    }
    long since = nanos - nanosAtChange;
    boolean known = taken != unsettled; // how fast handlers are
    if (known && since < Math.min(2 * handlerNanos, EVIDENCE_NANOS / 2.0)) {
      return permits; // handlers that all began at once all end at once: that is no idleness
    }
    double free = known ? free(handlerNanos) : policy.most();
    if (permits >= free && !isLong(since, taken - takenAtChange)) {
      return permits; // too short to tell a rate by
    }
    if (since <= EVIDENCE_NANOS && pays(since, busyNanos - busyAtChange, handlerNanos)) {
      double rate = (taken - takenAtChange) / (double) Math.max(1, since);
      if (permits < free || mayTry(nanos, rate, free)) {
        double wanted = 2.0 * permits;
        if (!known) {
          wanted = Math.min(wanted, workers - unsettled);
        } else {
          double ahead = Math.min(16.0 * permits, served(AHEAD_SECONDS, handlerNanos));
          wanted = permits < free ? Math.min(free, Math.max(wanted, ahead)) : wanted;
          wanted = Math.min(wanted, longest(handlerNanos));
        }
        growTo(bounded(wanted), nanos, rate, busyShare(since, busyNanos - busyAtChange));
      }
    }
    evidenceFrom(nanos, taken, busyNanos);
    return permits;
  }

  private void growTo(int wanted, long nanos, double rate, double busy) {
    if (wanted > permits) {
      if (triedFrom == 0) { // else it is one growth in several steps
        triedFrom = permits;
        rateBefore = rate;
        busyBefore = busy;
      }
      nanosAtTrial = nanos;
      permits = wanted;
    }
  }

  /** Whether permits came round some times: a rate by less says where the time began and ended. */
  private boolean isLong(long nanos, long taken) {
    return nanos >= LEAST_TRIAL_NANOS
        && (taken >= ROUNDS * (long) permits || nanos >= EVIDENCE_NANOS / 2);
  }

  /** Whether there may be more than what is free, at this rate; takes back what did not pay. */
  private boolean mayTry(long nanos, double rate, double free) {
    if (triedFrom > 0) {
      if (nanosAtChange - nanosAtTrial < heardNanos) {
        return false; // this rate is in part due to the number before
      }
      if (rate < rateBefore * (1 + worthwhile())) {
        if (nanos - nanosAtTrial >= LONGEST_TRIAL_NANOS) {
          if (triedFrom >= free) {
            permits = triedFrom;
          }
          triedFrom = 0;
          refusedRate = rate;
          nanosAtRefusal = nanos;
        }
        return false;
      }
      triedFrom = 0;
      refusedRate = 0;
    }
    if (rate < refusedRate / 2) {
      refusedRate = 0; // things have changed, in the middle of this time: the next one tells
      return false;
    }
    return refusedRate == 0 || nanos - nanosAtRefusal >= AGAIN_NANOS;
  }

  /** Returns by which part of what it was the rate must have risen since the last growth. */
  private double worthwhile() {
    double best = (permits + workers) / (double) (triedFrom + workers);
    best = Math.min(best, 1 / busyBefore); // handlers can do no more than be busy all the time
    return Math.max(LEAST_GAIN, PART_OF_BEST * (best - 1));
  }

  private boolean pays(long nanos, long busyNanos, double handlerNanos) {
    if (nanos <= 0 || !(handlerNanos > 0)) {
      return true; // nothing is known that speaks against it
    }
    double idle = 1 - busyShare(nanos, busyNanos);
    return idle > permits / served(LONGEST_SECONDS, handlerNanos);
  }

  private double busyShare(long nanos, long busyNanos) {
    return busyNanos / ((double) Math.max(1, nanos) * workers);
  }

  @Override
  public int tick(Seen seen) {
    long nanos = seen.nanos() - nanosAtTick;
    long taken = seen.taken() - takenAtTick;
    boolean first = !ticked;
    ticked = true;
    nanosAtTick = seen.nanos();
    takenAtTick = seen.taken();
    takenNow = seen.taken();
    if (seen.waitingBytes() > policy.maxBytes()) {
      return shrinkTo(policy.least(), seen);
    }
    if (first || taken <= 0 || nanos <= 0) {
      return permits;
    }
    double rate = taken * 1e9 / nanos;
    perSecond = rate > perSecond ? rate : perSecond + (rate - perSecond) * RATE_FALL;
    int wanted = bounded(permits);
    if (!seen.ranEmpty() && seen.leastWaiting() > 0) {
      double surplus = seen.leastWaiting() - Math.ceil(perSecond * AHEAD_SECONDS);
      if (surplus > 0) {
        wanted = bounded(Math.min(wanted, permits - surplus));
      }
    }
    return shrinkTo(wanted, seen);
  }

  private int shrinkTo(int wanted, Seen seen) {
    if (wanted < permits) {
      permits = wanted;
      triedFrom = 0;
      // What came before tells nothing of fewer permits.
      evidenceFrom(seen.nanos(), seen.taken(), seen.busyNanos());
    }
    return permits;
  }

  @Override
  public int turnedSlow() {
    permits = policy.least();
    perSecond = 0;
    putAside = 0;
    triedFrom = 0;
    refusedRate = 0;
    return permits;
  }

  @Override
  public int stuck() {
    if (takenNow == takenAtStuck && putAside > 0) {
      return permits; // told again
    }
    int before = permits;
    boolean worked = takenNow - takenAtStuck >= before;
    int unused = turnedSlow();
    if (worked) {
      putAside = before;
    }
    takenAtStuck = takenNow;
    return permits;
  }

  private void evidenceFrom(long nanos, long taken, long busyNanos) {
    nanosAtChange = nanos;
    takenAtChange = taken;
    busyAtChange = busyNanos;
  }

  /** Returns the number that needs no proof of its worth. */
  private double free(double handlerNanos) {
    double served = served(FREE_SECONDS, handlerNanos);
    return served > 0 ? Math.max(START, Math.ceil(served)) : policy.most();
  }

  private double longest(double handlerNanos) {
    double served = served(LONGEST_SECONDS, handlerNanos);
    return served > 0 ? Math.ceil(served) : policy.most();
  }

  /** What all workers handle in a time, or 0 if that is not known. */
  private double served(double seconds, double handlerNanos) {
    return handlerNanos > 0 ? seconds * workers * 1e9 / handlerNanos : 0;
  }

  private int bounded(double wanted) {
    int fitting = size.fitting(policy.maxBytes(), policy.most());
    return (int) Math.max(policy.least(), Math.min(fitting, wanted));
  }
}
