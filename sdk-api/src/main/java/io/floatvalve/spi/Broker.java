package io.floatvalve.spi;

import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import java.time.Duration;
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
}
