package io.floatvalve.rate;

import io.floatvalve.rate.ThrottleDetector.Evidence;
import io.floatvalve.rate.ThrottleDetector.Sign;
import io.floatvalve.rate.ThrottleDetector.Verdict;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;

/** A broker and its client in virtual time, millisecond by millisecond, from a seed. */
final class ThrottledTrace {
  private static final long MILLI = 1_000_000;
  private static final int TICK_MILLIS = 20;

  /** What the broker does. */
  enum Model {
    /** It serves all that comes. */
    HEALTHY,
    /** It serves so much in each second of its clock, then nothing until the next. */
    WINDOWS,
    /** It serves at a rate, in lumps of 20 ms. */
    TOKENS,
    /** It stands still at random. */
    STALLS,
    /** It stands still once a second. */
    FSYNC,
    /** It serves as fast as it can, which is not the same all the time. */
    SATURATED
  }

  /** What stops the client, all threads of it. */
  enum Pauses {
    NONE,
    /** 30 to 400 ms, at random. */
    COLLECTOR,
    /** 200 ms, each second. */
    STOPPED
  }

  private final Random random;
  private final Model model;
  private final Pauses pauses;
  private final double offered; // a second; infinite for as much as the window holds
  private final double limit; // of windows and tokens, a second
  private final double pace; // of the client's own pacer
  private final int window;
  private final int roundTripMillis;
  private final ThrottleDetector detector = new ThrottleDetector(0, TICK_MILLIS * MILLI);

  private final Set<Sign> signs = EnumSet.noneOf(Sign.class);
  private Verdict worst = Verdict.NONE;
  private double perSecond;

  private final int phase;
  private int stalledUntil;
  private int nextStall;
  private int pausedUntil;
  private int nextPause;
  private double tokens;
  private int served;
  private double capacity = 12;
  private int stallMillis = 300;

  ThrottledTrace(
      long seed,
      Model model,
      Pauses pauses,
      double offered,
      double limit,
      double quota,
      double pace,
      int window,
      int roundTripMillis) {
    this.random = new Random(seed);
    this.model = model;
    this.pauses = pauses;
    this.offered = offered;
    this.limit = limit;
    this.pace = pace;
    this.window = window;
    this.roundTripMillis = roundTripMillis;
    this.phase = random.nextInt(1_000);
    detector.quota(quota);
    tokens = limit;
    served = model == Model.WINDOWS ? (int) limit : 0; // until its next second begins
    nextStall = random.nextInt(2_000);
    nextPause = random.nextInt(1_000);
  }

  ThrottledTrace stallsOf(int millis) {
    stallMillis = millis;
    return this;
  }

  Verdict worst() {
    return worst;
  }

  Set<Sign> signs() {
    return signs;
  }

  /** Returns the even rate that was seen last; 0 if none was. */
  double perSecond() {
    return perSecond;
  }

  /** Publishes for a time. */
  ThrottledTrace publish(int seconds) {
    Deque<Integer> inFlight = new ArrayDeque<>();
    double queued = 0;
    double paced = 0;
    int[] sent = new int[seconds * 1_000];
    int there = 0; // at the broker, long enough to be answered
    int answered = 0; // by the broker, unread while the client stands still
    int tick = 0;
    for (int t = 0; t < seconds * 1_000; t++) {
      boolean stands = stands(t);
      if (!stands) {
        queued = Double.isInfinite(offered) ? window * 2 : queued + arrivals(offered / 1_000);
        paced = Math.min(paced + pace / 1_000, Math.max(1, pace / 100));
        while (queued >= 1 && paced >= 1 && inFlight.size() < window) {
          inFlight.add(t);
          sent[t]++;
          queued--;
          paced--;
        }
      }
      there += t < roundTripMillis ? 0 : sent[t - roundTripMillis];
      answered += serve(t, there - answered);
      if (stands) {
        continue;
      }
      if (answered > 0) {
        long sum = 0;
        for (int i = 0; i < answered; i++) {
          sum += t - inFlight.remove();
        }
        there -= answered;
        detector.answered(
            t * MILLI + 1, answered, sum * MILLI / answered, inFlight.size() + (long) queued);
        answered = 0;
      }
      if (t >= tick) {
        tick = t + TICK_MILLIS + random.nextInt(3);
        long oldest = inFlight.isEmpty() ? 0 : (t - inFlight.peek()) * MILLI;
        boolean wanting = detector.isWanting(queued >= 1, inFlight.size(), oldest);
        look(detector.tick(t * MILLI + 2, true, wanting, pace));
      }
    }
    return this;
  }

