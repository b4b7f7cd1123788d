package io.floatvalve.publish;

import io.floatvalve.event.Event;
import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.Explanation;
import io.floatvalve.explain.Peaks;
import io.floatvalve.explain.PublisherSnapshot;
import io.floatvalve.explain.PublisherSnapshot.Here;
import io.floatvalve.explain.Throttle;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.latency.LatencySummary;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.Nacked;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Returned;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.rate.Gate;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.DelayGuard;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.OnExceed;
import io.floatvalve.rate.Usage;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.PublishLink;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The shell around the window: a bounded queue before it, and one link after another behind it. */
final class WindowedPublisher implements Publisher {
  /*
   * One lock guards all state. It is held for moments only: never over I/O, never over a caller's
   * code. Callers take it to queue, the sender to claim, the client's reader thread to settle, the
   * timer to expire. Whoever decides an outcome does so under the lock and queues its completion
   * there, so a publish is always in exactly one of three places: the queue, the window, the
   * completions. (A message that timed out is completed, and its place in the window is held open.)
   *
   * A thread that waits for an outcome, to which nobody has added a continuation, is woken by the
   * one that decides, without the detour over a completion thread, and completes the future itself.
   * It is woken once the lock is free, or it would run into it with its next message: so whoever
   * may have decided something leaves the lock by `release`.
   *
   * Everything that comes from a link comes through its Incarnation; only the current one counts.
   *
   * A quota is asked last, when nothing else keeps the first in the queue from being sent, and what
   * passes is claimed and sent in the same step. While it holds the first, all behind it wait: one
   * timer a publisher, whose end is another turn.
   */
  private static final Logger LOG = LoggerFactory.getLogger(WindowedPublisher.class);
  private static final int TURN_MESSAGES = 256;
  private static final int TURN_BYTES = 1 << 20;
  private static final int CLAIMS = 32;
  private static final long LOSS_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
  private static final long STABLE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long MIN_CLOSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
  private static final long COMPLETE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long TELL_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** What was held by a quota so recently is about to be held again. */
  private static final long PACED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final PublishSide side;
  private final PublisherSettings settings;
  private final String who;
  private final long maxWaitNanos;
  private final long confirmTimeoutNanos;
  private final PublishLatency latency = new PublishLatency();
  private final @Nullable LatencySummary summary; // of the timer alone
  private final QuotaWatch used; // guarded by lock
  private final @Nullable Gate gate; // to the quotas; null if there are none
  private final Runnable heldLongEnough = this::heldLongEnough;
  private final PublishWatch stalls;

  private final CountDownLatch closed = new CountDownLatch(1);
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition room = lock.newCondition();
  private final Condition loss = lock.newCondition();
  private final Condition decision = lock.newCondition();
  // guarded by lock, all below
  private Life life = Life.RECOVERING;
  private @Nullable Incarnation current;
  private InFlightWindow<Pending> window;
  private @Nullable AdaptiveWindow law; // sizes the window; null if its size is fixed
  private int toldWindow; // by the last event, as the next
  private long toldWindowNanos;
  private final SendQueue queue;
  private int waiters;
  private int decisionWaiters;
  private Pending.@Nullable Waiter toWake; // by `release`
  private boolean onTurn;
  private boolean held; // by a quota, until the timer comes
  private long holdNanos; // for which the timer is yet to be set; 0 for none
  private long heldNanos; // when a quota held the first in the queue last
  private boolean hurry; // somebody waits for what is sent in this turn, perhaps
  private @Nullable Incarnation turnLink; // belongs to whoever has the turn, as the next six
  private final @Nullable Pending[] claimed = new @Nullable Pending[CLAIMS]; // and not sent yet
  private int claims;
  private long firstClaim; // its sequence; the others follow
  private int turnMessages;
  private int turnBytes;
  private boolean turnAwaited;
  private @Nullable Pending decidedFirst; // to be completed, linked by `next`; by `release`
  private @Nullable Pending decidedLast;
  private long expiredTo;
  private int attempt;
  private String flowReason = "";
  private long epoch;
  private String lastLoss = "";
  private final Tally outcomes = new Tally();
  private long retried;
  private long lateConfirms;
  private long lateNacks;
  private long staleAnswers;
  private long strayAnswers;
  private long strayReturns;
  private long reopened;

  WindowedPublisher(PublishSide side, PublisherSettings settings) {
    this.side = side;
    this.settings = settings;
    this.who = "publisher to " + settings.address();
    this.maxWaitNanos = settings.maxWait().toNanos();
    this.confirmTimeoutNanos = settings.confirmTimeout().toNanos();
    this.queue = new SendQueue(settings.maxQueued(), settings.maxQueuedBytes());
    this.window = new InFlightWindow<>(settings.maxInFlight(), settings.maxInFlightBytes());
    QuotaPolicy quota = settings.quota();
    this.used = new QuotaWatch(who, Kind.PUBLISH, quota, System.nanoTime(), PublishSide.TICK_NANOS);
    this.gate = quota == null ? null : quota.pacer().gate();
    this.heldNanos = System.nanoTime() - PACED_NANOS;
    Duration every = settings.latencySummary();
    this.summary = every == null ? null : new LatencySummary(every, System.nanoTime());
    this.toldWindowNanos = System.nanoTime() - TELL_NANOS;
    this.stalls = new PublishWatch(latency, settings.stallWarning(), System.nanoTime());
  }

  /** Begins anew for a link, which may lead to another broker. Holds the lock. */
  private void newWindow() {
    window = new InFlightWindow<>(settings.maxInFlight(), settings.maxInFlightBytes());
    law = settings.window().law();
    if (law != null) {
      window.limit(law.limit());
      toldWindow = law.size();
    }
  }

  /** Returns what is to be told of a window that has become another, or null. Holds the lock. */
  private @Nullable Event windowChange(long now) {
    AdaptiveWindow sized = law;
    if (sized == null || now - toldWindowNanos < TELL_NANOS) {
      return null;
    }
    int size = sized.size();
    if (size < 2 * toldWindow && 2 * size > toldWindow) {
      return null;
    }
    Event change = new Event.WindowChanged(Instant.now(), who, toldWindow, size);
    toldWindow = size;
    toldWindowNanos = now;
    return change;
  }

  Completions completions() {
    return side.completions();
  }

