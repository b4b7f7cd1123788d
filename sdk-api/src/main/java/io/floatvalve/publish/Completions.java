package io.floatvalve.publish;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Completes publishes in the order they were decided, on threads of its own.
 *
 * <p>One thread leads: it takes one publish at a time, completes it, and by that runs the caller's
 * continuations. When one of them blocks, another thread takes the lead: at once where it waits for
 * a publish of ours ({@link #aboutToBlock}), else at the second {@link #watch} that finds it at the
 * same one. So nothing waits behind a stuck continuation for long, and a continuation may wait for
 * another publish. Threads are made on demand and end when idle.
 */
final class Completions {
  private static final Logger LOG = LoggerFactory.getLogger(Completions.class);
  private static final int MAX_WORKERS = 1_000;
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  private final Consumer<String> stuck;
  private @Nullable Pending head; // guarded by lock, as all below
  private @Nullable Pending tail;
  private @Nullable Worker leader;
  private @Nullable Worker watched;
  private long watchedAt;
  private final Set<Worker> running = new HashSet<>();
  private int idle;
  private boolean closed;
  private boolean exhausted; // said once, until there is a thread again

  /**
   * Makes it, without a thread yet.
   *
   * @param stuck told the name of a thread whose continuation blocks; called by {@link #watch}
   */
  Completions(Consumer<String> stuck) {
    this.stuck = stuck;
  }

  /** Returns whether the calling thread is one of those that run continuations. */
  static boolean onWorker() {
    return Thread.currentThread() instanceof Worker;
  }

  /** Queues a chain of decided publishes, linked by {@code next}; returns at once. */
  void add(Pending first, Pending last) {
    lock.lock();
    try {
      if (tail == null) {
        head = first;
      } else {
        tail.next = first;
      }
      tail = last;
      if (leader == null) {
        appoint();
      }
    } finally {
      lock.unlock();
    }
  }

  void add(Pending one) {
    add(one, one);
  }

  /** Adds to a list what this publisher has queued or running here. */
  void collect(WindowedPublisher owner, List<Pending> into) {
    lock.lock();
    try {
      for (Pending p = head; p != null; p = p.next) {
        if (p.owner == owner) {
          into.add(p);
        }
      }
      for (Worker worker : running) {
        Pending p = worker.current;
        if (p != null && p.owner == owner) {
          into.add(p);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Hands the lead over if the calling thread has it. */
  void aboutToBlock() {
    if (Thread.currentThread() instanceof Worker worker && worker.owner() == this) {
      lock.lock();
      try {
        if (leader == worker) {
          handOver();
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /** Looks whether a continuation blocks; to be called now and then, every 20 ms or so. */
  void watch() {
    String name = null;
    lock.lock();
    try {
      Worker now = leader;
      if (now == null || head == null) {
        watched = null;
      } else if (now == watched && now.taken == watchedAt) {
        if (handOver()) {
          name = now.getName();
          watched = null;
        }
      } else {
        watched = now;
        watchedAt = now.taken;
      }
    } finally {
      lock.unlock();
    }
    if (name != null) {
      stuck.accept(name);
    }
  }

  /** Lets the threads end once everything queued is completed. */
  void close() {
    lock.lock();
    try {
      closed = true;
      work.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Returns false if there is no thread to hand over to. */
  private boolean handOver() { // holds lock
    if (idle == 0 && running.size() >= MAX_WORKERS) {
      if (!exhausted) {
        exhausted = true;
        LOG.error("{} continuations block; completions wait for one of them", running.size());
      }
      return false;
    }
    exhausted = false;
    leader = null;
    if (head != null) {
      appoint();
    }
    return true;
  }

  private void appoint() { // holds lock
    if (idle > 0) {
      work.signal();
    } else if (running.size() < MAX_WORKERS) {
      Worker worker = new Worker();
      running.add(worker);
      leader = worker;
      worker.start();
    }
  }

  private final class Worker extends Thread {
    private long taken; // guarded by lock, as the next
    private @Nullable Pending current;

    Worker() {
      super("floatvalve-completion-" + NUMBERS.incrementAndGet());
      setDaemon(true);
    }

    Completions owner() {
      return Completions.this;
    }

    @Override
    public void run() {
      Pending next = take();
      while (next != null) {
        try {
          next.finish();
        } catch (Throwable e) { // an Error of a continuation: the next ones must not suffer
          LOG.error("a continuation of a publish failed", e);
        }
        next = take();
      }
    }

    /** Waits for the next publish; null when this thread is no longer needed. */
    private @Nullable Pending take() {
      lock.lock();
      try {
        current = null;
        long left = IDLE_NANOS;
        while (true) {
          Pending first = head;
          if (first != null && (leader == null || leader == this)) {
            leader = this;
            taken++;
            head = first.next;
            if (head == null) {
              tail = null;
            }
            first.next = null;
            current = first;
            return first;
          }
          if (leader == this) {
            leader = null;
          }
          if (left <= 0 || closed) {
            running.remove(this);
            return null;
          }
          idle++;
          left = work.awaitNanos(left);
          idle--;
        }
      } catch (InterruptedException e) {
        // A continuation left the interrupt behind, or somebody wants this thread: it ends, and
        // another goes on.
        idle--;
        running.remove(this);
        if (head != null && leader == null) {
          appoint();
        }
        return null;
      } finally {
        lock.unlock();
      }
    }
  }
}
