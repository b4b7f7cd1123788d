package io.floatvalve.pulsar;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.apache.pulsar.client.api.Message;
import org.jspecify.annotations.Nullable;

/**
 * When each message that waits in one client consumer arrived. One thread puts (the client's), one
 * at a time takes, both in the order of the queue; neither waits for the other.
 */
final class ArrivalStamps {
  /*
   * A ring beside the client's own queue, which has no room for a time. A slot belongs to whoever
   * puts while it is empty and to whoever takes while it holds a message, so the two share nothing
   * but the slots. A ring that is full is left behind for one twice as large: what is put after
   * that goes to the new one only, so whoever takes moves on when the old one is empty.
   *
   * The client may throw away what waits (a new connection does); its stamps are passed over when a
   * later message is taken, as they belong to no message that comes again, or at once after
   * `forget`.
   */
  private static final int FIRST_LENGTH = 16;

  private Ring putRing = new Ring(FIRST_LENGTH); // of whoever puts
  private int putAt; // of whoever puts
  private final AtomicLong put = new AtomicLong(); // written by whoever puts
  private final AtomicLong putBytes = new AtomicLong(); // written by whoever puts

  private Ring takeRing = putRing; // of whoever takes
  private int takeAt; // of whoever takes
  private long taken; // of whoever takes
  private final AtomicLong takenBytes = new AtomicLong(); // written by whoever takes
  private volatile long forgotten; // so many, from the first on, are of no use

  /** Notes that a message arrived. */
  void put(Message<?> message, long nowNanos) {
    Ring ring = putRing;
    int at = putAt & ring.mask;
    if (ring.messages.getAcquire(at) == null) {
      ring.set(at, message, nowNanos);
      putAt++;
    } else {
      Ring larger = new Ring(2 * ring.nanos.length);
      larger.set(0, message, nowNanos);
      putRing = larger;
      putAt = 1;
      ring.next = larger;
    }
    putBytes.lazySet(putBytes.get() + message.size());
    put.lazySet(put.get() + 1);
  }

  /** Returns when this message arrived, which is now if it is not known. */
  long take(Message<?> message) {
    while (true) {
      Message<?> first = first();
      if (first == null) {
        return System.nanoTime();
      }
      long stamp = takeRing.nanos[takeAt & takeRing.mask];
      drop(first);
      if (first == message) {
        return stamp;
      }
    }
  }

  /** Returns whether no message has arrived that was not taken. Of whoever takes. */
  boolean isEmpty() {
    while (taken < forgotten) {
      Message<?> first = first();
      if (first == null) {
        break;
      }
      drop(first);
    }
    return first() == null;
  }

  /** Forgets those until now: nothing waits. Any thread. */
  void forget() {
    forgotten = put.get();
  }

  /** Returns the payload bytes of what waits; more while it holds what the client threw away. */
  long bytes() {
    return Math.max(0, putBytes.get() - takenBytes.get());
  }

  private @Nullable Message<?> first() {
    while (true) {
      Ring ring = takeRing;
      Message<?> first = ring.messages.getAcquire(takeAt & ring.mask);
      if (first != null) {
        return first;
      }
      Ring next = ring.next;
      if (next == null) {
        return null;
      }
      if (ring.messages.getAcquire(takeAt & ring.mask) == null) {
        takeRing = next;
        takeAt = 0;
      }
    }
  }

  private void drop(Message<?> first) {
    takeRing.messages.setRelease(takeAt & takeRing.mask, null);
    takeAt++;
    taken++;
    takenBytes.lazySet(takenBytes.get() + first.size());
  }

  /** As many stamps as a power of two. */
  private static final class Ring {
    private final int mask;
    private final AtomicReferenceArray<@Nullable Message<?>> messages;
    private final long[] nanos;
    private volatile @Nullable Ring next;

    private Ring(int length) {
      mask = length - 1;
      messages = new AtomicReferenceArray<>(length);
      nanos = new long[length];
    }

    private void set(int at, Message<?> message, long nowNanos) {
      nanos[at] = nowNanos;
      messages.setRelease(at, message);
    }
  }
}