  /** Leaves the lock: has what was decided under it completed, and wakes those who wait for it. */
  private void release() {
    Pending first = decidedFirst;
    Pending last = decidedLast;
    if (first != null && last != null) {
      decidedFirst = null;
      decidedLast = null;
      side.completions().add(first, last);
    }
    Pending.Waiter waiter = toWake;
    toWake = null;
    lock.unlock();
    while (waiter != null) {
      waiter.wake();
      waiter = waiter.next;
    }
  }

  /**
   * Somebody is about to wait for this outcome; on whatever thread.
   *
   * @param waiter to be woken when it is decided, unless another is already; or null
   */
  void aboutToWait(Pending pending, Pending.@Nullable Waiter waiter) {
    side.completions().aboutToBlock();
    Incarnation at;
    lock.lock();
    try {
      at = current;
      pending.awaited = true;
      hurry |= onTurn;
      if (pending.waiter == null && !pending.decided()) {
        pending.waiter = waiter;
      }
    } finally {
      release();
    }
    if (at != null) {
      at.link().hurry();
    }
  }

  /** A thread waits no more. What was decided for it by now is still for it to complete. */
  void waitsNoMore(Pending pending) {
    lock.lock();
    try {
      if (!pending.decided()) {
        pending.waiter = null;
      }
    } finally {
      release();
    }
  }

  /** Has completed on a completion thread what was left to a waiter. */
  void completeElsewhere(Pending pending) {
    lock.lock();
    try {
      if (pending.leftToWaiter) {
        pending.leftToWaiter = false;
        side.completions().add(pending);
      }
    } finally {
      release();
    }
  }

  // ---------------------------------------------------------------------------- taking messages

  @Override
  public CompletableFuture<PublishOutcome> publish(Message message) {
    long now = System.nanoTime();
    return publish(message, now, now, maxBlockNanos());
  }

  @Override
  public CompletableFuture<PublishOutcome> publish(Message message, long dueNanos) {
    long now = System.nanoTime();
    return publish(message, dueNanos - now > 0 ? now : dueNanos, now, maxBlockNanos());
  }

  private long maxBlockNanos() {
    return Completions.onWorker() ? 0 : settings.maxBlock().toNanos();
  }

  @Override
  public CompletableFuture<PublishOutcome> tryPublish(Message message) {
    long now = System.nanoTime();
    return publish(message, now, now, 0);
  }

  private CompletableFuture<PublishOutcome> publish(
      Message message, long dueNanos, long now, long maxBlockNanos) {
    Objects.requireNonNull(message, "message");
    if (gate == null) {
      return publish(new Pending(message, dueNanos, now, this), maxBlockNanos);
    }
    Pending pending;
    try {
      pending = counted(message, dueNanos, now, gate.pacer().rules());
    } catch (RuntimeException e) { // users' code
      pending = new Pending(message, dueNanos, now, this);
      pending.complete(
          refuse(pending, new NotSent(NotSent.Reason.INVALID_MESSAGE, "its cost: " + e, 1)));
      return pending;
    }
    return publish(pending, maxBlockNanos);
  }

  private CompletableFuture<PublishOutcome> publish(Pending pending, long maxBlockNanos) {
    NotSent refused = queue(pending, maxBlockNanos);
    if (refused != null) {
      pending.complete(refused);
    }
    return pending;
  }

  /** Makes a publish that counts in quotas as these rules say. Runs users' code. */
  private Pending counted(Message message, long dueNanos, long now, QuotaPolicy rules) {
    int cost = rules.costOf(message);
    if (message.delay() == null) {
      return cost == 1
          ? new Pending(message, dueNanos, now, this)
          : new Paced(message, dueNanos, now, this, cost, cost);
    }
    int plainCost = rules.costOf(message.toBuilder().delay(null).build());
    return new Paced(message, dueNanos, now, this, cost, plainCost);
  }

  /** Queues a publish, or says why not. */
  private @Nullable NotSent queue(Pending pending, long maxBlockNanos) {
    boolean wake;
    boolean here;
    lock.lock();
    try {
      NotSent refused = await(pending, maxBlockNanos);
      if (refused != null) {
        return noted(pending, refused);
      }
      queue.add(pending);
      wake = takeTurn();
      here = wake && current != null && current.link().sendsAtOnce();
      if (here) {
        claim();
      }
    } finally {
      release();
    }
    if (here) {
      side.sender().sendHere(this, true);
    } else if (wake) {
      side.sender().ready(this);
    }
    return null;
  }

  /** Notes that a publish was refused before it was queued. */
  private NotSent refuse(Pending pending, NotSent refused) {
    lock.lock();
    try {
      return noted(pending, refused);
    } finally {
      release();
    }
  }

  private void countRefused(PublishOutcome end) { // holds the lock
    if (end instanceof NotSent unsent && unsent.reason() == NotSent.Reason.RATE_LIMITED) {
      countRefused();
    }
  }

  private void countRefused() { // holds the lock
    used.refused();
    if (gate != null) {
      gate.pacer().refused();
    }
  }

  private NotSent noted(Pending pending, NotSent refused) { // holds the lock
    pending.decide(refused);
    outcomes.count(refused);
    countRefused(refused);
    latency.decided(Verdict.NOT_SENT, System.nanoTime() - pending.dueNanos);
    return refused;
  }

  /** Waits for room in the queue; says why there is none. Holds the lock. */
  private @Nullable NotSent await(Pending pending, long maxBlockNanos) {
    if (pending.bytes > settings.maxMessageBytes()) {
      return new NotSent(
          NotSent.Reason.MESSAGE_TOO_LARGE,
          pending.bytes + " bytes, at most " + settings.maxMessageBytes() + " are set",
          1);
    }
    long left = maxBlockNanos;
    int ahead = waiters; // who waits already comes first
    while (true) {
      if (!life.takes()) {
        return new NotSent(NotSent.Reason.CLOSED, who + " is closed", 1);
      }
      if (queue.hasRoom(pending.bytes, ahead) && !mustBlock()) {
        return null;
      }
      if (left <= 0) {
        return new NotSent(
            holding(),
            queue.size() + " messages of " + queue.bytes() + " bytes wait; " + holdingText(),
            1);
      }
      ahead = 0;
      waiters++;
      try {
        left = room.awaitNanos(left);
        pending.queuedNanos = System.nanoTime(); // what it waited here counts for maxBlock alone
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return new NotSent(NotSent.Reason.INTERRUPTED, "interrupted while waiting for room", 1);
      } finally {
        waiters--;
      }
    }
  }

