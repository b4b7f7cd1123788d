package io.floatvalve.publish;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The messages sent and not yet answered, by sequence. Bounded by count and by bytes. Not
 * thread-safe; knows no clock.
 */
final class InFlightWindow<E> {
  /*
   * A ring indexed by the low bits of the sequence: sequences are handed out here, densely, so a
   * slot is found without hashing and allocates nothing. Three bounds hold. `limit` caps how many
   * are unanswered and `byteLimit` how large they are together, which is what the caller asked for;
   * an entry larger than `byteLimit` is admitted when it is alone. `span` caps the distance from
   * the oldest unanswered sequence to the next one; it is four times the largest limit, so that one
   * slow answer does not stop the window while its successors are confirmed, however low the limit
   * is at the moment.
   *
   * The ring begins small and doubles when the distance outgrows it, up to the span: a large limit
   * costs memory only when it is used. `oldest` always points at an open entry, or at `next` when
   * there is none; it moves over each slot once, so every operation is O(1) amortised, a multiple
   * answer too.
   */
  static final long FULL = -1;
  private static final int FIRST_RING = 64;

  private @Nullable Object[] ring;
  private int[] sizes;
  private int mask;
  private int limit;
  private final int span;
  private final long byteLimit;
  private long oldest = 1;
  private long next = 1;
  private int size;
  private long bytes;

  /**
   * Makes an empty window.
   *
   * @param limit how many may be open at most, from 1 to 2^20
   * @param byteLimit how large they may be together, from 1
   */
  InFlightWindow(int limit, long byteLimit) {
    this.byteLimit = byteLimit;
    this.limit = limit;
    span = limit * 4;
    int length = Math.min(FIRST_RING, Integer.highestOneBit(span * 2 - 1));
    ring = new @Nullable Object[length];
    sizes = new int[length];
    mask = length - 1;
  }

  /**
   * Sets how many may be open; those beyond it stay until they are settled.
   *
   * @param newLimit from 1 to what the window was made with
   */
  void limit(int newLimit) {
    limit = newLimit;
  }

  int limit() {
    return limit;
  }

  /** Returns whether an entry of this size could be claimed now. */
  boolean hasRoom(int entryBytes) {
    return size < limit && next - oldest < span && (size == 0 || bytes + entryBytes <= byteLimit);
  }

  /** Opens an entry; returns its sequence, or {@code FULL} if there is no room. */
  long tryClaim(E entry, int entryBytes) {
    if (!hasRoom(entryBytes)) {
      return FULL;
    }
    if (next - oldest == ring.length) {
      grow();
    }
    int slot = (int) next & mask;
    ring[slot] = entry;
    sizes[slot] = entryBytes;
    size++;
    bytes += entryBytes;
    return next++;
  }

  /** Puts another entry in the place of an open one. */
  void replace(long sequence, E entry) {
    if (get(sequence) == null) {
      throw new IllegalArgumentException("not open: " + sequence);
    }
    ring[(int) sequence & mask] = entry;
  }

  /** Closes an entry and returns it, or null if that sequence is not open. */
  @Nullable E settle(long sequence) {
    E entry = get(sequence);
    if (entry == null) {
      return null;
    }
    int slot = (int) sequence & mask;
    ring[slot] = null;
    bytes -= sizes[slot];
    size--;
    if (sequence == oldest) {
      advance();
    }
    return entry;
  }

  /** Closes the oldest entry at or below a sequence and returns it, or null if there is none. */
  @Nullable E settleOldest(long upTo) {
    return oldest <= upTo ? settle(oldest) : null;
  }

  /** Returns an open entry, or null if that sequence is not open. */
  @SuppressWarnings("unchecked") // only tryClaim writes entries
  @Nullable E get(long sequence) {
    return sequence < oldest || sequence >= next ? null : (E) ring[(int) sequence & mask];
  }

  /** Returns the oldest open sequence, or the next one if none is open. */
  long oldest() {
    return oldest;
  }

  /** Returns the sequence that is claimed next. */
  long next() {
    return next;
  }

  /** Returns how many may be claimed from the oldest open one on, answered or not. */
  int span() {
    return span;
  }

  int size() {
    return size;
  }

  long bytes() {
    return bytes;
  }

  private void advance() {
    do {
      oldest++;
    } while (oldest < next && ring[(int) oldest & mask] == null);
  }

  private void grow() {
    int length = ring.length * 2;
    @Nullable Object[] newRing = new @Nullable Object[length];
    int[] newSizes = Arrays.copyOf(sizes, length);
    int newMask = length - 1;
    for (long s = oldest; s < next; s++) {
      newRing[(int) s & newMask] = ring[(int) s & mask];
      newSizes[(int) s & newMask] = sizes[(int) s & mask];
    }
    ring = newRing;
    sizes = newSizes;
    mask = newMask;
  }
}
