package io.floatvalve.consume;

import java.util.concurrent.Executor;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads on demand, up to a number that can be raised; what finds none waits in a queue. */
final class SharedThreads implements Executor {
  private static final long IDLE_SECONDS = 10;

  private final ThreadPoolExecutor pool;

  SharedThreads(String name, int most) {
    AtomicInteger count = new AtomicInteger();
    pool =
        new ThreadPoolExecutor(
            1,
            most,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new HandOver(),
            task -> {
              Thread thread = new Thread(task, name + "-" + count.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            },
            (task, full) -> {
              if (full.isShutdown()) {
                throw new RejectedExecutionException("closed");
              }
              full.getQueue().add(task);
            });
  }

  /** Makes sure that so many can run at a time. */
  synchronized void raiseTo(int most) {
    if (most > pool.getMaximumPoolSize()) {
      pool.setMaximumPoolSize(most);
    }
  }

  /** Whether tasks wait for a thread. */
  boolean isCrowded() {
    return !pool.getQueue().isEmpty();
  }

  @Override
  public void execute(Runnable task) {
    pool.execute(task);
  }

  /** Lets tasks finish; takes no more. */
  void close() {
    pool.shutdown();
  }

  /**
   * The pool asks its queue before it starts a thread beyond the first. This one takes a task only
   * if a thread waits for one; the rejection that follows when there are no more threads queues it
   * after all. The first thread never ends, so what was queued is always found.
   */
  private static final class HandOver extends LinkedTransferQueue<Runnable> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean offer(Runnable task) {
      return tryTransfer(task);
    }

    @Override
    public boolean add(Runnable task) {
      put(task);
      return true;
    }
  }
}
