package io.floatvalve.consume;

import io.floatvalve.explain.Explanation;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.MessagingException;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.util.Optional;

/**
 * Hands out messages to whoever asks. Thread-safe: any number of threads may ask and settle.
 *
 * <p>At most {@code maxUnsettled} messages are out at a time; a consumer that never settles gets no
 * more. Where an order was asked for, the next message of a key (of all, in total order) comes when
 * the one before it is settled.
 */
public interface PullConsumer extends AutoCloseable {
  /**
   * Waits for a message.
   *
   * @param timeout the longest wait; zero asks without waiting
   * @return a message, to be settled by the caller; empty if none came in time, if too many are
   *     unsettled, or if it was closed meanwhile
   * @throws InterruptedException if the thread is interrupted while it waits
   * @throws MessagingException {@code CLOSED} if it was closed before
   */
  Optional<Delivery> receive(Duration timeout) throws InterruptedException;

  /**
   * Ends consumption: asks the broker for no more, gives back what was not handed out, waits until
   * what was handed out is settled, and for the acknowledgements to be on the wire.
   *
   * @param timeout the longest wait; zero does not wait for settlements
   * @return how many messages are not settled, or are and the broker may not have been told: those
   *     come again. 0 if there are none. An interrupt ends the wait and is kept
   */
  long drain(Duration timeout);

  /** Returns how it stands now. Cheap enough to be asked once a second. */
  ConsumerStatus status();

  /**
   * Explains why it is as it is: what is wrong, with the numbers it rests on and what to do, and
   * what was seen at each stage. A healthy or idle one has no finding. Does not wait for the
   * network; takes less than a millisecond, so it may be asked once a second.
   */
  Explanation explain();

  /**
   * Returns what was used of the quotas, the busiest second above all, and whether the broker seems
   * to hold us back. Does not wait.
   */
  Usage usage();

  /**
   * Returns latencies since it was opened, by stage: {@code published-arrived}, from the
   * publisher's clock; {@code stored-arrived}, from the broker's, where it tells; {@code
   * arrived-started}, the wait in this process; {@code started-handled}; {@code handled-settled},
   * until the acknowledgement is with the client library, which may hold it back for a moment, or
   * the copy confirmed; and {@code published-handled}, end to end. Where clocks of two machines
   * differ so much that a latency is negative it is counted apart.
   */
  LatencySnapshot latency();

  /**
   * Gives back what was not handed out, sends the acknowledgements, and closes the way to the
   * broker, within the {@code closeTimeout} of the settings. It does not wait for what was handed
   * out: settling that is STALE from then on. Closing again does nothing.
   */
  @Override
  void close();
}
