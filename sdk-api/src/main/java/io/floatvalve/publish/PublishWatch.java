package io.floatvalve.publish;

import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.Peaks;
import io.floatvalve.explain.PublisherSnapshot;
import io.floatvalve.explain.PublisherSnapshot.Here;
import io.floatvalve.explain.PublisherSnapshot.Recent;
import io.floatvalve.explain.PublisherSnapshot.Since;
import io.floatvalve.explain.Throttle;
import io.floatvalve.explain.Timing;
import io.floatvalve.latency.LatencySnapshot;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Remembers the last seconds of a publisher, so that they can be explained, and notices when it
 * gets no further. It reads what is counted anyway, as often as the timer ticks: a message costs it
 * nothing. Guarded by itself.
 */
final class PublishWatch {
  /**
   * What was counted by some moment, and what there was then.
   *
   * @param nanos when
   * @param confirmed messages confirmed
   * @param refused messages returned or nacked
   * @param unknown messages whose fate is not known
   * @param notSent messages never sent
   * @param answers answers of any kind, late ones too
   * @param pressed whether there was more to send than the window let out
   * @param work whether something waited to be sent or for an answer
   * @param linkedNanos when the link was opened
   */
  record Counts(
      long nanos,
      long confirmed,
      long refused,
      long unknown,
      long notSent,
      long answers,
      boolean pressed,
      boolean work,
      long linkedNanos) {}

  private record Sample(Counts counts, LatencySnapshot latencies) {}

  private final PublishLatency latency;
  private final long stallNanos;
  private final LastSeconds<Sample> samples;
  private final Standstill standstill = new Standstill();
  private Counts last;
  private long answeredNanos;
  private long unpressedNanos;

  PublishWatch(PublishLatency latency, Duration stallWarning, long now) {
    this.latency = latency;
    this.stallNanos = stallWarning.toNanos();
    answeredNanos = now;
    unpressedNanos = now;
    last = new Counts(now, 0, 0, 0, 0, 0, false, false, now);
    samples = new LastSeconds<>(now, new Sample(last, LatencySnapshot.empty()));
  }

  /**
   * Looks at it. By the timer.
   *
   * @return how long there has been no progress if that is to be told now, else zero
   */
  synchronized Duration tick(Counts counts, long longestPause) {
    note(counts);
    if (samples.isDue(counts.nanos)) {
      Sample newest = samples.newest();
      boolean same = counts.answers == newest.counts.answers;
      samples.add(counts.nanos, new Sample(counts, same ? newest.latencies : latency.watched()));
    }
    return standstill.toTell(counts.nanos, stallNanos, longestPause);
  }

  private void note(Counts counts) {
    if (counts.answers != last.answers) {
      answeredNanos = counts.nanos;
    }
    if (!counts.pressed) {
      unpressedNanos = counts.nanos;
    }
    long unused = standstill.at(counts.nanos, counts.answers, counts.work);
    last = counts;
  }

  /** Returns all that is known, now. */
  synchronized PublisherSnapshot snapshot(
      Counts counts,
      String who,
      String broker,
      PublisherSnapshot.State state,
      Here here,
      Duration blocked,
      long longestPause,
      Throttle throttle,
      @Nullable Peaks peaks,
      @Nullable BrokerView view) {
    note(counts);
    long now = counts.nanos;
    Sample base = samples.base(now);
    LatencySnapshot ever = latency.watched();
    LatencySnapshot late = ever.since(base.latencies);
    return new PublisherSnapshot(
        who,
        broker,
        state,
        here,
        new Since(
            since(now, counts.linkedNanos),
            since(now, answeredNanos),
            blocked,
            since(now, unpressedNanos)),
        new Recent(
            since(now, base.counts.nanos),
            counts.confirmed - base.counts.confirmed,
            counts.refused - base.counts.refused,
            counts.unknown - base.counts.unknown,
            counts.notSent - base.counts.notSent,
            Timing.of(late, "sent-confirmed"),
            Timing.of(late, "queued-sent")),
        Timing.of(ever, "sent-confirmed"),
        Duration.ofNanos(longestPause),
        throttle,
        peaks,
        view);
  }

  private static Duration since(long now, long then) {
    return Duration.ofNanos(Math.max(0, now - then));
  }
}
