package io.floatvalve.consume;

import io.floatvalve.explain.Explanation;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Settlement;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * Runs a handler for the messages of one place.
 *
 * <p>A message is taken from the broker's client only when a handler can have it; how many more the
 * broker may send ahead follows the speed of the handlers. Thread-safe. After a lost connection it
 * opens another by itself, for as long as it takes.
 */
public interface Consumer extends AutoCloseable {
  /**
   * Begins to handle messages. Returns at once.
   *
   * @throws IllegalStateException if a handler was given before
   */
  void handle(MessageHandler handler);

  /**
   * Begins to handle messages by a handler that returns before it is done. A message counts as in
   * the handler until its stage is complete, so the limit of workers holds; it costs no thread
   * meanwhile. A stage that fails means what an exception of a {@link MessageHandler} means.
   *
   * @param handler returns a stage, never null; it completes on a thread of the user's choice
   * @throws IllegalStateException if a handler was given before
   */
  void handleAsync(Function<Delivery, CompletionStage<Settlement>> handler);

  /**
   * Stops handing out messages. No handler is started after this has returned; those that were
   * started go on. Messages that wait here stay, and count as permits that are used.
   */
  void pause();

  /** Hands out messages again, those that waited here first. */
  void resume();

  /**
   * Ends consumption: asks the broker for no more, gives back what no handler has begun, waits for
   * the handlers, and for their acknowledgements to be on the wire.
   *
   * <p>There is no way back; {@link #close} is all that is left to do. A handler may call it: its
   * own message is not waited for.
   *
   * @param timeout the longest wait; zero does not wait for handlers
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
   * Drains for at most the {@code closeTimeout} of the settings, then closes the way to the broker.
   * Handlers that still run are not interrupted; settling is STALE from then on, and the broker
   * delivers their messages again. Closing again does nothing.
   */
  @Override
  void close();
}
