package io.floatvalve.spi;

import io.floatvalve.model.Message;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One incarnation of a way to receive: an AMQP channel with a consumer on it, a Pulsar consumer.
 *
 * <p>It is <b>pulled</b>. What the broker has sent waits here, or in the client library, until the
 * engine {@linkplain #poll takes} it, and the engine takes a message only when a handler can have
 * it. How much may be on its way and waiting is told by {@link #window}; how much is, by {@link
 * #observe}. The engine decides, the link does.
 *
 * <p>Where the client library reconnects by itself and what was taken before can still be settled
 * (Pulsar), the link lives on and says so by {@link Listener#disconnected} and {@link
 * Listener#reconnected}. Else it is never mended: it is {@linkplain Listener#lost lost}, and the
 * engine opens another with an epoch of its own.
 *
 * <p>Unless a method says otherwise it may be called by any thread, several at a time, does not
 * wait for the network and does not throw: what fails afterwards ends in {@link Listener#lost} or
 * in a redelivery. The listener is never called from within a call of the engine's that is not said
 * to wait, so that the engine may hold a lock over {@link #poll} and {@link #waiting}.
 */
public interface ReceiveLink {
  /** Returns what it can do; the same for as long as it lives. Does not wait. */
  Traits traits();

  /**
   * Sets how many messages may be on their way from the broker and waiting here, beyond those that
   * handlers hold. The first call starts delivery: before it the broker has been asked for nothing.
   *
   * <p>It may take effect later, and more slowly when it shrinks: what the broker was granted
   * cannot be taken back, and permits are a promise of messages, so one permit may bring a whole
   * batch. What holds now is {@link Observation#window}. After a reconnect the last value told
   * holds, not the first one. Where {@link Traits#resizable} is false the first call counts and the
   * others do nothing.
   *
   * <p>A broker that counts a permit until the message is taken (Pulsar) is to have {@code permits
   * - parked}, at least 1. One that counts until it is settled (RabbitMQ) is to have {@code
   * permits} plus the request's {@code slots} plus the largest batch of acknowledgements that the
   * link holds back. Zero is never told to a broker: on RabbitMQ it means "without bound".
   *
   * <p>Called by one thread at a time, at most once in {@link Traits#resizeEvery} and for changes
   * of at least {@link Traits#resizeBy}, but for {@code parked}, which comes as it is.
   *
   * @param permits at least 1, at most the request's {@code maxPermits}
   * @param parked messages that the engine has taken and not begun to handle; they are among the
   *     permits
   */
  void window(int permits, int parked);

  /**
   * Takes the next message in the broker's order, or returns null if none is waiting.
   *
   * <p>Called by one thread at a time, under a lock of the engine's: memory work only. After it has
   * returned null, {@link Listener#available} is called once there is something to take: no message
   * may be left without.
   */
  @Nullable Received poll();

  /** Returns how many messages {@link #poll} would find now. Called per message: a field's cost. */
  int waiting();

  /** Returns how it stands. Called some 20 times a second while messages flow, else once. */
  Observation observe();

  /**
   * Returns after which time the client asks again for a message that was taken and is not settled;
   * zero for never. The same for as long as it lives, does not wait.
   */
  default Duration ackTimeout() {
    return Duration.ZERO;
  }

  /**
   * Returns what this consumer is called at the broker now, or how all that it is called begins;
   * empty if that is not known.
   */
  default String name() {
    return "";
  }

  /**
   * Acknowledges a message that was taken. Enqueues; the link coalesces and writes.
   *
   * @return false if the message is of an incarnation that is gone: nothing is sent, and the broker
   *     delivers it again
   */
  boolean ack(Received message);

  /**
   * Refuses a message for good by the broker's own means: on RabbitMQ a reject without requeue,
   * which dead-letters it if the queue says where to. Only called if {@link Traits#deadLetters} is
   * false.
   *
   * @return false as {@link #ack} does
   */
  boolean reject(Received message);

  /**
   * Gives messages back that were taken and never handled, for another consumer or a later time,
   * where {@link Traits#givesBack} is true; else nothing: closing gives them back. On RabbitMQ a
   * nack with requeue, never a reject, which counts as a failure; on Pulsar a redelivery request
   * for these ids.
   *
   * @param messages in the order in which they were taken
   */
  void giveBack(List<Received> messages);

  /**
   * Gives messages back that wait here and were not taken, but for the first ones. They must not
   * come back to this link by permits that they leave behind beyond the window told last.
   *
   * <p>May wait for client locks, not for the broker. Only called if {@link Traits#givesBack}. Part
   * of a batch of which some were taken is kept.
   *
   * @param keep how many to keep, at least 0; a link may keep more, of what would come again at
   *     once or counts as a failure, and is asked again 50 to 100 ms later
   * @return how many were given back
   */
  int giveBackWaiting(int keep);

  /**
   * Sends a copy of a message that was taken, to be handled again later or to the dead letters.
   * When it is confirmed the engine acknowledges the original; this method does not.
   *
   * <p>The copy has the payload, key, headers and properties of the original, and headers of the
   * adapter's that hold what {@link Copy} says; {@link Received#attempts} of it is {@code
   * copy.attempts()}. Where copies need a place of their own, the link makes it, and one in which
   * nothing is lost (a dead-letter topic has a subscription). Not called unless {@link
   * Traits#copies}, or {@link Traits#deadLetters} for dead letters.
   *
   * @param done called once, on any thread, also before this returns; never after more than the
   *     request's timeout
   */
  void copy(Received original, Copy copy, CopyDone done);

  /**
   * Returns the longest delay that a {@link #copy} keeps; after a longer one the engine waits
   * itself. The same for as long as it lives, does not wait.
   */
  default Duration longestDelay() {
    return Duration.ofDays(1);
  }

  /**
   * Returns for how long a message may stay unsettled before the broker takes it back and ends the
   * link, as far as is known. The same for as long as it lives, does not wait.
   */
  default Duration longestHold() {
    return Duration.ofSeconds(Long.MAX_VALUE);
  }

  /**
   * Waits until all acknowledgements so far are on the wire, and confirmed by the broker where
   * receipts were asked for.
   *
   * @return how many ends of messages, given back ones among them, are not or may not be after the
   *     timeout; 0 if all are. For a link that is gone at once, how many it took with it
   */
  int flush(Duration timeout);

  /**
   * Ends delivery: asks the broker for no more and waits until nothing more comes on its own, for
   * at most the timeout. What came meanwhile can be polled and given back; acknowledging works as
   * before. Calling it again does nothing.
   *
   * <p>Where asking for no more would itself bring messages back out of order (a quorum queue that
   * is cancelled), more may come until the link is closed; it is left alone then, and closing gives
   * it back.
   */
  void stop(Duration timeout);

  /**
   * Closes in order; acknowledgements so far are sent. Returns after at most the timeout, also when
   * the network hangs. The listener hears nothing of it. What is not settled goes back to the
   * broker.
   */
  void close(Duration timeout);

  /**
   * What a link can do.
   *
   * @param resizable whether {@link #window} has an effect after the first call
   * @param resizeEvery the shortest time between two changes, zero for any; the first one may come
   *     sooner after the first call
   * @param resizeBy the least change, as a share of the window, zero for any; from 0 to below 1
   * @param givesBack whether single messages can be given back without bringing back others: false
   *     where a redelivery would take away the order
   * @param copies whether {@link #copy} works for retries; else the engine retries in place
   * @param deadLetters whether {@link #copy} works for dead letters; else {@link #reject} is used
   * @param note what the user should know, such as why it is not resizable; or empty
   */
  record Traits(
      boolean resizable,
      Duration resizeEvery,
      double resizeBy,
      boolean givesBack,
      boolean copies,
      boolean deadLetters,
      String note) {}

  /**
   * How a link stands.
   *
   * @param connected whether there is a connection
   * @param window what may be on its way and waiting here now; may differ from what was told
   * @param waiting as {@link #waiting()}, and whatever else has arrived and cannot be polled yet
   * @param waitingBytes their payloads
   * @param outstanding permits that the broker has and has not used: {@code window - unsent -
   *     waiting}; negative where a batch overshot them
   * @param unsent permits that were not yet told to the broker; negative while it is owed fewer
   * @param received messages that arrived so far, redeliveries among them
   * @param broken messages that arrived and could not be read (checksum, decryption); the client
   *     may have lost their permits
   * @param partlyAcked batches of which some messages are acknowledged and others not, or -1 where
   *     it is not known
   */
  record Observation(
      boolean connected,
      int window,
      int waiting,
      long waitingBytes,
      int outstanding,
      int unsent,
      long received,
      long broken,
      int partlyAcked) {}

  /**
   * What a copy is for, and what its headers say.
   *
   * @param deadLetter whether it goes to the dead letters, else it is to be handled again
   * @param attempts how often the message was handled so far, at least 1
   * @param delay after which it may be handled again, at least; zero for dead letters; at most
   *     {@link #longestDelay}. Where only steps are possible the next longer one of the request's
   *     {@code retryDelays}
   * @param reason why, in words; may be long: cut where it would not fit
   * @param at when the last attempt failed
   */
  record Copy(boolean deadLetter, int attempts, Duration delay, String reason, Instant at) {}

  /** Hears the end of a copy. */
  interface CopyDone {
    /**
     * It came to an end.
     *
     * @param failure null if the broker has confirmed it; else why not, no secret. It may exist all
     *     the same
     */
    void done(@Nullable String failure);
  }

  /**
   * One message as a link took it. Accessors do not wait; they are called by one thread at a time
   * but for {@link #message} and {@link #nativeMessage}.
   */
  interface Received {
    /**
     * Returns the message in our terms, without the adapter's private headers. May be made when
     * first asked for; always the same object then.
     */
    Message message();

    /** Returns the client library's message. */
    Object nativeMessage();

    /** Returns the ordering key, or null if it has none; not empty. */
    @Nullable String key();

    /** Returns the payload's size in bytes. Called once, before anything else. */
    int size();

    /** Returns when it arrived in this process, by {@link System#nanoTime}. */
    long arrivedNanos();

    /**
     * Returns when the publisher sent it, by its own clock, in milliseconds since 1970; 0 where
     * that is not known.
     */
    default long publishedMillis() {
      return 0;
    }

    /**
     * Returns when the broker took charge of it, by its clock, in milliseconds since 1970; 0 where
     * it does not say.
     */
    default long storedMillis() {
      return 0;
    }

    /** Returns how often it was handled before, as the header of a copy says; 0 for an original. */
    int attempts();

    /**
     * Returns how often the broker says it delivered it, this time too: at least 1; 0 where it does
     * not count.
     */
    int deliveryCount();

    /**
     * Returns whether it may have been delivered before: the broker says so, or the connection was
     * lost since the subscription began and the broker may send again what handlers still hold.
     */
    boolean redelivered();

    /**
     * Returns the broker's name for the message, equal for two deliveries of it and with a stable
     * hash; null where there is none (RabbitMQ). Only called for what is redelivered, and for what
     * is in hand then: may allocate.
     */
    @Nullable Object identity();

    /** Returns what to call it in a log: ids, never the payload. */
    String describe();
  }

  /**
   * What comes from the broker. Called on the client's threads; never blocks, never throws, takes
   * no lock that is held over a call of a link.
   */
  interface Listener {
    /**
     * There is something to take. Must come after each {@link #poll} that found nothing, once there
     * is; may come more often and for nothing.
     */
    void available();

    /**
     * The connection is gone; the client library is at work on another. What waited here is gone
     * with it and will be delivered again; what was taken can still be settled.
     */
    void disconnected(String detail);

    /** The connection is back. */
    void reconnected();

    /**
     * The link is gone, and with it what waits in it; nothing taken from it can be settled any
     * more, and {@link #poll} returns null. At most once, nothing comes after.
     *
     * @param connection whether the whole connection is gone, not this link alone
     * @param retryable whether opening it again may help; false if the broker says it never will
     * @param detail the broker's or the client's reason, no secret
     */
    void lost(boolean connection, boolean retryable, String detail);
  }
}
