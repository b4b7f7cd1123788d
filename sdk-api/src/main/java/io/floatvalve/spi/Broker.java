package io.floatvalve.spi;

import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A broker as an adapter shows it to the engine: it opens links and reports what comes back.
 *
 * <p>An adapter translates and decides nothing: no retries, no windows, no back-off. Safe for use
 * by several threads. Belongs to one {@code Messaging}, which closes it.
 */
public interface Broker {
  /** Returns what it is and where, such as {@code RabbitMQ at localhost:5672}; never a secret. */
  String describe();

  /**
   * Opens one incarnation of a way to send.
   *
   * <p>Links of one broker share a connection; where it is gone, each address is tried once. Waits
   * for the broker, for at most the request's timeout. Called on a thread of the engine's, several
   * at a time. The listener is called from here on, before this returns too.
   *
   * @throws MessagingException names the address and the cause
   */
  PublishLink openPublish(PublishRequest request, PublishLink.Listener listener)
      throws MessagingException;

  /**
   * Opens one incarnation of a way to receive. It asks the broker for no message before {@link
   * ReceiveLink#window} is called.
   *
   * <p>Links to receive share a connection of their own, not that of links to send: a throttled
   * sender must not starve them. Waits for the broker, for at most the request's timeout. Called on
   * a thread of the engine's, several at a time. The listener may be called before this returns.
   *
   * @throws MessagingException names the address and the cause; {@code INVALID} where the request
   *     contradicts itself or the broker
   */
  default ReceiveLink openReceive(ReceiveRequest request, ReceiveLink.Listener listener)
      throws MessagingException {
    throw new MessagingException(
        MessagingException.Kind.INVALID, describe() + " does not consume", null);
  }

  /**
   * Closes what is open. Returns after at most the timeout, also when the network hangs; what could
   * not be closed in order is cut. Closing again does nothing.
   */
  void close(Duration timeout);

  /**
   * What a publish link is opened for.
   *
   * @param address where messages go that name no other place
   * @param epoch the engine's number of this incarnation, from 1, never the same twice in a
   *     process; below 2^24
   * @param nativeSettings the adapter's own settings, or null; anything else is refused
   * @param timeout for opening, above zero
   */
  record PublishRequest(
      Address address, long epoch, @Nullable Object nativeSettings, Duration timeout) {}

  /**
   * What a receive link is opened for.
   *
   * @param addresses where messages come from, at least one; several only where the broker can
   *     (Pulsar topics)
   * @param group who shares the messages: the subscription on Pulsar, which needs one; null for
   *     none
   * @param ordering what order is needed; picks the subscription type on Pulsar. What contradicts
   *     it in the native settings is refused
   * @param slots how many messages may be in handlers at a time
   * @param permits what the first {@link ReceiveLink#window} will ask for
   * @param maxPermits what it will ask for at most
   * @param maxBytes how many bytes of payload may wait, and as many again be in handlers; for a
   *     link whose grants also cover what handlers hold
   * @param retryDelays the delays that retries will ask for, ascending; may be empty
   * @param deadLetter where dead letters go; null for the adapter's usual place, or the broker's
   *     own means
   * @param epoch the engine's number of this incarnation, from 1, never the same twice in a process
   * @param nativeSettings the adapter's own settings, or null; anything else is refused
   * @param timeout for opening and for one copy, above zero
   */
  record ReceiveRequest(
      List<Address> addresses,
      @Nullable String group,
      Ordering ordering,
      int slots,
      int permits,
      int maxPermits,
      long maxBytes,
      List<Duration> retryDelays,
      @Nullable Address deadLetter,
      long epoch,
      @Nullable Object nativeSettings,
      Duration timeout) {

    /** Copies the lists. */
    public ReceiveRequest {
      addresses = List.copyOf(addresses);
      retryDelays = List.copyOf(retryDelays);
    }
  }
}
