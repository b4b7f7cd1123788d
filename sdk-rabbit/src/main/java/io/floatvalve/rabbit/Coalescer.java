package io.floatvalve.rabbit;

import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A socket's output that gathers what a run of sends writes and writes it at once.
 *
 * <p>Thread-safe. Bytes leave in the order in which they were written, whoever wrote them.
 */
final class Coalescer extends OutputStream {
  /*
   * The client flushes after each publish: a system call, and with no delay a packet, for a hundred
   * bytes. Between `gather` and `release` the flushes of that one thread are ignored and its frames
   * stay here, until it says `flushAll`, another thread flushes, or the buffer is full.
   *
   * 1. There is one buffer and one lock, so a frame never overtakes another.
   * 2. A flush by any other thread (a heartbeat, a reply, another link) writes everything: nothing
   *    of theirs waits for a run of sends to end.
   * 3. `gathering` holds one thread. A second one that gathers at the same time takes its place, and
   *    the first one's flushes count again: only the saving is lost. A thread that is not between
   *    its own `gather` and `release` is never found there.
   *
   * The lock is held over the write, as the order demands. Whoever wants to end a write that hangs
   * closes the socket, for which no lock is needed.
   */
  private static final int CAPACITY = 64 << 10;

  private final OutputStream out;
  private final ReentrantLock lock = new ReentrantLock();
  private final byte[] buffer = new byte[CAPACITY]; // guarded by lock
  private int count; // guarded by lock
  private volatile @Nullable Thread gathering;

  Coalescer(OutputStream out) {
    this.out = out;
  }

  /** Ignores the flushes of this thread until {@link #release}. */
  void gather() {
    gathering = Thread.currentThread();
  }

  /** Heeds the flushes of this thread again. */
  void release() {
    gathering = null;
  }

  @Override
  public void write(int b) throws IOException {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    lock.lock();
    try {
      if (length > CAPACITY - count) {
        writeOut();
      }
      if (length >= CAPACITY) {
        out.write(bytes, offset, length);
      } else {
        System.arraycopy(bytes, offset, buffer, count, length);
        count += length;
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void flush() throws IOException {
    if (gathering != Thread.currentThread()) {
      flushAll();
    }
  }

  /** Writes all that anybody left here. */
  void flushAll() throws IOException {
    lock.lock();
    try {
      writeOut();
      out.flush();
    } finally {
      lock.unlock();
    }
  }

  private void writeOut() throws IOException {
    int length = count;
    count = 0; // also if the write fails: what comes after a gap must not be sent
    if (length > 0) {
      out.write(buffer, 0, length);
    }
  }

  /** Whether the socket takes what is written; waits for a write under way, for so long. */
  boolean isMoving(long patienceNanos) {
    try {
      if (!lock.tryLock(patienceNanos, TimeUnit.NANOSECONDS)) {
        return false;
      }
      lock.unlock();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return true;
  }
}
