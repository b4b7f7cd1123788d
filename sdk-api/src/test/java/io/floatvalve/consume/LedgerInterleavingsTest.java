package io.floatvalve.consume;

import io.floatvalve.Interleavings;
import io.floatvalve.consume.Ledger.End;
import io.floatvalve.consume.Ledger.Stage;
import java.util.concurrent.locks.ReentrantLock;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Ledger and lanes as {@link Reception} holds them: each step under one lock, and who may settle is
 * decided before it, without. Neither is thread-safe alone, which the test without the lock shows.
 */
final class LedgerInterleavingsTest {
  @Test
  void underTheLock_everyInterleavingIsSomeOrder() {
    Interleavings.explore(Guarded.class);
    Interleavings.race(Guarded.class);
  }

  @Test
  void withoutTheLock_theRaceIsFound() {
    Interleavings.findsTheRaceIn(Unguarded.class);
  }

  /** One that is known by its time. Its reception would bring all of a consumer into the states. */
  @SuppressWarnings("NullAway") // nobody asks for what is missing
  static Taken bare(int id, int size) {
    return new Taken(null, null, null, size, id, 0);
  }

  /** What takers, handlers, settling threads and the loop do. */
  @Param(name = "key", gen = IntGen.class, conf = "0:1")
  @Param(name = "id", gen = IntGen.class, conf = "0:3")
  public static class Guarded {
    private final @Nullable ReentrantLock lock;
    private final Ledger ledger = new Ledger();
    private final Lanes lanes = new Lanes();
    private final @Nullable Taken[] known = new @Nullable Taken[32];
    private int count;

    public Guarded() {
      this(new ReentrantLock());
    }

    Guarded(@Nullable ReentrantLock lock) {
      this.lock = lock;
    }

    @Operation
    public String take(@Param(name = "key") int key) {
      enter();
      try {
        Taken ready = lanes.pollReady();
        if (ready != null) {
          ledger.move(ready, Stage.HANDLING);
          return "again " + ready.takenNanos;
        }
        int id = count++;
        Taken taken = bare(id, 1 + key);
        known[id] = taken;
        ledger.enter(taken, Stage.PARKED);
        boolean starts = lanes.enter("k" + key, taken);
        if (starts) {
          ledger.move(taken, Stage.HANDLING);
        }
        return id + (starts ? " starts" : " waits");
      } finally {
        leave();
      }
    }

    @Operation
    public String settle(@Param(name = "id") int id) {
      Taken taken = get(id);
      if (taken == null || !taken.claim()) {
        return "not mine";
      }
      enter();
      try {
        ledger.end(taken, End.ACCEPTED);
        lanes.release(taken);
        return "settled " + ledger.ended(End.ACCEPTED);
      } finally {
        leave();
      }
    }

    @Operation
    public String retryInPlace(@Param(name = "id") int id) {
      enter();
      try {
        Taken taken = known[id];
        if (taken == null || taken.stage != Stage.HANDLING) {
          return "not there";
        }
        Taken again = new Taken(taken);
        ledger.replace(taken, again);
        taken.holdsLane = false;
        known[id] = again;
        lanes.ready(again);
        return "again " + ledger.retriedInPlace();
      } finally {
        leave();
      }
    }

    @Operation
    public String status() {
      enter();
      try {
        Taken oldest = ledger.oldest();
        return (oldest == null ? "none" : oldest.takenNanos)
            + " "
            + ledger.at(Stage.PARKED)
            + ledger.at(Stage.HANDLING)
            + ledger.at(Stage.SETTLING)
            + " "
            + ledger.bytes()
            + lanes.anyHeld();
      } finally {
        leave();
      }
    }

    private @Nullable Taken get(int id) {
      enter();
      try {
        return known[id];
      } finally {
        leave();
      }
    }

    private void enter() {
      if (lock != null) {
        lock.lock();
      }
    }

    private void leave() {
      if (lock != null) {
        lock.unlock();
      }
    }
  }

  /** The same, with nothing that keeps two threads apart. */
  public static final class Unguarded extends Guarded {
    public Unguarded() {
      super(null);
    }
  }
}
