package io.floatvalve.consume;

import io.floatvalve.consume.Delivery.Answer;
import io.floatvalve.consume.Ledger.End;
import io.floatvalve.consume.Ledger.Stage;
import io.floatvalve.event.Event;
import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.ConsumerSnapshot;
import io.floatvalve.explain.ConsumerSnapshot.Held;
import io.floatvalve.explain.Explanation;
import io.floatvalve.explain.Peaks;
import io.floatvalve.explain.Throttle;
import io.floatvalve.flow.PermitLaw;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.latency.LatencySummary;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.QuotaWatch;
import io.floatvalve.rate.Gate;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.Usage;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.ReceiveLink;
import io.floatvalve.spi.ReceiveLink.Copy;
import io.floatvalve.spi.ReceiveLink.Observation;
import io.floatvalve.spi.ReceiveLink.Received;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What every consumer has: a link that is opened again when it is lost, what was taken from it, who
 * may have the next message, and how each is settled. Who takes messages, and when, is its crew's
 * matter.
 */
final class Reception {
  private static final Logger LOG = LoggerFactory.getLogger(Reception.class);
  private static final AtomicLong EPOCHS = new AtomicLong();
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long LATE_ARRIVAL_NANOS = 1_000_000_000L;
  private static final int FEWEST_PARKED = 16;
  private static final int QUIET_TICKS = 20;
  private static final long FIRST_LOOK_NANOS = 50_000_000L;
  private static final double SLOW_NANOS = 1e9;
  private static final double KEEP_NANOS = 250e6;
  private static final long GIVE_BACK_EVERY_NANOS = 100_000_000L;
  private static final long LATE_NANOS = 500_000_000L;
  private static final int MOST_LATE = 10_000;
  private static final long TELL_EVERY_NANOS = 1_000_000_000L;
  private static final long SHORT_LIFE_NANOS = 5_000_000_000L;
  private static final long FIRST_BACKOFF_MILLIS = 100;
  private static final long LAST_BACKOFF_MILLIS = 10_000;

  /** Who takes messages. */
  interface Crew {
    /**
     * There may be something to take. Called on any thread; never blocks, takes no lock of ours.
     */
    void wake();

    /** Some 50 ms have passed. */
    void tick(long now);

    /** Returns how many handlers have not returned. The lock is held. */
    int busy();

    /** Returns how long handlers were at work so far, all together. The lock is held. */
    long busyNanos(long now);
  }

  /*
   * One lock guards what is taken and not settled: the ledger, the lanes, the law. It is held for
   * memory work only, and over `poll` and `waiting` of the link, which are that too; a message
   * costs two short visits. Never over users' code, never over another call of a link, and never
   * taken on a thread of the client's: what comes from there goes through volatile fields or by
   * the loop, so that the client may call us with locks of its own held.
   */
  final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Ledger ledger = new Ledger(); // guarded by lock
  private final Lanes lanes = new Lanes(); // guarded by lock
  private final PermitLaw law; // guarded by lock
  private final HandlerTime handlerTime; // guarded by lock
  private final QuotaWatch used; // guarded by lock

  private final Broker broker;
  private final ConsumerSettings settings;
  private final int slots;
  private final String who;
  private final java.util.function.Consumer<Event> events;
  private final PermitLoop loop;
  private final Executor openers;
  private final @Nullable Gate gate; // to the quotas; null if there are none for consuming
  private final Address counted; // where what is consumed counts
  private final Runnable heldLongEnough = this::heldLongEnough;
  private final boolean ordered;
  private final @Nullable Function<Message, @Nullable String> keyOf;
  private final AtomicInteger era = new AtomicInteger();
  private final AtomicInteger telling = new AtomicInteger();

  private volatile @Nullable Incarnation current; // written under lock
  private volatile @Nullable ReceiveLink previous; // written by whoever opens, one at a time
  private volatile @Nullable Crew crew;
  private volatile boolean windowDue;
  private volatile boolean stirred;
  private final AtomicBoolean tooLongNoted = new AtomicBoolean(); // of one that was being retried
  private volatile String lastLoss = "";
  private volatile double handlerNanos; // what handlerTime says; written under lock
  private volatile long tickNanos = System.nanoTime(); // a clock that costs nothing, to 50 ms

  // guarded by lock
  private @Nullable ConsumeLatency latency; // not before the first message: many consumers idle
  private final Set<Object> late = new LinkedHashSet<>();
  private @Nullable Taken heldOver;
  private boolean held; // by a quota, until the loop comes: heldOver is then what may go next
  private boolean started;
  private boolean paused;
  private boolean draining;
  private boolean closed;
  private boolean failed;
  private boolean keying;
  private boolean missed;
  private int leastWaiting = Integer.MAX_VALUE;
  private boolean ranEmpty;
  private long lastAgeNanos;
  private long givenBackWaiting;
  private long redelivered;
  private long copiesFailed;
  private long again; // taken, and delivered or handled before
  private long keyless; // taken, without the key that order depends on
  private long refusedNanos; // when a caller was refused as too many are out
  private boolean sawEmpty; // since the last tick
  private long brokenBefore;
  private long reopened;

  private final ConsumeWatch stalls;
  private volatile long wallMinusNanos; // the wall's clock minus the other one

  // by the loop alone
  private boolean waitedBefore;
  private final @Nullable LatencySummary summary;
  private int shortLived;
  private int quiet;
  private long progressNanos = System.nanoTime();
  private long takenAtProgress;
  private long givenBackNanos = System.nanoTime() - GIVE_BACK_EVERY_NANOS;
  private int permitsTold;
  private long permitsToldNanos = System.nanoTime();

  // by whoever tells the window, one at a time
  private @Nullable Incarnation windowOf;
  private int windowPermits;
  private int windowParked;
  private boolean windowAsked; // another number was wanted since this link was told the first one
  private long windowFromNanos; // and is not told before

