package io.floatvalve.examples.lab.explain;

import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.FaultProxy.Tap;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A rate limit as gateways have it: so many bytes in each second of the clock, then nothing until
 * the next one. Open at first.
 */
final class SecondGate implements Tap {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final Direction direction;
  private volatile long bytesPerSecond = Long.MAX_VALUE;
  private long second; // guarded by this, as below
  private long passed;

  SecondGate(Direction direction) {
    this.direction = direction;
  }

  void limit(long bytes) {
    bytesPerSecond = bytes;
  }

  void open() {
    bytesPerSecond = Long.MAX_VALUE;
  }

  @Override
  public void bytes(int connection, Direction way, ByteBuffer bytes) {
    if (way != direction) {
      return;
    }
    long waitNanos = pass(System.nanoTime(), bytes.remaining());
    while (waitNanos > 0) {
      LockSupport.parkNanos(Math.min(waitNanos, TimeUnit.MILLISECONDS.toNanos(20)));
      waitNanos = pass(System.nanoTime(), bytes.remaining());
    }
  }

  /** Returns how long to wait before asking again; zero if they pass now. */
  private synchronized long pass(long now, int bytes) {
    long current = Math.floorDiv(now, SECOND);
    if (current != second) {
      second = current;
      passed = 0;
    }
    if (passed >= bytesPerSecond) {
      return (current + 1) * SECOND - now;
    }
    passed += bytes;
    return 0;
  }
}