  /**
   * Consumes for a time.
   *
   * @param once whether the producer sends all of a second at once
   */
  ThrottledTrace consume(int seconds, boolean once) {
    Deque<Integer> stored = new ArrayDeque<>();
    int arrived = 0;
    int tick = 0;
    for (int t = 0; t < seconds * 1_000; t++) {
      boolean stands = stands(t);
      double more = once ? ((t + phase) % 1_000 == 0 ? offered : 0) : arrivals(offered / 1_000);
      for (int i = 0; i < (int) more; i++) {
        stored.add(t);
      }
      arrived += serve(t, stored.size() - arrived);
      if (stands) {
        continue;
      }
      boolean late = false;
      for (; arrived > 0; arrived--) {
        int since = stored.remove();
        late = t - since > 1_000;
        detector.arrived(t * MILLI + 1, since * MILLI);
      }
      if (t >= tick) {
        tick = t + TICK_MILLIS + random.nextInt(3);
        look(detector.tick(t * MILLI + 2, true, late || !stored.isEmpty(), pace));
      }
    }
    return this;
  }

  private void look(boolean changed) {
    Evidence evidence = detector.evidence();
    if (evidence.verdict() != Verdict.NONE || changed) {
      signs.addAll(evidence.signs());
      perSecond = evidence.perSecond() > 0 ? evidence.perSecond() : perSecond;
      worst = evidence.verdict().compareTo(worst) > 0 ? evidence.verdict() : worst;
    }
  }

  private double arrivals(double mean) {
    int count = 0;
    for (double left = Math.exp(-mean), p = random.nextDouble(); p > left; count++) {
      p *= random.nextDouble();
    }
    return count;
  }

  private boolean stands(int t) {
    if (t >= pausedUntil && t >= nextPause) {
      switch (pauses) {
        case NONE -> nextPause = Integer.MAX_VALUE;
        case COLLECTOR -> {
          pausedUntil = t + 30 + random.nextInt(370);
          nextPause = pausedUntil + random.nextInt(2_000);
        }
        case STOPPED -> {
          pausedUntil = t + 200;
          nextPause = t + 1_000;
        }
      }
    }
    return t < pausedUntil;
  }

  /** Returns how many of those that wait the broker serves in this millisecond. */
  private int serve(int t, int waiting) {
    int least = Math.min(waiting, 20 + random.nextInt(20));
    return switch (model) {
      case HEALTHY -> least;
      case WINDOWS -> {
        if ((t + phase) % 1_000 == 0) {
          served = 0;
        }
        int now = (int) Math.min(least, limit - served);
        served += now;
        yield now;
      }
      case TOKENS -> {
        tokens = Math.min(tokens + limit / 1_000, limit);
        boolean due = served > 0 || tokens >= limit / 50;
        served = due ? (int) Math.min(waiting, tokens) : 0;
        tokens -= served;
        yield served;
      }
      case STALLS -> {
        if (t >= nextStall) {
          stalledUntil = t + 100 + random.nextInt(700);
          nextStall = stalledUntil + random.nextInt(3_000);
        }
        yield t < stalledUntil ? 0 : least;
      }
      case FSYNC -> (t + phase) % 1_000 < stallMillis ? 0 : Math.min(least, 6);
      case SATURATED -> {
        if (t % 100 == 0) {
          capacity = Math.max(4, Math.min(20, capacity + random.nextGaussian() * 1.5));
        }
        yield (int) Math.min(waiting, capacity * (0.5 + random.nextDouble()));
      }
    };
  }
}