  /** Returns what keeps messages from being sent now. Holds the lock. */
  private NotSent.Reason holding() {
    return switch (life) {
      case RECOVERING, CLOSING_RECOVERING -> NotSent.Reason.RECOVERING;
      case BLOCKED, CLOSING_BLOCKED -> NotSent.Reason.CONNECTION_BLOCKED;
      case OPEN, CLOSING -> isPaced() ? NotSent.Reason.RATE_LIMITED : NotSent.Reason.QUEUE_FULL;
      case CLOSED -> NotSent.Reason.CLOSED;
    };
  }

  private String holdingText() { // holds the lock
    return switch (life) {
      case RECOVERING, CLOSING_RECOVERING -> "no connection: " + lastLoss;
      case BLOCKED, CLOSING_BLOCKED -> "the broker blocks the connection: " + flowReason;
      case OPEN, CLOSING ->
          isPaced()
              ? "a quota holds the first of them"
              : window.size() + " are in flight, unanswered";
      case CLOSED -> who + " is closed";
    };
  }

  /** Returns whether a quota is what keeps messages from being sent. Holds the lock. */
  private boolean isPaced() {
    return held || (gate != null && System.nanoTime() - heldNanos < PACED_NANOS);
  }

  /** Returns whether callers wait while one message waits for a quota. Holds the lock. */
  private boolean mustBlock() {
    return gate != null
        && queue.first() != null
        && gate.pacer().rules().onExceed() == OnExceed.BLOCK
        && isPaced();
  }

  @Override
  public CompletableFuture<PublishSummary> publishAll(Iterable<Message> messages) {
    Batch batch = new Batch();
    long index = 0;
    for (Message message : messages) {
      batch.add(index++, message, publish(message));
    }
    return batch.summary();
  }

  // ------------------------------------------------------------------------------------ sending

  /** Returns whether the sender must be told; from then on a turn is due. Holds the lock. */
  private boolean takeTurn() {
    Pending next = queue.first();
    if (onTurn || held || next == null || !life.sends() || !window.hasRoom(next.bytes)) {
      return false;
    }
    onTurn = true;
    turnLink = null;
    turnMessages = 0;
    turnBytes = 0;
    turnAwaited = false;
    return true;
  }

  /**
   * Takes the next messages of a turn out of the queue, while the turn lasts. Where sending waits
   * for nothing it is as quick as this, so several are taken in one hold of the lock; else one, for
   * what is claimed when the link is lost counts as sent. Holds the lock.
   */
  private void claim() {
    claims = 0;
    Incarnation now = current;
    if (now == null || (turnLink != null && now != turnLink)) {
      return; // the link changed: begin anew with the next turn
    }
    turnLink = now;
    int most = now.link().sendsAtOnce() ? CLAIMS : 1;
    long nanos = 0;
    while (claims < most && turnMessages < TURN_MESSAGES && turnBytes < TURN_BYTES) {
      Pending next = claimable(now);
      if (next == null) {
        return;
      }
      dequeue();
      long sequence = window.tryClaim(next, next.bytes);
      if (claims == 0) {
        firstClaim = sequence;
        nanos = System.nanoTime();
      }
      next.sentNanos = nanos;
      turnMessages++;
      turnBytes += next.bytes;
      used.passed(nanos, next.cost(), next.bytes);
      turnAwaited |= next.awaited;
      claimed[claims++] = next;
    }
  }

  /** Sends what is claimed; returns whether that went well. */
  private boolean sendClaimed(Incarnation at) {
    int i = 0;
    try {
      while (i < claims) {
        Pending next = Objects.requireNonNull(claimed[i]);
        claimed[i] = null;
        latency.sent(next.sentNanos - next.queuedNanos);
        if (next.partition == Gate.ANY_PARTITION) {
          at.link().send(firstClaim + i, next.outgoing());
        } else {
          at.link().sendTo(next.partition, firstClaim + i, next.outgoing());
        }
        i++;
      }
      return true;
    } catch (Exception e) {
      unclaim(at, i + 1);
      writeFailed(at, e);
      return false;
    }
  }

  /** Puts what was claimed after a message that could not be sent back to the head of the queue. */
  private void unclaim(Incarnation at, int from) {
    lock.lock();
    try {
      for (int i = claims - 1; i >= from; i--) {
        Pending unsent = Objects.requireNonNull(claimed[i]);
        claimed[i] = null;
        if (current == at && window.get(firstClaim + i) == unsent && !unsent.decided()) {
          window.settle(firstClaim + i);
          queue.putBack(unsent);
        }
      }
    } finally {
      release();
    }
  }

  /** Returns for how long the timer is to be set; 0 for not at all. Holds the lock. */
  private long takeHold() {
    long hold = holdNanos;
    holdNanos = 0;
    return hold;
  }

  /** Ends a turn; returns whether another one is due. Holds the lock. */
  private boolean endTurn() {
    onTurn = false;
    hurry = false;
    return takeTurn();
  }

  /**
   * Sends while there is room and the turn lasts; returns whether another turn is due.
   *
   * @param begun whether the first message of the turn is claimed already
   */
  boolean pump(boolean begun) {
    if (!begun) {
      lock.lock();
      try {
        claim();
      } finally {
        release();
      }
    }
    Incarnation at = turnLink;
    boolean ended = false;
    boolean awaited = false;
    boolean more = false;
    long hold = 0;
    while (at != null && claims > 0) {
      if (!sendClaimed(at)) {
        at = null;
        break;
      }
      lock.lock();
      try {
        claim();
        if (claims == 0 && at.link().sendsAtOnce()) { // there is nothing to flush
          awaited = turnAwaited || hurry;
          hold = takeHold();
          more = endTurn();
          ended = true;
        }
      } finally {
        release();
      }
      if (ended) {
        break; // all that belongs to the turn may be another's by now
      }
    }
    if (!ended) {
      if (at != null && turnMessages > 0) {
        try {
          at.link().flush();
        } catch (Exception e) {
          writeFailed(at, e);
        }
      }
      lock.lock();
      try {
        awaited = turnAwaited || hurry;
        hold = takeHold();
        more = endTurn();
      } finally {
        release();
      }
    }
    if (hold > 0) {
      side.briefly(hold, heldLongEnough);
    }
    if (awaited && at != null) {
      at.link().hurry();
    }
    return more;
  }

