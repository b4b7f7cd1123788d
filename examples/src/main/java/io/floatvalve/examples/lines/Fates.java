package io.floatvalve.examples.lines;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;

/** The fate of every line by number, in a nibble each. Not thread-safe. */
public final class Fates {
  private byte[] nibbles = new byte[1 << 12];
  private final long[] counts = new long[16];
  private long highest;

  /** Returns what is known of a line. */
  public Fate get(long line) {
    int at = index(line);
    return at >= nibbles.length ? Fate.UNTRIED : Fate.at((nibbles[at] >> shift(line)) & 0xF);
  }

  /** Adds what one more try of a line came to. */
  public void add(long line, Fate next) {
    set(line, get(line).then(next));
  }

  /** Says that a line is there, whatever is known of it. */
  public void seen(long line) {
    set(line, get(line));
  }

  private void set(long line, Fate fate) {
    int at = index(line);
    if (at >= nibbles.length) {
      long wider = Math.min(Integer.MAX_VALUE - 8L, Math.max(at + 1L, nibbles.length * 2L));
      nibbles = Arrays.copyOf(nibbles, (int) wider);
    }
    counts[get(line).code()]--;
    counts[fate.code()]++;
    nibbles[at] = (byte) ((nibbles[at] & ~(0xF << shift(line))) | (fate.code() << shift(line)));
    highest = Math.max(highest, line);
  }

  /** Returns the highest line of which anything is known; 0 if there is none. */
  public long highest() {
    return highest;
  }

  /** Counts the lines up to the highest by their fate. */
  public Tally tally() {
    Map<Fate, Long> named = new EnumMap<>(Fate.class);
    long untried = highest;
    for (Fate fate : Fate.values()) {
      long count = counts[fate.code()];
      if (fate != Fate.UNTRIED && count > 0) {
        named.put(fate, count);
        untried -= count;
      }
    }
    if (untried > 0) {
      named.put(Fate.UNTRIED, untried);
    }
    return new Tally(named);
  }

  private static int index(long line) {
    if (line < 1 || line > 4_000_000_000L) {
      throw new IllegalArgumentException("line must be from 1 to 4,000,000,000, was " + line);
    }
    return (int) ((line - 1) >> 1);
  }

  private static int shift(long line) {
    return (int) ((line - 1) & 1) * 4;
  }
}