  Reception(
      Broker broker,
      ConsumerSettings settings,
      int slots,
      java.util.function.Consumer<Event> events,
      PermitLoop loop,
      Executor openers) {
    this.broker = broker;
    this.settings = settings;
    this.slots = slots;
    this.events = events;
    this.loop = loop;
    this.openers = openers;
    QuotaPolicy quota = settings.quota();
    this.gate = quota == null ? null : quota.pacer().gate();
    this.counted = settings.addresses().get(0);
    this.ordered = settings.ordering() != Ordering.NONE;
    this.keyOf = settings.keyOf();
    this.law = settings.permits().law(slots);
    this.handlerTime = new HandlerTime(slots);
    Duration every = settings.latencySummary();
    this.summary = every == null ? null : new LatencySummary(every, System.nanoTime());
    this.permitsTold = law.permits();
    this.stalls = new ConsumeWatch(this, settings.stallWarning(), System.nanoTime());
    long now = System.nanoTime();
    this.wallMinusNanos = wallMinus(now);
    this.who =
        settings.addresses().stream().map(Address::toString).collect(Collectors.joining(", "))
            + (settings.group() == null ? "" : " as '" + settings.group() + "'");
    this.used = new QuotaWatch(who, Kind.CONSUME, settings.quota(), now, PermitLoop.TICK_NANOS);
  }

  String who() {
    return who;
  }

  // Links

  /** Opens the first link; waits for the broker. */
  void open() {
    if (gate != null) {
      gate.consumers(counted, 1);
    }
    boolean opened = false;
    try {
      openFirst();
      opened = true;
    } finally {
      if (!opened && gate != null) {
        gate.consumers(counted, -1);
      }
    }
  }

  private void openFirst() {
    Incarnation first = openLink();
    lock.lock();
    try {
      current = first;
      law.heardAfter(first.link().traits().resizeEvery().toNanos());
    } finally {
      lock.unlock();
    }
    if (first.isLost()) {
      loop.soon(() -> recover(first, true));
    }
    loop.add(this);
  }

  /** Lets the broker deliver. */
  void start(Crew crew) {
    this.crew = crew;
    lock.lock();
    try {
      started = true;
    } finally {
      lock.unlock();
    }
    tellWindow();
    wake();
  }

  private Incarnation openLink() {
    Incarnation next = new Incarnation(this, EPOCHS.incrementAndGet());
    var request =
        new Broker.ReceiveRequest(
            settings.addresses(),
            settings.group(),
            settings.ordering(),
            slots,
            permits(),
            settings.permits().most(),
            settings.permits().maxBytes(),
            settings.retryDelays(),
            settings.deadLetter(),
            next.epoch,
            previous,
            settings.nativeSettings(),
            settings.openTimeout());
    ReceiveLink link = broker.openReceive(request, next);
    previous = link;
    next.opened(link);
    tell(new Event.LinkOpened(Instant.now(), who, next.epoch));
    note(link.traits().note());
    if (ordered || !link.traits().copies()) {
      Duration delays = delaysInAll(link.longestHold());
      if (isTooLong(link, delays)) {
        noteTooLong(link, delays);
      }
    }
    return next;
  }

  private void note(String note) {
    if (!note.isEmpty()) {
      tell(new Event.ConsumerNote(Instant.now(), who, note));
    }
  }

  /** Returns how long a message waits for all its attempts, or as much as is enough to know. */
  private Duration delaysInAll(Duration enough) {
    Duration sum = Duration.ZERO;
    for (int attempt = 1;
        attempt < settings.maxAttempts() && sum.compareTo(enough) < 0;
        attempt++) {
      sum = sum.plus(settings.delayAfter(attempt));
    }
    return sum;
  }

  /** Returns whether the broker takes a message back before it has been held for so long. */
  private static boolean isTooLong(ReceiveLink link, Duration held) {
    return held.compareTo(link.longestHold()) >= 0;
  }

  private void noteTooLong(ReceiveLink link, Duration held) {
    note(
        "retries wait here, unsettled, for "
            + held
            + " or more, and the broker allows "
            + link.longestHold()
            + " unless told otherwise: it takes the message back before, and ends the link");
  }

  void wake() {
    Crew awake = crew;
    if (awake != null) {
      awake.wake();
    }
  }

  /** On a client thread. */
  void disconnected(Incarnation by, String detail) {
    era.incrementAndGet();
    lastLoss = detail;
    loop.soon(
        () -> tell(new Event.LinkLost(Instant.now(), who, by.epoch, true, detail, unsettled())));
  }

  /** On a client thread. */
  void reconnected(Incarnation by) {
    loop.soon(() -> tell(new Event.LinkOpened(Instant.now(), who, by.epoch)));
    wake();
  }

  /** On a client thread. */
  void lost(Incarnation by, boolean connection, boolean retryable, String detail) {
    lastLoss = detail;
    loop.soon(
        () -> {
          tell(new Event.LinkLost(Instant.now(), who, by.epoch, connection, detail, unsettled()));
          recover(by, retryable);
        });
  }

