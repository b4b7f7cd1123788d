package io.floatvalve.consume;

import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.ConsumerSnapshot;
import io.floatvalve.explain.ConsumerSnapshot.Held;
import io.floatvalve.explain.ConsumerSnapshot.Here;
import io.floatvalve.explain.ConsumerSnapshot.Limits;
import io.floatvalve.explain.ConsumerSnapshot.Recent;
import io.floatvalve.explain.ConsumerSnapshot.Since;
import io.floatvalve.explain.Peaks;
import io.floatvalve.explain.Throttle;
import io.floatvalve.explain.Timing;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.publish.LastSeconds;
import io.floatvalve.publish.Standstill;
import io.floatvalve.spi.ReceiveLink.Observation;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Remembers the last seconds of a consumer, so that they can be explained, and notices when it gets
 * no further. It reads what is counted anyway, as often as the consumer is looked after: a message
 * costs it nothing.
 *
 * <p>Guarded by itself; takes the reception's lock inside, for moments.
 */
final class ConsumeWatch {
  /**
   * What was counted by some moment.
   *
   * @param nanos when
   * @param taken messages taken
   * @param settled messages that came to an end
   * @param again of those taken, delivered or handled before, but for what was given back here
   * @param retried copies for a retry, and retries in place
   * @param rejected messages rejected
   * @param duplicates messages dropped as duplicates
   * @param copiesFailed copies not confirmed
   * @param keyless of those taken, without the key that their order depends on
   * @param busyNanos how long handlers were at work
   * @param parked messages parked
   * @param inHandlers messages with handlers
   * @param settling messages of which a copy is on its way
   * @param unsettledBytes their payloads
   * @param ranEmpty whether nothing was there to be taken since the last tick
   * @param refusedNanos when a caller was refused as too many were out; 0 for never
   */
  record Counts(
      long nanos,
      long taken,
      long settled,
      long again,
      long retried,
      long rejected,
      long duplicates,
      long copiesFailed,
      long keyless,
      long busyNanos,
      int parked,
      int inHandlers,
      int settling,
      long unsettledBytes,
      boolean ranEmpty,
      long refusedNanos) {}

  private record Sample(Counts counts, long arrived, long broken, LatencySnapshot latencies) {}

  private final Reception of;
  private final long stallNanos;
  private final LastSeconds<Sample> samples;
  private final Standstill standstill = new Standstill();
  private Counts last;
  private long epoch;
  private long receivedByLink;
  private long arrived;
  private long broken; // by the link in use
  private long openedNanos;
  private long takenNanos;
  private long arrivedNanos;
  private long settledNanos;
  private long emptyNanos;
  private boolean connected;

  /** Begins to watch; nothing is remembered yet. */
  ConsumeWatch(Reception of, Duration stallWarning, long now) {
    this.of = of;
    this.stallNanos = stallWarning.toNanos();
    openedNanos = now;
    takenNanos = now;
    arrivedNanos = now;
    settledNanos = now;
    emptyNanos = now;
    last = new Counts(now, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, true, 0);
    samples = new LastSeconds<>(now, new Sample(last, 0, 0, LatencySnapshot.empty()));
  }

  /**
   * Looks at it. By the loop, some 20 times a second while messages flow, else once.
   *
   * @param seen what its link shows, or null without one
   * @return how long there has been no progress if that is to be told now, else zero
   */
  synchronized Duration tick(
      long now, @Nullable Incarnation by, @Nullable Observation seen, boolean running) {
    Counts counts = of.counts(now);
    note(now, counts, by, seen);
    if (samples.isDue(now)) {
      Sample newest = samples.newest();
      boolean same = counts.taken == newest.counts.taken && counts.settled == newest.counts.settled;
      samples.add(now, new Sample(counts, arrived, broken, same ? newest.latencies : of.watched()));
    }
    if (!running) {
      long unused = standstill.at(now, 0, false);
    }
    return standstill.toTell(now, stallNanos, of.longestPause(now));
  }

