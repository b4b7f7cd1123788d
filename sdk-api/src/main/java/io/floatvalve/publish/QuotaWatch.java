package io.floatvalve.publish;

import io.floatvalve.event.Event;
import io.floatvalve.explain.Peaks;
import io.floatvalve.explain.Throttle;
import io.floatvalve.rate.BrokersWord;
import io.floatvalve.rate.PeakSecond;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.OnThrottling;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.rate.ThrottleDetector;
import io.floatvalve.rate.ThrottleDetector.Evidence;
import io.floatvalve.rate.ThrottleDetector.Verdict;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What one publisher or consumer sees of its quotas: the busiest second, throttling, and what is to
 * be told of both. Not thread-safe: its owner's lock guards it. The engine's; applications do not
 * call it.
 */
public final class QuotaWatch {
  private static final long SECOND = 1_000_000_000;
  private static final long LOOK_NANOS = SECOND / 10;
  private static final long WARN_AGAIN_NANOS = 60 * SECOND;
  private static final long WARN_AFTER_NANOS = 5 * SECOND;
  private static final long SAID_NANOS = 10 * SECOND;

  private final String who;
  private final Kind kind;
  private final @Nullable QuotaPolicy policy;
  private final PeakSecond messages;
  private final PeakSecond bytes;
  private final Warning messageWarning;
  private final Warning byteWarning;
  private final ThrottleDetector detector;

  private long lookedNanos;
  private double pace = Double.POSITIVE_INFINITY; // what our limits let pass a second, unreduced
  private double part = 1;
  private boolean paced;
  private long pacedSince;
  private long heldNanos;
  private boolean wasHeld;
  private long countedHeldFrom;
  private long heldUntil;
  private long heldForNanos;
  private long refused;
  private long refusedTold;
  private long refusedToldNanos;
  private long stripped;
  private long strippedTold;
  private long strippedToldNanos;
  private @Nullable String word; // of the broker's, not told yet
  private String said = ""; // the last of them
  private long saidNanos;
  private long wordToldNanos;

  /**
   * Begins with nothing seen.
   *
   * @param policy the quotas, or null for none
   * @param nowNanos by the clock of all later calls
   * @param tickNanos how often {@link #tick} is to be called
   */
  public QuotaWatch(
      String who, Kind kind, @Nullable QuotaPolicy policy, long nowNanos, long tickNanos) {
    this.who = who;
    this.kind = kind;
    this.policy = policy;
    this.messages = new PeakSecond(nowNanos);
    this.bytes = new PeakSecond(nowNanos);
    this.messageWarning = new Warning(messages, false, nowNanos);
    this.byteWarning = new Warning(bytes, true, nowNanos);
    this.detector = new ThrottleDetector(nowNanos, tickNanos);
    this.countedHeldFrom = nowNanos;
    this.heldUntil = nowNanos;
    this.lookedNanos = nowNanos - LOOK_NANOS;
    this.refusedToldNanos = nowNanos - SECOND;
    this.strippedToldNanos = nowNanos - SECOND;
    this.wordToldNanos = nowNanos - SECOND;
    learnQuotas();
  }

  /** Returns what judges the broker; answers and arrivals are told to it. */
  public ThrottleDetector detector() {
    return detector;
  }

  /** Notes what went through; allocates nothing. */
  public void passed(long nowNanos, int cost, long size) {
    messages.add(nowNanos, cost);
    bytes.add(nowNanos, size);
  }

  /**
   * Notes that a quota holds the next message.
   *
   * @param waitNanos for how long, from now on
   */
  public void held(long nowNanos, long waitNanos) {
    heldNanos = nowNanos;
    wasHeld = true;
    countHeld(nowNanos);
    countedHeldFrom = nowNanos;
    heldUntil = nowNanos + waitNanos;
  }

  private void countHeld(long nowNanos) {
    long end = Math.min(nowNanos, heldUntil);
    if (end > countedHeldFrom) {
      heldForNanos += end - countedHeldFrom;
      countedHeldFrom = end;
    }
  }

  /** Notes a publish that was not sent because of a quota. */
  public void refused() {
    refused++;
  }

  /** Notes a message that was sent without its delay. */
  public void stripped() {
    stripped++;
  }

  /** Hears what the broker said; it is told if it means a limit. */
  public void heard(@Nullable String words) {
    if (words != null && word == null && BrokersWord.isLimit(words)) {
      word = words;
    }
  }

  /** Returns how it stands. */
  public Usage usage(long nowNanos) {
    countHeld(nowNanos);
    return new Usage(
        messages.reading(nowNanos),
        bytes.reading(nowNanos),
        detector.evidence(),
        Duration.ofNanos(heldForNanos),
        refused,
        stripped);
  }

  /**
   * Returns what is to be explained of the broker's holding us back: what it said of late, what is
   * likely, or, of a publisher, what is suspected. A consumer's suspicion is an event and no more:
   * whatever feeds it evenly looks the same.
   */
  public Throttle throttle(long nowNanos) {
    if (!said.isEmpty() && nowNanos - saidNanos < SAID_NANOS) {
      return new Throttle(Throttle.Level.CONFIRMED, said);
    }
    Evidence seen = detector.evidence();
    if (seen.verdict() == Verdict.LIKELY) {
      return new Throttle(Throttle.Level.LIKELY, verdict(seen).what());
    }
    return seen.verdict() == Verdict.SUSPECTED && kind == Kind.PUBLISH
        ? new Throttle(Throttle.Level.SUSPECTED, verdict(seen).what())
        : Throttle.NONE;
  }

