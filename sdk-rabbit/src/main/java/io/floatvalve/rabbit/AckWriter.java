package io.floatvalve.rabbit;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread of a connection that tells the broker the ends of deliveries, for all links on it,
 * each when it is due. Nobody else waits for the socket.
 */
final class AckWriter implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(AckWriter.class);

  /** A time that does not come. */
  static final long NEVER = Long.MAX_VALUE;

  private static final long AWAKE = Long.MIN_VALUE;
  private static final long LONGEST_SLEEP_NANOS = 1_000_000_000L;

  /** What has something to tell now and then. Called by the writer's thread alone. */
  interface Teller {
    /** Returns when it is due, by {@link #now}, or {@link #NEVER}. */
    long dueNanos();

    /** Tells what is due, and sets anew when it is. May wait for the socket; does not throw. */
    void tell(Coalescer out);
  }

  /*
   * A teller that becomes due earlier than the thread sleeps wakes it. It sets its time and then
   * reads `sleepsUntil`; the thread sets `sleepsUntil` and then reads all times once more. Both are
   * volatile, so one of the two sees the other.
   */
  private final long origin = System.nanoTime();
  private final Coalescer out;
  private final List<Teller> tellers = new CopyOnWriteArrayList<>();
  private volatile long sleepsUntil = AWAKE;
  private volatile @Nullable Thread thread;
  private volatile boolean ended;

  AckWriter(Coalescer out) {
    this.out = out;
  }

  /** Returns a time, from 0, that may be compared. */
  long now() {
    return System.nanoTime() - origin;
  }

  void add(Teller teller) {
    tellers.add(teller);
  }

  void remove(Teller teller) {
    tellers.remove(teller);
  }

  /** A teller is due at this time; it has set that before. */
  void dueAt(long nanos) {
    if (nanos < sleepsUntil) {
      LockSupport.unpark(thread);
    }
  }

  /** Ends the thread. */
  void end() {
    ended = true;
    LockSupport.unpark(thread);
  }

  @Override
  public void run() {
    thread = Thread.currentThread();
    while (!ended) {
      long now = now();
      for (Teller each : tellers) {
        if (each.dueNanos() <= now) {
          tell(each);
        }
      }
      long until = Math.min(earliest(), now + LONGEST_SLEEP_NANOS);
      sleepsUntil = until;
      if (earliest() >= until && !ended) {
        long nanos = until - now();
        if (nanos > 0) {
          LockSupport.parkNanos(this, nanos);
        }
      }
      sleepsUntil = AWAKE;
    }
  }

  private long earliest() {
    long earliest = NEVER;
    for (Teller each : tellers) {
      earliest = Math.min(earliest, each.dueNanos());
    }
    return earliest;
  }

  @SuppressWarnings("CatchingUnchecked") // one link's failure must not stop the others
  private void tell(Teller teller) {
    try {
      teller.tell(out);
    } catch (Exception e) {
      LOG.error("settling on {} failed", teller, e);
    }
  }
}
