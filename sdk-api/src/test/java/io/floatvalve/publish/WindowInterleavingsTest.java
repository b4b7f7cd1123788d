package io.floatvalve.publish;

import io.floatvalve.Interleavings;
import java.util.StringJoiner;
import java.util.concurrent.locks.ReentrantLock;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Window and life as {@link WindowedPublisher} holds them: each step under one lock. Neither is
 * thread-safe alone, which the test without the lock shows.
 */
final class WindowInterleavingsTest {
  @Test
  void underTheLock_everyInterleavingIsSomeOrder() {
    Interleavings.explore(Guarded.class);
    Interleavings.race(Guarded.class);
  }

  @Test
  void withoutTheLock_theRaceIsFound() {
    Interleavings.findsTheRaceIn(Unguarded.class);
  }

  /** What caller, sender, reader thread, timer and closer do to the window and the life. */
  @Param(name = "sequence", gen = IntGen.class, conf = "0:5")
  @Param(name = "bytes", gen = IntGen.class, conf = "1:4")
  public static class Guarded {
    private final @Nullable ReentrantLock lock;
    private InFlightWindow<String> window = new InFlightWindow<>(3, 6);
    private Life life = Life.OPEN;
    private int epoch = 1;

    public Guarded() {
      this(new ReentrantLock());
    }

    Guarded(@Nullable ReentrantLock lock) {
      this.lock = lock;
    }

    @Operation
    public String send(@Param(name = "bytes") int bytes) {
      enter();
      try {
        if (!life.takes() || !life.sends()) {
          return "not " + life;
        }
        return epoch + "/" + window.tryClaim("m" + window.next(), bytes);
      } finally {
        leave();
      }
    }

    @Operation
    public String answer(@Param(name = "sequence") int sequence) {
      enter();
      try {
        return String.valueOf(window.settle(sequence));
      } finally {
        leave();
      }
    }

    @Operation
    public String answerUpTo(@Param(name = "sequence") int sequence) {
      enter();
      try {
        return settled(sequence);
      } finally {
        leave();
      }
    }

    @Operation
    public boolean timeOut(@Param(name = "sequence") int sequence) {
      enter();
      try {
        if (window.get(sequence) == null) {
          return false;
        }
        window.replace(sequence, "late" + sequence);
        return true;
      } finally {
        leave();
      }
    }

    @Operation
    public void resize(@Param(name = "bytes") int limit) {
      enter();
      try {
        window.limit(Math.min(3, limit));
      } finally {
        leave();
      }
    }

    @Operation
    public String loseAndLink() {
      enter();
      try {
        life = life.on(Life.Event.LOST);
        String unknown = settled(Long.MAX_VALUE);
        window = new InFlightWindow<>(3, 6);
        epoch++;
        life = life.on(Life.Event.LINKED);
        return unknown;
      } finally {
        leave();
      }
    }

    @Operation
    public String block() {
      return on(Life.Event.BLOCKED);
    }

    @Operation
    public String unblock() {
      return on(Life.Event.UNBLOCKED);
    }

    @Operation(runOnce = true)
    public String close() {
      return on(Life.Event.CLOSE);
    }

    @Operation
    public String status() {
      enter();
      try {
        return life + " " + window.oldest() + ".." + window.next() + " " + window.bytes();
      } finally {
        leave();
      }
    }

    private String on(Life.Event event) {
      enter();
      try {
        life = life.on(event);
        return life.toString();
      } finally {
        leave();
      }
    }

    private String settled(long upTo) {
      StringJoiner all = new StringJoiner(",");
      String each = window.settleOldest(upTo);
      while (each != null) {
        all.add(each);
        each = window.settleOldest(upTo);
      }
      return all.toString();
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
