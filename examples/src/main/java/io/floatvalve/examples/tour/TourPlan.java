package io.floatvalve.examples.tour;

/**
 * Which line of a file meets which trouble. The troubles are spread over the file and never share a
 * line; a file too short for all of them meets fewer.
 *
 * @param lines how many there are
 */
record TourPlan(int lines) {
  /** How many lines go to the full queue. */
  static final int TO_FULL = 8;

  /** How many of them it keeps. */
  static final int FULL_KEEPS = 3;

  /** How many lines are in flight when the connection is cut. */
  static final int CUT = 5;

  private static final int SHORTEST = 40;

  /** What a line meets. */
  enum Trouble {
    /** None. */
    NONE,
    /** There is no queue of that name. */
    NO_QUEUE,
    /** The queue keeps a few and refuses more. */
    FULL_QUEUE,
    /** Its routing key is longer than the protocol can carry. */
    LONG_KEY,
    /** The connection is cut while its confirm is under way. */
    CUT
  }

  /**
   * Returns what a line meets.
   *
   * @param line from 1
   */
  Trouble of(int line) {
    if (lines < SHORTEST) {
      return Trouble.NONE;
    }
    if (line == noQueue()) {
      return Trouble.NO_QUEUE;
    }
    if (line >= full() && line < full() + TO_FULL) {
      return Trouble.FULL_QUEUE;
    }
    if (line == longKey()) {
      return Trouble.LONG_KEY;
    }
    return line >= cut() && line < cut() + CUT ? Trouble.CUT : Trouble.NONE;
  }

  /** Returns whether there is any trouble. */
  boolean any() {
    return lines >= SHORTEST;
  }

  /** Returns the line that goes to a queue that is not there. */
  int noQueue() {
    return lines / 5;
  }

  /** Returns the first line that goes to the full queue. */
  int full() {
    return 2 * lines / 5;
  }

  /** Returns the line with too long a key. */
  int longKey() {
    return 7 * lines / 10;
  }

  /** Returns the first line that is in flight when the connection is cut. */
  int cut() {
    return 4 * lines / 5;
  }
}
