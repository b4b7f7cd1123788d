package io.floatvalve.pulsar;

import org.jspecify.annotations.Nullable;

/**
 * When each waiting message arrived. Thread-safe: one thread puts, another takes, both in the order
 * of the queue.
 */
final class ArrivalStamps {
  /*
   * A ring of pairs beside the client's own queue, which has no room for a time. The client may
   * throw away what waits (a new connection does); its stamps are passed over when a later message
   * is taken, as they belong to no message that comes again.
   */
  private @Nullable Object[] messages = new Object[16]; // guarded by this
  private long[] nanos = new long[16]; // guarded by this
  private int[] sizes = new int[16]; // guarded by this
  private int head; // guarded by this
  private int count; // guarded by this
  private long bytes; // guarded by this

  synchronized void put(Object message, int size, long nowNanos) {
    if (count == messages.length) {
      grow();
    }
    int at = (head + count) & (messages.length - 1);
    messages[at] = message;
    nanos[at] = nowNanos;
    sizes[at] = size;
    bytes += size;
    count++;
  }

  /** Returns when this message arrived, or {@code nowNanos} if that is not known. */
  synchronized long take(Object message, long nowNanos) {
    while (count > 0) {
      boolean found = messages[head] == message;
      long stamp = nanos[head];
      messages[head] = null;
      bytes -= sizes[head];
      head = (head + 1) & (messages.length - 1);
      count--;
      if (found) {
        return stamp;
      }
    }
    return nowNanos;
  }

  synchronized boolean isEmpty() {
    return count == 0;
  }

  synchronized long bytes() {
    return bytes;
  }

  synchronized void clear() {
    messages = new Object[16];
    nanos = new long[16];
    sizes = new int[16];
    head = 0;
    count = 0;
    bytes = 0;
  }

  private void grow() {
    int length = messages.length;
    @Nullable Object[] moreMessages = new Object[length * 2];
    long[] moreNanos = new long[length * 2];
    int[] moreSizes = new int[length * 2];
    for (int i = 0; i < count; i++) {
      int from = (head + i) & (length - 1);
      moreMessages[i] = messages[from];
      moreNanos[i] = nanos[from];
      moreSizes[i] = sizes[from];
    }
    messages = moreMessages;
    nanos = moreNanos;
    sizes = moreSizes;
    head = 0;
  }
}
