package io.floatvalve.spi;

import io.floatvalve.model.Message;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One incarnation of a way to send: an AMQP channel in confirm mode, a Pulsar producer.
 *
 * <p>It is never mended. Once it is {@linkplain Listener#lost lost} the engine opens another with
 * an epoch of its own.
 */
public interface PublishLink {
  /**
   * Says why a message cannot be sent at all, or null if it can. Looks at names, types and sizes;
   * never at the network. What passes here does not fail in {@link #send} but for the network.
   *
   * <p>Called by one thread at a time, the one that sends.
   */
  @Nullable String refusal(Message message);

  /**
   * Writes a message. May block while the socket takes no more. May keep it in a buffer until
   * {@link #flush}.
   *
   * <p>Called by one thread at a time. Whatever it throws ends this link: the sequence is used up
   * and its fate unknown.
   *
   * @param sequence dense from 1 in each link: the delivery tag on RabbitMQ
   */
  void send(long sequence, Message message) throws Exception;

  /**
   * Picks the partition that a message is to go to, where somebody counts by partitions: it is
   * asked once for a message, before that is given to {@link #sendTo}. Never looks at the network.
   *
   * <p>Called by one thread at a time, the one that sends.
   *
   * @return from 0; or -1, as by default, where there are none or the broker picks it
   */
  default int partition(Message message) {
    return -1;
  }

  /**
   * Writes a message, as {@link #send} does, to the partition that was picked for it.
   *
   * @param partition as {@link #partition} said, of this link or of an earlier one
   */
  default void sendTo(int partition, long sequence, Message message) throws Exception {
    send(sequence, message);
  }

  /**
   * Whether {@link #send} waits neither for the network nor for the broker, and keeps nothing back
   * for {@link #flush}. Then it is also called on the threads that publish, still by one thread at
   * a time, which saves each message a change of thread, and {@code flush} may not be called.
   * Always the same answer.
   */
  default boolean sendsAtOnce() {
    return false;
  }

  /** Makes sure that all that was sent is on its way; called after a run of sends. */
  void flush() throws Exception;

  /**
   * Somebody waits for an answer: what is kept back, to be sent together with more, goes now. From
   * any thread; does not wait for the network.
   */
  default void hurry() {}

  /**
   * Closes in order; the engine has waited for what was in flight. Returns after at most the
   * timeout, also when the network hangs. The listener hears nothing of it.
   */
  void close(Duration timeout);

  /**
   * Ends it at once, from any thread, without waiting for the broker, also while {@link #send}
   * hangs; if it must cut the shared connection for that, the other links on it are lost with it.
   * The listener hears nothing of it.
   */
  void abort();

  /** Why a message did not leave this process after all. */
  enum Unsent {
    /** It is larger than the broker takes. */
    TOO_LARGE,
    /** Something in it cannot be sent. */
    INVALID,
    /** The client has no room for it now. */
    NO_ROOM
  }

  /**
   * What the broker says. Called on the client's threads in the order of the wire, one call at a
   * time unless the link has several connections (partitions of a Pulsar topic); what the client
   * refuses by itself is told from within {@link #send}, too. Never blocks, never throws.
   */
  interface Listener {
    /**
     * The broker took charge of a message.
     *
     * @param sequence as sent; 0 with {@code upTo} means all that were sent
     * @param upTo whether all open ones before it are meant too
     * @param receipt the broker's name for the message, or null where the sequence is all there is
     */
    void confirmed(long sequence, boolean upTo, @Nullable Object receipt);

    /**
     * The broker took charge of several messages, which are told of together because that costs
     * less than one by one.
     *
     * @param sequences as sent, in the order of the answers; kept by the caller
     * @param receipts the broker's name for each of them; kept by the caller
     * @param count how many there are, from the beginning of both
     */
    default void confirmed(long[] sequences, Object[] receipts, int count) {
      for (int i = 0; i < count; i++) {
        confirmed(sequences[i], false, receipts[i]);
      }
    }

    /**
     * The broker refused a message.
     *
     * @param sequence as sent; 0 with {@code upTo} means all that were sent
     * @param upTo whether all open ones before it are meant too
     * @param reason the broker's word, or null if it gives none
     */
    void nacked(long sequence, boolean upTo, @Nullable String reason);

    /**
     * No queue took a message; a confirm of the same sequence follows.
     *
     * @param failure whether that is an end for the message; false where the place it went to is
     *     known to return what it keeps
     */
    void returned(
        long sequence,
        int replyCode,
        String replyText,
        String exchange,
        String routingKey,
        boolean failure);

    /** A return came that belongs to no sequence of ours; it is counted. */
    void strayReturn(String detail);

    /** The broker reads no more from this connection until further notice. */
    void blocked(String reason);

    /** The broker reads again. */
    void unblocked();

    /**
     * The client refused a message that was given to {@link #send}: the broker never sees it.
     *
     * @param sequence as sent
     * @param why what to conclude
     * @param detail the client's word
     */
    void notSent(long sequence, Unsent why, String detail);

    /**
     * The client or the broker gave up a message without saying whether it is stored. The link goes
     * on.
     *
     * @param sequence as sent
     * @param detail the reason given
     */
    void unclear(long sequence, String detail);

    /**
     * The connection is gone, and the client makes another by itself: the link lives on, and what
     * was sent without an answer is sent again by the client, in its order. Nothing should be given
     * to {@link #send} until it is {@linkplain #reconnected there again}.
     *
     * @param detail the client's reason, no secret
     */
    void disconnected(String detail);

    /** The connection is there again. */
    void reconnected();

    /**
     * The link is gone and nothing more will be heard on it. At most once.
     *
     * @param connection whether the whole connection is gone, not this link alone
     * @param detail the broker's or the client's reason, no secret
     */
    void lost(boolean connection, String detail);
  }
}
