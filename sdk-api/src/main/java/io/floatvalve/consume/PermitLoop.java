package io.floatvalve.consume;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that looks after all consumers over a broker: permits, retries that are due,
 * handlers that hang. It never waits and runs no code of users.
 */
final class PermitLoop {
  private static final Logger LOG = LoggerFactory.getLogger(PermitLoop.class);
  private static final long TICK_MILLIS = 50;

  /** How often each is looked after. */
  static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS);

  private final Set<Reception> all = ConcurrentHashMap.newKeySet();
  private final ScheduledThreadPoolExecutor timer;
  private boolean ticking; // guarded by this

  PermitLoop() {
    timer =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "floatvalve-permits");
              thread.setDaemon(true);
              return thread;
            });
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  void add(Reception reception) {
    all.add(reception);
    synchronized (this) {
      if (!ticking) {
        ticking = true;
        later(this::tick, TICK_MILLIS);
      }
    }
  }

  void remove(Reception reception) {
    all.remove(reception);
  }

  /** Runs a short task soon. After closing nothing runs any more. */
  void soon(Runnable task) {
    later(task, 0);
  }

  /** Runs a short task after a delay. */
  void later(Runnable task, long millis) {
    laterNanos(task, TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** Runs a short task after a delay. */
  void laterNanos(Runnable task, long nanos) {
    try {
      var unused = timer.schedule(() -> guarded(task), nanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("closed, a task is dropped", e);
    }
  }

  void close() {
    timer.shutdown();
  }

  private void tick() {
    long now = System.nanoTime();
    for (Reception each : all) {
      guarded(() -> each.tick(now));
    }
    synchronized (this) {
      if (all.isEmpty()) {
        ticking = false;
        return;
      }
    }
    later(this::tick, TICK_MILLIS);
  }

  @SuppressWarnings("CatchingUnchecked") // one consumer's failure must not stop the others
  private static void guarded(Runnable task) {
    try {
      task.run();
    } catch (Exception e) {
      LOG.warn("looking after a consumer failed", e);
    }
  }
}
