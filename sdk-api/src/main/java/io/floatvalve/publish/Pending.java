package io.floatvalve.publish;

import io.floatvalve.model.Message;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * One publish on its way to its outcome; also the future that the caller holds, so that a message
 * costs one object.
 *
 * <p>What a caller does to the future (completes, cancels) changes the future alone. All fields but
 * {@code outcome} are guarded by the publisher's lock, and {@code next} by whoever holds the list
 * it is in.
 */
final class Pending extends CompletableFuture<PublishOutcome> {
  final Message message;
  final int bytes;
  long queuedNanos;
  final WindowedPublisher owner;
  long sentNanos;
  boolean returnNoted;
  PublishOutcome.@Nullable Returned returned;
  @Nullable Retries retries;
  private volatile @Nullable PublishOutcome outcome;
  @Nullable Pending next;

  Pending(Message message, long queuedNanos, WindowedPublisher owner) {
    this.message = message;
    this.bytes = message.payload().length;
    this.queuedNanos = queuedNanos;
    this.owner = owner;
  }

  /** Makes what holds the place in flight of an attempt that is over for the message itself. */
  static Pending placeOf(Pending message, PublishOutcome ended) {
    Pending place = new Pending(message.message, message.queuedNanos, message.owner);
    place.sentNanos = message.sentNanos;
    place.retries = message.retries;
    place.decide(ended);
    return place;
  }

  /** Returns which attempt is under way, from 1. */
  int attempt() {
    return retries == null ? 1 : retries.attempts() + 1;
  }

  /** Decides what became of it; once. */
  void decide(PublishOutcome decided) {
    if (outcome != null) {
      throw new IllegalStateException("decided twice: " + outcome + ", then " + decided);
    }
    outcome = decided;
  }

  boolean decided() {
    return outcome != null;
  }

  /** Completes the future with what was decided; runs the callers' continuations. */
  void finish() {
    complete(outcome);
  }

  /*
   * A continuation that waits for another publish would hold a completion thread, and enough of them
   * all of these threads. So there it waits for the outcome to be decided, which takes the client's
   * thread or the timer alone, and then completes the future itself.
   */

  @Override
  public PublishOutcome join() {
    if (!isDone() && Completions.onWorker()) {
      owner.completions().aboutToBlock();
      boolean interrupted = Thread.interrupted();
      while (!finishWhenDecided(Long.MAX_VALUE)) {
        interrupted |= Thread.interrupted();
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    return super.join();
  }

  @Override
  public PublishOutcome get() throws InterruptedException, ExecutionException {
    if (!isDone() && Completions.onWorker()) {
      owner.completions().aboutToBlock();
      if (!finishWhenDecided(Long.MAX_VALUE)) {
        throw new InterruptedException();
      }
    }
    return super.get();
  }

  @Override
  public PublishOutcome get(long timeout, TimeUnit unit)
      throws InterruptedException, ExecutionException, TimeoutException {
    long nanos = unit.toNanos(timeout);
    if (!isDone() && Completions.onWorker()) {
      owner.completions().aboutToBlock();
      long start = System.nanoTime();
      if (!finishWhenDecided(nanos)) {
        throw new InterruptedException();
      }
      nanos = Math.max(0, nanos - (System.nanoTime() - start));
    }
    return super.get(nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Waits until it is decided, completed by somebody else, or the time is over; completes it if it
   * is decided.
   *
   * @return false if interrupted
   */
  private boolean finishWhenDecided(long nanos) {
    if (!owner.awaitDecision(this, nanos)) {
      return false;
    }
    if (decided()) {
      finish();
    }
    return true;
  }
}
