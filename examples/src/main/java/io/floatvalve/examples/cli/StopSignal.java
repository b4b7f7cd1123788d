package io.floatvalve.examples.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Lets a command finish in order when the process is asked to end (Ctrl-C, SIGTERM): the thread
 * that made this is interrupted, and the process waits, within bounds, until this is closed.
 */
public final class StopSignal implements AutoCloseable {
  private static final long LONGEST_WAIT_SECONDS = 30;

  private final Thread worker = Thread.currentThread();
  private final CountDownLatch done = new CountDownLatch(1);
  private final Thread hook = new Thread(this::stop, "floatvalve-stop");
  private volatile boolean asked;

  /** Begins to listen, on behalf of the current thread. */
  public StopSignal() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** Returns whether the process was asked to end. */
  public boolean asked() {
    return asked;
  }

  private void stop() {
    asked = true;
    worker.interrupt();
    try {
      if (!done.await(LONGEST_WAIT_SECONDS, TimeUnit.SECONDS)) {
        System.err.println("floatvalve: not finished after " + LONGEST_WAIT_SECONDS + " s, ending");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Says that all is in order; the process may end. */
  @Override
  public void close() {
    done.countDown();
    if (!asked) {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        asked = true; // it is just being asked; the hook finds the latch open
      }
    }
  }
}
