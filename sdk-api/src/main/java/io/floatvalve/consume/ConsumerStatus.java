package io.floatvalve.consume;

import java.time.Duration;

/**
 * How a consumer stands at one moment.
 *
 * @param state what it does now
 * @param epoch the incarnation in use, or the last one
 * @param permits how many messages may be on their way and waiting here now, as the broker has it
 * @param outstanding permits that the broker has and has not used; negative where one batch
 *     overshot them
 * @param waiting messages that wait here for a handler, in the client and in the lanes of keys
 * @param waitingBytes payloads that wait in the client
 * @param parked those of {@code waiting} that were taken from the client: their key is busy, or
 *     they are to be tried again in place
 * @param inHandlers messages in handlers, or handed out by a pull consumer
 * @param settling messages of which a copy is on its way, for a retry or to the dead letters
 * @param unsettledBytes payloads of what is parked, in handlers and settling
 * @param oldestUnsettled how long ago the oldest message that is not settled was taken; zero if
 *     there is none
 * @param taken messages that were taken from the client so far
 * @param redelivered of these, those that may have been delivered before
 * @param accepted of these, accepted
 * @param retried of these, sent again as a confirmed copy
 * @param retriedInPlace how often a message was tried again in place
 * @param rejected of these, rejected
 * @param givenBack messages that were given back without being handled
 * @param stale of these taken, never settled because the way they came by was gone
 * @param duplicates of these taken, dropped because the same message was still in a handler
 * @param copiesFailed copies that were not confirmed, and are tried again
 * @param partlyAcked batches of which some messages are acknowledged and others not, which the
 *     broker keeps as a whole; -1 where it is not known
 * @param broken messages that arrived and could not be read
 * @param reopened how often the link was opened again
 * @param lastLoss why the last link or connection was lost, or empty
 */
public record ConsumerStatus(
    State state,
    long epoch,
    int permits,
    int outstanding,
    int waiting,
    long waitingBytes,
    int parked,
    int inHandlers,
    int settling,
    long unsettledBytes,
    Duration oldestUnsettled,
    long taken,
    long redelivered,
    long accepted,
    long retried,
    long retriedInPlace,
    long rejected,
    long givenBack,
    long stale,
    long duplicates,
    long copiesFailed,
    int partlyAcked,
    long broken,
    long reopened,
    String lastLoss) {

  /** What a consumer does. */
  public enum State {
    /** It is open and no handler was given yet. */
    IDLE,
    /** It consumes. */
    RUNNING,
    /** It is paused. */
    PAUSED,
    /** There is no link or no connection; one is being opened. */
    RECOVERING,
    /** The broker said that it will never work again. */
    FAILED,
    /** It takes no more and settles what it has. */
    DRAINING,
    /** It is closed. */
    CLOSED
  }
}