  /**
   * Returns the next message that can be sent now; settles those that never can. Holds the lock.
   */
  private @Nullable Pending claimable(Incarnation at) {
    while (true) {
      Pending next = queue.first();
      if (next == null || !life.sends() || !window.hasRoom(next.bytes)) {
        return null;
      }
      Confirmed late = next.retries == null ? null : next.retries.late();
      if (late != null) { // an earlier attempt was confirmed after all
        dequeue();
        settle(next, late);
        continue;
      }
      String refusal = gate == null || next.message.delay() == null ? null : delayRefusal(next);
      if (refusal == null) {
        refusal = refusal(at, next.outgoing());
      }
      if (refusal == null) {
        NotSent.Reason exceeds = gate == null ? null : exceeds(gate, at, next);
        if (held) {
          return null;
        }
        if (exceeds == null) {
          return next;
        }
        dequeue();
        if (exceeds == NotSent.Reason.MESSAGE_TOO_LARGE) {
          countRefused();
        }
        settle(next, new NotSent(exceeds, exceedsText(exceeds, next), next.attempt()));
        continue;
      }
      dequeue();
      settle(next, new NotSent(NotSent.Reason.INVALID_MESSAGE, refusal, next.attempt()));
    }
  }

  /**
   * Takes what a message needs from its quotas; or has it held, or says why it is not sent. Holds
   * the lock.
   */
  private NotSent.@Nullable Reason exceeds(Gate gate, Incarnation at, Pending next) {
    Address own = next.message.address();
    if (next.partition == Gate.ANY_PARTITION && gate.pacer().rules().isByPartition()) {
      next.partition = at.link().partition(next.outgoing());
    }
    long now = System.nanoTime();
    long wait =
        gate.take(
            next.isDelayed() ? Kind.DELAYED_PUBLISH : Kind.PUBLISH,
            own == null ? settings.address() : own,
            next.partition,
            next.cost(),
            next.bytes,
            now);
    if (wait == 0) {
      return null;
    }
    if (wait == Gate.TOO_LARGE) {
      return NotSent.Reason.MESSAGE_TOO_LARGE;
    }
    if (gate.pacer().rules().onExceed() == OnExceed.FAIL) {
      return NotSent.Reason.RATE_LIMITED;
    }
    held = true;
    heldNanos = now;
    holdNanos = wait;
    used.held(now, wait);
    return null;
  }

  private static String exceedsText(NotSent.Reason reason, Pending next) {
    return reason == NotSent.Reason.RATE_LIMITED
        ? "more than a quota admits now"
        : next.bytes
            + " bytes, counted as "
            + next.cost()
            + ": more than a quota admits in a second";
  }

  /** The timer: a quota may admit now what it held. */
  private void heldLongEnough() {
    boolean wake;
    lock.lock();
    try {
      held = false;
      wake = takeTurn();
      if (!wake && !onTurn && gate != null) {
        gate.leave(); // it has gone, or something else holds it
      }
      if (waiters > 0 && queue.hasPlace()) {
        room.signalAll();
      }
    } finally {
      release();
    }
    if (wake) {
      side.sender().ready(this);
    }
  }

  /** Decides how a delay is sent, or says why the message is not. Holds the lock. */
  private @Nullable String delayRefusal(Pending next) {
    if (gate == null || !(next instanceof Paced paced)) {
      return null;
    }
    DelayGuard guard = gate.pacer().rules().delayGuard();
    if (guard == DelayGuard.ALLOW) {
      return null;
    }
    long now = System.nanoTime();
    if (!paced.isDelayOver(now)) {
      paced.keepDelay(now);
    } else if (guard == DelayGuard.REJECT) {
      return "its delay of " + next.message.delay() + " is over";
    } else if (paced.stripDelay()) {
      gate.pacer().delayStripped();
      used.stripped();
    }
    return null;
  }

  private static @Nullable String refusal(Incarnation at, Message message) {
    try {
      return at.link().refusal(message);
    } catch (Throwable e) { // one message must not hold up all others
      return "it cannot be looked at: " + e;
    }
  }

  private void dequeue() { // holds the lock
    Pending unused = queue.remove();
    wakeForRoom();
  }

  private void wakeForRoom() { // holds the lock
    // Waking callers for each place that comes free would cost two thread switches a message. Where
    // the queue does not get half empty soon, the timer wakes them.
    if (waiters > 0 && queue.isHalfEmpty()) {
      room.signalAll();
    }
  }

  /**
   * Gives a link up to which a write failed. The reader thread comes first, for a moment: it knows
   * better what happened, and answers may lie unread that came before.
   */
  private void writeFailed(Incarnation at, Exception e) {
    lock.lock();
    try {
      long left = LOSS_NANOS;
      while (current == at && left > 0) {
        left = loss.awaitNanos(left);
      }
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt(); // nobody interrupts the sender; if so, do not wait
    } finally {
      release();
    }
    if (lose(at, Unknown.Cause.WRITE_FAILED, false, "write failed: " + e)) {
      at.link().abort();
    }
  }

  /** Gives the link up after a fault in {@link #pump}; returns whether another turn is due. */
  boolean sendingFailed(Throwable e) {
    Incarnation at;
    long hold;
    lock.lock();
    try {
      at = current;
      onTurn = false;
      hold = takeHold();
    } finally {
      release();
    }
    if (hold > 0) {
      side.briefly(hold, heldLongEnough);
    }
    if (at != null && lose(at, Unknown.Cause.WRITE_FAILED, false, "sending failed: " + e)) {
      at.link().abort();
    }
    return false;
  }

  // ----------------------------------------------------------------------------------- settling

  /**
   * Ends an attempt: decides the outcome and queues its completion, or has it sent again. Holds the
   * lock.
   */
  private void settle(Pending pending, PublishOutcome outcome) {
    settle(pending, outcome, System.nanoTime());
  }

  private void settle(Pending pending, PublishOutcome outcome, long now) {
    if (settings.retry().again(outcome) && life != Life.CLOSED) {
      Retries retries = pending.retries;
      if (retries == null) {
        retries = new Retries();
        pending.retries = retries;
      }
      retries.ended(outcome);
      retried++;
      retries.dueNanos = now + settings.retry().delayNanos(retries.attempts(), side.jitter());
      pending.returned = null;
      pending.returnNoted = false;
      queue.addForLater(pending);
      return;
    }
    PublishOutcome all = pending.retries == null ? outcome : pending.retries.all(outcome);
    Pending.Waiter waiter = pending.waiter;
    pending.leftToWaiter = waiter != null && pending.getNumberOfDependents() == 0;
    pending.decide(all);
    outcomes.count(all);
    countRefused(all);
    latency.decided(all.verdict(), now - pending.dueNanos);
    if (waiter != null) {
      waiter.next = toWake;
      toWake = waiter;
    }
    if (!pending.leftToWaiter) {
      Pending last = decidedLast;
      if (last == null) {
        decidedFirst = pending;
      } else {
        last.next = pending;
      }
      decidedLast = pending;
    }
    if (decisionWaiters > 0) {
      decision.signalAll();
    }
  }

