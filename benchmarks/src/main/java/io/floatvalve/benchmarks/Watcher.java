package io.floatvalve.benchmarks;

import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** Looks at a number a few hundred times a second and keeps the largest. */
final class Watcher implements AutoCloseable {
  private static final long EVERY_NANOS = 2_000_000;

  private final Thread thread;
  private volatile long most;
  private volatile boolean ended;

  Watcher(LongSupplier number) {
    thread =
        new Thread(
            () -> {
              while (!ended) {
                most = Math.max(most, number.getAsLong());
                LockSupport.parkNanos(EVERY_NANOS);
              }
            },
            "watcher");
    thread.setDaemon(true);
    thread.start();
  }

  long most() {
    return most;
  }

  @Override
  public void close() {
    ended = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
