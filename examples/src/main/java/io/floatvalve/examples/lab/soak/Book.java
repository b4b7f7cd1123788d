package io.floatvalve.examples.lab.soak;

import io.floatvalve.publish.PublishOutcome.Verdict;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Everything that was seen of every message, and what must be true of it. A dull account: it knows
 * no broker, no clock and no thread. Messages have numbers from 0 on, and the key of a message is
 * its number modulo the number of keys. Thread-safe.
 */
final class Book implements Journal.Sink {
  /*
   * Four bytes for each message, so that millions fit. What excuses a message is told by eras: a
   * new one begins with each blow, each message keeps the era in which it was published, and the
   * difference of two sums says what has happened since.
   */
  private static final int EXAMPLES = 5;
  private static final byte NOBODY = 0;
  private static final byte OPEN = 1;
  private static final int FIRST_VERDICT = 2;

  private static final byte STORED = 1;
  private static final byte BEGUN = 2;
  private static final byte HANDLED = 4;
  private static final byte INVERTED = 8;
  private static final byte REPEATED = 16; // its first handling was a redelivery
  private static final byte SETTLED = 32; // in the delivery that is being handled

  /** What can excuse the absence of a message, or the lateness of an outcome. */
  enum Blow {
    /** The broker's process was killed: what it had not confirmed may be in one queue alone. */
    KILLED,
    /** The queue was deleted: what lay in it is gone. */
    DELETED,
    /** The client was killed: what it had not logged has no outcome. */
    CLIENT_KILLED,
    /** The client was halted for some seconds. */
    CLIENT_HALTED
  }

  /** How many of each blow there were. */
  private record Sums(int killed, int deleted, int clientKilled, int clientHalted) {
    static final Sums NONE = new Sums(0, 0, 0, 0);

    int of(Blow blow) {
      return switch (blow) {
        case KILLED -> killed;
        case DELETED -> deleted;
        case CLIENT_KILLED -> clientKilled;
        case CLIENT_HALTED -> clientHalted;
      };
    }

    Sums plus(Blow blow) {
      return new Sums(
          killed + (blow == Blow.KILLED ? 1 : 0),
          deleted + (blow == Blow.DELETED ? 1 : 0),
          clientKilled + (blow == Blow.CLIENT_KILLED ? 1 : 0),
          clientHalted + (blow == Blow.CLIENT_HALTED ? 1 : 0));
    }
  }

  /**
   * What the broker does not promise.
   *
   * @param atomic whether a message that was not confirmed is in all queues or in none, as long as
   *     the broker is not killed
   * @param headFirst whether a message that comes again comes before those behind it
   * @param unroutableEvery every so many-th message is one that no queue takes; 0 for none
   */
  record Terms(
      int keys, long longestMillis, boolean atomic, boolean headFirst, int unroutableEvery) {
    boolean unroutable(int id) {
      return unroutableEvery > 0 && id % unroutableEvery == unroutableEvery - 1;
    }
  }

  private final Terms terms;
  private byte[] ends = new byte[1 << 16];
  private byte[] marks = new byte[1 << 16];
  private char[] eras = new char[1 << 16];
  private int size;

  private final List<Sums> sums = new ArrayList<>(List.of(Sums.NONE)); // as each era begins

  private final int[] lastBegun;
  private final int[] inHandler;

  private final long[] verdicts = new long[Ending.CODES];
  private long published;
  private long open;
  private long cutOff;
  private long stored;
  private long handled;
  private long handlings;
  private long thrown;
  private long repeats;
  private long longestMillis;

  private final Map<Law, Long> violations = new EnumMap<>(Law.class);
  private final List<String> examples = new ArrayList<>();
  private final Map<Law, Integer> shown = new EnumMap<>(Law.class);

  private long excusedDeleted;
  private long excusedKilled;
  private long late;
  private long outOfHeadOrder;

  Book(Terms terms) {
    this.terms = terms;
    lastBegun = new int[terms.keys()];
    inHandler = new int[terms.keys()];
    Arrays.fill(lastBegun, -1);
    Arrays.fill(inHandler, -1);
  }

  // ------------------------------------------------------------------------------ what was seen

  @Override
  public synchronized void entry(Journal.Kind kind, int id, int detail) {
    if (id < 0) {
      violate(Law.OURS, "a message numbered " + id);
      return;
    }
    room(id);
    switch (kind) {
      case INTENDED -> intended(id);
      case OUTCOME -> outcome(id, Ending.verdict(detail), Ending.millis(detail));
      case FAILED -> violate(Law.ONE_OUTCOME, id, "the publish failed by an exception");
      case BEGUN -> begun(id, detail != 0);
      case SETTLED -> settled(id);
      case HANDLED -> handled(id, detail != 0);
    }
  }

