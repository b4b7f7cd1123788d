package io.floatvalve.consume;

import io.floatvalve.explain.Explanation;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.MessagingException;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A reception whose crew are the callers. */
final class PulledConsumer implements PullConsumer, Reception.Crew, ConsumeSide.Member {
  private final ConsumeSide side;
  private final Reception reception;

  /** Those who wait. A wake-up wakes all: it may be for the one message that only one can have. */
  private final ConcurrentLinkedQueue<Thread> waiting = new ConcurrentLinkedQueue<>();

  PulledConsumer(ConsumeSide side, Reception reception) {
    this.side = side;
    this.reception = reception;
  }

  @Override
  public Optional<Delivery> receive(Duration timeout) throws InterruptedException {
    if (reception.isClosed()) {
      throw new MessagingException(
          MessagingException.Kind.CLOSED,
          "the consumer of " + reception.who() + " is closed",
          null);
    }
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    Taken next = takeNow();
    if (next != null) {
      return Optional.of(next);
    }
    long deadline = System.nanoTime() + timeout.toNanos();
    Thread self = Thread.currentThread();
    waiting.add(self);
    try {
      while (true) {
        next = takeNow(); // once more: a wake-up may have come before we were there to be woken
        long left = deadline - System.nanoTime();
        if (next != null || left <= 0 || reception.isEnding()) {
          return Optional.ofNullable(next);
        }
        LockSupport.parkNanos(this, left);
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
      }
    } finally {
      waiting.remove(self);
    }
  }

  /** Whether anybody waits for a message. */
  boolean isAwaited() {
    return !waiting.isEmpty();
  }

  private @Nullable Taken takeNow() {
    long now = System.nanoTime();
    Taken next;
    reception.lock.lock();
    try {
      next = reception.takeOut(now);
      if (next != null) {
        reception.recordWait(next, now);
      }
    } finally {
      reception.lock.unlock();
    }
    if (reception.isWindowDue()) {
      reception.tellWindow();
    }
    return next;
  }

  @Override
  public void wake() {
    for (Thread each : waiting) {
      LockSupport.unpark(each);
    }
  }

  @Override
  public void tick(long now) {}

  @Override
  public int busy() {
    return 0;
  }

  @Override
  public long busyNanos(long now) {
    return 0; // who has received a message is not known to be at work
  }

  @Override
  public long drain(Duration timeout) {
    return reception.drain(timeout, 0, true);
  }

  @Override
  public Usage usage() {
    return reception.usage();
  }

  @Override
  public ConsumerStatus status() {
    return reception.status();
  }

  @Override
  public Explanation explain() {
    return reception.explain(true);
  }

  @Override
  public LatencySnapshot latency() {
    return reception.latency();
  }

  @Override
  public void endIntake() {
    reception.endIntake();
  }

  @Override
  public void finish() {
    long unused = reception.drain(reception.closeTimeout(), 0, false);
  }

  @Override
  public void close() {
    if (reception.isClosed()) {
      return;
    }
    long deadline = System.nanoTime() + reception.closeTimeout().toNanos();
    finish();
    long left = deadline - System.nanoTime();
    reception.close(Duration.ofNanos(Math.max(HandledConsumer.LEAST_CLOSE_NANOS, left)));
    side.forget(this);
  }
}
