package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.ConfirmListener;
import com.rabbitmq.client.ReturnListener;
import com.rabbitmq.client.ShutdownSignalException;
import io.floatvalve.spi.PublishLink;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What comes back on one channel, told to the engine's listener.
 *
 * <p>The client calls this on the connection's reader thread, one call at a time; a blocked
 * connection is also told by the thread that opens, before anything was sent. Nothing is told once
 * the link was lost, or {@linkplain #end ended}. Nothing is ever thrown: the client would close the
 * channel for it, on the thread that all channels are read by.
 */
final class Answers implements ConfirmListener, ReturnListener, Trunk.Link {
  private static final Logger LOG = LoggerFactory.getLogger(Answers.class);
  private static final int SEQUENCE_BITS = 40;

  private enum State {
    LIVE,
    LOST,
    ENDED
  }

  private final PublishLink.Listener listener;
  private final long epoch;
  private final @Nullable String delayedExchange;
  private final AtomicReference<State> state = new AtomicReference<>(State.LIVE);
  private final AtomicBoolean complained = new AtomicBoolean();

  /**
   * Makes it.
   *
   * @param epoch of the link, below 2^24
   * @param delayedExchange an exchange that returns what it will deliver later, or null
   */
  Answers(PublishLink.Listener listener, long epoch, @Nullable String delayedExchange) {
    this.listener = listener;
    this.epoch = epoch;
    this.delayedExchange = delayedExchange;
  }

  /** Returns what a mandatory message carries to find its way back: the epoch and the sequence. */
  static long mark(long epoch, long sequence) {
    return epoch << SEQUENCE_BITS | sequence;
  }

  /** Tells nothing from here on; but for a call that is under way. */
  void end() {
    state.set(State.ENDED);
  }

  boolean isLive() {
    return state.get() == State.LIVE;
  }

  @Override
  public void handleAck(long tag, boolean multiple) {
    if (isLive()) {
      try {
        listener.confirmed(tag, multiple, null);
      } catch (Throwable e) {
        complain(e);
      }
    }
  }

  @Override
  public void handleNack(long tag, boolean multiple) {
    if (isLive()) {
      try {
        listener.nacked(tag, multiple, null);
      } catch (Throwable e) {
        complain(e);
      }
    }
  }

  @Override
  public void handleReturn(
      int code,
      String text,
      String exchange,
      String routingKey,
      BasicProperties properties,
      byte[] body) {
    if (!isLive()) {
      return;
    }
    try {
      Map<String, Object> headers = properties.getHeaders();
      long mark = headers == null ? 0 : mark(headers.get(PropertyMap.MARK));
      if (mark >>> SEQUENCE_BITS != epoch) {
        listener.strayReturn(
            code
                + " "
                + text
                + " from exchange '"
                + exchange
                + "', routing key '"
                + routingKey
                + "'");
        return;
      }
      boolean delayed =
          headers != null
              && exchange.equals(delayedExchange)
              && PropertyMap.isPositive(headers.get(PropertyMap.DELAY));
      long sequence = mark & (1L << SEQUENCE_BITS) - 1;
      listener.returned(sequence, code, text, exchange, routingKey, !delayed);
    } catch (Throwable e) {
      complain(e);
    }
  }

  private static long mark(@Nullable Object header) {
    return header instanceof byte[] bytes && bytes.length == Long.BYTES
        ? ByteBuffer.wrap(bytes).getLong()
        : 0; // no epoch is 0
  }

  @Override
  public void blocked(String reason) {
    if (isLive()) {
      try {
        listener.blocked(reason);
      } catch (Throwable e) {
        complain(e);
      }
    }
  }

  @Override
  public void unblocked() {
    if (isLive()) {
      try {
        listener.unblocked();
      } catch (Throwable e) {
        complain(e);
      }
    }
  }

  void lost(ShutdownSignalException signal) {
    if (state.compareAndSet(State.LIVE, State.LOST)) {
      try {
        listener.lost(signal.isHardError(), Failures.detail(signal));
      } catch (Throwable e) {
        complain(e);
      }
    }
  }

  private void complain(Throwable e) {
    if (complained.compareAndSet(false, true)) {
      LOG.error("a listener of link {} failed; further failures of it are not logged", epoch, e);
    }
  }
}
