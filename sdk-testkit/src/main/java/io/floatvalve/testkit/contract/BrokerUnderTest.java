package io.floatvalve.testkit.contract;

import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.spi.Broker;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;
import java.util.List;

/**
 * A real broker, as an adapter shows it to the contracts. Used by one thread at a time; what it
 * throws fails the test.
 */
public interface BrokerUnderTest {
  /** Opens a proxy before the broker. The test closes it. */
  FaultProxy openProxy() throws IOException;

  /** Begins to use the adapter through a proxy. The test closes what it is given. */
  Broker connect(FaultProxy proxy);

  /**
   * Makes a place under a new name that keeps every message published to it, over a restart of the
   * broker, in the order in which it stored them.
   */
  Address newPlace() throws Exception;

  /**
   * Reads all that a place keeps, as text in UTF-8, in the order in which it was stored. Called
   * when nobody publishes to the place any more, and once for each place.
   */
  List<String> stored(Address place) throws Exception;

  /**
   * Tells whether the client makes a lost connection again by itself, and sends again what it has
   * no answer to. Where it does, losing the connection leaves no message unknown, unless its time
   * is over before the answer comes; and the place is one that drops what comes a second time.
   */
  boolean sendsAgainByItself();

  /** Returns a message that cannot be sent to this broker, for a reason seen without asking it. */
  Message invalid();

  /** Ends the broker as a power cut would; returns when it is gone. For {@link FaultContract}. */
  void kill();

  /** Starts the broker that was killed again, where it was, with what it had stored. */
  void restart();
}
