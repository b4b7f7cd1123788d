package io.floatvalve.rate;

import io.floatvalve.model.Address;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.OnExceed;
import io.floatvalve.rate.QuotaPolicy.Oversize;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.rate.QuotaStatus.ScopeStatus;
import io.floatvalve.rate.ThrottleDetector.Evidence;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ToLongFunction;

/**
 * Holds the quotas of one {@link QuotaPolicy}: what has passed, what may, and who waits.
 * Thread-safe. The engine's; applications ask the policy.
 */
public final class Pacer {
  /*
   * One lock for all budgets, so that a message takes from all that it passes, or from none. It is
   * held for some hundred instructions, over no call that leaves this package.
   */
  private static final int MANY_PLACES = 1_000;
  private static final Scope[] SCOPES = Scope.values();
  private static final Budget[] NO_BUDGETS = {};

  /** Where a quota holds. */
  private record Place(Kind kind, Scope scope, String name) {}

  private final ReentrantLock lock = new ReentrantLock();
  private volatile QuotaPolicy rules;
  private final long start;

  // guarded by lock
  private final Map<Place, Budget> budgets = new LinkedHashMap<>();
  private final Map<Kind, Double> factors = new EnumMap<>(Kind.class);
  private final Map<Kind, Reduction> reductions = new EnumMap<>(Kind.class);
  private final Set<Gate> waiting = new HashSet<>();
  private final Map<Address, Integer> consumers = new HashMap<>();
  private int allConsumers;
  private int version = 1;
  private long clock; // since the start; never steps back
  private long waits;
  private long refused;
  private long delaysStripped;

  /**
   * Begins without anything that has passed.
   *
   * @param start the time from which on it is used, as {@link System#nanoTime} tells it
   */
  Pacer(QuotaPolicy rules, long start) {
    this.rules = rules;
    this.start = start;
  }

  /** Returns the values that hold now. */
  public QuotaPolicy rules() {
    return rules;
  }

  /** Makes a way through the quotas, for one publisher or consumer. */
  public Gate gate() {
    return new Gate(this);
  }

