package io.floatvalve.consume;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What was taken and is not settled, oldest first, and what became of the rest. Not thread-safe;
 * knows no clock.
 */
final class Ledger {
  /** Where an unsettled message is. */
  enum Stage {
    /** Taken, and no handler has it: its key is busy, or it is to be tried again. */
    PARKED,
    /** In a handler, or handed out. */
    HANDLING,
    /** A copy of it is on its way. */
    SETTLING
  }

  /** What became of it. */
  enum End {
    ACCEPTED,
    RETRIED,
    REJECTED,
    GIVEN_BACK,
    STALE,
    DUPLICATE
  }

  /*
   * A list through the entries themselves: adding, removing from anywhere and finding the oldest
   * cost a few stores and allocate nothing. An entry is in the list exactly while its stage is not
   * null, so the counts by stage and the bytes are sums over the list at all times.
   */
  private @Nullable Taken first;
  private @Nullable Taken last;
  private final Map<Stage, Count> at = new EnumMap<>(Stage.class);
  private final Map<End, Count> ends = new EnumMap<>(End.class);
  private long bytes;
  private long taken;
  private long inPlace;

  Ledger() {
    for (Stage each : Stage.values()) {
      at.put(each, new Count());
    }
    for (End each : End.values()) {
      ends.put(each, new Count());
    }
  }

  /** Enters a message that was taken now. */
  void enter(Taken t, Stage stage) {
    t.stage = stage;
    t.previous = last;
    if (last == null) {
      first = t;
    } else {
      last.next = t;
    }
    last = t;
    count(at, stage).n++;
    bytes += t.size;
    taken++;
  }

  void move(Taken t, Stage to) {
    if (t.stage == null) {
      return;
    }
    count(at, t.stage).n--;
    count(at, to).n++;
    t.stage = to;
  }

  /** Puts the next attempt, parked, in the place of the one before. */
  void replace(Taken t, Taken by) {
    if (t.stage == null) {
      return;
    }
    count(at, t.stage).n--;
    count(at, Stage.PARKED).n++;
    by.stage = Stage.PARKED;
    by.previous = t.previous;
    by.next = t.next;
    if (t.previous == null) {
      first = by;
    } else {
      t.previous.next = by;
    }
    if (t.next == null) {
      last = by;
    } else {
      t.next.previous = by;
    }
    t.stage = null;
    t.previous = null;
    t.next = null;
    inPlace++;
  }

  /** Strikes a message out. Does nothing if it is not in here. */
  void end(Taken t, End end) {
    if (t.stage == null) {
      return;
    }
    count(at, t.stage).n--;
    bytes -= t.size;
    if (t.previous == null) {
      first = t.next;
    } else {
      t.previous.next = t.next;
    }
    if (t.next == null) {
      last = t.previous;
    } else {
      t.next.previous = t.previous;
    }
    t.stage = null;
    t.previous = null;
    t.next = null;
    count(ends, end).n++;
  }

  @Nullable Taken oldest() {
    return first;
  }

  int at(Stage stage) {
    return (int) count(at, stage).n;
  }

  int unsettled() {
    return at(Stage.PARKED) + at(Stage.HANDLING) + at(Stage.SETTLING);
  }

  long bytes() {
    return bytes;
  }

  long taken() {
    return taken;
  }

  long retriedInPlace() {
    return inPlace;
  }

  long ended(End end) {
    return count(ends, end).n;
  }

  private static <E> Count count(Map<E, Count> counts, E of) {
    return Objects.requireNonNull(counts.get(of)); // the constructor has put one for each
  }

  private static final class Count {
    private long n;
  }
}