  private void intended(int id) {
    if (ends[id] != NOBODY) {
      violate(Law.ONE_OUTCOME, id, "published a second time");
      return;
    }
    ends[id] = OPEN;
    eras[id] = (char) (sums.size() - 1);
    published++;
    open++;
  }

  private void outcome(int id, Verdict verdict, long millis) {
    if (ends[id] != OPEN) {
      String before = ends[id] == NOBODY ? "none was published" : "it had " + verdict(id);
      violate(Law.ONE_OUTCOME, id, "the outcome " + verdict + ", but " + before);
      return;
    }
    ends[id] = (byte) (FIRST_VERDICT + Ending.code(verdict));
    verdicts[Ending.code(verdict)]++;
    open--;
    longestMillis = Math.max(longestMillis, millis);
    long allowed = terms.longestMillis() + since(Blow.CLIENT_HALTED, id) * Soak.HALT.toMillis();
    if (millis > allowed) {
      violate(Law.IN_TIME, id, verdict + " after " + millis + " ms, of " + allowed);
    }
  }

  private void begun(int id, boolean again) {
    int key = id % terms.keys();
    handlings++;
    if (ends[id] == NOBODY) {
      violate(Law.OURS, id, "handled, but never published");
    }
    if (inHandler[key] >= 0) {
      violate(Law.ONE_OF_A_KEY, id, "begun while " + inHandler[key] + " was in its handler");
    }
    inHandler[key] = id;
    if (has(id, BEGUN)) {
      repeats++;
    } else {
      set(id, BEGUN);
      if (again) {
        set(id, REPEATED);
      }
      if (id < lastBegun[key]) {
        set(id, INVERTED);
      } else {
        lastBegun[key] = id;
      }
    }
    marks[id] &= ~SETTLED;
  }

  private void settled(int id) {
    if (inHandler[id % terms.keys()] != id) {
      violate(Law.SETTLED_ONCE, id, "settled, but not in a handler");
    } else if (has(id, SETTLED)) {
      violate(Law.SETTLED_ONCE, id, "settled twice, and ACCEPTED both times");
    }
    set(id, SETTLED);
  }

  private void handled(int id, boolean accepted) {
    int key = id % terms.keys();
    if (inHandler[key] != id) {
      violate(Law.ONE_OF_A_KEY, id, "a handler ended that had not begun");
    }
    inHandler[key] = -1;
    if (!accepted) {
      thrown++;
    } else if (!has(id, HANDLED)) {
      set(id, HANDLED);
      handled++;
    }
  }

  /** A message is stored, as another reader of the broker has seen. */
  synchronized void stored(int id) {
    room(id);
    if (!has(id, STORED)) {
      set(id, STORED);
      stored++;
    }
  }

  /** A second copy of a message is stored. */
  synchronized void storedAgain(int id) {
    violate(Law.STORED_ONCE, id, "stored twice");
  }

  /** Something has happened to all messages that were published so far. */
  synchronized void blow(Blow blow) {
    sums.add(now().plus(blow));
    if (sums.size() > Character.MAX_VALUE) {
      throw new IllegalStateException("more blows than a book has room for");
    }
    if (blow == Blow.CLIENT_KILLED) {
      cutOff += open;
      open = 0;
      Arrays.fill(inHandler, -1);
    }
  }

  /** A law was seen broken by other means. */
  synchronized void violated(Law law, String words) {
    violate(law, words);
  }

  // ------------------------------------------------------------------------------ what must hold

  /** Holds everything against everything, once nothing happens any more. */
  synchronized void balance() {
    for (int id = 0; id < size; id++) {
      if (ends[id] != NOBODY) {
        balance(id);
      } else if (has(id, STORED)) {
        violate(Law.OURS, id, "stored, but never published");
      }
    }
  }

  private void balance(int id) {
    boolean seen = has(id, STORED) || has(id, BEGUN);
    if (ends[id] == OPEN) {
      if (since(Blow.CLIENT_KILLED, id) == 0) {
        violate(Law.ONE_OUTCOME, id, "no outcome");
      }
    } else {
      switch (verdict(id)) {
        case CONFIRMED -> {
          if (terms.unroutable(id)) {
            violate(Law.ROUTED, id, "confirmed, though no queue takes it");
          } else if (!has(id, STORED)) {
            violate(Law.CONFIRMED_STORED, id, "confirmed, but not stored");
          }
        }
        case RETURNED -> {
          if (seen) {
            violate(Law.RETURNED_ABSENT, id, "returned, but stored");
          }
          if (!terms.unroutable(id)) {
            violate(Law.ROUTED, id, "returned, though a queue takes it");
          }
        }
        case NOT_SENT -> {
          if (seen) {
            violate(Law.NOT_SENT_ABSENT, id, "not sent, but stored");
          }
        }
        case NACKED, UNKNOWN -> {
          // both may be there or not
        }
      }
    }
    if (has(id, STORED) && !has(id, HANDLED)) {
      missing(id);
    }
    if (has(id, INVERTED)) {
      inverted(id);
    }
  }

