package io.floatvalve.publish;

import io.floatvalve.latency.LatencyRecorder;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.util.List;

/**
 * The latencies of a publisher, stage by stage: from <i>due</i>, when a message should have been
 * published, over queued and sent to its end. What is due late shows in the first alone; nothing is
 * corrected afterwards.
 */
final class PublishLatency {
  private final LatencyRecorder queuedSent = new LatencyRecorder("queued-sent");
  private final LatencyRecorder sentConfirmed = new LatencyRecorder("sent-confirmed");
  private final LatencyRecorder sentReturned = new LatencyRecorder("sent-returned");
  private final LatencyRecorder sentNacked = new LatencyRecorder("sent-nacked");
  private final LatencyRecorder sentUnknown = new LatencyRecorder("sent-unknown");
  private final LatencyRecorder dueConfirmed = new LatencyRecorder("due-confirmed");
  private final LatencyRecorder dueReturned = new LatencyRecorder("due-returned");
  private final LatencyRecorder dueNacked = new LatencyRecorder("due-nacked");
  private final LatencyRecorder dueUnknown = new LatencyRecorder("due-unknown");
  private final LatencyRecorder dueNotSent = new LatencyRecorder("due-notsent");
  private final List<LatencyRecorder> all =
      List.of(
          queuedSent,
          sentConfirmed,
          sentReturned,
          sentNacked,
          sentUnknown,
          dueConfirmed,
          dueReturned,
          dueNacked,
          dueUnknown,
          dueNotSent);

  private final List<LatencyRecorder> watched = List.of(queuedSent, sentConfirmed);

  /** Returns what was recorded so far of the stages that are looked at once a second. */
  LatencySnapshot watched() {
    return LatencyRecorder.snapshot(watched);
  }

  /** An attempt left the queue. By the one thread that sends. */
  void sent(long nanos) {
    queuedSent.recordAlone(nanos);
  }

  /** An attempt that was sent came to an end. Holds the publisher's lock. */
  void ended(Verdict verdict, long nanosSinceSent) {
    switch (verdict) {
      case CONFIRMED -> sentConfirmed.recordAlone(nanosSinceSent);
      case RETURNED -> sentReturned.recordAlone(nanosSinceSent);
      case NACKED -> sentNacked.recordAlone(nanosSinceSent);
      case UNKNOWN -> sentUnknown.recordAlone(nanosSinceSent);
      case NOT_SENT -> {}
    }
  }

  /** A message came to its end. Holds the publisher's lock. */
  void decided(Verdict verdict, long nanosSinceDue) {
    switch (verdict) {
      case CONFIRMED -> dueConfirmed.recordAlone(nanosSinceDue);
      case RETURNED -> dueReturned.recordAlone(nanosSinceDue);
      case NACKED -> dueNacked.recordAlone(nanosSinceDue);
      case UNKNOWN -> dueUnknown.recordAlone(nanosSinceDue);
      case NOT_SENT -> dueNotSent.recordAlone(nanosSinceDue);
    }
  }

  /**
   * Returns what was recorded so far.
   *
   * @param oldestNanos the age of the oldest message without an end; 0 if there is none
   */
  LatencySnapshot snapshot(long oldestNanos) {
    return LatencyRecorder.snapshot(all, oldestNanos);
  }
}
