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
  private final Map<End, Count> ends = new EnumMap<>(End.class);
  private int parked;
  private int handling;
  private int settling;
  private long accepted; // the usual end: not in the map
  private long bytes;
  private long taken;
  private long inPlace;

  Ledger() {
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
    count(stage, 1);
    bytes += t.size;
    taken++;
  }

  void move(Taken t, Stage to) {
    if (t.stage == null) {
      return;
    }
    count(t.stage, -1);
    count(to, 1);
    t.stage = to;
  }

  /** Puts the next attempt, parked, in the place of the one before. */
  void replace(Taken t, Taken by) {
    if (t.stage == null) {
      return;
    }
    count(t.stage, -1);
    count(Stage.PARKED, 1);
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
    count(t.stage, -1);
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
    if (end == End.ACCEPTED) {
      accepted++;
    } else {
      count(end).n++;
    }
  }

  @Nullable Taken oldest() {
    return first;
  }

  int at(Stage stage) {
    return switch (stage) {
      case PARKED -> parked;
      case HANDLING -> handling;
      case SETTLING -> settling;
    };
  }

  int unsettled() {
    return parked + handling + settling;
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
    return end == End.ACCEPTED ? accepted : count(end).n;
  }

  private Count count(End end) {
    return Objects.requireNonNull(ends.get(end)); // the constructor has put one for each
  }

  private void count(Stage stage, int change) {
    switch (stage) {
      case PARKED -> parked += change;
      case HANDLING -> handling += change;
      case SETTLING -> settling += change;
    }
  }

  private static final class Count {
    private long n;
  }
}
