package io.floatvalve.publish;

import io.floatvalve.model.Message;
import io.floatvalve.rate.Gate;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One publish on its way to its outcome; also the future that the caller holds, so that a message
 * costs one object.
 *
 * <p>What a caller does to the future (completes, cancels) changes the future alone. All fields but
 * {@code outcome} are guarded by the publisher's lock, and {@code next} by whoever holds the list
 * it is in.
 */
sealed class Pending extends CompletableFuture<PublishOutcome> permits Paced {
  /** There are ways to complete a future that nobody is told of. */
  private static final long LONGEST_PARK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  final Message message;
  final int bytes;
  final long dueNanos;
  long queuedNanos;
  final WindowedPublisher owner;
  long sentNanos;
  int partition = Gate.ANY_PARTITION; // that was picked for it
  boolean returnNoted;
  boolean awaited;
  volatile @Nullable Waiter waiter; // changed under the lock
  boolean leftToWaiter; // written before `outcome`, read after it
  PublishOutcome.@Nullable Returned returned;
  @Nullable Retries retries;
  private volatile @Nullable PublishOutcome outcome;
  @Nullable Pending next;

  Pending(Message message, long dueNanos, long queuedNanos, WindowedPublisher owner) {
    this.message = message;
    this.bytes = message.payload().length;
    this.dueNanos = dueNanos;
    this.queuedNanos = queuedNanos;
    this.owner = owner;
  }

  /** Makes what holds the place in flight of an attempt that is over for the message itself. */
  static Pending placeOf(Pending message, PublishOutcome ended) {
    Pending place =
        new Pending(message.message, message.dueNanos, message.queuedNanos, message.owner);
    place.sentNanos = message.sentNanos;
    place.retries = message.retries;
    place.decide(ended);
    return place;
  }

  /** Returns the message as it is to be sent now. */
  Message outgoing() {
    return message;
  }

  /** Returns whether it is to be delivered later. */
  boolean isDelayed() {
    return false;
  }

  /** Returns how many messages it counts as in a quota. */
  int cost() {
    return 1;
  }

  /** Returns which attempt is under way, from 1. */
  final int attempt() {
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
    complete(Objects.requireNonNull(outcome, "not decided"));
  }

  /*
   * Whoever waits, waits for what the client still keeps back: the owner is told.
   *
   * A continuation that waits for another publish would hold a completion thread, and enough of them
   * all of these threads. So there it waits for the outcome to be decided, which takes the client's
   * thread or the timer alone, and then completes the future itself.
   *
   * The first of all other threads that waits is the `waiter`. If nobody has added a continuation
   * when it is decided, it is left to that thread to complete the future, or to anybody else who
   * looks at it. Continuations mostly run on our threads, but for those added just then; the JDK,
   * too, lets a thread that waits help.
   */

  /** A thread that waits, parked. */
  static final class Waiter {
    private final Thread thread = Thread.currentThread();
    @Nullable Waiter next; // in the list of whoever wakes it

    void wake() {
      if (thread != Thread.currentThread()) {
        LockSupport.unpark(thread);
      }
    }
  }

  @Override
  public boolean isDone() {
    return super.isDone() || finishIfLeft();
  }

  @Override
  public PublishOutcome getNow(PublishOutcome ifAbsent) {
    finishIfLeft();
    return super.getNow(ifAbsent);
  }

  @Override
  public PublishOutcome join() {
    if (!isDone()) {
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
    if (!isDone() && !finishWhenDecided(Long.MAX_VALUE)) {
      throw new InterruptedException();
    }
    return super.get();
  }

  @Override
  public PublishOutcome get(long timeout, TimeUnit unit)
      throws InterruptedException, ExecutionException, TimeoutException {
    long nanos = unit.toNanos(timeout);
    if (!isDone()) {
      long start = System.nanoTime();
      if (!finishWhenDecided(nanos)) {
        throw new InterruptedException();
      }
      nanos = Math.max(0, nanos - (System.nanoTime() - start));
    }
    return super.get(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public boolean complete(PublishOutcome value) {
    boolean completed = super.complete(value);
    wakeWaiter();
    return completed;
  }

  @Override
  public boolean completeExceptionally(Throwable e) {
    boolean completed = super.completeExceptionally(e);
    wakeWaiter();
    return completed;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    boolean cancelled = super.cancel(mayInterruptIfRunning);
    wakeWaiter();
    return cancelled;
  }

  private void wakeWaiter() {
    Waiter waits = waiter;
    if (waits != null) {
      waits.wake();
    }
  }

  /** Completes what is decided and left to a waiter; returns whether it is complete by that. */
  private boolean finishIfLeft() {
    if (!decided() || !leftToWaiter) {
      return false;
    }
    if (getNumberOfDependents() == 0) {
      finish();
      return true;
    }
    owner.completeElsewhere(this);
    return false;
  }

  /**
   * Waits until it is decided, completed by somebody else, or the time is over; completes it if it
   * is decided and that is for us to do.
   *
   * @return false if interrupted
   */
  private boolean finishWhenDecided(long nanos) {
    if (Completions.onWorker()) {
      owner.aboutToWait(this, null);
      if (!owner.awaitDecision(this, nanos)) {
        return false;
      }
      if (decided()) {
        finish();
      }
      return true;
    }
    Waiter self = new Waiter();
    owner.aboutToWait(this, self);
    boolean calm = waiter != self || parkUntilDecided(nanos);
    finishIfLeft();
    return calm;
  }

  /** Returns false if interrupted. */
  private boolean parkUntilDecided(long nanos) {
    long start = System.nanoTime();
    long left = nanos;
    while (!decided() && !isDone() && left > 0) {
      LockSupport.parkNanos(this, Math.min(left, LONGEST_PARK_NANOS));
      if (Thread.interrupted()) {
        owner.waitsNoMore(this);
        return false;
      }
      left = nanos - (System.nanoTime() - start);
    }
    if (!decided()) {
      owner.waitsNoMore(this);
    }
    return true;
  }
}
