package io.floatvalve.pulsar;

import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which messages of the batches in hand are acknowledged. Thread-safe, but that one thread at a
 * time takes.
 *
 * <p>A broker that does not keep acknowledgements within a batch delivers the whole of it again;
 * what was settled here before must not be handled twice.
 */
final class BatchAcks {
  /** So many batches are known; an older one is forgotten, which may cost a duplicate. */
  private static final int MOST = 10_000;

  /*
   * What a message needs is guarded by its batch, what a batch needs by the whole: messages of a
   * batch come one after another, so most are of the batch before.
   */
  private final Map<Entry, Batch> batches = new LinkedHashMap<>(); // guarded by this
  private int partly; // guarded by this
  private @Nullable Batch recent; // of whoever takes

  /** Returns the batch that this entry is, known or new. Called by whoever takes. */
  Batch of(long ledger, long entry, int size) {
    Batch before = recent;
    if (before != null && before.is(ledger, entry)) {
      return before;
    }
    Batch now = find(new Entry(ledger, entry), size);
    recent = now;
    return now;
  }

  private synchronized Batch find(Entry name, int size) {
    Batch known = batches.get(name);
    if (known == null) {
      known = new Batch(this, name, size);
      batches.put(name, known);
      if (batches.size() > MOST) {
        forget(batches.values().iterator().next());
      }
    }
    return known;
  }

  /** Returns whether any of a batch were taken since the whole of it was last given back. */
  boolean begun(long ledger, long entry) {
    Batch known;
    synchronized (this) {
      known = batches.get(new Entry(ledger, entry));
    }
    return known != null && known.begun();
  }

  /** Returns how many batches are acknowledged in part. */
  synchronized int partly() {
    return partly;
  }

  /** Returns how many batches are known. */
  synchronized int size() {
    return batches.size();
  }

  private synchronized void forget(Batch batch) {
    if (!batch.forgotten) {
      batch.forgotten = true;
      batches.remove(batch.name);
      if (batch.countsAsPartly) {
        partly--;
      }
    }
  }

  private synchronized void partlyAcked(Batch batch) {
    if (!batch.forgotten && !batch.countsAsPartly) {
      batch.countsAsPartly = true;
      partly++;
    }
  }

  /** The place of a batch in a topic. */
  private record Entry(long ledger, long entry) {}

  /** One batch. */
  static final class Batch {
    private final BatchAcks all;
    private final Entry name;
    private final int size;
    private final BitSet acked; // guarded by this
    private int ackedCount; // guarded by this
    private int taken; // guarded by this
    private int inHand; // guarded by this
    private volatile boolean forgotten; // written under all
    private boolean countsAsPartly; // guarded by all

    private Batch(BatchAcks all, Entry name, int size) {
      this.all = all;
      this.name = name;
      this.size = size;
      this.acked = new BitSet(size);
    }

    private boolean is(long ledger, long entry) {
      return name.entry == entry && name.ledger == ledger && !forgotten;
    }

    /**
     * Counts a message as taken, if it was not acknowledged before.
     *
     * @return false if it was
     */
    synchronized boolean take(int index) {
      if (acked.get(index)) {
        return false;
      }
      taken++;
      inHand++;
      return true;
    }

    /**
     * Counts a message as acknowledged.
     *
     * @return whether that was the last one of the batch
     */
    boolean ack(int index) {
      int count;
      synchronized (this) {
        inHand--;
        if (!acked.get(index)) {
          acked.set(index);
          ackedCount++;
        }
        count = ackedCount;
      }
      if (count == size) {
        all.forget(this);
        return true;
      }
      if (count == 1) {
        all.partlyAcked(this);
      }
      return false;
    }

    /** Counts messages as given back. */
    void giveBack(int count) {
      boolean untouched;
      synchronized (this) {
        inHand -= count;
        taken -= count;
        untouched = taken == 0 && ackedCount == 0;
      }
      if (untouched) {
        all.forget(this); // as if it had never come
      }
    }

    /** Returns how many were taken and not settled. */
    synchronized int inHand() {
      return inHand;
    }

    private synchronized boolean begun() {
      return taken > 0;
    }
  }
}
