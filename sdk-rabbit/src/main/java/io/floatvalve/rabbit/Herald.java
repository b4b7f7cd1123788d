package io.floatvalve.rabbit;

import io.floatvalve.spi.ReceiveLink;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is told to the engine's listener about one link to receive. Nothing is told once the link
 * was lost or {@linkplain #end ended}, and nothing is ever thrown: the client would close the
 * channel for it, on the thread that all channels are read by.
 */
final class Herald implements Trunk.Link {
  private static final Logger LOG = LoggerFactory.getLogger(Herald.class);

  private final ReceiveLink.Listener listener;
  private final long epoch;
  private final AtomicBoolean live = new AtomicBoolean(true);
  private final AtomicBoolean complained = new AtomicBoolean();

  Herald(ReceiveLink.Listener listener, long epoch) {
    this.listener = listener;
    this.epoch = epoch;
  }

  boolean isLive() {
    return live.get();
  }

  /** Tells nothing from here on; but for a call that is under way. */
  void end() {
    live.set(false);
  }

  void available() {
    if (live.get()) {
      try {
        listener.available();
      } catch (Throwable e) {
        complain(e);
      }
    }
  }

  /** Returns whether this was the first to say so. */
  boolean lost(boolean connection, String detail) {
    boolean first = live.compareAndSet(true, false);
    if (first) {
      try {
        listener.lost(connection, true, detail); // what the broker refuses now it may allow later
      } catch (Throwable e) {
        complain(e);
      }
    }
    return first;
  }

  /** The broker blocks those who publish; nobody does on this connection. */
  @Override
  public void blocked(String reason) {}

  @Override
  public void unblocked() {}

  private void complain(Throwable e) {
    if (complained.compareAndSet(false, true)) {
      LOG.error("a listener of link {} failed; further failures of it are not logged", epoch, e);
    }
  }
}