  void changeTo(QuotaPolicy next) {
    Objects.requireNonNull(next, "next");
    lock.lock();
    try {
      rules = next;
      version++;
      budgets.values().forEach(this::limit);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lowers what may pass, or raises it again, for all places. What passed in the last second counts
   * on.
   *
   * @param kind what for
   * @param factor of the limits that hold otherwise, above 0, at most 1
   * @throws IllegalArgumentException if out of range
   */
  public void scaleTo(Kind kind, double factor) {
    if (!(factor > 0 && factor <= 1)) {
      throw new IllegalArgumentException("factor must be above 0 and at most 1, was " + factor);
    }
    lock.lock();
    try {
      factors.put(kind, factor);
      budgets.values().forEach(this::limit);
    } finally {
      lock.unlock();
    }
  }

  /** Returns which part of the limits holds. */
  public double part(Kind kind) {
    lock.lock();
    try {
      return factors.getOrDefault(kind, 1.0);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Gives way to a broker that throttles, or finds the way back; all who go by these quotas do so
   * together.
   *
   * @param evidence what one of them has seen
   * @param limit what the limits let pass a second otherwise; infinite if they let all
   * @return which part of the limits holds from now on
   */
  public double reduce(Kind kind, long nowNanos, Evidence evidence, double limit) {
    double part;
    lock.lock();
    try {
      Reduction law = reductions.computeIfAbsent(kind, unused -> new Reduction());
      if (!law.next(nowNanos, evidence, limit)) {
        return factors.getOrDefault(kind, 1.0);
      }
      part = law.part();
    } finally {
      lock.unlock();
    }
    scaleTo(kind, part);
    return part;
  }

  /** Counts a publish that is not sent because of a quota; whoever ends it so calls this. */
  public void refused() {
    lock.lock();
    try {
      refused++;
    } finally {
      lock.unlock();
    }
  }

  /** Counts a message that was sent without its delay. */
  public void delayStripped() {
    lock.lock();
    try {
      delaysStripped++;
    } finally {
      lock.unlock();
    }
  }

  // ----------------------------------------------------------------------------------- passing

  long take(
      Gate gate, Kind kind, Address address, int partition, int cost, long bytes, long nanos) {
    lock.lock();
    try {
      long now = at(nanos);
      Budget[] all = way(gate, address, partition).budgets(kind);
      Budget slowest = null;
      long wait = 0;
      for (Budget each : all) {
        if (each.isTooLarge(cost, bytes)) {
          return Gate.TOO_LARGE;
        }
        long nanosLeft = each.nanosUntil(cost, bytes, now);
        if (nanosLeft > wait) {
          wait = nanosLeft;
          slowest = each;
        }
      }
      for (int i = 0; slowest == null && i < all.length; i++) {
        wait = all[i].nanosBehindOthers(gate, now);
        if (wait == 0) {
          wait = all[i].nanosToHold(cost, now);
        }
        if (wait > 0) {
          slowest = all[i];
        }
      }
      if (slowest != null) {
        if (kind != Kind.CONSUME && rules.onExceed() == OnExceed.FAIL) {
          return wait;
        }
        return await(gate, slowest, wait, now);
      }
      for (Budget each : all) {
        each.enter(cost, bytes, now);
        each.passed(gate, cost, bytes);
      }
      if (gate.isWaiting) {
        waitsNoMore(gate);
      }
      return 0;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Counts what is published and cannot be held back: a copy of a consumed message. It is counted
   * at the cluster alone, as its address is the adapter's matter; what comes after it waits.
   */
  void count(Kind kind, long bytes, long nanos) {
    lock.lock();
    try {
      long now = at(nanos);
      Kind counted = kind == Kind.DELAYED_PUBLISH && !rules.has(kind) ? Kind.PUBLISH : kind;
      if (!rules.quota(counted, Scope.CLUSTER).isNone()) {
        budget(new Place(counted, Scope.CLUSTER, "")).enter(1, bytes, now);
      }
    } finally {
      lock.unlock();
    }
  }

  private long await(Gate gate, Budget place, long wait, long now) {
    if (!gate.isWaiting) {
      gate.isWaiting = true;
      gate.waitingSince = now;
      waiting.add(gate);
      waits++;
      place.countWait();
    }
    Budget before = gate.waitsAt;
    if (before != null && before != place) {
      before.left(gate);
    }
    gate.waitsAt = place;
    return place.await(gate, wait, now);
  }

  private void waitsNoMore(Gate gate) {
    Budget at = gate.waitsAt;
    if (at != null) {
      at.left(gate);
      gate.waitsAt = null;
    }
    gate.isWaiting = false;
    waiting.remove(gate);
  }

  void leave(Gate gate) {
    lock.lock();
    try {
      if (gate.isWaiting) {
        waitsNoMore(gate);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns the time since the start, as far as it has come. Holds the lock. */
  private long at(long nanos) {
    long now = nanos - start;
    if (now > clock) {
      clock = now;
    }
    return clock;
  }

  // --------------------------------------------------------------------------------- asking ahead

  void consumers(Address address, int change) {
    lock.lock();
    try {
      allConsumers += change;
      consumers.merge(address, change, (a, b) -> a + b == 0 ? null : a + b);
    } finally {
      lock.unlock();
    }
  }

  long messagesAhead(Gate gate, Address address) {
    return least(gate, address, Budget::messagesAhead);
  }

  long bytesAhead(Gate gate, Address address) {
    return least(gate, address, Budget::bytesAhead);
  }

  private long least(Gate gate, Address address, ToLongFunction<Budget> ahead) {
    lock.lock();
    try {
      long least = Long.MAX_VALUE;
      for (Budget each : way(gate, address, Gate.ANY_PARTITION).budgets(Kind.CONSUME)) {
        int sharing =
            each.scope == Scope.CLUSTER ? allConsumers : consumers.getOrDefault(address, 1);
        least = Math.min(least, ahead.applyAsLong(each) / Math.max(1, sharing));
      }
      return least;
    } finally {
      lock.unlock();
    }
  }

  // -------------------------------------------------------------------------------------- places

  private Gate.Way way(Gate gate, Address address, int partition) {
    Gate.Way last = gate.last;
    if (gate.waysOf == version && last != null && last.leadsTo(address, partition)) {
      return last;
    }
    forgetIdle(); // first: the gate may know some of those
    if (gate.waysOf != version) {
      gate.ways.clear();
      gate.waysOf = version;
    }
    last = find(gate, address, partition);
    gate.last = last;
    return last;
  }

  private Gate.Way find(Gate gate, Address address, int partition) {
    int index = partition + 1;
    Gate.Way[] known = gate.ways.get(address);
    if (known == null || index >= known.length) {
      known = known == null ? new Gate.Way[index + 1] : Arrays.copyOf(known, index + 1);
      gate.ways.put(address, known);
    }
    Gate.Way way = known[index];
    if (way == null) {
      way = new Gate.Way(address, partition, kind -> budgetsOf(kind, address, partition));
      known[index] = way;
    }
    return way;
  }

  private Budget[] budgetsOf(Kind kind, Address address, int partition) {
    Kind counted = kind == Kind.DELAYED_PUBLISH && !rules.has(kind) ? Kind.PUBLISH : kind;
    List<Budget> found = new ArrayList<>(SCOPES.length);
    for (Scope scope : SCOPES) {
      if (!rules.quota(counted, scope).isNone()) {
        String name =
            switch (scope) {
              case CLUSTER -> "";
              case TOPIC -> address.toString();
              case PARTITION ->
                  partition == Gate.ANY_PARTITION
                      ? address.toString()
                      : address + ", partition " + partition;
            };
        found.add(budget(new Place(counted, scope, name)));
      }
    }
    return found.toArray(NO_BUDGETS);
  }

  private Budget budget(Place place) {
    Budget known = budgets.get(place);
    if (known == null) {
      known = new Budget(place.kind, place.scope, place.name);
      limit(known);
      budgets.put(place, known);
    }
    return known;
  }

  private void limit(Budget budget) {
    QuotaPolicy by = rules;
    budget.limit(
        by.quota(budget.kind, budget.scope),
        by.share() * by.headroom(),
        factors.getOrDefault(budget.kind, 1.0),
        by.oversize() == Oversize.SEND_ALONE || budget.kind == Kind.CONSUME,
        clock);
  }

  /** Where there are very many addresses, those of which nothing was heard for long must go. */
  private void forgetIdle() {
    if (budgets.size() >= MANY_PLACES && budgets.values().removeIf(b -> b.isIdle(clock))) {
      version++; // gates may know some of them
    }
  }

  // -------------------------------------------------------------------------------------- asking

  QuotaStatus status() {
    lock.lock();
    try {
      long now = at(System.nanoTime());
      long oldest = now;
      for (Gate each : waiting) {
        oldest = Math.min(oldest, each.waitingSince);
      }
      List<ScopeStatus> scopes = new ArrayList<>(budgets.size());
      budgets.values().forEach(each -> scopes.add(each.status(now)));
      return new QuotaStatus(
          waits, refused, delaysStripped, waiting.size(), Duration.ofNanos(now - oldest), scopes);
    } finally {
      lock.unlock();
    }
  }
}
