package io.floatvalve.examples.cli;

import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Does something once a second, on a thread of its own, until it is closed. */
public final class Ticker implements AutoCloseable {
  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(
          1,
          work -> {
            Thread thread = new Thread(work, "floatvalve-progress");
            thread.setDaemon(true);
            return thread;
          });

  /** Begins a second from now. */
  public Ticker(Runnable work) {
    var unused = timer.scheduleAtFixedRate(work, 1, 1, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
