package io.floatvalve.consume;

import io.floatvalve.consume.Ledger.End;
import io.floatvalve.model.Settlement;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a handler for the messages of one reception, on threads that others use too. A worker is a
 * task that goes on taking messages until there is none; an unfinished stage holds a slot without
 * one.
 */
final class HandlerPool implements Reception.Crew {
  private static final Logger LOG = LoggerFactory.getLogger(HandlerPool.class);

  /** A handler that is faster than a hand-over to another thread is best left alone. */
  private static final double FAST_NANOS = 20_000;

  private static final long KEPT_NANOS = 2_000_000;
  private static final long TURN_NANOS = 20_000_000;

  private static final int NOBODY = 0;
  private static final int SEEKING = 1;
  private static final int SEEKING_AND_MORE = 2;

  private static final ThreadLocal<@Nullable HandlerPool> RUNNING = new ThreadLocal<>();

  /*
   * At most one worker seeks: it is on its way to look for a message, and every wake-up while it is
   * leaves a mark that makes it look again. When it has found one and a slot is left it hands seeking
   * on to a new worker, and only then calls the handler. The new one may find nothing: it must look
   * all the same, as the link says that something came only to whoever has found nothing before. So
   * a wake-up is never lost, there is never a crowd of workers for one message, and the number of
   * workers grows as fast as messages are found.
   *
   * Where the handler is faster than starting a worker is, the worker keeps seeking while it
   * handles: one thread then does all, as a plain receive loop would. Should such a handler hang,
   * the next tick takes seeking away from it.
   *
   * `full` spares a wake-up when all slots are in use. Whoever frees a slot clears it and then looks
   * for a message (or wakes somebody to), in this order; so what came before is found by that look,
   * and what comes after sees it cleared.
   */
  private final Reception reception;
  private final int slots;
  private final Executor executor;
  private final @Nullable SharedThreads shared;
  private final @Nullable MessageHandler handler;
  private final @Nullable Function<Delivery, CompletionStage<Settlement>> asyncHandler;
  private final AtomicInteger seeking = new AtomicInteger(NOBODY);
  private final AtomicReference<@Nullable Taken> kept = new AtomicReference<>();
  private volatile boolean full;
  private int busy; // guarded by the reception's lock
  private long busyNanos; // until busySince; guarded by the reception's lock
  private long busySince = System.nanoTime(); // guarded by the reception's lock

  HandlerPool(
      Reception reception,
      int slots,
      Executor executor,
      @Nullable SharedThreads shared,
      @Nullable MessageHandler handler,
      @Nullable Function<Delivery, CompletionStage<Settlement>> asyncHandler) {
    this.reception = reception;
    this.slots = slots;
    this.executor = executor;
    this.shared = shared;
    this.handler = handler;
    this.asyncHandler = asyncHandler;
  }

  @Override
  public void wake() {
    if (full) {
      return;
    }
    while (true) {
      switch (seeking.get()) {
        case NOBODY -> {
          if (seeking.compareAndSet(NOBODY, SEEKING)) {
            startSeeker();
            return;
          }
        }
        case SEEKING -> {
          if (seeking.compareAndSet(SEEKING, SEEKING_AND_MORE)) {
            return;
          }
        }
        default -> {
          return;
        }
      }
    }
  }

  @Override
  public void tick(long now) {
    Taken in = kept.get();
    if (in != null && now - in.startedNanos() > KEPT_NANOS && kept.compareAndSet(in, null)) {
      startSeeker();
    }
  }

  @Override
  public int busy() {
    return busy;
  }

  @Override
  public long busyNanos(long now) {
    long nanos = now - busySince;
    if (nanos > 0) { // times were read before the lock was had
      busyNanos += nanos * busy;
      busySince = now;
    }
    return busyNanos;
  }

  /** Returns how many handlers of this pool the current thread is in. */
  int own() {
    return RUNNING.get() == this ? 1 : 0;
  }

  private void startSeeker() {
    try {
      executor.execute(this::work);
    } catch (RejectedExecutionException e) {
      LOG.warn("the executor of {} refused a worker", reception.who(), e);
      seeking.set(NOBODY); // the next wake-up tries again; there is one each second
    }
  }

  private void work() {
    HandlerPool outer = RUNNING.get();
    RUNNING.set(this);
    try {
      takeAndHandle();
    } finally {
      if (outer == null) {
        RUNNING.remove();
      } else {
        RUNNING.set(outer);
      }
    }
  }

