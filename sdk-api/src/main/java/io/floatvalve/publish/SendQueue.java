package io.floatvalve.publish;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The messages that wait to be sent, in their order, and those that wait until they may be sent
 * again. Both fill it. Not thread-safe; knows no clock.
 */
final class SendQueue {
  private final int maxMessages;
  private final long maxBytes;
  private @Nullable Pending head; // linked by next, as far as the tail
  private @Nullable Pending tail;
  private int ready;
  private final Deque<Pending> later = new ArrayDeque<>();
  private long bytes; // of both
  private boolean inOrder = true; // of queuedNanos, unless messages came back

  SendQueue(int maxMessages, long maxBytes) {
    this.maxMessages = maxMessages;
    this.maxBytes = maxBytes;
  }

  /** Returns how many wait, those for later among them. */
  int size() {
    return ready + later.size();
  }

  /** Returns the bytes of those. */
  long bytes() {
    return bytes;
  }

  /**
   * Returns whether one more fits. A message larger than all the room there is fits alone.
   *
   * @param ahead how many others shall fit before it
   */
  boolean hasRoom(int messageBytes, int ahead) {
    int size = size();
    return size + ahead < maxMessages && (size == 0 || bytes + messageBytes <= maxBytes);
  }

  /** Returns whether there is room for a single message, of no size. */
  boolean hasPlace() {
    return size() < maxMessages;
  }

  /** Returns whether what is ready fills no more than half of it. */
  boolean isHalfEmpty() {
    return ready <= maxMessages / 2 && bytes <= maxBytes / 2;
  }

  /** Queues a message behind all others, whether there is room or not. */
  void add(Pending last) {
    if (tail == null) {
      head = last;
    } else {
      tail.next = last;
    }
    tail = last;
    ready++;
    bytes += last.bytes;
  }

  /** Queues the last one taken out, which was not sent after all, before all others again. */
  void putBack(Pending first) {
    if (head == null) {
      tail = first;
    } else {
      inOrder &= first.queuedNanos - head.queuedNanos <= 0;
    }
    first.next = head;
    head = first;
    ready++;
    bytes += first.bytes;
  }

  /** Keeps a message that is to be sent again when it is {@link Retries#dueNanos due}. */
  void addForLater(Pending again) {
    later.add(again);
    bytes += again.bytes;
  }

  /**
   * Queues what is due before all else, in the order in which it was kept; also what need not be
   * sent again after all.
   *
   * @param all whether what is not due yet, too
   */
  void queueDue(long now, boolean all) {
    Pending first = null;
    Pending last = null;
    for (int i = later.size(); i > 0; i--) {
      Pending pending = later.remove();
      Retries retries = Objects.requireNonNull(pending.retries);
      if (!all && retries.dueNanos - now > 0 && retries.late() == null) {
        later.add(pending);
        continue;
      }
      pending.queuedNanos = now;
      ready++;
      if (last == null) {
        first = pending;
      } else {
        last.next = pending;
      }
      last = pending;
    }
    if (last != null) {
      inOrder = false;
      last.next = head;
      head = first;
      if (tail == null) {
        tail = last;
      }
    }
  }

  /** Returns the next one to be sent, or null if none is ready. */
  @Nullable Pending first() {
    return head;
  }

  /** Takes the next one out. */
  Pending remove() {
    Pending first = Objects.requireNonNull(head);
    head = first.next;
    if (head == null) {
      tail = null;
    }
    return removed(first);
  }

  /** Takes out one of those for later; null if there is none. */
  @Nullable Pending removeLater() {
    Pending again = later.poll();
    if (again != null) {
      bytes -= again.bytes;
    }
    return again;
  }

  /** Takes out what is ready and was queued at a moment or before, and gives it away. */
  void removeQueuedUntil(long nanos, Consumer<Pending> to) {
    Pending before = null;
    Pending pending = head;
    while (pending != null) {
      Pending next = pending.next;
      if (pending.queuedNanos - nanos > 0) {
        if (inOrder) {
          return;
        }
        before = pending;
      } else if (before == null) {
        to.accept(remove());
      } else {
        before.next = next;
        tail = next == null ? before : tail;
        to.accept(removed(pending));
      }
      pending = next;
    }
  }

  private Pending removed(Pending pending) {
    pending.next = null;
    ready--;
    bytes -= pending.bytes;
    inOrder |= ready == 0;
    return pending;
  }

  /** Returns how long before a moment the first, or one of those for later, was due; 0 for none. */
  long ageAt(long now) {
    long oldest = head == null ? 0 : now - head.dueNanos;
    for (Pending each : later) {
      oldest = Math.max(oldest, now - each.dueNanos);
    }
    return oldest;
  }

  /** Adds all to a list, those for later last. */
  void collect(List<Pending> into) {
    for (Pending p = head; p != null; p = p.next) {
      into.add(p);
    }
    into.addAll(later);
  }
}
