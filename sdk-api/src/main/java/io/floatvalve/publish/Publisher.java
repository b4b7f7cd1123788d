package io.floatvalve.publish;

import io.floatvalve.explain.Explanation;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Message;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Publishes messages through a confirm window; every one ends in exactly one {@link
 * PublishOutcome}.
 *
 * <p>Any number of threads may use it. Messages of one thread are sent in the order in which {@code
 * publish} was called; after a lost connection those that were not yet sent keep their order.
 *
 * <p>Futures complete <b>normally</b>, on a completion thread of ours, never on the client's reader
 * thread and never under a lock. Continuations run there: one that blocks delays others for some
 * milliseconds, until another thread takes over; use an {@code Async} continuation for long work. A
 * thread that waits for a future ({@code join}, {@code get}) may complete it, and run what was
 * added to it, in their stead.
 *
 * <p>Completing or cancelling a future does not call the message back.
 */
public interface Publisher extends AutoCloseable {
  /**
   * Publishes a message.
   *
   * <p>Returns once the message is queued. While the queue is full it waits for room, for up to
   * {@code maxBlock}; on a completion thread it never waits. It never waits for the network. When
   * interrupted while waiting, it keeps the interrupt and the outcome is {@code
   * NotSent(INTERRUPTED)}.
   *
   * @param message sent as it is; its payload is not copied and must not change afterwards
   * @return what will have become of the message
   */
  CompletableFuture<PublishOutcome> publish(Message message);

  /**
   * Publishes a message that should have been published at a certain time: by a schedule, a rate,
   * or a request that came in then. As {@link #publish(Message)}, and its latency counts from that
   * time. So a caller that was held up itself, by this or anything else, does not hide the delay
   * (coordinated omission). Nothing else corrects for it: do not correct it again.
   *
   * @param message sent as it is; its payload is not copied and must not change afterwards
   * @param dueNanos by {@link System#nanoTime}; a time to come counts as now
   * @return what will have become of the message
   */
  CompletableFuture<PublishOutcome> publish(Message message, long dueNanos);

  /**
   * Publishes a message if there is room for it now. Never waits: else the outcome is {@code
   * NotSent} with what keeps the queue full, {@code QUEUE_FULL}, {@code CONNECTION_BLOCKED} or
   * {@code RECOVERING}. Callers that wait for room in {@link #publish} come first.
   */
  CompletableFuture<PublishOutcome> tryPublish(Message message);

  /**
   * Publishes many messages, each as by {@link #publish}, and sums up what became of them. Returns
   * once the last is queued.
   *
   * @param messages none may be null: at a null it throws, and what came before is published
   *     without a summary
   */
  CompletableFuture<PublishSummary> publishAll(Iterable<Message> messages);

  /**
   * Waits until all that was published before this call has its outcome.
   *
   * <p>Others may go on publishing; they are not waited for.
   *
   * @param timeout the longest wait; zero asks without waiting
   * @return how many of them have none yet; 0 if all are settled. An interrupt ends the wait and is
   *     kept
   */
  long drain(Duration timeout);

  /** Returns how it stands now. Cheap enough to be asked once a second. */
  PublisherStatus status();

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
   * Returns latencies since it was opened: {@code queued-sent}; for each attempt {@code
   * sent-confirmed}, {@code sent-returned}, {@code sent-nacked} and {@code sent-unknown}, the
   * service time; and for each message {@code due-confirmed} to {@code due-notsent}, the response
   * time: from when it was due, which is the call unless {@linkplain #publish(Message, long) said
   * otherwise}, with what it waited for room and its retries. Costs some microseconds.
   */
  LatencySnapshot latency();

  /**
   * Takes no more messages, waits for what is queued and in flight for at most the {@code
   * closeTimeout} of the settings, then settles the rest: {@code NotSent(CLOSED)} what was never
   * sent, {@code Unknown(PUBLISHER_CLOSED)} what was. Every future is complete or about to be when
   * this returns. An interrupt does not hurry it, and is kept. Who closes again waits for the
   * first.
   */
  @Override
  void close();
}