  /**
   * Waits until a publish is decided, its future is done, or the time is over; false if
   * interrupted.
   */
  boolean awaitDecision(Pending pending, long nanos) {
    lock.lock();
    decisionWaiters++;
    try {
      long left = nanos;
      while (!pending.decided() && !pending.isDone() && left > 0) {
        left = decision.awaitNanos(left);
      }
      return true;
    } catch (InterruptedException e) {
      return false;
    } finally {
      decisionWaiters--;
      release();
    }
  }

  /** What was in flight without an answer. Holds the lock. */
  private void settleUnanswered(Pending pending, Unknown.Cause cause, String detail) {
    PublishOutcome end = pending.returned;
    if (end == null) {
      end = new Unknown(cause, detail, pending.attempt());
    }
    long now = System.nanoTime();
    latency.ended(end.verdict(), now - pending.sentNanos);
    settle(pending, end, now);
  }

  /** One link as the broker's answers know it. */
  private final class Incarnation implements PublishLink.Listener {
    private final long number;
    private volatile @Nullable PublishLink link;
    private boolean answered; // guarded by lock
    private boolean lost; // guarded by lock
    private boolean connected = true; // guarded by lock
    private @Nullable String blockedBy; // guarded by lock
    private long blockedNanos; // guarded by lock; when that was said
    private long linkedNanos; // guarded by lock
    private long readingSince; // guarded by lock; when the broker last began to read

    Incarnation(long number) {
      this.number = number;
    }

    PublishLink link() {
      return Objects.requireNonNull(link);
    }

    @Override
    public void confirmed(long sequence, boolean upTo, @Nullable Object receipt) {
      answer(sequence, upTo, receipt, null, true);
    }

    @Override
    public void nacked(long sequence, boolean upTo, @Nullable String reason) {
      answer(sequence, upTo, null, reason, false);
    }

    private void answer(
        long sequence,
        boolean upTo,
        @Nullable Object receipt,
        @Nullable String reason,
        boolean confirmed) {
      long now = System.nanoTime();
      boolean wake;
      lock.lock();
      try {
        if (current != this) {
          staleAnswers++;
          return;
        }
        answered = true;
        long newest = window.next() - 1;
        int open = window.size();
        double latencyNanos = 0;
        if (sequence > newest || sequence < (upTo ? 0 : 1)) {
          strayAnswers++; // nothing was sent under that tag
        } else if (upTo) {
          long last = sequence == 0 ? newest : sequence;
          long s = window.oldest();
          Pending pending = window.settleOldest(last);
          while (pending != null) {
            answer(s, pending, now, receipt, reason, confirmed);
            latencyNanos += now - pending.sentNanos;
            s = window.oldest();
            pending = window.settleOldest(last);
          }
        } else {
          Pending pending = window.settle(sequence);
          if (pending == null) {
            strayAnswers++;
          } else {
            answer(sequence, pending, now, receipt, reason, confirmed);
            latencyNanos += now - pending.sentNanos;
          }
        }
        resize(now, open - window.size(), latencyNanos);
        wake = takeTurn();
      } finally {
        release();
      }
      if (wake) {
        side.sender().ready(WindowedPublisher.this);
      }
    }

    @Override
    public void confirmed(long[] sequences, Object[] receipts, int count) {
      long now = System.nanoTime();
      boolean wake;
      lock.lock();
      try {
        if (current != this) {
          staleAnswers += count;
          return;
        }
        answered = true;
        int open = window.size();
        double latencyNanos = 0;
        for (int i = 0; i < count; i++) {
          long sequence = sequences[i];
          boolean sent = sequence >= 1 && sequence < window.next();
          Pending pending = sent ? window.settle(sequence) : null;
          if (pending == null) {
            strayAnswers++;
          } else {
            answer(sequence, pending, now, receipts[i], null, true);
            latencyNanos += now - pending.sentNanos;
          }
        }
        resize(now, open - window.size(), latencyNanos);
        wake = takeTurn();
      } finally {
        release();
      }
      if (wake) {
        side.sender().ready(WindowedPublisher.this);
      }
    }

    /** Tells those who learn from them of one answer and what it settled. Holds the lock. */
    private void resize(long now, int settled, double latencyNanos) {
      if (settled == 0) {
        return;
      }
      long left = (long) window.size() + (held ? 0 : queue.size());
      used.detector().answered(now, settled, (long) (latencyNanos / settled), left);
      if (law != null) {
        long sent = window.next() - 1;
        boolean waiting = queue.first() != null && life.sends() && !held;
        window.limit(law.answered(now, settled, latencyNanos, sent, sent - window.size(), waiting));
      }
    }

    private void answer(
        long sequence,
        Pending pending,
        long now,
        @Nullable Object receipt,
        @Nullable String reason,
        boolean confirmed) {
      if (pending.decided()) { // it timed out before
        if (confirmed) {
          lateConfirms++;
          Retries retries = pending.retries;
          if (retries != null) {
            long late = now - pending.sentNanos;
            retries.confirmedLate(
                new Confirmed(receipt, number, sequence, late, retries.attempts(), false));
          }
        } else {
          lateNacks++;
        }
        return;
      }
      long nanos = now - pending.sentNanos;
      PublishOutcome end = pending.returned;
      if (end == null && confirmed) {
        end =
            new Confirmed(receipt, number, sequence, nanos, pending.attempt(), pending.returnNoted);
      } else if (end == null) {
        end = new Nacked(reason, pending.attempt());
        used.heard(reason);
      }
      latency.ended(end.verdict(), nanos);
      settle(pending, end, now);
    }

    @Override
    public void returned(
        long sequence,
        int replyCode,
        String replyText,
        String exchange,
        String routingKey,
        boolean failure) {
      lock.lock();
      try {
        if (current != this) {
          staleAnswers++;
          return;
        }
        answered = true;
        Pending pending = window.get(sequence);
        if (pending == null) {
          strayReturns++;
        } else if (failure) {
          pending.returned =
              new Returned(
                  replyCode, replyText, exchange, routingKey, pending.message, pending.attempt());
        } else {
          pending.returnNoted = true;
        }
      } finally {
        release();
      }
    }

