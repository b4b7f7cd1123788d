package io.floatvalve.explain;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a publisher at one moment: all that the rules look at.
 *
 * @param who the publisher, in words
 * @param broker what and where its broker is; no secret
 * @param state what it does
 * @param here what there is now
 * @param since how long ago things last happened
 * @param recent what happened in the last seconds
 * @param confirmEver how long confirms took since it was opened
 * @param longestPause the longest time this process stood still in the last seconds, as a timer
 *     noticed; zero if it did not
 * @param throttle what the rhythm of confirms says
 * @param peaks the busiest second beside the quota, or null without a quota
 * @param view what the broker says, or null where nobody asked it
 */
public record PublisherSnapshot(
    String who,
    String broker,
    State state,
    Here here,
    Since since,
    Recent recent,
    Timing confirmEver,
    Duration longestPause,
    Throttle throttle,
    @Nullable Peaks peaks,
    @Nullable BrokerView view) {

  /** What a publisher does. */
  public enum State {
    /** It sends. */
    OPEN,
    /** The broker has blocked the connection. */
    BLOCKED,
    /** It has no link. */
    RECOVERING,
    /** It takes no more, or is closed. */
    ENDING
  }

  /**
   * What there is now.
   *
   * @param queued messages that wait to be sent
   * @param maxQueued how many may
   * @param waiters callers that wait for room among them
   * @param inFlight messages sent and not answered
   * @param window how many may be
   * @param mostWindow how many it may grow to; the same where it is fixed
   * @param behind messages answered that were sent after the oldest unanswered one
   * @param span how many may be sent after the oldest unanswered one, answered or not
   * @param oldest how long that one has been in flight; zero if there is none
   * @param blockedReason the broker's reason for blocking, or empty
   * @param epoch the incarnation of the link
   * @param reopened how often it was opened again
   * @param lastLoss why the last link was lost, or empty
   */
  public record Here(
      long queued,
      int maxQueued,
      int waiters,
      int inFlight,
      int window,
      int mostWindow,
      long behind,
      long span,
      Duration oldest,
      String blockedReason,
      long epoch,
      long reopened,
      String lastLoss) {}

  /**
   * How long ago things last happened; since the publisher was opened, if never.
   *
   * @param opened the link was opened or the connection came back
   * @param answered the broker answered
   * @param blocked the broker blocked the connection; zero where it has not
   * @param unpressed there was room in flight, or nothing to send
   */
  public record Since(Duration opened, Duration answered, Duration blocked, Duration unpressed) {}

  /**
   * What happened in the last seconds.
   *
   * @param length how many they are
   * @param confirmed messages confirmed
   * @param refused messages returned or refused by the broker
   * @param unknown messages whose fate is not known
   * @param notSent messages never sent
   * @param confirm how long confirms took
   * @param queuedFor how long messages waited to be sent
   */
  public record Recent(
      Duration length,
      long confirmed,
      long refused,
      long unknown,
      long notSent,
      Timing confirm,
      Timing queuedFor) {}
}
