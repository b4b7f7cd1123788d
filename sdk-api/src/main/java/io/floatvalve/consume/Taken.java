package io.floatvalve.consume;

import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.spi.ReceiveLink.Received;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One attempt at one message, from the moment it was taken from the link. */
final class Taken implements Delivery {
  private static final int OPEN = 0;
  private static final int SETTLED = 1;
  private static final int STALE = 2;
  private static final VarHandle STATE;
  private static final VarHandle STARTED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      STATE = lookup.findVarHandle(Taken.class, "state", int.class);
      STARTED = lookup.findVarHandle(Taken.class, "startedNanos", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final Reception home;
  final Incarnation by;
  final Received received;
  final int size;
  final long takenNanos;
  final int era;
  private final int inPlace; // attempts here, before this one

  @SuppressWarnings("unused") // by STATE
  private volatile int state;

  @SuppressWarnings("UnusedVariable") // by STARTED
  private long startedNanos; // 0 until a handler has it

  // What follows is guarded by the reception's lock.
  Ledger.@Nullable Stage stage; // null when it is not, or no longer, in the ledger
  @Nullable Taken previous;
  @Nullable Taken next;
  Lanes.@Nullable Lane lane;
  boolean holdsLane;
  boolean handled; // no handler has it, or will
  boolean ended;
  boolean due; // of a retry in place
  @Nullable Taken before; // the attempt before this one, in place
  @Nullable Taken again; // the attempt after this one, in place
  @Nullable List<Taken> echoes; // further deliveries of the same message
  boolean isEcho;
  @Nullable Thread thread;
  long warnedNanos;
  @Nullable Exception spoilt; // its key could not be told

  Taken(Reception home, Incarnation by, Received received, int size, long nanos, int era) {
    this.home = home;
    this.by = by;
    this.received = received;
    this.size = size;
    this.takenNanos = nanos;
    this.era = era;
    this.inPlace = 0;
  }

  /** The next attempt, in place. */
  Taken(Taken before) {
    this.home = before.home;
    this.by = before.by;
    this.received = before.received;
    this.size = before.size;
    this.inPlace = before.inPlace + 1;
    this.takenNanos = before.takenNanos;
    this.era = before.era;
    this.before = before;
    this.lane = before.lane;
    this.holdsLane = before.holdsLane;
    this.echoes = before.echoes;
    this.spoilt = before.spoilt;
  }

  /** Whether the caller is the one to settle it; true once. */
  boolean claim() {
    return STATE.compareAndSet(this, OPEN, SETTLED);
  }

  /** It cannot be settled any more; whoever asks hears so. */
  void outlived() {
    state = STALE;
  }

  void start(long nanos) {
    STARTED.setRelease(this, nanos == 0 ? 1 : nanos);
  }

  /** Returns when a handler got it, or 0 if none has. */
  long startedNanos() {
    return (long) STARTED.getAcquire(this);
  }

  void echo(Taken of) {
    if (echoes == null) {
      echoes = new ArrayList<>(1);
    }
    echoes.add(of);
  }

  @Override
  public Message message() {
    return received.message();
  }

  @Override
  public int attempt() {
    return received.attempts() + inPlace + 1;
  }

  @Override
  public int deliveryCount() {
    return received.deliveryCount();
  }

  @Override
  public boolean redelivered() {
    return inPlace > 0 || received.attempts() > 0 || received.redelivered();
  }

  @Override
  public Duration sinceArrival() {
    return Duration.ofNanos(Math.max(0, System.nanoTime() - received.arrivedNanos()));
  }

  @Override
  public Answer settle(Settlement settlement) {
    if (!claim()) {
      return state == STALE ? Answer.STALE : Answer.ALREADY;
    }
    return home.settle(this, settlement);
  }

  @Override
  public <T> T unwrap(Class<T> type) {
    return type.cast(received.nativeMessage());
  }

  @Override
  public String toString() {
    return "Delivery[" + received.describe() + ", attempt " + attempt() + "]";
  }
}
