package io.floatvalve.consume;

import io.floatvalve.explain.BrokerViews;
import java.util.Optional;
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
  private static final long LEAST_PAUSE_NANOS = 250_000_000L;
  private static final long PAUSE_KEPT_NANOS = 5_000_000_000L;

  /** How often each is looked after. */
  static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS);

  private final Set<Reception> all = ConcurrentHashMap.newKeySet();
  private final ScheduledThreadPoolExecutor timer;
  private boolean ticking; // guarded by this
  private volatile BrokerViews views = (addresses, group, name) -> Optional.empty();
  private long lastTickNanos; // by the loop alone
  private volatile long pauseNanos;
  private volatile long pauseEndNanos;

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

  /** Has what the broker says at hand from now on. */
  void viewedBy(BrokerViews given) {
    views = given;
  }

  BrokerViews views() {
    return views;
  }

  /** Returns the longest time the process stood still in the last seconds; 0 if it did not. */
  long longestPause(long now) {
    return now - pauseEndNanos < PAUSE_KEPT_NANOS ? pauseNanos : 0;
  }

  private void lookForAPause(long now) {
    long late = lastTickNanos == 0 ? 0 : now - lastTickNanos - TICK_MILLIS * 1_000_000;
    lastTickNanos = now;
    if (late >= LEAST_PAUSE_NANOS && late >= longestPause(now)) {
      pauseNanos = late;
      pauseEndNanos = now;
    }
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
    lookForAPause(now);
    for (Reception each : all) {
      guarded(() -> each.tick(now));
    }
    synchronized (this) {
      if (all.isEmpty()) {
        ticking = false;
        lastTickNanos = 0;
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