    @Override
    public void notSent(long sequence, PublishLink.Unsent why, String detail) {
      NotSent.Reason reason =
          switch (why) {
            case TOO_LARGE -> NotSent.Reason.MESSAGE_TOO_LARGE;
            case INVALID -> NotSent.Reason.INVALID_MESSAGE;
            case NO_ROOM -> NotSent.Reason.QUEUE_FULL;
          };
      givenUp(
          sequence,
          pending -> {
            used.heard(detail);
            settle(pending, new NotSent(reason, detail, pending.attempt()));
          });
    }

    @Override
    public void unclear(long sequence, String detail) {
      givenUp(
          sequence,
          pending -> {
            used.heard(detail);
            settleUnanswered(pending, Unknown.Cause.UNCLEAR_ANSWER, detail);
          });
    }

    /** Frees a place without an answer; no measure of how fast the broker answers. */
    private void givenUp(long sequence, Consumer<Pending> settling) {
      boolean wake;
      lock.lock();
      try {
        if (current != this) {
          staleAnswers++;
          return;
        }
        Pending pending = window.settle(sequence);
        if (pending == null) {
          strayAnswers++;
        } else if (!pending.decided()) { // else it timed out before
          settling.accept(pending);
        }
        wake = takeTurn();
      } finally {
        release();
      }
      if (wake) {
        side.sender().ready(WindowedPublisher.this);
      }
    }

    @Override
    public void disconnected(String detail) {
      lock.lock();
      try {
        connected = false;
        if (current != this) {
          return;
        }
        life = life.on(Life.Event.LOST);
        lastLoss = detail;
      } finally {
        release();
      }
      side.tell(new Event.LinkLost(Instant.now(), who, number, true, detail, 0));
    }

    @Override
    public void reconnected() {
      boolean wake;
      lock.lock();
      try {
        connected = true;
        readingSince = System.nanoTime();
        if (current != this) {
          return;
        }
        life = life.on(Life.Event.LINKED);
        reopened++;
        wake = takeTurn();
      } finally {
        release();
      }
      side.tell(new Event.LinkOpened(Instant.now(), who, number));
      if (wake) {
        side.sender().ready(WindowedPublisher.this);
      }
    }

    @Override
    public void strayReturn(String detail) {
      lock.lock();
      try {
        strayReturns++;
      } finally {
        release();
      }
      side.tell(new Event.ReturnUnmatched(Instant.now(), who, detail));
    }

    @Override
    public void blocked(String reason) {
      lock.lock();
      try {
        blockedBy = reason;
        blockedNanos = System.nanoTime();
        if (current != this) {
          return;
        }
        life = life.on(Life.Event.BLOCKED);
        flowReason = reason;
        used.heard(reason);
      } finally {
        release();
      }
      side.tell(new Event.Blocked(Instant.now(), who, reason));
    }

    @Override
    public void unblocked() {
      boolean wake;
      lock.lock();
      try {
        blockedBy = null;
        readingSince = System.nanoTime();
        if (current != this) {
          return;
        }
        life = life.on(Life.Event.UNBLOCKED);
        flowReason = "";
        wake = takeTurn();
      } finally {
        release();
      }
      side.tell(new Event.Unblocked(Instant.now(), who));
      if (wake) {
        side.sender().ready(WindowedPublisher.this);
      }
    }

    @Override
    public void lost(boolean connection, String detail) {
      lose(
          this,
          connection ? Unknown.Cause.CONNECTION_LOST : Unknown.Cause.CHANNEL_CLOSED,
          connection,
          detail);
    }
  }

  /** Settles what is in flight on a link that is gone, and has another opened. */
  private boolean lose(Incarnation at, Unknown.Cause cause, boolean connection, String detail) {
    long unsettled = 0;
    long delay;
    lock.lock();
    try {
      at.lost = true;
      if (current != at) {
        return false;
      }
      current = null;
      loss.signalAll();
      life = life.on(Life.Event.LOST);
      flowReason = "";
      lastLoss = detail;
      used.heard(detail);
      if (at.answered || System.nanoTime() - at.linkedNanos > STABLE_NANOS) {
        attempt = 0; // it worked: this is a new fault
      }
      delay = Backoff.nanos(attempt++, side.jitter());
      unsettled = settleWindow(cause, detail);
    } finally {
      release();
    }
    side.later(delay, this::reopen);
    side.tell(new Event.LinkLost(Instant.now(), who, at.number, connection, detail, unsettled));
    return true;
  }

  private long settleWindow(Unknown.Cause cause, String detail) { // holds the lock
    long unsettled = 0;
    Pending pending = window.settleOldest(Long.MAX_VALUE);
    while (pending != null) {
      if (!pending.decided()) { // else it timed out before
        settleUnanswered(pending, cause, detail);
        unsettled++;
      }
      pending = window.settleOldest(Long.MAX_VALUE);
    }
    return unsettled;
  }

  // ------------------------------------------------------------------------------------ opening

  /** Opens the first link, or fails as the broker does. */
  void open() {
    Incarnation incarnation = new Incarnation(side.nextEpoch());
    if (!link(incarnation)) {
      throw new MessagingException(
          MessagingException.Kind.UNREACHABLE, "lost again while opening: " + who, null);
    }
  }

  private void reopen() {
    String failure;
    boolean brokerClosed = false;
    try {
      if (link(new Incarnation(side.nextEpoch()))) {
        return;
      }
      failure = "lost again while opening";
    } catch (MessagingException e) {
      failure = String.valueOf(e.getMessage());
      brokerClosed = e.kind() == MessagingException.Kind.CLOSED;
    } catch (RuntimeException e) {
      failure = e.toString(); // an adapter's fault must not end the recovery
    }
    int failed;
    long delay;
    lock.lock();
    try {
      if (life == Life.CLOSED) {
        return;
      }
      failed = attempt;
      delay = Backoff.nanos(attempt++, side.jitter());
      lastLoss = failure;
    } finally {
      release();
    }
    if (!brokerClosed) {
      side.later(delay, this::reopen);
    }
    side.tell(new Event.Recovering(Instant.now(), who, failed, failure));
  }

