package io.floatvalve.consume;

import io.floatvalve.Interleavings;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/** Who settles a delivery, from any thread and without a lock. */
final class SettlingInterleavingsTest {
  @Test
  void manyThreads_oneIsGrantedIt() {
    Interleavings.explore(Claims.class);
    Interleavings.race(Claims.class);
  }

  /** Handlers, users' threads and the loss of the link. */
  public static final class Claims {
    private final Taken taken = LedgerInterleavingsTest.bare(1, 1);

    @Operation
    public boolean claim() {
      return taken.claim();
    }

    @Operation
    public void outlived() {
      taken.outlived();
    }

    @Operation
    public void start() {
      taken.start(0);
    }

    @Operation
    public long startedNanos() {
      return taken.startedNanos();
    }
  }
}
