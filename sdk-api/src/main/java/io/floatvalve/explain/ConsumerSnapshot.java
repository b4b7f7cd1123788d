package io.floatvalve.explain;

import io.floatvalve.model.Ordering;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a consumer at one moment: all that the rules look at.
 *
 * @param who the consumer, in words
 * @param broker what and where its broker is; no secret
 * @param state what it does
 * @param limits what it is held to
 * @param here what there is now
 * @param since how long ago things last happened
 * @param recent what happened in the last seconds
 * @param handlingBefore how long handlers held messages before those seconds
 * @param handlingEver how long they held them, since it was opened
 * @param held what has been with handlers for far longer than is usual
 * @param longestPause the longest time this process stood still in the last seconds, as a timer
 *     noticed; zero if it did not
 * @param throttle what the rhythm of deliveries says
 * @param peaks the busiest second beside the quota, or null without a quota
 * @param view what the broker says, or null where nobody asked it
 */
public record ConsumerSnapshot(
    String who,
    String broker,
    State state,
    Limits limits,
    Here here,
    Since since,
    Recent recent,
    Timing handlingBefore,
    Timing handlingEver,
    Held held,
    Duration longestPause,
    Throttle throttle,
    @Nullable Peaks peaks,
    @Nullable BrokerView view) {

  /** Longer than a burst that a healthy consumer works off, shorter than anyone's patience. */
  public static final Duration LASTING = Duration.ofSeconds(2);

  /** What a consumer does. */
  public enum State {
    /** It is open and nobody has given it a handler. */
    NOT_STARTED,
    /** It consumes. */
    RUNNING,
    /** The application has paused it. */
    PAUSED,
    /** It has no link or no connection. */
    RECOVERING,
    /** The broker said that it will never work again. */
    FAILED,
    /** It takes no more, or is closed. */
    ENDING
  }

  /**
   * What a consumer is held to.
   *
   * @param slots how many messages may be with handlers at a time
   * @param pulls whether the application asks for each message, rather than giving a handler
   * @param mostPermits the most permits there may be
   * @param maxBytes how many bytes may wait, and as many be held
   * @param ordering what order was asked for
   * @param handlerWarning how long a handler may take without being named
   * @param ackTimeout after which time the client asks again for what is not settled; zero for
   *     never
   */
  public record Limits(
      int slots,
      boolean pulls,
      int mostPermits,
      long maxBytes,
      Ordering ordering,
      Duration handlerWarning,
      Duration ackTimeout) {}

  /**
   * What there is now.
   *
   * @param window how many messages may be on their way and waiting
   * @param outstanding permits the broker has and has not used; negative where a batch overshot
   *     them
   * @param unsent permits it was not told of yet
   * @param waiting messages that wait for a handler, parked ones among them
   * @param waitingBytes payloads that wait in the client
   * @param parked messages taken whose key is busy, or that are to be tried again
   * @param inHandlers messages with handlers
   * @param settling messages of which a copy is on its way
   * @param unsettledBytes payloads of what was taken and is not settled
   * @param partlyAcked batches of which only some messages are acknowledged; -1 where not known
   * @param epoch the incarnation of the link
   * @param reopened how often it was opened again
   * @param lastLoss why the last link was lost, or empty
   * @param refusing whether callers ask for messages and are refused, as too many are out
   */
  public record Here(
      int window,
      int outstanding,
      int unsent,
      int waiting,
      long waitingBytes,
      int parked,
      int inHandlers,
      int settling,
      long unsettledBytes,
      int partlyAcked,
      long epoch,
      long reopened,
      String lastLoss,
      boolean refusing) {}

  /**
   * How long ago things last happened; since the consumer was opened, if never.
   *
   * @param opened the link was opened or the connection came back
   * @param taken a message was taken from the client
   * @param arrived a message arrived
   * @param settled a message was settled
   * @param queueEmpty no message waited
   */
  public record Since(
      Duration opened, Duration taken, Duration arrived, Duration settled, Duration queueEmpty) {}

  /**
   * What happened in the last seconds.
   *
   * @param length how many they are; {@link ConsumerSnapshot#LASTING} at least, but at the
   *     beginning
   * @param arrived messages that arrived
   * @param taken messages taken from the client
   * @param settled messages that came to an end
   * @param redelivered of those taken, delivered or handled before
   * @param retried copies sent for a retry, and retries in place
   * @param rejected messages rejected
   * @param duplicates of those taken, dropped because the same was still with a handler
   * @param copiesFailed copies that were not confirmed
   * @param broken messages that could not be read
   * @param keyless of those taken, without the key that their order depends on
   * @param busyShare the part of the time that handlers were at work, over all slots; 0 to 1
   * @param handling how long handlers held messages
   * @param handlingLately the same in half a second to one and a half
   * @param waited how long messages waited here for a handler
   * @param age how old messages were when they arrived
   */
  public record Recent(
      Duration length,
      long arrived,
      long taken,
      long settled,
      long redelivered,
      long retried,
      long rejected,
      long duplicates,
      long copiesFailed,
      long broken,
      long keyless,
      double busyShare,
      Timing handling,
      Timing handlingLately,
      Timing waited,
      Timing age) {}

  /**
   * What has been with handlers for far longer than is usual.
   *
   * @param count how many messages
   * @param limit what counts as far longer
   * @param message the ids of the oldest, or empty
   * @param lane the key whose messages wait behind it, or empty
   * @param age how long it has been there
   * @param thread that is in its handler, or empty: then nobody is at work on it that we know of
   */
  public record Held(
      int count, Duration limit, String message, String lane, Duration age, String thread) {
    /** Nothing. */
    public static final Held NOTHING = new Held(0, Duration.ZERO, "", "", Duration.ZERO, "");
  }

  private static final long ENOUGH = 20;
  private static final Duration LEAST_HELD = Duration.ofSeconds(3);

  /**
   * Returns how long a message may be with a handler until it counts as {@link Held}: ten times
   * what 99 % take and three times the longest, 3 s at least. Before 20 were handled nobody knows
   * what is usual: then it is the time after which a handler is named as stuck.
   */
  public static Duration heldLimit(Timing handling, Duration handlerWarning) {
    if (handling.count() < ENOUGH) {
      return handlerWarning;
    }
    Duration tail = handling.p99().multipliedBy(10);
    Duration longest = handling.most().multipliedBy(3);
    Duration most = tail.compareTo(longest) > 0 ? tail : longest;
    return most.compareTo(LEAST_HELD) > 0 ? most : LEAST_HELD;
  }
}
