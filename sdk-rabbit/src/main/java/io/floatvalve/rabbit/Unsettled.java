package io.floatvalve.rabbit;

import java.util.ArrayDeque;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What the broker delivered on one channel and has not been told the end of, in the order of the
 * delivery tags; finds the fewest words to tell it. Pure, and not thread-safe.
 */
final class Unsettled {
  /*
   * A list of what is outstanding, linked through the entries, so that its length is bounded by the
   * prefetch and not by the distance of tags: one message in a handler for an hour costs nothing.
   *
   * An acknowledgement "up to" a tag covers all that is outstanding at or before it, whoever thinks
   * of it otherwise. So it is only said for the unbroken run of acknowledged entries at the head of
   * the list. What is refused or given back is told singly, and leaves the list by that; until then
   * it breaks the run.
   *
   * What came by a source that is held is not told at all, until the source is released.
   */

  /** Who delivered: one consumer of the channel. */
  static final class Source {
    private int outstanding;
    private boolean held;

    /** Returns how many messages of it the broker has not been told the end of. */
    int outstanding() {
      return outstanding;
    }
  }

  /** One delivery. */
  static class Entry {
    private final long tag;
    private final Source source;
    private State state = State.OPEN;
    private @Nullable Entry previous;
    private @Nullable Entry next;

    Entry(long tag, Source source) {
      this.tag = tag;
      this.source = source;
    }

    long tag() {
      return tag;
    }

    Source source() {
      return source;
    }
  }

  private enum State {
    OPEN,
    ACKED,
    REJECTED,
    RETURNED,
    TOLD
  }

  private @Nullable Entry first;
  private @Nullable Entry last;
  private @Nullable Entry runEnd; // of the run of acknowledged entries at the head; null if empty
  private int run;
  private int acked; // all that are, in the run or not
  private int outstanding;
  private final ArrayDeque<Entry> refused = new ArrayDeque<>();

  /** Enters a delivery. Tags ascend. */
  void arrived(Entry entry) {
    Entry before = last;
    entry.previous = before;
    if (before == null) {
      first = entry;
    } else {
      before.next = entry;
    }
    last = entry;
    entry.source.outstanding++;
    outstanding++;
  }

  /** Acknowledges; false if it was settled before. */
  boolean ack(Entry entry) {
    if (entry.state != State.OPEN) {
      return false;
    }
    entry.state = State.ACKED;
    acked++;
    extendRun();
    return true;
  }

  /** Refuses for good; false if it was settled before. */
  boolean reject(Entry entry) {
    return refuse(entry, State.REJECTED);
  }

  /** Gives back to the queue; false if it was settled before. */
  boolean giveBack(Entry entry) {
    return refuse(entry, State.RETURNED);
  }

  private boolean refuse(Entry entry, State as) {
    if (entry.state != State.OPEN) {
      return false;
    }
    entry.state = as;
    refused.add(entry);
    return true;
  }

  private void extendRun() {
    Entry next = runEnd == null ? first : runEnd.next;
    while (next != null && next.state == State.ACKED && !next.source.held) {
      runEnd = next;
      run++;
      next = next.next;
    }
  }

  /** Keeps back what is to be told of a source. */
  void hold(Source source) {
    source.held = true;
    runEnd = null;
    run = 0;
    extendRun();
  }

  /** Lets it be told. */
  void release(Source source) {
    source.held = false;
    extendRun();
  }

  /** Returns how many deliveries the broker counts as outstanding. */
  int outstanding() {
    return outstanding;
  }

  /** Returns the oldest that is not settled, or null. */
  @Nullable Entry oldestOpen() {
    Entry entry = first;
    while (entry != null && entry.state != State.OPEN) {
      entry = entry.next;
    }
    return entry;
  }

  /** Returns how many are settled and not told. */
  int unsent() {
    return acked + refused.size();
  }

  /** Returns how many could be acknowledged by one word. */
  int run() {
    return run;
  }

  /**
   * Says what is to be told, in the order in which it must be, and takes it as told.
   *
   * @param singly whether acknowledgements behind one that is open are told too, one by one
   */
  void tell(boolean singly, Words words) {
    for (int left = refused.size(); left > 0; left--) {
      Entry entry = refused.remove();
      if (entry.source.held) {
        refused.add(entry);
      } else {
        words.add(entry.state == State.REJECTED ? Words.REJECT : Words.GIVE_BACK, entry.tag);
        unlink(entry);
      }
    }
    extendRun();
    Entry end = runEnd;
    if (end != null) {
      words.add(run > 1 ? Words.ACK_UP_TO : Words.ACK, end.tag);
      acked -= run;
      for (Entry entry = first; run > 0 && entry != null; run--) {
        Entry next = entry.next;
        unlink(entry);
        entry = next;
      }
      runEnd = null;
    }
    if (singly && acked > 0) {
      for (Entry entry = first; entry != null; ) {
        Entry next = entry.next;
        if (entry.state == State.ACKED && !entry.source.held) {
          words.add(Words.ACK, entry.tag);
          acked--;
          unlink(entry);
        }
        entry = next;
      }
    }
  }

  private void unlink(Entry entry) {
    entry.state = State.TOLD;
    entry.source.outstanding--;
    outstanding--;
    Entry before = entry.previous;
    Entry after = entry.next;
    if (before == null) {
      first = after;
    } else {
      before.next = after;
    }
    if (after == null) {
      last = before;
    } else {
      after.previous = before;
    }
    entry.previous = null;
    entry.next = null;
  }

  /** What is to be told: a kind and a tag each. */
  static final class Words {
    static final int ACK = 0;
    static final int ACK_UP_TO = 1;
    static final int REJECT = 2;
    static final int GIVE_BACK = 3;
    private static final int KIND_BITS = 2;

    private long[] words = new long[16];
    private int count;

    private void add(int kind, long tag) {
      if (count == words.length) {
        words = Arrays.copyOf(words, 2 * count);
      }
      words[count++] = tag << KIND_BITS | kind;
    }

    int count() {
      return count;
    }

    int kind(int index) {
      return (int) words[index] & (1 << KIND_BITS) - 1;
    }

    long tag(int index) {
      return words[index] >>> KIND_BITS;
    }

    void clear() {
      count = 0;
    }
  }
}
