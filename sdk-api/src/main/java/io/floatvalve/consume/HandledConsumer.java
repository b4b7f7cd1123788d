package io.floatvalve.consume;

import io.floatvalve.explain.Explanation;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Settlement;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A reception with a pool of handlers. */
final class HandledConsumer implements Consumer, ConsumeSide.Member {
  /** Time for closing in order that is there even when handlers have used up the rest. */
  static final long LEAST_CLOSE_NANOS = 1_000_000_000L;

  private final ConsumeSide side;
  private final Reception reception;
  private final int slots;
  private final Executor executor;
  private final @Nullable SharedThreads shared;
  private final AtomicReference<@Nullable HandlerPool> pool = new AtomicReference<>();
  private volatile boolean finished;

  HandledConsumer(
      ConsumeSide side,
      Reception reception,
      int slots,
      Executor executor,
      @Nullable SharedThreads shared) {
    this.side = side;
    this.reception = reception;
    this.slots = slots;
    this.executor = executor;
    this.shared = shared;
  }

  Reception reception() {
    return reception;
  }

  @Override
  public void handle(MessageHandler handler) {
    begin(Objects.requireNonNull(handler, "handler"), null);
  }

  @Override
  public void handleAsync(Function<Delivery, CompletionStage<Settlement>> handler) {
    begin(null, Objects.requireNonNull(handler, "handler"));
  }

  private void begin(
      @Nullable MessageHandler handler,
      @Nullable Function<Delivery, CompletionStage<Settlement>> asyncHandler) {
    HandlerPool next = new HandlerPool(reception, slots, executor, shared, handler, asyncHandler);
    if (!pool.compareAndSet(null, next)) {
      throw new IllegalStateException("a handler was given before");
    }
    reception.start(next);
  }

  @Override
  public void pause() {
    reception.pause();
  }

  @Override
  public void resume() {
    reception.resume();
  }

  @Override
  public long drain(Duration timeout) {
    return reception.drain(timeout, own(), true);
  }

  private int own() {
    HandlerPool running = pool.get();
    return running == null ? 0 : running.own();
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
    return reception.explain(false);
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
    if (!finished) {
      finished = true;
      long unused = drain(reception.closeTimeout());
    }
  }

  @Override
  public void close() {
    if (reception.isClosed()) {
      return;
    }
    long deadline = System.nanoTime() + reception.closeTimeout().toNanos();
    if (finished) {
      long unused = reception.drain(reception.closeTimeout(), 0, false);
    } else {
      finish();
    }
    long left = deadline - System.nanoTime();
    reception.close(Duration.ofNanos(Math.max(LEAST_CLOSE_NANOS, left)));
    side.forget(this);
  }
}
