package io.floatvalve.pulsar;

import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which messages of the batches in hand are acknowledged. Thread-safe.
 *
 * <p>A broker that does not keep acknowledgements within a batch delivers the whole of it again;
 * what was settled here before must not be handled twice.
 */
final class BatchAcks {
  /** So many batches are known; an older one is forgotten, which may cost a duplicate. */
  private static final int MOST = 10_000;

  private final Map<Entry, Batch> batches = new LinkedHashMap<>(); // guarded by this
  private int partly; // guarded by this

  /** Returns the batch that this entry is, known or new. */
  synchronized Batch of(long ledger, long entry, int size) {
    Entry name = new Entry(ledger, entry);
    Batch known = batches.get(name);
    if (known == null) {
      known = new Batch(this, name, size);
      batches.put(name, known);
      if (batches.size() > MOST) {
        forget(batches.keySet().iterator().next());
      }
    }
    return known;
  }

  /** Returns how many batches are acknowledged in part. */
  synchronized int partly() {
    return partly;
  }

  private void forget(Entry name) {
    Batch gone = batches.remove(name);
    if (gone != null && gone.isPartly()) {
      partly--;
    }
  }

  /** The place of a batch in a topic. */
  private record Entry(long ledger, long entry) {}

  /** One batch; guarded by its {@link BatchAcks}. */
  static final class Batch {
    private final BatchAcks all;
    private final Entry name;
    private final int size;
    private final BitSet acked;
    private int taken;
    private int inHand;

    private Batch(BatchAcks all, Entry name, int size) {
      this.all = all;
      this.name = name;
      this.size = size;
      this.acked = new BitSet(size);
    }

    /**
     * Counts a message as taken, if it was not acknowledged before.
     *
     * @return false if it was
     */
    boolean take(int index) {
      synchronized (all) {
        if (acked.get(index)) {
          return false;
        }
        taken++;
        inHand++;
        return true;
      }
    }

    /**
     * Counts a message as acknowledged.
     *
     * @return whether that was the last one of the batch
     */
    boolean ack(int index) {
      synchronized (all) {
        inHand--;
        boolean before = isPartly();
        acked.set(index);
        @Nullable Batch known = all.batches.get(name);
        boolean complete = acked.cardinality() == size;
        if (known == this && complete) {
          all.batches.remove(name);
          all.partly -= before ? 1 : 0;
        } else if (known == this && !before) {
          all.partly++;
        }
        return complete;
      }
    }

    /** Counts messages as given back. */
    void giveBack(int count) {
      synchronized (all) {
        inHand -= count;
        taken -= count;
      }
    }

    /** Returns how many were taken and not settled. */
    int inHand() {
      synchronized (all) {
        return inHand;
      }
    }

    /** Returns whether any were taken since the whole of it was last given back. */
    boolean begun() {
      synchronized (all) {
        return taken > 0;
      }
    }

    private boolean isPartly() {
      int count = acked.cardinality();
      return count > 0 && count < size;
    }
  }
}
