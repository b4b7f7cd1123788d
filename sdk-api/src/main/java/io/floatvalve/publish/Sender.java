package io.floatvalve.publish;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that writes to a connection's socket. Publishers that have something to send take
 * turns, some messages each. Where a link never waits for the network, callers send themselves, and
 * this thread only what waited for room in the window.
 */
final class Sender {
  private static final Logger LOG = LoggerFactory.getLogger(Sender.class);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  private final Deque<WindowedPublisher> ready = new ArrayDeque<>(); // guarded by lock, as below
  private @Nullable Thread thread;
  private boolean closed;

  /** Queues a publisher for its turn. It must not be queued already; it sees to that itself. */
  void ready(WindowedPublisher publisher) {
    lock.lock();
    try {
      ready.add(publisher);
      if (thread == null) {
        thread = new Thread(this::run, "floatvalve-sender");
        thread.setDaemon(true);
        thread.start();
      } else {
        work.signal();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Lets the thread end when it has nothing to send. */
  void close() {
    lock.lock();
    try {
      closed = true;
      work.signal();
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    while (true) {
      WindowedPublisher turn = next();
      if (turn == null) {
        return;
      }
      sendHere(turn, false);
    }
  }

  /**
   * Gives a publisher its turn on the calling thread: this one, or any where its link never waits
   * for the network. What is left then waits for its next turn here.
   *
   * @param begun whether the first message of the turn is claimed already
   */
  void sendHere(WindowedPublisher turn, boolean begun) {
    boolean more;
    try {
      more = turn.pump(begun);
    } catch (Throwable e) { // a fault of ours: other publishers go on
      LOG.error("sending failed at {}", turn, e);
      more = turn.sendingFailed(e);
    }
    if (more) {
      ready(turn);
    }
  }

  private @Nullable WindowedPublisher next() {
    lock.lock();
    try {
      while (true) {
        WindowedPublisher turn = ready.poll();
        if (turn != null) {
          return turn;
        }
        if (closed) {
          thread = null; // what comes later, if anything, starts another
          return null;
        }
        work.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }
}