  /** Returns the busiest second beside the quota that it comes closest to; null without quotas. */
  public @Nullable Peaks peaks(long nowNanos) {
    PeakSecond.Reading count = messages.reading(nowNanos);
    PeakSecond.Reading size = bytes.reading(nowNanos);
    boolean ofBytes = size.peakOfQuota() > count.peakOfQuota() || Double.isInfinite(count.quota());
    PeakSecond.Reading nearest = ofBytes ? size : count;
    return Double.isInfinite(nearest.quota())
        ? null
        : new Peaks(
            (kind == Kind.CONSUME ? "consume, " : "publish, ") + (ofBytes ? "bytes" : "messages"),
            nearest.peak(),
            nearest.average(),
            nearest.quota());
  }

  /**
   * Lets a moment pass; see {@link ThrottleDetector#tick}.
   *
   * @return what is to be told, once the lock is free; mostly nothing
   */
  public List<Event> tick(long nowNanos, boolean able, boolean wanting) {
    boolean changed = detector.tick(nowNanos, able, wanting, pace * part);
    if (!changed && nowNanos - lookedNanos < LOOK_NANOS) {
      return List.of();
    }
    lookedNanos = nowNanos;
    learnQuotas();
    List<Event> told = new ArrayList<>(0);
    if (changed) {
      told.add(verdict(detector.evidence()));
    }
    pacing(nowNanos, told);
    messageWarning.look(nowNanos, told);
    byteWarning.look(nowNanos, told);
    if (refused > refusedTold && nowNanos - refusedToldNanos >= SECOND) {
      told.add(new Event.LocalLimitExceeded(Instant.now(), who, refused - refusedTold));
      refusedTold = refused;
      refusedToldNanos = nowNanos;
    }
    if (stripped > strippedTold && nowNanos - strippedToldNanos >= SECOND) {
      told.add(new Event.DelayStripped(Instant.now(), who, stripped - strippedTold));
      strippedTold = stripped;
      strippedToldNanos = nowNanos;
    }
    String heard = word;
    if (heard != null && nowNanos - wordToldNanos >= SECOND) {
      told.add(new Event.ThrottlingConfirmed(Instant.now(), who, heard));
      said = heard;
      saidNanos = nowNanos;
      word = null;
      wordToldNanos = nowNanos;
    }
    reduce(nowNanos, told);
    return told;
  }

  private void reduce(long nowNanos, List<Event> told) {
    QuotaPolicy by = policy;
    if (by == null) {
      return;
    }
    double before = part;
    part = by.pacer().part(kind);
    if (by.inForce().onThrottling() == OnThrottling.REDUCE) {
      part = by.pacer().reduce(kind, nowNanos, detector.evidence(), pace);
    }
    if (part != before) {
      if (part < before) {
        detector.forget();
      }
      told.add(new Event.RateChanged(Instant.now(), who, before, part));
    }
  }

  private Event verdict(Evidence seen) {
    if (seen.verdict() == Verdict.NONE) {
      return new Event.ThrottlingEnded(Instant.now(), who);
    }
    Set<String> signs = seen.signs().stream().map(Enum::name).collect(Collectors.toSet());
    return new Event.ThrottlingSuspected(
        Instant.now(),
        who,
        seen.verdict() == Verdict.LIKELY,
        signs,
        seen.gaps(),
        Duration.ofNanos(seen.longestGapNanos()),
        seen.perSecond(),
        seen.peakSecond(),
        seen.quota());
  }

  private void pacing(long nowNanos, List<Event> told) {
    boolean now = wasHeld && nowNanos - heldNanos < SECOND;
    if (now && !paced) {
      pacedSince = heldNanos;
      told.add(new Event.PacingStarted(Instant.now(), who));
    } else if (!now && paced) {
      told.add(new Event.PacingEnded(Instant.now(), who, Duration.ofNanos(heldNanos - pacedSince)));
    }
    paced = now;
  }

  private void learnQuotas() {
    QuotaPolicy by = policy == null ? null : policy.inForce();
    double most = Double.POSITIVE_INFINITY;
    double mostBytes = Double.POSITIVE_INFINITY;
    double share = 1;
    double headroom = 1;
    if (by != null) {
      share = by.share();
      headroom = by.headroom();
      for (Scope scope : Scope.values()) {
        Quota quota = by.quota(kind, scope);
        most = least(most, quota.messagesPerSecond());
        mostBytes = least(mostBytes, quota.bytesPerSecond());
      }
      messageWarning.from = by.warnAt();
      byteWarning.from = by.warnAt();
    }
    messages.quota(most * share);
    bytes.quota(mostBytes * share);
    messageWarning.quota = most * share;
    byteWarning.quota = mostBytes * share;
    detector.quota(most * share);
    pace = most * share * headroom;
  }

  private static double least(double known, OptionalLong other) {
    return other.isPresent() ? Math.min(known, (double) other.getAsLong()) : known;
  }

  /** When to warn of a quota. */
  private final class Warning {
    private final PeakSecond peaks;
    private final boolean ofBytes;
    private double quota = Double.POSITIVE_INFINITY;
    private double from = 1;
    private boolean told;
    private long toldNanos;
    private long nearNanos;

    private Warning(PeakSecond peaks, boolean ofBytes, long nowNanos) {
      this.peaks = peaks;
      this.ofBytes = ofBytes;
      this.nearNanos = nowNanos;
    }

    private void look(long nowNanos, List<Event> events) {
      long second = peaks.lastSecond(nowNanos);
      if (second < from * quota) {
        told &= nowNanos - nearNanos < WARN_AFTER_NANOS;
        return;
      }
      nearNanos = nowNanos;
      if (!told || nowNanos - toldNanos >= WARN_AGAIN_NANOS) {
        told = true;
        toldNanos = nowNanos;
        double average = peaks.reading(nowNanos).average();
        events.add(new Event.QuotaWarning(Instant.now(), who, second, average, quota, ofBytes));
      }
    }
  }
}