  /** Opens a link and makes it the current one; returns false if it was lost meanwhile. */
  private boolean link(Incarnation incarnation) {
    if (life() == Life.CLOSED) {
      return true; // nobody needs it any more
    }
    PublishLink link =
        side.broker()
            .openPublish(
                new Broker.PublishRequest(
                    settings.address(),
                    incarnation.number,
                    settings.nativeSettings(),
                    settings.openTimeout()),
                incarnation);
    boolean wake = false;
    boolean unneeded;
    lock.lock();
    try {
      incarnation.link = link;
      if (incarnation.lost) {
        return false;
      }
      unneeded = life == Life.CLOSED;
      if (!unneeded) {
        newWindow();
        used.detector().forget();
        expiredTo = 1;
        reopened += epoch == 0 ? 0 : 1;
        epoch = incarnation.number;
        incarnation.linkedNanos = System.nanoTime();
        incarnation.readingSince = incarnation.linkedNanos;
        current = incarnation;
        queue.queueDue(incarnation.linkedNanos, true); // it has waited for the link instead
        life = life.on(incarnation.connected ? Life.Event.LINKED : Life.Event.LOST);
        String reason = incarnation.blockedBy;
        if (reason != null) {
          life = life.on(Life.Event.BLOCKED);
          flowReason = reason;
        }
        wake = takeTurn();
      }
    } finally {
      release();
    }
    if (unneeded) {
      link.abort();
      return true;
    }
    side.tell(new Event.LinkOpened(Instant.now(), who, incarnation.number));
    if (wake) {
      side.sender().ready(this);
    }
    return true;
  }

  private Life life() {
    lock.lock();
    try {
      return life;
    } finally {
      release();
    }
  }

  // ------------------------------------------------------------------------------------- timing

  /** Settles what has waited too long, in the queue and in flight. Called by the timer. */
  void tick(long now) {
    Incarnation retired = null;
    String detail = "";
    Event change;
    List<Event> told;
    PublishWatch.Counts counts;
    boolean wake;
    lock.lock();
    try {
      queue.queueDue(now, false);
      queue.removeQueuedUntil(now - maxWaitNanos, this::waitedTooLong);
      if (waiters > 0 && queue.hasPlace()) {
        room.signalAll();
      }
      long s = Math.max(expiredTo, window.oldest());
      for (; s < window.next(); s++) {
        Pending pending = window.get(s);
        if (pending == null || pending.decided()) {
          continue;
        }
        if (now - pending.sentNanos < confirmTimeoutNanos) {
          break;
        }
        timedOut(s, pending);
      }
      expiredTo = s;
      Pending oldest = window.get(window.oldest());
      Incarnation at = current;
      if (oldest != null
          && at != null
          && life.sends() // a blocked connection answers nothing: a new channel would not help
          && now - at.readingSince >= 2 * confirmTimeoutNanos
          && now - oldest.sentNanos >= 2 * confirmTimeoutNanos) {
        retired = at;
        detail = "no answer to its oldest message for " + settings.confirmTimeout().multipliedBy(2);
      }
      if (law != null) {
        window.limit(law.tick(now, window.next() - 1));
      }
      change = windowChange(now);
      long oldestNanos = oldest == null ? 0 : now - oldest.sentNanos;
      boolean wanting =
          used.detector().isWanting(queue.first() != null, window.size(), oldestNanos);
      told = used.tick(now, at != null && life.sends(), wanting);
      counts = counted(now);
      wake = takeTurn();
    } finally {
      release();
    }
    if (wake) {
      side.sender().ready(this);
    }
    if (summary != null) {
      summary.lineAt(now, this::latency).ifPresent(line -> LOG.info("{}: {}", who, line));
    }
    if (change != null) {
      side.tell(change);
    }
    Duration stalled = stalls.tick(counts, side.longestPause(now));
    if (!stalled.isZero()) {
      side.tell(new Event.Stalled(Instant.now(), who, stalled, explain().text()));
    }
    told.forEach(side::tell);
    if (retired != null) {
      side.tell(new Event.LinkRetired(Instant.now(), who, retired.number, detail));
      if (lose(retired, Unknown.Cause.CHANNEL_CLOSED, false, "given up: " + detail)) {
        side.later(0, retired.link()::abort);
      }
    }
  }

  private void waitedTooLong(Pending pending) { // holds the lock
    wakeForRoom();
    String text = "waited " + settings.maxWait() + "; " + holdingText();
    settle(pending, new NotSent(holding(), text, pending.attempt()));
  }

  /** Ends an attempt; its place in flight stays taken until the answer comes. Holds the lock. */
  private void timedOut(long sequence, Pending pending) {
    String detail = "no answer for " + settings.confirmTimeout() + flowText();
    settleUnanswered(pending, Unknown.Cause.CONFIRM_TIMEOUT, detail);
    if (!pending.decided()) { // it is sent again
      window.replace(
          sequence,
          Pending.placeOf(
              pending, new Unknown(Unknown.Cause.CONFIRM_TIMEOUT, detail, pending.attempt() - 1)));
    }
  }

  private String flowText() { // holds the lock
    return flowReason.isEmpty() ? "" : "; the broker blocks the connection: " + flowReason;
  }

  // ------------------------------------------------------------------------------------ closing

  @Override
  public long drain(Duration timeout) {
    return drainUntil(PublishSide.deadline(timeout));
  }

