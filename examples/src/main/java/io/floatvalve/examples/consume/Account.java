package io.floatvalve.examples.consume;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/**
 * What became of each message that was fed, by its number, and whether the order held. Thread-safe.
 */
final class Account {
  private final BitSet stored = new BitSet(); // guarded by this
  private final BitSet doubted = new BitSet(); // guarded by this
  private final BitSet handled = new BitSet(); // guarded by this
  private final BitSet left = new BitSet(); // guarded by this
  private final Map<String, Integer> latest = new HashMap<>(); // guarded by this
  private long handlings; // guarded by this
  private long others; // guarded by this
  private long outOfOrder; // guarded by this

  /** The broker has confirmed that it has it. */
  synchronized void stored(int number) {
    stored.set(number);
  }

  /** Whether the broker has it is not known. */
  synchronized void doubted(int number) {
    doubted.set(number);
  }

  /**
   * A handler begins with it. A message that was handled before may come at any time; any other
   * must not come after a later one of the same sequence.
   *
   * @param sequence what keeps its order, such as a key
   */
  synchronized void begun(String sequence, int number) {
    if (handled.get(number)) {
      return;
    }
    Integer before = latest.get(sequence);
    if (before != null && before > number) {
      outOfOrder++;
    } else {
      latest.put(sequence, number);
    }
  }

  /** A handler has done it. */
  synchronized void handled(int number) {
    handlings++;
    handled.set(number);
  }

  /** A handler has done a message that was not fed here. */
  synchronized void handledOther() {
    others++;
  }

  /** It was found there after the end. */
  synchronized void left(int number) {
    left.set(number);
  }

  /** Sums it up. */
  synchronized Sum sum() {
    BitSet waiting = without(left, handled);
    BitSet lost = without(stored, handled);
    lost.andNot(left);
    return new Sum(
        stored.cardinality(),
        doubted.cardinality(),
        handled.cardinality(),
        handlings - handled.cardinality(),
        waiting.cardinality(),
        lost.cardinality(),
        others,
        outOfOrder);
  }

  private static BitSet without(BitSet all, BitSet some) {
    BitSet rest = (BitSet) all.clone();
    rest.andNot(some);
    return rest;
  }

  /**
   * What became of all.
   *
   * @param stored confirmed by the broker
   * @param doubted sent without an answer; the broker may have them
   * @param handled at least once
   * @param again handlings beyond the first of a message
   * @param left not handled, found there after the end
   * @param lost confirmed, and neither handled nor found
   * @param others handlings of messages that were not fed here
   * @param outOfOrder how often one was first begun after a later one of its sequence
   */
  record Sum(
      long stored,
      long doubted,
      long handled,
      long again,
      long left,
      long lost,
      long others,
      long outOfOrder) {}
}