  private void takeAndHandle() {
    boolean seeker = true;
    long begun = System.nanoTime();
    long now = begun;
    Taken done = null;
    Taken staged = null;
    End end = null;
    while (true) {
      Taken next;
      boolean more;
      reception.lock.lock();
      try {
        if (done != null) {
          finish(done, end, now);
        }
        if (staged != null) {
          staged.thread = null; // its handler has returned a stage
        }
        next = busy < slots && !mustYield(begun, now) ? takeInto(now) : null;
        more = next != null && busy < slots;
      } finally {
        reception.lock.unlock();
      }
      done = null;
      staged = null;
      if (reception.isWindowDue()) {
        reception.tellWindow();
      }
      if (next == null) {
        if (mustYield(begun, now)) {
          yieldTurn(seeker);
          return;
        }
        if (!seeker || seeking.compareAndSet(SEEKING, NOBODY)) {
          return;
        }
        seeking.set(SEEKING);
        now = System.nanoTime();
        continue;
      }
      boolean keeps = seeker && isFast();
      if (seeker && !keeps) {
        handOn(more);
        seeker = false;
      }
      long start = now;
      next.start(start);
      if (keeps) {
        kept.lazySet(next);
      }
      Settlement settlement = call(next);
      if (keeps && !kept.compareAndSet(next, null)) {
        seeker = false; // it was taken away meanwhile
      }
      now = System.nanoTime();
      if (settlement != null) {
        end = next.claim() ? reception.conclude(next, settlement, settlement.reason()) : null;
        done = next;
      } else {
        staged = next;
      }
    }
  }

  private @Nullable Taken takeInto(long now) {
    long unused = busyNanos(now);
    busy++; // before: taking may let the lock go
    Taken next = reception.take(now);
    if (next == null) {
      busy--;
    } else {
      next.thread = Thread.currentThread();
      reception.recordWait(next, now);
    }
    boolean all = busy == slots;
    if (full != all) {
      full = all;
    }
    return next;
  }

  /** Enters that a handler is through with a message. The lock is held. */
  private void finish(Taken t, @Nullable End end, long now) {
    long unused = busyNanos(now);
    busy--;
    if (full) {
      full = false;
    }
    if (end != null) {
      reception.end(t, end);
    }
    reception.handled(t);
    long nanos = now - t.startedNanos();
    reception.held(nanos);
    reception.recordHandled(t, now, end != null);
  }

  private boolean isFast() {
    double nanos = reception.handlerNanos();
    return nanos > 0 && nanos < FAST_NANOS;
  }

  private void handOn(boolean more) {
    if (more || !seeking.compareAndSet(SEEKING, NOBODY)) {
      seeking.set(SEEKING);
      startSeeker();
    }
  }

  /** Others wait for a thread, and this one has had it for long enough. */
  private boolean mustYield(long begun, long now) {
    return now - begun > TURN_NANOS && shared != null && shared.isCrowded();
  }

  private void yieldTurn(boolean seeker) {
    if (seeker) {
      startSeeker();
    } else {
      wake();
    }
  }

  /** Returns what the handler says, or null if it will say so later. */
  @SuppressWarnings("CatchingUnchecked") // a handler may throw anything; its slot must be freed
  private @Nullable Settlement call(Taken t) {
    try {
      Exception spoilt = t.spoilt;
      if (spoilt != null) {
        return failed(spoilt);
      }
      MessageHandler sync = handler;
      if (sync != null) {
        return notNull(sync.handle(t));
      }
      Function<Delivery, CompletionStage<Settlement>> async = asyncHandler;
      if (async == null) {
        throw new IllegalStateException("no handler");
      }
      CompletionStage<Settlement> stage = async.apply(t);
      if (stage == null) {
        return Settlement.retry();
      }
      Later later = new Later(this, t);
      stage.whenComplete(later::completed);
      return later.settlementIfCompleted();
    } catch (Exception e) {
      LOG.debug("the handler failed at {}", t, e);
      return failed(e);
    } catch (Error e) {
      LOG.warn("the handler failed at {}", t, e);
      reception.report(t, e);
      return failed(e);
    }
  }

  private static Settlement notNull(@Nullable Settlement settlement) {
    return settlement == null ? failed(new NullPointerException("settlement")) : settlement;
  }

  private static Settlement failed(Throwable failure) {
    return Settlement.failed(failure.toString());
  }

  /** The stage of a handler that returned before it was done. */
  private static final class Later {
    private static final Settlement OPEN = Settlement.failed("open");
    private static final Settlement DETACHED = Settlement.failed("detached");
    private static final VarHandle STATE;

    static {
      try {
        STATE = MethodHandles.lookup().findVarHandle(Later.class, "state", Settlement.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private final HandlerPool pool;
    private final Taken t;

    @SuppressWarnings("unused") // by STATE
    private volatile Settlement state = OPEN;

    private Later(HandlerPool pool, Taken t) {
      this.pool = pool;
      this.t = t;
    }

    /** Returns the settlement if it is there already; else {@link #completed} enters it. */
    private @Nullable Settlement settlementIfCompleted() {
      return STATE.compareAndSet(this, OPEN, DETACHED) ? null : state;
    }

    private void completed(@Nullable Settlement settlement, @Nullable Throwable failure) {
      Settlement result = failure == null ? notNull(settlement) : failed(pool.reported(t, failure));
      if (!STATE.compareAndSet(this, OPEN, result)) {
        pool.finishLater(t, result);
      }
    }
  }

  private Throwable reported(Taken t, Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    if (cause instanceof Error error) {
      reception.report(t, error);
    }
    return cause;
  }

  private void finishLater(Taken t, Settlement settlement) {
    long now = System.nanoTime();
    End end = t.claim() ? reception.conclude(t, settlement, settlement.reason()) : null;
    reception.lock.lock();
    try {
      finish(t, end, now);
    } finally {
      reception.lock.unlock();
    }
    wake();
  }
}
