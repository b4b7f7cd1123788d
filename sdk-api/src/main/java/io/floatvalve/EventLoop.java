package io.floatvalve;

import io.floatvalve.event.Event;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells events to a listener on a thread of its own, which ends when there is nothing to tell. */
final class EventLoop implements Consumer<Event> {
  private static final Logger LOG = LoggerFactory.getLogger(EventLoop.class);
  private static final int CAPACITY = 1_024;
  private static final long IDLE_MILLIS = 1_000;

  private final Consumer<Event> listener;
  private final BlockingQueue<Event> waiting = new ArrayBlockingQueue<>(CAPACITY);
  private final AtomicLong dropped = new AtomicLong();
  private @Nullable Thread teller; // guarded by this
  private volatile boolean closing;

  EventLoop(Consumer<Event> listener) {
    this.listener = listener;
  }

  /** Queues an event, or counts it as dropped; never blocks. Also called on client threads. */
  @Override
  public void accept(Event event) {
    if (!waiting.offer(event)) {
      dropped.incrementAndGet();
    }
    synchronized (this) {
      if (teller == null) {
        teller = new Thread(this::tell, "floatvalve-events");
        teller.setDaemon(true);
        teller.start();
      }
    }
  }

  long dropped() {
    return dropped.get();
  }

  /** Waits, for a moment, until what came about was told. */
  void close() {
    closing = true;
    Thread last;
    synchronized (this) {
      last = teller;
    }
    if (last != null && last != Thread.currentThread()) {
      try {
        last.join(IDLE_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void tell() {
    while (true) {
      Event next = null;
      try {
        next = waiting.poll(closing ? 0 : IDLE_MILLIS / 10, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        // whoever interrupts us wants the thread: it ends when nothing waits
      }
      if (next != null) {
        tell(next);
        continue;
      }
      synchronized (this) {
        if (waiting.isEmpty()) {
          teller = null;
          return;
        }
      }
    }
  }

  private void tell(Event event) {
    LOG.debug("{}", event);
    try {
      listener.accept(event);
    } catch (Throwable e) { // an Error of the listener: the next events are told all the same
      LOG.warn("the event listener failed at {}", event, e);
    }
  }
}