  private void missing(int id) {
    if (since(Blow.DELETED, id) > 0) {
      excusedDeleted++;
    } else if (!confirmed(id) && (!terms.atomic() || since(Blow.KILLED, id) > 0)) {
      excusedKilled++;
    } else {
      violate(
          Law.STORED_HANDLED,
          id,
          "stored, but never handled" + (has(id, BEGUN) ? " to an end" : ""));
    }
  }

  /** Only of what is confirmed is it known that it was stored before all that came after it. */
  private void inverted(int id) {
    if (!confirmed(id)) {
      late++;
    } else if (!terms.headFirst() && has(id, REPEATED)) {
      outOfHeadOrder++;
    } else {
      violate(Law.KEY_ORDER, id, "handled first after a later one of key " + id % terms.keys());
    }
  }

  private boolean confirmed(int id) {
    return ends[id] == FIRST_VERDICT + Ending.code(Verdict.CONFIRMED);
  }

  private Verdict verdict(int id) {
    return Ending.ofCode(ends[id] - FIRST_VERDICT);
  }

  private Sums now() {
    return sums.get(sums.size() - 1);
  }

  private int since(Blow blow, int id) {
    return now().of(blow) - sums.get(eras[id]).of(blow);
  }

  private boolean has(int id, byte mark) {
    return (marks[id] & mark) != 0;
  }

  private void set(int id, byte mark) {
    marks[id] |= mark;
  }

  private void room(int id) {
    if (id >= ends.length) {
      int more = Math.max(id + 1, ends.length + (ends.length >> 1));
      ends = Arrays.copyOf(ends, more);
      marks = Arrays.copyOf(marks, more);
      eras = Arrays.copyOf(eras, more);
    }
    size = Math.max(size, id + 1);
  }

  private void violate(Law law, int id, String words) {
    violate(law, "message " + id + ": " + words);
  }

  private void violate(Law law, String words) {
    violations.merge(law, 1L, Long::sum);
    if (shown.merge(law, 1, Integer::sum) <= EXAMPLES) {
      examples.add(law.id() + ": " + words);
    }
  }

  // ---------------------------------------------------------------------------------- what to say

  /**
   * Figures of a book.
   *
   * @param cutOff publishes whose outcome nobody was there to hear
   * @param handled messages that a handler has accepted, each once
   * @param handlings how often a handler began
   * @param thrown how often one threw
   * @param repeats how often one began with a message that had begun before
   * @param excusedDeleted stored messages that went with a deleted queue
   * @param excusedKilled messages without a confirm that only one of two queues has
   * @param late messages without a confirm that came after later ones of their key
   * @param outOfHeadOrder messages that came again after later ones of their key
   */
  record Figures(
      long published,
      long open,
      long cutOff,
      Map<Verdict, Long> outcomes,
      long stored,
      long handled,
      long handlings,
      long thrown,
      long repeats,
      long longestMillis,
      long excusedDeleted,
      long excusedKilled,
      long late,
      long outOfHeadOrder,
      long violations) {}

  synchronized Figures figures() {
    Map<Verdict, Long> outcomes = new EnumMap<>(Verdict.class);
    for (Verdict verdict : Verdict.values()) {
      outcomes.put(verdict, verdicts[Ending.code(verdict)]);
    }
    return new Figures(
        published,
        open,
        cutOff,
        outcomes,
        stored,
        handled,
        handlings,
        thrown,
        repeats,
        longestMillis,
        excusedDeleted,
        excusedKilled,
        late,
        outOfHeadOrder,
        violations.values().stream().mapToLong(Long::longValue).sum());
  }

  synchronized long count(Verdict verdict) {
    return verdicts[Ending.code(verdict)];
  }

  synchronized long violations(Law law) {
    return violations.getOrDefault(law, 0L);
  }

  /** Returns the first violations of each law, in words. */
  synchronized List<String> examples() {
    return List.copyOf(examples);
  }

  /**
   * Returns the number after the last that one of several publishers has used, which take turns.
   *
   * @param turn the publisher's, from 0
   */
  synchronized int next(int turn, int publishers) {
    for (int id = size - 1; id >= 0; id--) {
      if (id % publishers == turn && ends[id] != NOBODY) {
        return id + publishers;
      }
    }
    return turn;
  }
}
