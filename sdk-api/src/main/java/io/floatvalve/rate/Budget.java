package io.floatvalve.rate;

import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.rate.QuotaStatus.ScopeStatus;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** What one quota has left at one place, and who waits for it. Guarded by its pacer's lock. */
final class Budget {
  /*
   * Two things hold messages back. The guard counts what passed in the last second: with it no
   * second ever holds more than the limit, whatever happens to clocks, limits or costs. By itself
   * it would let all of a second's messages pass at once. So the limiter spreads them, from 50 a
   * second on, over cycles of about 10 ms:
   *
   *   limit q >= 50:  L = max(1, q / 100) in each cycle,  k = q / L,  cycle = 1 s / (k - 1)
   *
   * which admits at most L * k <= q in any second, as k - 1 whole cycles and parts of two more are
   * the most that fit into it. Below 200 a second, where L is 1, a pause after each message keeps
   * two of them apart where one cycle meets the next.
   *
   * The limiter is never asked to wait nor to reserve: what was reserved cannot be taken back, and
   * would be sent in a bunch after a stall. It is also never asked for more than L. So what is got
   * from it is `held` until there is enough for the whole message, and until all other places admit
   * it, too; nothing is given back. The guard counts only what does pass.
   *
   * Bytes have the guard alone, and pauses.
   */
  private static final long LIMITER_FROM = 50;
  private static final long CYCLES = 100;
  private static final long AHEAD_NANOS = 10_000_000;
  private static final long SECOND_NANOS = 1_000_000_000;
  private static final double ROUNDING = 1e-6; // 1000 * 0.9 is 900

  /** Whoever is due at the place and does not come within this loses his turn. */
  private static final long GRACE_NANOS = 5_000_000;

  /** Who is behind the first comes a little later. */
  private static final long BEHIND_NANOS = 200_000;

  final Kind kind;
  final Scope scope;
  final String name;
  private Quota quota = Quota.none();
  private double factor = 1;
  private double messageLimit; // 0 for any number, as the next
  private double byteLimit;
  private @Nullable ByteGuard costGuard;
  private @Nullable ByteGuard byteGuard;
  private @Nullable Spread costSpread;
  private @Nullable Spread byteSpread;
  private @Nullable AtomicRateLimiter limiter;
  private long cycleNanos = AHEAD_NANOS;
  private int perCycle = 1; // L
  private int held;
  private long clock; // what the limiter takes for the time
  private boolean alone; // whether what is too large may pass alone

  private final Deque<Gate> waiting = new ArrayDeque<>(2);
  private @Nullable Gate turn; // the last to pass while others waited
  private long turnCost;
  private long turnBytes;
  private long lastNanos;

  private long messages;
  private long cost;
  private long bytes;
  private long waits;

  Budget(Kind kind, Scope scope, String name) {
    this.kind = kind;
    this.scope = scope;
    this.name = name;
  }

  /** Sets what may pass from now on. */
  void limit(Quota quota, double part, double factor, boolean alone, long now) {
    this.quota = quota;
    this.factor = factor;
    this.alone = alone;
    clock = now;
    double most = perSecond(quota.messagesPerSecond(), part);
    if (most != messageLimit) {
      messageLimit = most;
      costGuard = guard(costGuard, most, now);
      perCycle = 1;
      cycleNanos = most == 0 ? AHEAD_NANOS : (long) (SECOND_NANOS / most);
      limiter = most < LIMITER_FROM ? null : limiter((long) (most + ROUNDING));
      costSpread = most == 0 || perCycle > 1 ? null : new Spread((long) Math.max(1, most), 0);
    }
    double mostBytes = perSecond(quota.bytesPerSecond(), part);
    if (mostBytes != byteLimit) {
      byteLimit = mostBytes;
      byteGuard = guard(byteGuard, mostBytes, now);
      byteSpread = mostBytes == 0 ? null : new Spread((long) Math.max(1, mostBytes), AHEAD_NANOS);
    }
  }

  private double perSecond(OptionalLong quota, double part) {
    return quota.isEmpty() ? 0 : quota.getAsLong() * part * factor;
  }

  private static @Nullable ByteGuard guard(@Nullable ByteGuard known, double perSecond, long now) {
    if (perSecond == 0) {
      return null;
    }
    long limit = (long) Math.max(1, perSecond + ROUNDING);
    long span = (long) (SECOND_NANOS * Math.max(1, 1 / perSecond));
    if (known != null && known.spanNanos() == span) {
      known.limit(limit);
      return known;
    }
    ByteGuard fresh = new ByteGuard(limit, span);
    if (known != null) {
      fresh.enter(known.sum(now), now);
    }
    return fresh;
  }

  private AtomicRateLimiter limiter(long most) {
    perCycle = (int) Math.max(1, most / CYCLES);
    long cycles = most / perCycle;
    cycleNanos = -Math.floorDiv(-SECOND_NANOS, cycles - 1); // rounded up
    held = 0;
    return new AtomicRateLimiter(
        name,
        RateLimiterConfig.custom()
            .limitForPeriod(perCycle)
            .limitRefreshPeriod(Duration.ofNanos(cycleNanos))
            .timeoutDuration(Duration.ZERO)
            .build(),
        () -> clock);
  }

  /** Returns whether a message never passes, as it is larger than all that may in a second. */
  boolean isTooLarge(int cost, long bytes) {
    return !alone
        && ((costGuard != null && cost > costGuard.limit())
            || (byteGuard != null && bytes > byteGuard.limit()));
  }

