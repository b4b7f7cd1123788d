package io.floatvalve.publish;

import io.floatvalve.model.Message;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What became of one published message. Every publish ends in exactly one.
 *
 * <p>Switch over {@link #verdict()}: the compiler then checks that every end is handled, on Java 17
 * too. Immutable and thread-safe.
 */
public sealed interface PublishOutcome
    permits PublishOutcome.Confirmed,
        PublishOutcome.Returned,
        PublishOutcome.Nacked,
        PublishOutcome.Unknown,
        PublishOutcome.NotSent {

  /** The ends a publish can come to. */
  enum Verdict {
    /** The broker has taken charge of it. */
    CONFIRMED,
    /** It reached no queue: unchanged, it fails again. */
    RETURNED,
    /** Refused by a queue; another may have kept it. */
    NACKED,
    /** Sent, no answer: publishing again may duplicate. */
    UNKNOWN,
    /** Never left this process: publishing again is safe. */
    NOT_SENT
  }

  /** What publishing the same message again would do. */
  enum Retry {
    /** It has arrived; there is nothing to repeat. */
    NEEDLESS,
    /** It cannot duplicate. */
    SAFE,
    /** A copy may be stored already. */
    MAY_DUPLICATE,
    /** It fails again, as long as the message and the broker's topology stay as they are. */
    FUTILE
  }

  /** Returns which end it came to. */
  Verdict verdict();

  /** Returns what publishing it again would do. */
  Retry retry();

  /** Returns how often it was tried, from 1. */
  int attempts();

  /**
   * Returns the confirmation, for callers who prefer exceptions.
   *
   * @throws PublishException if it is any other outcome; the exception carries it
   */
  default Confirmed orElseThrow() {
    throw new PublishException(this);
  }

  /**
   * The broker has taken charge of the message.
   *
   * <p>On RabbitMQ that is "handled": stored by every queue it was routed to. A message that is not
   * mandatory and is routed nowhere is confirmed as well (see <a
   * href="https://www.rabbitmq.com/docs/confirms#when-publishes-are-confirmed">the broker's
   * documentation</a>).
   */
  final class Confirmed implements PublishOutcome {
    private final @Nullable Object receipt;
    private final long epoch;
    private final long sequence;
    private final long latencyNanos;
    private final int attempts;
    private final boolean returned;

    Confirmed(
        @Nullable Object receipt,
        long epoch,
        long sequence,
        long latencyNanos,
        int attempts,
        boolean returned) {
      this.receipt = receipt;
      this.epoch = epoch;
      this.sequence = sequence;
      this.latencyNanos = latencyNanos;
      this.attempts = attempts;
      this.returned = returned;
    }

    @Override
    public Verdict verdict() {
      return Verdict.CONFIRMED;
    }

    @Override
    public Retry retry() {
      return Retry.NEEDLESS;
    }

    @Override
    public int attempts() {
      return attempts;
    }

    @Override
    public Confirmed orElseThrow() {
      return this;
    }

    /**
     * Returns the broker's name for the message: the message id on Pulsar, {@code epoch/delivery
     * tag} on RabbitMQ, which has none.
     */
    public String receipt() {
      return receipt == null ? epoch + "/" + sequence : receipt.toString();
    }

    /** Returns the number of the channel's or producer's incarnation it was sent on. */
    public long epoch() {
      return epoch;
    }

    /** Returns its number within the incarnation: the delivery tag on RabbitMQ. */
    public long sequence() {
      return sequence;
    }

    /** Returns the time from the send to the confirm. */
    public Duration latency() {
      return Duration.ofNanos(latencyNanos);
    }

    /**
     * Returns whether a return came with it that is no failure, as an exchange that was declared as
     * delaying sends.
     */
    public boolean returned() {
      return returned;
    }

    @Override
    public String toString() {
      return "Confirmed[" + receipt() + ", latency " + latency() + ", attempts " + attempts + "]";
    }
  }

  /**
   * No queue took the message; the broker sent it back. It stays so when the confirm after the
   * return is lost.
   *
   * @param replyCode 312 where nothing is bound for the routing key
   * @param replyText the broker's word
   * @param exchange where it was sent to
   * @param routingKey the key it was sent with
   * @param message the message as it was given
   * @param attempts from 1
   */
  record Returned(
      int replyCode,
      String replyText,
      String exchange,
      String routingKey,
      Message message,
      int attempts)
      implements PublishOutcome {
    @Override
    public Verdict verdict() {
      return Verdict.RETURNED;
    }

    @Override
    public Retry retry() {
      return Retry.FUTILE;
    }
  }

  /**
   * At least one queue refused the message. Where it was routed to several, others may have kept
   * it.
   *
   * @param reason the broker's word, or null where it gives none
   * @param attempts from 1
   */
  record Nacked(@Nullable String reason, int attempts) implements PublishOutcome {
    @Override
    public Verdict verdict() {
      return Verdict.NACKED;
    }

    @Override
    public Retry retry() {
      return Retry.MAY_DUPLICATE;
    }
  }

  /**
   * The message was sent, or began to be, and no answer came: the broker may have it or not.
   *
   * @param cause why no answer came
   * @param detail more of it, in words
   * @param attempts from 1
   */
  record Unknown(Cause cause, String detail, int attempts) implements PublishOutcome {
    /** Why no answer came. */
    public enum Cause {
      /** The confirm timeout passed. */
      CONFIRM_TIMEOUT,
      /** The connection was lost. */
      CONNECTION_LOST,
      /** The broker closed the channel or producer. */
      CHANNEL_CLOSED,
      /** Writing it failed. */
      WRITE_FAILED,
      /** The broker answered, but not whether it has this message. */
      UNCLEAR_ANSWER,
      /** The publisher was closed, and the answer did not come within the closing's time. */
      PUBLISHER_CLOSED
    }

    /** Checks for nulls. */
    public Unknown {
      Objects.requireNonNull(cause, "cause");
      Objects.requireNonNull(detail, "detail");
    }

    @Override
    public Verdict verdict() {
      return Verdict.UNKNOWN;
    }

    @Override
    public Retry retry() {
      return Retry.MAY_DUPLICATE;
    }
  }

  /**
   * The message never left this process.
   *
   * @param reason why not
   * @param detail more of it, in words
   * @param attempts from 1
   */
  record NotSent(Reason reason, String detail, int attempts) implements PublishOutcome {
    /** Why a message was not sent. */
    public enum Reason {
      /** There was no room, and none came about in time. */
      QUEUE_FULL,
      /** The caller was interrupted while it waited for room. */
      INTERRUPTED,
      /** A quota held it for longer than it may wait. */
      RATE_LIMITED,
      /** The broker reads nothing from this connection, and did not begin to in time. */
      CONNECTION_BLOCKED,
      /** There is no connection, and none came about in time. */
      RECOVERING,
      /** The publisher is closed or closing. */
      CLOSED,
      /** It is larger than was set, or than the broker takes. */
      MESSAGE_TOO_LARGE,
      /** Something in it cannot be sent: a name too long, a header too large, an address. */
      INVALID_MESSAGE
    }

    /** Checks for nulls. */
    public NotSent {
      Objects.requireNonNull(reason, "reason");
      Objects.requireNonNull(detail, "detail");
    }

    @Override
    public Verdict verdict() {
      return Verdict.NOT_SENT;
    }

    /** Returns {@code FUTILE} where the message itself is the reason, else {@code SAFE}. */
    @Override
    public Retry retry() {
      return reason == Reason.MESSAGE_TOO_LARGE || reason == Reason.INVALID_MESSAGE
          ? Retry.FUTILE
          : Retry.SAFE;
    }
  }
}
