package io.floatvalve.pulsar;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A receive queue of fixed size, by the client's public API alone. */
final class PlainQueue implements ReceiveQueue {
  private static final Logger LOG = LoggerFactory.getLogger(PlainQueue.class);
  private static final Duration MOMENT = Duration.ofMillis(1);

  private final Consumer<byte[]> consumer;
  private final int size;
  private final Duration acknowledgementDelay;
  private final ScheduledExecutorService ticker;
  private final ArrivalStamps stamps;

  PlainQueue(
      Consumer<byte[]> consumer,
      int size,
      Duration acknowledgementDelay,
      ScheduledExecutorService ticker,
      ArrivalStamps stamps) {
    this.consumer = consumer;
    this.size = size;
    this.acknowledgementDelay = acknowledgementDelay;
    this.ticker = ticker;
    this.stamps = stamps;
  }

  @Override
  public boolean resizable() {
    return false;
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  @SuppressWarnings("deprecation") // the only public word on the depth; it has no successor
  public int depth() {
    Integer depth = consumer.getStats().getMsgNumInReceiverQueue();
    return depth == null ? 0 : depth;
  }

  @Override
  public long bytes() {
    return depth() == 0 ? 0 : stamps.bytes();
  }

  @Override
  public int unsent() {
    return 0;
  }

  @Override
  public boolean primed() {
    return true;
  }

  @Override
  public boolean ended() {
    return false; // taking a message finds out
  }

  @Override
  public void resize(int target) {}

  @Override
  public int repair() {
    return 0;
  }

  @Override
  public void flushAcknowledgements() {
    LockSupport.parkNanos(acknowledgementDelay.plus(MOMENT).toNanos());
  }

  @Override
  public void redeliver(Set<MessageId> entries, Iterable<Message<byte[]>> messages) {
    messages.forEach(consumer::negativeAcknowledge);
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // it ends by itself
  public void afterArrival(Runnable next) {
    try {
      ticker.schedule(next, MOMENT.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("the broker is closed: nothing arrives any more", e);
    }
  }
}