  /** Returns in how many nanoseconds it is worth while to try again; 0 if a message may pass. */
  long nanosUntil(int cost, long bytes, long now) {
    long wait = 0;
    if (costGuard != null) {
      wait = costGuard.nanosUntil(cost, now);
    }
    if (costSpread != null) {
      wait = Math.max(wait, costSpread.nanosUntil(now));
    }
    if (byteGuard != null) {
      wait = Math.max(wait, byteGuard.nanosUntil(bytes, now));
    }
    if (byteSpread != null) {
      wait = Math.max(wait, byteSpread.nanosUntil(now));
    }
    return wait;
  }

  /** Gets from the limiter what a message takes; returns as {@link #nanosUntil} does. */
  long nanosToHold(int cost, long now) {
    AtomicRateLimiter from = limiter;
    if (from == null) {
      return 0;
    }
    clock = now;
    while (held < cost) {
      int piece = Math.min(perCycle, cost - held);
      if (!from.acquirePermission(piece)) {
        int left = piece == 1 ? 0 : from.getMetrics().getAvailablePermissions();
        if (left <= 0 || !from.acquirePermission(left)) {
          return Math.max(1, from.getDetailedMetrics().getNanosToWait());
        }
        piece = left;
      }
      held += piece;
    }
    return 0;
  }

  /** Enters a message that passes now. */
  void enter(int cost, long bytes, long now) {
    if (costGuard != null) {
      costGuard.enter(cost, now);
    }
    if (costSpread != null) {
      costSpread.enter(limiter == null ? cost : 1, now); // it has paused for the others before
    }
    if (byteGuard != null) {
      byteGuard.enter(bytes, now);
    }
    if (byteSpread != null) {
      byteSpread.enter(bytes, now);
    }
    if (limiter != null) {
      held -= cost;
    }
    lastNanos = now;
    messages++;
    this.cost += cost;
    this.bytes += bytes;
  }

  // Who waits, and whose turn it is

  /*
   * Several publishers may draw on one budget, and each comes again by its own timer. Without an
   * order among them whoever comes first at the beginning of a cycle would take all of it, each
   * time the same one, and small messages would leave no room for a large one. So they queue. The
   * first, once he knows when he is due, keeps the others out until he has passed; then he may go
   * on for his part of a cycle, and is the last. Whoever does not come when he is due loses his
   * turn: nothing is left unused for those who have gone.
   */

  /** Returns for how long a gate must let others come first; 0 for not at all. */
  long nanosBehindOthers(Gate gate, long now) {
    if (waiting.isEmpty()) {
      return 0;
    }
    Gate first = waiting.peek();
    while (first != null && first != gate && now - first.dueNanos > GRACE_NANOS) {
      waiting.remove();
      first = waiting.peek();
    }
    if (first == null || first == gate || isOnTurn(gate)) {
      return 0;
    }
    long left = first.dueNanos - now;
    if (left > 0 && !first.claims) {
      return 0; // he only guesses when he is due, as he was not the first then
    }
    return Math.max(0, left) + BEHIND_NANOS;
  }

  private boolean isOnTurn(Gate gate) {
    return turn == gate
        && (costGuard == null || turnCost < partOf(perCycle))
        && (byteGuard == null || turnBytes < partOf(byteGuard.limit() / CYCLES));
  }

  private long partOf(long cycle) {
    return Math.max(1, cycle / (waiting.size() + 1));
  }

  /** Lets a gate wait for its turn; returns when it is due, in nanoseconds from now. */
  long await(Gate gate, long nanos, long now) {
    int ahead = 0;
    boolean there = false;
    for (Gate each : waiting) {
      if (each == gate) {
        there = true;
        break;
      }
      ahead++;
    }
    if (!there) {
      waiting.add(gate);
    }
    if (turn == gate) {
      turn = null;
    }
    long served = Math.max(1, perCycle / partOf(perCycle)); // in one cycle
    long wait = Math.max(1, nanos) + ahead / served * cycleNanos;
    gate.claims = ahead == 0;
    gate.dueNanos = now + wait;
    return wait;
  }

  /** A gate has passed with a message. */
  void passed(Gate gate, int cost, long bytes) {
    if (waiting.isEmpty()) {
      return;
    }
    waiting.remove(gate);
    if (turn != gate) {
      turn = gate;
      turnCost = 0;
      turnBytes = 0;
    }
    turnCost += cost;
    turnBytes += bytes;
  }

  void left(Gate gate) {
    waiting.remove(gate);
  }

  void countWait() {
    waits++;
  }

  /** Whether nothing would be different without it: nobody waits, and nothing counts any more. */
  boolean isIdle(long now) {
    return waiting.isEmpty()
        && now - lastNanos > 2 * SECOND_NANOS
        && (costGuard == null || costGuard.sum(now) == 0)
        && (byteGuard == null || byteGuard.sum(now) == 0);
  }

  /** Returns how many messages may pass in half a second, at most. */
  long messagesAhead() {
    return costGuard == null ? Long.MAX_VALUE : (long) (messageLimit / 2);
  }

  /** Returns how many bytes may pass in half a second, at most. */
  long bytesAhead() {
    return byteGuard == null ? Long.MAX_VALUE : (long) (byteLimit / 2);
  }

  ScopeStatus status(long now) {
    return new ScopeStatus(
        kind,
        scope,
        name,
        quota,
        factor,
        messageLimit == 0 ? OptionalDouble.empty() : OptionalDouble.of(messageLimit),
        byteLimit == 0 ? OptionalDouble.empty() : OptionalDouble.of(byteLimit),
        messages,
        cost,
        bytes,
        costGuard == null ? 0 : costGuard.sum(now),
        byteGuard == null ? 0 : byteGuard.sum(now),
        waits);
  }
}
