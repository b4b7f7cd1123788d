package io.floatvalve.testkit.contract;

import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.spi.Broker;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;
import java.time.Instant;
import java.util.List;

/**
 * A real broker, as an adapter shows it to the contracts of consuming. Used by one thread at a
 * time; what it throws fails the test.
 */
public interface ConsumedBroker extends AutoCloseable {
  /** Opens a proxy before the broker. The test closes it. */
  FaultProxy openProxy() throws IOException;

  /**
   * Begins to use the adapter through a proxy. A network that has died is noticed within 15
   * seconds. The test closes what it is given.
   */
  Broker connect(FaultProxy proxy);

  /**
   * Makes a place under a new name that keeps messages over a restart of the broker, and hands them
   * out in the order in which they were stored.
   */
  Address newPlace() throws Exception;

  /**
   * Opens a publisher to a place that goes round the proxy. Each message is stored for itself: the
   * broker can hand out any one without another. The test closes it.
   */
  Publisher publisher(Address place) throws Exception;

  /**
   * Returns settings for consuming all that a place holds, as one of a group that shares it, with
   * the defaults of everything else.
   */
  ConsumerSettings from(Address place);

  /**
   * Returns how many messages of a place the broker holds for the group of {@link #from}, given to
   * a consumer or not. Asked once nobody consumes from it any more.
   */
  long left(Address place) throws Exception;

  /**
   * Reads the dead letters of a place that was given as {@link ConsumerSettings#withDeadLetter}, in
   * the order in which they were stored, and leaves them there.
   */
  List<DeadLetter> deadLetters(Address place) throws Exception;

  /**
   * Returns how many messages more than the permits say may be here because the adapter holds back
   * acknowledgements to send them together.
   */
  int largestAckBatch();

  /**
   * Whether a consumer that comes back after a lost connection is given what it had not
   * acknowledged before anything that lies behind it.
   */
  default boolean keepsOrderAcrossLoss() {
    return true;
  }

  /** Ends the broker as a power cut would; returns when it is gone. */
  void kill();

  /** Starts the broker that was killed again, where it was, with what it had stored. */
  void restart();

  /** Closes what was opened for this, not what the tests were given. */
  @Override
  void close();

  /**
   * One dead letter.
   *
   * @param message what was rejected, as a consumer of the dead letters would be given it
   * @param attempts how often it was handled, as the copy says
   * @param reason why it was rejected, as the copy says
   * @param at when the last attempt failed, as the copy says
   */
  record DeadLetter(Message message, int attempts, String reason, Instant at) {}
}