  private long drainUntil(long deadline) {
    List<Pending> open = new ArrayList<>();
    lock.lock();
    try {
      for (long s = window.oldest(); s < window.next(); s++) {
        Pending pending = window.get(s);
        if (pending != null && !pending.decided()) {
          open.add(pending);
        }
      }
      queue.collect(open);
      side.completions().collect(this, open);
    } finally {
      release();
    }
    long left = 0;
    boolean interrupted = Thread.currentThread().isInterrupted();
    for (Pending pending : open) {
      if (!interrupted) {
        interrupted = !awaitOutcome(pending, deadline);
      }
      if (!pending.decided() || !pending.isDone()) {
        left++;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return left;
  }

  /** Waits until it has its outcome or the time is over; returns false if interrupted. */
  private static boolean awaitOutcome(Pending pending, long deadline) {
    try {
      pending.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      return false;
    } catch (TimeoutException | ExecutionException | CancellationException e) {
      // the caller may have completed its future in its own way: what counts is the outcome
    }
    while (!pending.decided() && System.nanoTime() < deadline) {
      LockSupport.parkNanos(1_000_000); // rare: the caller completed the future himself
      if (Thread.currentThread().isInterrupted()) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void close() {
    long deadline = System.nanoTime() + settings.closeTimeout().toNanos();
    boolean first;
    lock.lock();
    try {
      first = !life.closing();
      life = life.on(Life.Event.CLOSE);
      room.signalAll();
    } finally {
      release();
    }
    boolean interrupted = Thread.interrupted(); // closing is bounded: an interrupt can wait
    if (first) {
      interrupted |= drainCalmly(deadline);
      finish(deadline);
      interrupted |= drainCalmly(System.nanoTime() + COMPLETE_NANOS);
      side.closed(this);
      closed.countDown();
    } else {
      interrupted |= awaitClosed(deadline + MIN_CLOSE_NANOS + COMPLETE_NANOS);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits for outcomes whatever happens to the thread; returns whether it was interrupted. */
  private boolean drainCalmly(long deadline) {
    boolean interrupted = false;
    while (drainUntil(deadline) > 0 && Thread.interrupted()) {
      interrupted = true;
    }
    return interrupted;
  }

  private boolean awaitClosed(long deadline) {
    boolean interrupted = false;
    while (true) {
      try {
        long left = Math.max(0, deadline - System.nanoTime());
        if (!closed.await(left, TimeUnit.NANOSECONDS)) {
          LOG.warn("still closing: {}", who);
        }
        return interrupted;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
  }

  /** Settles what is left and ends the link. */
  private void finish(long deadline) {
    Incarnation last;
    boolean orderly;
    lock.lock();
    try {
      orderly = window.size() == 0 && life.sends();
      last = current;
      current = null;
      String detail = "closed within " + settings.closeTimeout() + "; " + holdingText();
      life = life.on(Life.Event.CLOSED);
      if (gate != null) {
        gate.leave();
      }
      while (queue.first() != null) {
        Pending unsent = queue.remove();
        settle(unsent, new NotSent(NotSent.Reason.CLOSED, detail, unsent.attempt()));
      }
      Pending ended = queue.removeLater();
      while (ended != null) {
        settle(ended, new NotSent(NotSent.Reason.CLOSED, detail, ended.attempt() - 1));
        ended = queue.removeLater();
      }
      settleWindow(Unknown.Cause.PUBLISHER_CLOSED, detail);
    } finally {
      release();
    }
    if (last != null) {
      if (orderly) {
        last.link()
            .close(Duration.ofNanos(Math.max(MIN_CLOSE_NANOS, deadline - System.nanoTime())));
      } else {
        last.link().abort();
      }
    }
  }

  // -------------------------------------------------------------------------------------- asking

  @Override
  public Usage usage() {
    lock.lock();
    try {
      return used.usage(System.nanoTime());
    } finally {
      release();
    }
  }

  @Override
  public PublisherStatus status() {
    lock.lock();
    try {
      Pending oldest = window.get(window.oldest());
      return new PublisherStatus(
          switch (life) {
            case RECOVERING -> PublisherStatus.State.RECOVERING;
            case OPEN -> PublisherStatus.State.OPEN;
            case BLOCKED -> PublisherStatus.State.BLOCKED;
            case CLOSING, CLOSING_BLOCKED, CLOSING_RECOVERING -> PublisherStatus.State.CLOSING;
            case CLOSED -> PublisherStatus.State.CLOSED;
          },
          flow(),
          flowReason,
          epoch,
          queue.size(),
          queue.bytes(),
          window.size(),
          window.bytes(),
          window.limit(),
          oldest == null ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - oldest.sentNanos),
          outcomes.toMap(),
          outcomes.unknownBy(),
          outcomes.notSentBy(),
          retried,
          lateConfirms,
          lateNacks,
          staleAnswers,
          strayAnswers,
          strayReturns,
          reopened,
          lastLoss);
    } finally {
      release();
    }
  }

  @Override
  public Explanation explain() {
    long now = System.nanoTime();
    PublisherSnapshot.State state;
    Here here;
    Duration blocked;
    PublishWatch.Counts counts;
    Throttle throttle;
    Peaks peaks;
    lock.lock();
    try {
      counts = counted(now);
      throttle = used.throttle(now);
      peaks = used.peaks(now);
      Pending oldest = window.get(window.oldest());
      Incarnation at = current;
      state =
          switch (life) {
            case RECOVERING -> PublisherSnapshot.State.RECOVERING;
            case OPEN -> PublisherSnapshot.State.OPEN;
            case BLOCKED -> PublisherSnapshot.State.BLOCKED;
            case CLOSING, CLOSING_BLOCKED, CLOSING_RECOVERING, CLOSED ->
                PublisherSnapshot.State.ENDING;
          };
      blocked =
          life == Life.BLOCKED && at != null
              ? Duration.ofNanos(Math.max(0, now - at.blockedNanos))
              : Duration.ZERO;
      here =
          new Here(
              queue.size(),
              settings.maxQueued(),
              waiters,
              window.size(),
              window.limit(),
              settings.maxInFlight(),
              window.next() - window.oldest() - window.size(),
              window.span(),
              oldest == null
                  ? Duration.ZERO
                  : Duration.ofNanos(Math.max(0, now - oldest.sentNanos)),
              flowReason,
              epoch,
              reopened,
              lastLoss);
    } finally {
      release();
    }
    BrokerView view = side.views().of(List.of(settings.address()), null, "").orElse(null);
    return Explanation.of(
        stalls.snapshot(
            counts,
            who,
            side.broker().describe(),
            state,
            here,
            blocked,
            side.longestPause(now),
            throttle,
            peaks,
            view));
  }

  private PublishWatch.Counts counted(long now) { // holds the lock
    int limit = window.limit();
    Incarnation at = current;
    return new PublishWatch.Counts(
        now,
        outcomes.confirmed(),
        outcomes.refused(),
        outcomes.unknown(),
        outcomes.notSent(),
        outcomes.confirmed() + outcomes.refused() + lateConfirms + lateNacks,
        // a slot is free for a moment after each answer: nearly full is full
        queue.first() != null && window.size() >= limit - Math.max(1, limit / 4),
        life.takes() && (queue.size() > 0 || window.size() > 0),
        at == null ? now : at.readingSince);
  }

  private PublisherStatus.Flow flow() { // holds the lock
    if (life == Life.BLOCKED || life == Life.CLOSING_BLOCKED) {
      return PublisherStatus.Flow.BLOCKED;
    }
    return current != null && current.answered
        ? PublisherStatus.Flow.FREE
        : PublisherStatus.Flow.UNKNOWN;
  }

  @Override
  public LatencySnapshot latency() {
    return latency.snapshot(oldestNanos());
  }

  /** Returns the age of the oldest message without an outcome, since it was due; 0 for none. */
  private long oldestNanos() {
    lock.lock();
    try {
      long now = System.nanoTime();
      long oldest = queue.ageAt(now);
      for (long s = Math.max(expiredTo, window.oldest()); s < window.next(); s++) {
        Pending each = window.get(s);
        if (each != null && !each.decided()) {
          return Math.max(oldest, now - each.dueNanos);
        }
      }
      return oldest;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public String toString() {
    return who;
  }
}
