package io.floatvalve.publish;

import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.time.Duration;
import java.util.Map;

/**
 * How a publisher stands at one moment.
 *
 * @param state what it does now
 * @param flow whether the broker reads what is sent, as far as can be known
 * @param flowReason the broker's reason where it is blocked, else empty
 * @param epoch the incarnation in use, or the last one
 * @param queued messages that wait to be sent
 * @param queuedBytes their payloads
 * @param inFlight messages sent and not yet answered, those timed out among them
 * @param inFlightBytes their payloads
 * @param window how many may be in flight now
 * @param oldestInFlight how long the oldest has been in flight; zero if there is none
 * @param outcomes how many came to each end so far; all five are there
 * @param unknownBy of those unknown, how many for each cause; all causes are there
 * @param notSentBy of those not sent, how many for each reason; all reasons are there
 * @param retried how often a message was taken up for another attempt
 * @param lateConfirms confirms that came after the confirm timeout
 * @param lateNacks nacks that came after the confirm timeout
 * @param staleAnswers answers from earlier epochs, dropped
 * @param strayAnswers answers for sequences that were not open, dropped
 * @param strayReturns returns that belong to no sequence of ours, dropped
 * @param reopened how often the link was opened again
 * @param lastLoss why the last link was lost, or empty
 */
public record PublisherStatus(
    State state,
    Flow flow,
    String flowReason,
    long epoch,
    long queued,
    long queuedBytes,
    int inFlight,
    long inFlightBytes,
    int window,
    Duration oldestInFlight,
    Map<Verdict, Long> outcomes,
    Map<Unknown.Cause, Long> unknownBy,
    Map<NotSent.Reason, Long> notSentBy,
    long retried,
    long lateConfirms,
    long lateNacks,
    long staleAnswers,
    long strayAnswers,
    long strayReturns,
    long reopened,
    String lastLoss) {

  /** Copies what was given. */
  public PublisherStatus {
    outcomes = Map.copyOf(outcomes);
    unknownBy = Map.copyOf(unknownBy);
    notSentBy = Map.copyOf(notSentBy);
  }

  /** What a publisher does. */
  public enum State {
    /** It sends. */
    OPEN,
    /** The broker has blocked the connection; nothing is sent. */
    BLOCKED,
    /** There is no link; one is being opened. */
    RECOVERING,
    /** It takes no more and settles what it has. */
    CLOSING,
    /** It is closed. */
    CLOSED
  }

  /** Whether the broker reads what is sent. */
  public enum Flow {
    /**
     * Not known: nothing was answered on this connection yet. RabbitMQ tells of an alarm only after
     * a publish.
     */
    UNKNOWN,
    /** It answered, and has not blocked the connection since. */
    FREE,
    /** It has blocked the connection. */
    BLOCKED
  }
}
