package io.floatvalve.event;

import java.time.Instant;

/**
 * Something that happened to a connection, a link or a window.
 *
 * <p>Events are told to the listener of {@code Messaging} on one thread of ours, in the order they
 * came about; never on the client's threads. They are values: keep them, log them, count them.
 */
public sealed interface Event
    permits Event.LinkOpened,
        Event.LinkLost,
        Event.Recovering,
        Event.Blocked,
        Event.Unblocked,
        Event.LinkRetired,
        Event.ReturnUnmatched,
        Event.CallbackStuck {

  /** Returns when it came about. */
  Instant at();

  /** Returns the publisher or consumer it came about at, in words. */
  String who();

  /**
   * A way to the broker is open.
   *
   * @param epoch the number of its incarnation
   */
  record LinkOpened(Instant at, String who, long epoch) implements Event {}

  /**
   * A way to the broker is gone; what was in flight on it has its outcome.
   *
   * @param connection whether the whole connection is gone, not this way alone
   * @param detail the broker's or the client's reason
   * @param unsettled how many publishes it leaves unknown
   */
  record LinkLost(
      Instant at, String who, long epoch, boolean connection, String detail, long unsettled)
      implements Event {}

  /**
   * Opening it again failed; it is tried again.
   *
   * @param attempt from 1
   * @param detail why the attempt failed
   */
  record Recovering(Instant at, String who, int attempt, String detail) implements Event {}

  /** The broker reads nothing more from the connection until further notice. */
  record Blocked(Instant at, String who, String reason) implements Event {}

  /** The broker reads from the connection again. */
  record Unblocked(Instant at, String who) implements Event {}

  /**
   * A way to the broker was given up because it did not answer.
   *
   * @param detail what was missing
   */
  record LinkRetired(Instant at, String who, long epoch, String detail) implements Event {}

  /** The broker returned a message that is none of ours. */
  record ReturnUnmatched(Instant at, String who, String detail) implements Event {}

  /**
   * A continuation of a publish's future blocks a completion thread; the next ones go on elsewhere.
   *
   * @param thread the one that is blocked
   */
  record CallbackStuck(Instant at, String who, String thread) implements Event {}
}