  private void note(long now, Counts counts, @Nullable Incarnation by, @Nullable Observation seen) {
    boolean up = by != null && by.isConnected();
    long link = by == null ? epoch : by.epoch;
    if (up && (!connected || link != epoch)) {
      openedNanos = now;
    }
    connected = up;
    if (link != epoch) {
      epoch = link;
      receivedByLink = 0;
      broken = 0;
    }
    if (seen != null) {
      broken = seen.broken();
    }
    if (seen != null && seen.received() != receivedByLink) {
      arrived += Math.max(0, seen.received() - receivedByLink);
      receivedByLink = seen.received();
      arrivedNanos = now;
    }
    if (counts.taken != last.taken) {
      takenNanos = now;
    }
    if (counts.settled != last.settled) {
      settledNanos = now;
    }
    boolean empty = seen == null || seen.waiting() == 0 || counts.ranEmpty;
    if (empty && counts.parked == 0) {
      emptyNanos = now;
    }
    boolean waits = counts.parked > 0 || (seen != null && seen.waiting() > 0);
    boolean work = waits || counts.inHandlers > 0 || counts.settling > 0;
    long unused = standstill.at(now, counts.taken + counts.settled, work);
    last = counts;
  }

  /** Returns all that is known, now. */
  synchronized ConsumerSnapshot snapshot(
      long now,
      String who,
      String broker,
      ConsumerSnapshot.State state,
      Limits limits,
      @Nullable Incarnation by,
      @Nullable Observation seen,
      long reopened,
      String lastLoss,
      Throttle throttle,
      @Nullable Peaks peaks,
      @Nullable BrokerView view) {
    Counts counts = of.counts(now);
    note(now, counts, by, seen);
    LatencySnapshot ever = of.watched();
    Sample base = samples.base(now);
    LatencySnapshot late = ever.since(base.latencies);
    Timing handlingEver = Timing.of(ever, "started-handled");
    Duration held = ConsumerSnapshot.heldLimit(handlingEver, limits.handlerWarning());
    Held kept = of.heldFor(now, held);
    long nanos = Math.max(1, now - base.counts.nanos);
    Timing age = Timing.of(late, "stored-arrived");
    return new ConsumerSnapshot(
        who,
        broker,
        state,
        limits,
        here(counts, by, seen, reopened, lastLoss, now),
        new Since(
            since(now, openedNanos),
            since(now, takenNanos),
            since(now, arrivedNanos),
            since(now, settledNanos),
            since(now, emptyNanos)),
        new Recent(
            Duration.ofNanos(nanos),
            arrived - base.arrived,
            counts.taken - base.counts.taken,
            counts.settled - base.counts.settled,
            Math.max(0, counts.again - base.counts.again),
            counts.retried - base.counts.retried,
            counts.rejected - base.counts.rejected,
            counts.duplicates - base.counts.duplicates,
            counts.copiesFailed - base.counts.copiesFailed,
            Math.max(0, broken - base.broken),
            counts.keyless - base.counts.keyless,
            busy(base.counts, counts, limits.slots()),
            Timing.of(late, "started-handled"),
            Timing.of(ever.since(samples.lately(now).latencies), "started-handled"),
            Timing.of(late, "arrived-started"),
            age.count() > 0 ? age : Timing.of(late, "published-arrived")),
        Timing.of(base.latencies, "started-handled"),
        handlingEver,
        kept,
        Duration.ofNanos(of.longestPause(now)),
        throttle,
        peaks,
        view);
  }

  private static Here here(
      Counts counts,
      @Nullable Incarnation by,
      @Nullable Observation seen,
      long reopened,
      String lastLoss,
      long now) {
    boolean refusing = counts.refusedNanos != 0 && LastSeconds.isRecent(now, counts.refusedNanos);
    return new Here(
        seen == null ? 0 : seen.window(),
        seen == null ? 0 : seen.outstanding(),
        seen == null ? 0 : seen.unsent(),
        counts.parked + (seen == null ? 0 : seen.waiting()),
        seen == null ? 0 : seen.waitingBytes(),
        counts.parked,
        counts.inHandlers,
        counts.settling,
        counts.unsettledBytes,
        seen == null ? -1 : seen.partlyAcked(),
        by == null ? 0 : by.epoch,
        reopened,
        lastLoss,
        refusing);
  }

  private static double busy(Counts from, Counts to, int slots) {
    double most = (double) Math.max(1, to.nanos - from.nanos) * slots;
    return Math.min(1, (to.busyNanos - from.busyNanos) / most);
  }

  private static Duration since(long now, long then) {
    return Duration.ofNanos(Math.max(0, now - then));
  }
}