  private void recover(Incarnation gone, boolean retryable) {
    lock.lock();
    try {
      if (current != gone) {
        return;
      }
      current = null;
      outliveAll();
      failed = !retryable;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    wake(); // a pull consumer may now hand out again
    if (retryable) {
      // One that opens and is lost at once, again and again, is not to be opened as fast as it can.
      shortLived = gone.ageNanos() < SHORT_LIFE_NANOS ? shortLived + 1 : 0;
      if (shortLived < 2) {
        reopen(1);
      } else {
        loop.later(() -> reopen(1), backoffMillis(shortLived - 1));
      }
    }
  }

  /** What was taken can be settled no more: the broker delivers it again. */
  private void outliveAll() {
    if (heldOver != null) {
      heldOver.outlived();
      heldOver = null;
    }
    lanes.forgetWaiting();
    for (Taken each = ledger.oldest(); each != null; each = ledger.oldest()) {
      each.outlived();
      end(each, End.STALE);
    }
  }

  private void reopen(int attempt) {
    openers.execute(
        () -> {
          if (isEnding()) {
            return;
          }
          try {
            opened(openLink());
          } catch (RuntimeException e) { // an adapter that fails otherwise is tried again as well
            tell(new Event.Recovering(Instant.now(), who, attempt, String.valueOf(e.getMessage())));
            if (e instanceof MessagingException failure
                && failure.kind() == MessagingException.Kind.INVALID) {
              lastLoss = String.valueOf(e.getMessage());
              fail();
              return;
            }
            loop.later(() -> reopen(attempt + 1), backoffMillis(attempt));
          }
        });
  }

  private void opened(Incarnation next) {
    boolean late;
    lock.lock();
    try {
      late = closed;
      if (!late) {
        current = next;
        law.heardAfter(next.link().traits().resizeEvery().toNanos());
        reopened++;
      }
    } finally {
      lock.unlock();
    }
    if (late) {
      next.end();
      next.link().close(settings.closeTimeout());
    } else if (next.isLost()) {
      loop.soon(() -> recover(next, true));
    } else {
      tellWindow();
      wake();
    }
  }

  private void fail() {
    lock.lock();
    try {
      failed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  boolean isEnding() {
    lock.lock();
    try {
      return closed || draining;
    } finally {
      lock.unlock();
    }
  }

  private static long backoffMillis(int attempt) {
    return Math.min(LAST_BACKOFF_MILLIS, FIRST_BACKOFF_MILLIS << Math.min(attempt - 1, 10));
  }

  // Taking. The lock is held by the caller.

  /**
   * Returns the next message that may be handled now, or null. May let the lock go for a moment,
   * while a key is told.
   */
  @Nullable Taken take(long now) {
    if (paused || draining || closed) {
      return null;
    }
    Taken ready = lanes.pollReady();
    if (ready != null) {
      ledger.move(ready, Stage.HANDLING);
      return ready;
    }
    while (true) {
      Taken next = pull(now);
      if (next == null) {
        return null;
      }
      if (mayStart(next)) {
        ledger.move(next, Stage.HANDLING);
        return next;
      }
      if (paused || draining || closed) {
        return null; // that came about while the lock was let go
      }
    }
  }

  /** Takes one to hand it out, unless too many are out; it is handled when it is settled. */
  @Nullable Taken takeOut(long now) {
    if (ledger.at(Stage.HANDLING) >= slots) {
      refusedNanos = now;
      return null;
    }
    Taken next = take(now);
    if (next != null) {
      next.handled = true;
      next.start(now);
    }
    return next;
  }

  /** Takes one from the link into the ledger, if there is room. */
  private @Nullable Taken pull(long now) {
    Incarnation by = current;
    if (by == null || by.isLost()) {
      return null;
    }
    if (keying) {
      missed = true;
      return null;
    }
    long maxBytes = settings.permits().maxBytes();
    int beside = ledger.at(Stage.PARKED) + ledger.at(Stage.SETTLING);
    if (held
        || beside >= Math.max(FEWEST_PARKED, law.permits())
        || ledger.bytes() >= maxBytes
        || (settings.ordering() == Ordering.TOTAL && lanes.anyHeld())) {
      return null;
    }
    Taken next = heldOver;
    if (next == null) {
      ReceiveLink link = by.link();
      int waiting = link.waiting();
      if (waiting < leastWaiting) {
        leastWaiting = waiting;
      }
      Received received = link.poll();
      if (received == null) {
        if (!ranEmpty) {
          ranEmpty = true;
          sawEmpty = true;
        }
        int before = law.permits();
        if (before < settings.permits().most()
            && 2 * beside < before // else messages wait here, not handlers for them
            && ranEmpty() != before) {
          windowDue = true;
        }
        return null;
      }
      int size = received.size();
      law.taken(size);
      arrived(received);
      next = new Taken(this, by, received, size, now, era.get());
      if (!stirred) {
        stirred = true;
      }
    }
    if (ledger.unsettled() > 0 && ledger.bytes() + next.size > maxBytes) {
      heldOver = next; // alone, when there is room
      return null;
    }
    if (gate != null && !passes(gate, next, now)) {
      heldOver = next;
      return null;
    }
    heldOver = null;
    used.passed(now, 1, next.size);
    ledger.enter(next, Stage.PARKED);
    return next;
  }

  private void arrived(Received received) {
    long stored = received.storedMillis();
    long millis = stored == 0 ? received.publishedMillis() : stored;
    long arrived = received.arrivedNanos();
    long since = millis == 0 ? arrived : millis * NANOS_PER_MILLI - wallMinusNanos;
    lastAgeNanos = arrived - since;
    used.detector().arrived(arrived, since);
  }

  /** Returns what to take from the wall's clock to get the other one. */
  private static long wallMinus(long nanos) {
    return System.currentTimeMillis() * NANOS_PER_MILLI - nanos;
  }

  /** Looks whether the broker holds us back: where nothing waits here, it could have sent more. */
  private void watchTheBroker(long now) {
    wallMinusNanos = wallMinus(now);
    Incarnation by = current;
    boolean connected = by != null && !by.isLost();
    boolean waits = by != null && connected && by.link().waiting() > 0;
    List<Event> told;
    lock.lock();
    try {
      waits |= heldOver != null;
      boolean able = connected && !paused && !draining && !(waits && waitedBefore);
      told = used.tick(now, able, !waits && lastAgeNanos > LATE_ARRIVAL_NANOS);
    } finally {
      lock.unlock();
    }
    waitedBefore = waits;
    told.forEach(this::tell);
  }

  Usage usage() {
    lock.lock();
    try {
      return used.usage(System.nanoTime());
    } finally {
      lock.unlock();
    }
  }

  /** Takes what a message needs from its quotas, or has it held until it may be tried again. */
  private boolean passes(Gate gate, Taken next, long now) {
    int partition = Gate.ANY_PARTITION;
    long wait = gate.take(Kind.CONSUME, counted, partition, 1, next.size, now);
    if (wait == 0) {
      return true;
    }
    held = true;
    used.held(now, wait);
    loop.laterNanos(heldLongEnough, wait);
    return false;
  }

  /** On the loop: a quota may admit now what it held. */
  private void heldLongEnough() {
    lock.lock();
    try {
      held = false;
      if (gate != null && (heldOver == null || paused || draining || closed)) {
        gate.leave(); // it has gone, or something else holds it
      }
    } finally {
      lock.unlock();
    }
    wake();
  }

  /** Returns how many permits there shall be: no more than quotas allow in half a second. */
  private int allowed() { // holds the lock
    return gate == null
        ? law.permits()
        : law.permits(gate.messagesAhead(counted), gate.bytesAhead(counted));
  }

  private int ranEmpty() {
    Crew working = crew;
    long now = System.nanoTime();
    return law.ranEmpty(
        now,
        ledger.taken(),
        ledger.unsettled(),
        working == null ? 0 : working.busyNanos(now),
        handlerNanos);
  }

  /** Decides whether a message that was just taken can be handled at once. */
  private boolean mayStart(Taken next) {
    if (next.received.redelivered()) {
      redelivered++;
      if (cameBefore(next)) {
        again++;
      }
      if (isEcho(next) || wasSettled(next)) {
        return false;
      }
    }
    if (!ordered) {
      return true;
    }
    if (settings.ordering() == Ordering.TOTAL) {
      return lanes.enter("", next);
    }
    String key = keyOf == null ? next.received.key() : tellKey(next, keyOf);
    if (next.ended) {
      return false; // the link was lost while the key was told
    }
    if (key == null) {
      keyless++;
      if (paused || draining || closed) {
        lanes.ready(next);
        return false;
      }
      return true;
    }
    if (!lanes.enter(key, next)) {
      return false;
    }
    if (paused || draining || closed) {
      lanes.ready(next);
      return false;
    }
    return true;
  }

  /**
   * Whether it surely was delivered or handled before. After a lost connection Pulsar's client
   * cannot tell where the broker does not count, and takes all for it.
   */
  private boolean cameBefore(Taken next) {
    int count = next.received.deliveryCount();
    return count > 1 || next.received.attempts() > 0 || (count == 0 && next.era == 0);
  }

  /** Asks the user's function, without the lock; nobody else takes meanwhile, so order is kept. */
  @SuppressWarnings("CatchingUnchecked") // users' code may throw anything
  private @Nullable String tellKey(Taken next, Function<Message, @Nullable String> keyOf) {
    keying = true;
    missed = false;
    lock.unlock();
    String key = null;
    Exception spoilt = null;
    try {
      key = keyOf.apply(next.message());
    } catch (Exception e) {
      spoilt = e;
    } finally {
      lock.lock();
      keying = false;
    }
    next.spoilt = spoilt;
    if (missed) {
      loop.soon(this::wake);
    }
    return key;
  }

  /**
   * Whether the same message is still unsettled here. It then shares the end of that one: running
   * it beside the first would do the work twice, and out of order.
   *
   * <p>Only what was taken before the connection was last lost can come again, or anything if the
   * broker counts deliveries and says so.
   */
  private boolean isEcho(Taken next) {
    boolean counted = next.received.deliveryCount() > 1;
    Taken each = ledger.oldest();
    if (each == next || each == null || (!counted && each.era >= next.era)) {
      return false;
    }
    Object identity = next.received.identity();
    if (identity == null) {
      return false;
    }
    for (; each != null && each != next; each = each.next) {
      if (!counted && each.era >= next.era) {
        return false;
      }
      if (each.by == next.by && identity.equals(each.received.identity())) {
        each.echo(next);
        next.isEcho = true;
        return true;
      }
    }
    return false;
  }

  /**
   * Whether the same message was settled a while ago, so late that the broker had sent it again by
   * then: it was taken before the connection was lost, or held for long (an ack timeout of the
   * client's). Others are not remembered, as that would cost every message something.
   */
  private boolean wasSettled(Taken next) {
    if (late.isEmpty()) {
      return false;
    }
    Object identity = next.received.identity();
    if (identity == null || !late.contains(identity)) {
      return false;
    }
    next.isEcho = true;
    loop.soon(() -> share(List.of(next), End.ACCEPTED));
    return true;
  }

  private void rememberIfLate(Taken t, End end) {
    if (end != End.ACCEPTED && end != End.RETRIED && end != End.REJECTED) {
      return;
    }
    if (t.era == era.get() && tickNanos - t.takenNanos < LATE_NANOS) {
      return;
    }
    Object identity = t.received.identity();
    if (identity != null && late.add(identity) && late.size() > MOST_LATE) {
      late.remove(late.iterator().next());
    }
  }

  // Settling

  /** Settles a delivery that the caller has claimed. */
  Answer settle(Taken t, Settlement settlement) {
    long now = System.nanoTime();
    End end = conclude(t, settlement, settlement.reason());
    lock.lock();
    try {
      if (t.handled) { // it was handed out; else its handler has not returned
        recordHandled(t, now, end != null);
      }
      if (end == null) {
        return Answer.ACCEPTED;
      }
      end(t, end);
    } finally {
      lock.unlock();
    }
    wake(); // there may be room again
    return end == End.STALE ? Answer.STALE : Answer.ACCEPTED;
  }

  /**
   * Does what a settlement says, for a delivery that the caller has claimed, without the lock.
   *
   * @return the end it came to, to be entered by {@link #end}; null if that takes longer, or was
   *     done
   */
  @Nullable End conclude(Taken t, Settlement settlement, String reason) {
    Incarnation by = t.by;
    if (by.isLost()) {
      t.outlived();
      return End.STALE;
    }
    return switch (settlement.kind()) {
      case ACCEPT -> ends(t, by.link().ack(t.received), End.ACCEPTED);
      case RETRY -> {
        if (t.attempt() >= settings.maxAttempts()) {
          yield reject(t, "attempt " + t.attempt() + " was the last: " + reason);
        }
        Duration delay = settlement.delay();
        Duration wait = delay == null ? settings.delayAfter(t.attempt()) : delay;
        if (!ordered
            && by.link().traits().copies()
            && wait.compareTo(by.link().longestDelay()) <= 0) {
          copy(t, new Copy(false, t.attempt(), wait, reason, Instant.now()));
        } else {
          if (!tooLongNoted.get()) {
            Duration held = wait.plusNanos(System.nanoTime() - t.received.arrivedNanos());
            if (isTooLong(by.link(), held) && tooLongNoted.compareAndSet(false, true)) {
              noteTooLong(by.link(), held);
            }
          }
          yield retryInPlace(t, wait);
        }
        yield null;
      }
      case REJECT -> reject(t, reason);
    };
  }

  private static End ends(Taken t, boolean heard, End end) {
    if (heard) {
      return end;
    }
    t.outlived();
    return End.STALE;
  }

  private @Nullable End reject(Taken t, String reason) {
    tell(new Event.Rejected(Instant.now(), who, t.received.describe(), t.attempt(), reason));
    ReceiveLink link = t.by.link();
    if (link.traits().deadLetters()) {
      copy(t, new Copy(true, t.attempt(), Duration.ZERO, reason, Instant.now()));
      return null;
    }
    return ends(t, link.reject(t.received), End.REJECTED);
  }

  private void copy(Taken t, Copy copy) {
    lock.lock();
    try {
      ledger.move(t, Stage.SETTLING);
    } finally {
      lock.unlock();
    }
    sendCopy(t, copy, 1);
  }

  private void sendCopy(Taken t, Copy copy, int tries) {
    if (t.by.isLost()) {
      loop.soon(() -> endNow(t, End.STALE));
      return;
    }
    if (gate != null) {
      Kind kind = copy.delay().isZero() ? Kind.PUBLISH : Kind.DELAYED_PUBLISH;
      gate.count(kind, t.size, System.nanoTime());
    }
    t.by.link().copy(t.received, copy, failure -> loop.soon(() -> copied(t, copy, tries, failure)));
  }

  /** On the loop. */
  private void copied(Taken t, Copy copy, int tries, @Nullable String failure) {
    if (failure == null) {
      End end = copy.deadLetter() ? End.REJECTED : End.RETRIED;
      recordCopied(copy);
      endNow(t, t.by.isLost() ? End.STALE : ends(t, t.by.link().ack(t.received), end));
      return;
    }
    lock.lock();
    try {
      copiesFailed++;
    } finally {
      lock.unlock();
    }
    tell(
        new Event.CopyFailed(
            Instant.now(), who, t.received.describe(), copy.deadLetter(), failure));
    loop.later(() -> sendCopy(t, copy, tries + 1), backoffMillis(tries));
  }

  private void recordCopied(Copy copy) {
    long nanos = Duration.between(copy.at(), Instant.now()).toNanos();
    lock.lock();
    try {
      latencies().settled(nanos);
    } finally {
      lock.unlock();
    }
  }

  private void endNow(Taken t, End end) {
    if (end == End.STALE) {
      t.outlived();
    }
    lock.lock();
    try {
      end(t, end);
    } finally {
      lock.unlock();
    }
    wake();
  }

  /** It stays where it is, unacknowledged, and in its lane; a new attempt at it starts later. */
  private @Nullable End retryInPlace(Taken t, Duration delay) {
    Taken again = null;
    lock.lock();
    try {
      if (t.ended) {
        return null; // lost meanwhile
      }
      if (!draining) {
        again = new Taken(t);
        ledger.replace(t, again);
        t.ended = true;
        t.again = again;
        t.holdsLane = false;
      }
    } finally {
      lock.unlock();
    }
    if (again == null) {
      t.by.link().giveBack(List.of(t.received)); // there is no later here
      return End.GIVEN_BACK;
    }
    Taken next = again;
    loop.later(() -> due(next), delay.toMillis());
    return null;
  }

  private void due(Taken again) {
    lock.lock();
    try {
      if (again.ended) {
        return;
      }
      again.due = true;
      if (again.before != null && again.before.handled) {
        again.before = null;
        lanes.ready(again);
      }
    } finally {
      lock.unlock();
    }
    wake();
  }

  /** Enters what became of a message. The lock is held. */
  void end(Taken t, End end) {
    if (t.ended) {
      return;
    }
    t.ended = true;
    boolean begun = t.stage != Stage.PARKED;
    rememberIfLate(t, end);
    ledger.end(t, end);
    if (t.echoes != null) {
      List<Taken> same = t.echoes;
      loop.soon(() -> share(same, end));
    }
    Taken before = t.before;
    if (before != null && !before.handled) {
      before.again = null; // its handler has not returned: it holds the lane until then
      before.holdsLane = t.holdsLane;
      t.holdsLane = false;
    } else if (!begun || t.handled) {
      lanes.release(t);
    }
    if (draining) {
      changed.signalAll();
    }
  }

  /** The handler has returned, or there is none. The lock is held. */
  void handled(Taken t) {
    t.handled = true;
    t.thread = null;
    Taken again = t.again;
    if (again != null) {
      if (again.due && !again.ended) {
        again.before = null;
        lanes.ready(again);
      }
    } else if (t.ended) {
      lanes.release(t);
    }
    if (draining) {
      changed.signalAll();
    }
  }

  /** Gives further deliveries of a message the end of the first. On the loop. */
  private void share(List<Taken> same, End end) {
    for (Taken each : same) {
      boolean mine = each.claim();
      if (mine && !each.by.isLost() && end != End.STALE && end != End.GIVEN_BACK) {
        each.by.link().ack(each.received);
      }
      endNow(each, end == End.STALE ? end : End.DUPLICATE);
    }
  }

  /** Notes how long a handler held a message. The lock is held. */
  void held(long nanos) {
    handlerNanos = handlerTime.saw(nanos);
  }

  /** Returns how long a handler holds a message, smoothed; 0 while that is not known. */
  double handlerNanos() {
    return handlerNanos;
  }

  /** Notes how long a message waited here. The lock is held. */
  void recordWait(Taken t, long now) {
    latencies().started(t.received, now);
  }

  /**
   * Notes that a handler was through with a message at a time, and whether it is settled, now. The
   * lock is held.
   */
  void recordHandled(Taken t, long handledNanos, boolean settled) {
    ConsumeLatency recorded = latencies();
    recorded.handled(t.received, t.startedNanos(), handledNanos);
    if (settled) {
      recorded.settled(System.nanoTime() - handledNanos);
    }
  }

  private ConsumeLatency latencies() {
    ConsumeLatency known = latency;
    if (known == null) {
      known = new ConsumeLatency();
      latency = known;
    }
    return known;
  }

  boolean isWindowDue() {
    return windowDue;
  }

  /** A handler threw an error. */
  void report(Taken t, Error error) {
    tell(new Event.HandlerError(Instant.now(), who, t.received.describe(), error));
  }

  // Looking after

  /** Tells the link how many permits there shall be, if it may be told now. Not under the lock. */
  void tellWindow() {
    if (telling.getAndIncrement() != 0) {
      return; // whoever is at it does it once more
    }
    int seen = 1;
    do {
      tellWindowOnce();
      seen = telling.addAndGet(-seen);
    } while (seen != 0);
  }

  private void tellWindowOnce() {
    Incarnation by;
    int permits;
    int parked;
    lock.lock();
    try {
      by = started && !draining && !closed ? current : null;
      permits = allowed();
      parked = ledger.at(Stage.PARKED) + (heldOver == null ? 0 : 1);
      windowDue = false;
    } finally {
      lock.unlock();
    }
    if (by == null || by.isLost()) {
      return;
    }
    ReceiveLink.Traits traits = by.link().traits();
    long now = System.nanoTime();
    if (windowOf == by) {
      if (!traits.resizable()) {
        return;
      }
      boolean resize = mayResize(traits, permits, now);
      if (!resize && parked == windowParked) {
        return;
      }
      if (!resize) {
        permits = windowPermits;
      }
    } else {
      windowAsked = false;
    }
    windowOf = by;
    windowPermits = permits;
    windowParked = parked;
    by.link().window(permits, parked);
  }

  /**
   * Whether the link is told another number now. What a consumer begins with is a guess, and a link
   * that may be told seldom would keep to it for long: so its first change comes when the law has
   * had a moment to look.
   */
  private boolean mayResize(ReceiveLink.Traits traits, int permits, long now) {
    if (permits == windowPermits
        || Math.abs(permits - windowPermits) < traits.resizeBy() * windowPermits) {
      return false;
    }
    long every = traits.resizeEvery().toNanos();
    if (!windowAsked) {
      windowAsked = true;
      windowFromNanos = now + Math.min(every, FIRST_LOOK_NANOS);
    }
    if (now - windowFromNanos < 0) {
      return false;
    }
    windowFromNanos = now + every;
    return true;
  }

  /** On the loop, some 20 times a second. */
  void tick(long now) {
    tickNanos = now;
    watchTheBroker(now);
    if (summary != null) {
      summary.lineAt(now, this::latency).ifPresent(line -> LOG.info("{}: {}", who, line));
    }
    Crew working = crew;
    if (working != null) {
      working.tick(now);
    }
    if (!stirred && ++quiet < QUIET_TICKS) {
      return;
    }
    stirred = false;
    quiet = 0;
    nameTheStuck(now);
    Incarnation by = current;
    Observation seen = by == null || by.isLost() ? null : by.link().observe();
    watched(now, by, seen);
    if (by == null || seen == null || working == null) {
      return;
    }
    long taken;
    boolean slow;
    int keep = 0;
    lock.lock();
    try {
      if (latency != null) {
        latency.lookAtTheClock();
      }
      taken = ledger.taken();
      if (taken != takenAtProgress || working.busy() < slots) {
        takenAtProgress = taken;
        progressNanos = now;
      }
      int least = leastWaiting == Integer.MAX_VALUE ? -1 : leastWaiting;
      law.tick(
          new PermitLaw.Seen(
              now, taken, working.busyNanos(now), least, ranEmpty, seen.waitingBytes()));
      leastWaiting = Integer.MAX_VALUE;
      ranEmpty = false;
      boolean stuck = now - progressNanos > SLOW_NANOS;
      slow =
          !ordered
              && !paused
              && !draining
              && settings.permits().isAdaptive()
              && (stuck || seen.waiting() * handlerNanos / slots > SLOW_NANOS);
      if (slow && !stuck) {
        keep = (int) Math.min(seen.waiting(), Math.floor(slots * KEEP_NANOS / handlerNanos));
      }
      keep += settings.permits().least(); // what comes again at once had better stay
      slow =
          slow
              && seen.waiting() > keep
              && by.link().traits().givesBack()
              && now - givenBackNanos >= GIVE_BACK_EVERY_NANOS;
      if (slow && stuck) {
        law.stuck();
      } else if (slow) {
        law.turnedSlow();
      }
    } finally {
      lock.unlock();
    }
    tellWindow();
    tellPermits(now);
    int given = slow ? by.link().giveBackWaiting(keep) : 0;
    if (given > 0) { // else the link may have to change first, and is asked again at the next tick
      givenBackNanos = now;
      lock.lock();
      try {
        givenBackWaiting += given;
      } finally {
        lock.unlock();
      }
    }
    if (seen.waiting() > 0) {
      wake(); // costs nothing where all is well
    }
  }

  private void watched(long now, @Nullable Incarnation by, @Nullable Observation seen) {
    boolean running;
    lock.lock();
    try {
      running = state(by) == ConsumerStatus.State.RUNNING;
    } finally {
      lock.unlock();
    }
    Duration stalled = stalls.tick(now, by, seen, running);
    if (!stalled.isZero()) {
      tell(
          new Event.Stalled(
              Instant.now(), who, stalled, explain(crew instanceof PulledConsumer).text()));
    }
  }

  private void nameTheStuck(long now) {
    List<Event> stuck = new ArrayList<>(0);
    long warning = settings.handlerWarning().toNanos();
    lock.lock();
    try {
      for (Taken each = ledger.oldest(); each != null; each = each.next) {
        if (now - each.takenNanos < warning) {
          break;
        }
        long began = each.startedNanos();
        long age = now - began;
        if (each.stage == Stage.HANDLING
            && began != 0
            && age >= Math.max(warning, 2 * each.warnedNanos)) {
          each.warnedNanos = age;
          Thread thread = each.thread;
          stuck.add(
              new Event.HandlerStuck(
                  Instant.now(),
                  who,
                  each.received.describe(),
                  Duration.ofNanos(age),
                  thread == null ? "" : thread.getName()));
        }
      }
    } finally {
      lock.unlock();
    }
    stuck.forEach(this::tell);
  }

  private void tellPermits(long now) {
    int permits = windowPermits;
    if (permits > 0
        && (permits >= 2 * permitsTold || 2 * permits <= permitsTold)
        && now - permitsToldNanos >= TELL_EVERY_NANOS) {
      tell(new Event.PermitsChanged(Instant.now(), who, permitsTold, permits));
      permitsTold = permits;
      permitsToldNanos = now;
    }
  }

  private void tell(Event event) {
    LOG.debug("{}", event);
    events.accept(event);
  }

  private int permits() {
    lock.lock();
    try {
      return allowed();
    } finally {
      lock.unlock();
    }
  }

  private int unsettled() {
    lock.lock();
    try {
      return ledger.unsettled();
    } finally {
      lock.unlock();
    }
  }

  // Pausing and ending

  /** Nothing is started after this has returned. */
  void pause() {
    lock.lock();
    try {
      paused = true;
    } finally {
      lock.unlock();
    }
    while (isStarting()) {
      Thread.onSpinWait(); // between taking and the call of the handler: a few instructions
    }
  }

  private boolean isStarting() {
    lock.lock();
    try {
      if (!paused) {
        return false;
      }
      for (Taken each = ledger.oldest(); each != null; each = each.next) {
        if (each.stage == Stage.HANDLING && each.startedNanos() == 0) {
          return true;
        }
      }
      return false;
    } finally {
      lock.unlock();
    }
  }

  void resume() {
    lock.lock();
    try {
      paused = false;
    } finally {
      lock.unlock();
    }
    wake();
  }

  /** Lets nothing more be taken; returns at once. */
  void endIntake() {
    lock.lock();
    try {
      draining = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    wake();
  }

  /**
   * Ends intake, gives back what was not begun, waits for the rest and for its acknowledgements.
   *
   * @param own handlers that are not waited for, because they wait for this
   * @param waits whether handlers are waited for at all
   * @return how many are not settled, or are and the broker may not know it
   */
  long drain(Duration timeout, int own, boolean waits) {
    long deadline = System.nanoTime() + timeout.toNanos();
    endIntake();
    Incarnation by = current;
    if (by != null && !by.isLost()) {
      by.link().stop(left(deadline));
    }
    giveBackUnbegun();
    if (waits) {
      awaitSettled(deadline, own);
    }
    return unsettled() + unheard(deadline);
  }

  /** Waits until the broker has been told all ends; returns how many it may not have. */
  private long unheard(long deadline) {
    Incarnation by = current;
    if (by != null) {
      return by.link().flush(by.isLost() ? Duration.ZERO : left(deadline));
    }
    ReceiveLink gone = previous;
    return gone == null ? 0 : gone.flush(Duration.ZERO);
  }

  private static Duration left(long deadline) {
    return Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
  }

  private void giveBackUnbegun() {
    List<Taken> unbegun = new ArrayList<>();
    Incarnation by;
    lock.lock();
    try {
      by = current;
      for (Taken each = ledger.oldest(); each != null; each = each.next) {
        if (each.stage == Stage.PARKED && !each.isEcho && each.by == by && each.claim()) {
          unbegun.add(each);
        }
      }
      if (heldOver != null && heldOver.claim()) {
        ledger.enter(heldOver, Stage.PARKED);
        unbegun.add(heldOver);
        heldOver = null;
      }
      lanes.forgetWaiting();
    } finally {
      lock.unlock();
    }
    if (by == null || by.isLost()) {
      return;
    }
    if (!unbegun.isEmpty()) {
      List<Received> messages = new ArrayList<>(unbegun.size());
      for (Taken each : unbegun) {
        messages.add(each.received);
      }
      by.link().giveBack(messages);
    }
    int waiting = by.link().traits().givesBack() ? by.link().giveBackWaiting(0) : 0;
    lock.lock();
    try {
      givenBackWaiting += waiting;
      for (Taken each : unbegun) {
        end(each, End.GIVEN_BACK);
      }
    } finally {
      lock.unlock();
    }
  }

  private void awaitSettled(long deadline, int own) {
    lock.lock();
    try {
      Crew working = crew;
      while (ledger.unsettled() > own || (working != null && working.busy() > own)) {
        long nanos = deadline - System.nanoTime();
        if (nanos <= 0) {
          return;
        }
        long unused = changed.awaitNanos(Math.min(nanos, TimeUnit.SECONDS.toNanos(1)));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  /** Closes the link; what is unsettled is stale. Returns whether this call was the first. */
  boolean close(Duration timeout) {
    Incarnation last;
    lock.lock();
    try {
      if (closed) {
        return false;
      }
      closed = true;
      draining = true;
      last = current;
    } finally {
      lock.unlock();
    }
    loop.remove(this);
    if (gate != null) {
      gate.leave();
      gate.consumers(counted, -1);
    }
    if (last != null) {
      boolean wasLost = last.isLost();
      last.end();
      if (!wasLost) {
        last.link().close(timeout);
      }
    }
    lock.lock();
    try {
      outliveAll();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    wake();
    return true;
  }

  boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }

  Duration closeTimeout() {
    return settings.closeTimeout();
  }

  // Telling

  LatencySnapshot latency() {
    ConsumeLatency recorded;
    long oldestNanos;
    lock.lock();
    try {
      recorded = latencies();
      Taken oldest = ledger.oldest();
      oldestNanos = oldest == null ? 0 : System.nanoTime() - oldest.received.arrivedNanos();
    } finally {
      lock.unlock();
    }
    return recorded.snapshot(oldestNanos); // it copies kilobytes: not under the lock
  }

  ConsumerStatus status() {
    Incarnation by = current;
    Observation seen = by == null || by.isLost() ? null : by.link().observe();
    lock.lock();
    try {
      int parked = ledger.at(Stage.PARKED) + (heldOver == null ? 0 : 1);
      Taken oldest = ledger.oldest();
      return new ConsumerStatus(
          state(by),
          by == null ? 0 : by.epoch,
          seen == null ? 0 : seen.window(),
          seen == null ? 0 : seen.outstanding(),
          parked + (seen == null ? 0 : seen.waiting()),
          seen == null ? 0 : seen.waitingBytes(),
          parked,
          ledger.at(Stage.HANDLING),
          ledger.at(Stage.SETTLING),
          ledger.bytes(),
          oldest == null
              ? Duration.ZERO
              : Duration.ofNanos(Math.max(0, System.nanoTime() - oldest.takenNanos)),
          ledger.taken(),
          redelivered,
          ledger.ended(End.ACCEPTED),
          ledger.ended(End.RETRIED),
          ledger.retriedInPlace(),
          ledger.ended(End.REJECTED),
          ledger.ended(End.GIVEN_BACK) + givenBackWaiting,
          ledger.ended(End.STALE),
          ledger.ended(End.DUPLICATE),
          copiesFailed,
          seen == null ? -1 : seen.partlyAcked(),
          brokenBefore + (seen == null ? 0 : seen.broken()),
          reopened,
          lastLoss);
    } finally {
      lock.unlock();
    }
  }

  /** Explains it, for the kind of consumer that asks. */
  Explanation explain(boolean pulls) {
    Incarnation by = current;
    Observation seen = by == null || by.isLost() ? null : by.link().observe();
    ConsumerSnapshot.State state;
    Throttle throttle;
    Peaks peaks;
    long times;
    lock.lock();
    try {
      long now = System.nanoTime();
      throttle = used.throttle(now);
      peaks = used.peaks(now);
      state =
          switch (state(by)) {
            case IDLE -> ConsumerSnapshot.State.NOT_STARTED;
            case RUNNING -> ConsumerSnapshot.State.RUNNING;
            case PAUSED -> ConsumerSnapshot.State.PAUSED;
            case RECOVERING -> ConsumerSnapshot.State.RECOVERING;
            case FAILED -> ConsumerSnapshot.State.FAILED;
            case DRAINING, CLOSED -> ConsumerSnapshot.State.ENDING;
          };
      times = reopened;
    } finally {
      lock.unlock();
    }
    var limits =
        new ConsumerSnapshot.Limits(
            slots,
            pulls,
            settings.permits().most(),
            settings.permits().maxBytes(),
            settings.ordering(),
            settings.handlerWarning(),
            seen == null || by == null ? Duration.ZERO : by.link().ackTimeout());
    String name = seen == null || by == null ? "" : by.link().name();
    BrokerView view = loop.views().of(settings.addresses(), settings.group(), name).orElse(null);
    return Explanation.of(
        stalls.snapshot(
            System.nanoTime(),
            who,
            broker.describe(),
            state,
            limits,
            by,
            seen,
            times,
            lastLoss,
            throttle,
            peaks,
            view));
  }

  /** Returns what was counted so far. */
  ConsumeWatch.Counts counts(long now) {
    lock.lock();
    try {
      Crew working = crew;
      boolean empty = sawEmpty;
      sawEmpty = false;
      long accepted = ledger.ended(End.ACCEPTED);
      long retried = ledger.ended(End.RETRIED);
      long rejected = ledger.ended(End.REJECTED);
      long duplicates = ledger.ended(End.DUPLICATE);
      long ends =
          accepted
              + retried
              + rejected
              + duplicates
              + ledger.ended(End.GIVEN_BACK)
              + ledger.ended(End.STALE);
      return new ConsumeWatch.Counts(
          now,
          ledger.taken(),
          ends,
          Math.max(0, again - givenBackWaiting - ledger.ended(End.GIVEN_BACK)), // by our own doing
          retried + ledger.retriedInPlace(),
          rejected,
          duplicates,
          copiesFailed,
          keyless,
          working == null ? 0 : working.busyNanos(now),
          ledger.at(Stage.PARKED) + (heldOver == null ? 0 : 1),
          ledger.at(Stage.HANDLING),
          ledger.at(Stage.SETTLING),
          ledger.bytes(),
          empty,
          refusedNanos);
    } finally {
      lock.unlock();
    }
  }

  /** Returns the latencies that are looked at once a second, so far. */
  LatencySnapshot watched() {
    ConsumeLatency recorded;
    lock.lock();
    try {
      recorded = latency;
    } finally {
      lock.unlock();
    }
    return recorded == null ? LatencySnapshot.empty() : recorded.watched();
  }

  /** Returns what has been with handlers for so long. */
  Held heldFor(long now, Duration limit) {
    long nanos = limit.toNanos();
    int count = 0;
    Taken oldest = null;
    lock.lock();
    try {
      for (Taken each = ledger.oldest(); each != null; each = each.next) {
        if (now - each.takenNanos < nanos) {
          break;
        }
        long began = each.startedNanos();
        if (each.stage == Stage.HANDLING && began != 0 && now - began >= nanos) {
          count++;
          if (oldest == null) {
            oldest = each;
          }
        }
      }
      if (oldest == null) {
        return Held.NOTHING;
      }
      Thread thread = oldest.thread;
      return new Held(
          count,
          limit,
          oldest.received.describe(),
          oldest.lane == null ? "" : oldest.lane.key(),
          Duration.ofNanos(now - oldest.startedNanos()),
          thread == null ? "" : thread.getName());
    } finally {
      lock.unlock();
    }
  }

  long longestPause(long now) {
    return loop.longestPause(now);
  }

  private ConsumerStatus.State state(@Nullable Incarnation by) {
    if (closed) {
      return ConsumerStatus.State.CLOSED;
    }
    if (draining) {
      return ConsumerStatus.State.DRAINING;
    }
    if (failed) {
      return ConsumerStatus.State.FAILED;
    }
    if (by == null || !by.isConnected()) {
      return ConsumerStatus.State.RECOVERING;
    }
    if (!started) {
      return ConsumerStatus.State.IDLE;
    }
    return paused ? ConsumerStatus.State.PAUSED : ConsumerStatus.State.RUNNING;
  }
}
