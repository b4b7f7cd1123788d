package io.floatvalve.rate;

import io.floatvalve.model.Message;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToIntFunction;

/**
 * The quotas to stay under, and what happens at them. Immutable; each {@code with} method returns a
 * changed copy. Values out of range are refused with an {@link IllegalArgumentException} that gives
 * the range and the value.
 *
 * <p>All publishers and consumers that were given <b>the same object</b>, of whichever {@code
 * Messaging}, draw on the same quotas together, in turns. A copy is another budget, even where its
 * values are the same. What it allows can be {@linkplain #changeTo changed} while they run.
 *
 * <p>In any second, wherever it begins, no more passes than a quota times {@link #share} times
 * {@link #headroom}, rounded down (where that is less than one: one in so many seconds). There is
 * no burst at the edge of a second, after idle time, after a pause of this process, or when limits
 * change. What is meant is the moment of the send; what a network gathers and delivers at once is
 * the headroom's matter.
 */
public final class QuotaPolicy {
  private static final int MOST_COST = 10_000;

  /** What a quota is for. */
  public enum Kind {
    /** What is published. */
    PUBLISH,
    /** What is published to be delivered later; if there is none, {@link #PUBLISH} counts it. */
    DELAYED_PUBLISH,
    /** What is consumed. */
    CONSUME
  }

  /** Where a quota holds. A message must be admitted by all that it passes. */
  public enum Scope {
    /** All that goes by this policy. */
    CLUSTER,
    /**
     * Each address by itself: a topic, a queue, an exchange with a routing key. A consumer of
     * several counts at the first of them.
     */
    TOPIC,
    /**
     * Each partition of a topic by itself, of what is published to a partitioned topic of Pulsar.
     * Where there are no partitions, and of what is consumed, it is the same as {@link #TOPIC}.
     *
     * <p>Messages stay in their order: while one waits for its partition, those behind it wait,
     * too.
     */
    PARTITION
  }

  /** What happens to a publish that the quotas do not admit now. */
  public enum OnExceed {
    /**
     * It waits in the publisher's queue, in its order, for at most {@code maxWait}; the queue is
     * bounded by {@code maxQueued} and {@code maxQueuedBytes}. Holds no thread.
     */
    WAIT,
    /** It is {@code NotSent(RATE_LIMITED)} at once. */
    FAIL,
    /**
     * While one message waits for a quota the callers of {@code publish} wait too, each for at most
     * {@code maxBlock}; {@code tryPublish}, and a publish on a completion thread, is {@code
     * NotSent(RATE_LIMITED)} at once.
     */
    BLOCK
  }

  /** What happens to a message that is larger than all that may pass in a second. */
  public enum Oversize {
    /** It is {@code NotSent(MESSAGE_TOO_LARGE)}; a consumed one is handled alone all the same. */
    REJECT,
    /** It passes alone: nothing else in the second before it, nor in the one after it. */
    SEND_ALONE
  }

  /** What happens to a delay that is over, or never was one, at the moment of sending. */
  public enum DelayGuard {
    /** The message is sent without a delay. */
    STRIP,
    /** The message is {@code NotSent(INVALID_MESSAGE)}. */
    REJECT,
    /** It is sent as it is; the broker may count it as delayed. */
    ALLOW
  }

  /** What happens while the broker seems to hold us back. */
  public enum OnThrottling {
    /** It is told, and nothing else changes. */
    OBSERVE,
    /** The limits are lowered for as long, and find their way back. */
    REDUCE
  }

  private final Map<Kind, Map<Scope, Quota>> quotas;
  private final double share;
  private final double headroom;
  private final ToIntFunction<Message> cost;
  private final OnExceed onExceed;
  private final Oversize oversize;
  private final DelayGuard delayGuard;
  private final OnThrottling onThrottling;
  private final double warnAt;
  private final boolean byPartition;
  private final Pacer pacer;

  private QuotaPolicy(Values v) {
    share = fraction("share", v.share);
    headroom = fraction("headroom", v.headroom);
    warnAt = fraction("warnAt", v.warnAt);
    cost = v.cost;
    onExceed = v.onExceed;
    oversize = v.oversize;
    delayGuard = v.delayGuard;
    onThrottling = v.onThrottling;
    quotas = v.quotas;
    byPartition =
        !quota(Kind.PUBLISH, Scope.PARTITION).isNone()
            || !quota(Kind.DELAYED_PUBLISH, Scope.PARTITION).isNone();
    pacer = new Pacer(this, System.nanoTime());
  }

  private static double fraction(String name, double value) {
    if (!(value > 0 && value <= 1)) {
      throw new IllegalArgumentException(name + " must be above 0 and at most 1, was " + value);
    }
    return value;
  }

  /** Returns a policy without quotas, with the default of everything else. */
  public static QuotaPolicy none() {
    return new QuotaPolicy(new Values());
  }

  /**
   * Sets a quota for what is published.
   *
   * @param scope where it holds
   * @param quota {@link Quota#none()} by default, in each scope
   */
  public QuotaPolicy withPublish(Scope scope, Quota quota) {
    return with(Kind.PUBLISH, scope, quota);
  }

  /**
   * Sets a quota for what is published to be delivered later; it counts instead of that for all
   * that is published. Where none is set, in no scope, the latter counts.
   *
   * @param scope where it holds
   * @param quota {@link Quota#none()} by default, in each scope
   */
  public QuotaPolicy withDelayedPublish(Scope scope, Quota quota) {
    return with(Kind.DELAYED_PUBLISH, scope, quota);
  }

  /**
   * Sets a quota for what is consumed: what is handed to handlers, or out by a pull consumer.
   * Brokers are asked for no more than it allows in half a second, so that they stop sending before
   * they must; a prefetch of RabbitMQ has a place more for each message that may be in handlers,
   * and where those are idle as many more wait here. Nothing is dropped.
   *
   * <p>Copies that are made for a later attempt, and dead letters, are published, too. They are
   * counted at the quotas for publishing of the {@linkplain Scope#CLUSTER cluster}, where the same
   * object has one, and publishers then wait for longer; but they are not held back themselves, so
   * that no settlement waits for a quota.
   *
   * @param scope where it holds
   * @param quota {@link Quota#none()} by default, in each scope
   */
  public QuotaPolicy withConsume(Scope scope, Quota quota) {
    return with(Kind.CONSUME, scope, quota);
  }

  private QuotaPolicy with(Kind kind, Scope scope, Quota quota) {
    Objects.requireNonNull(scope, "scope");
    Objects.requireNonNull(quota, "quota");
    Map<Kind, Map<Scope, Quota>> changed = new EnumMap<>(Kind.class);
    quotas.forEach((each, scopes) -> changed.put(each, new EnumMap<>(scopes)));
    Map<Scope, Quota> scopes = changed.computeIfAbsent(kind, unused -> new EnumMap<>(Scope.class));
    if (quota.isNone()) {
      scopes.remove(scope);
    } else {
      scopes.put(scope, quota);
    }
    changed.replaceAll((each, of) -> Collections.unmodifiableMap(of));
    Values v = values();
    v.quotas = Collections.unmodifiableMap(changed);
    return new QuotaPolicy(v);
  }

  /** Returns the quota for a kind in a scope; {@link Quota#none()} if none was set. */
  public Quota quota(Kind kind, Scope scope) {
    return quotas.getOrDefault(kind, Map.of()).getOrDefault(scope, Quota.none());
  }

  /** Returns whether a quota is set for a kind, in any scope. */
  public boolean has(Kind kind) {
    return !quotas.getOrDefault(kind, Map.of()).isEmpty();
  }

  /** Returns whether what is published counts by partitions, too. Applications do not need it. */
  public boolean isByPartition() {
    return byPartition;
  }

  /** Returns this process's part of the quotas. */
  public double share() {
    return share;
  }

  /**
   * Sets this process's part of the quotas: a quarter, where four processes share them.
   *
   * @param share above 0, at most 1; 1 by default
   * @throws IllegalArgumentException if out of range
   */
  public QuotaPolicy withShare(double share) {
    Values v = values();
    v.share = share;
    return new QuotaPolicy(v);
  }

  /** Returns which part of the quotas is used at most. */
  public double headroom() {
    return headroom;
  }

  /**
   * Sets which part of the quotas is used at most. The rest is for what clocks and networks shift:
   * what was sent in more than a second may arrive in one.
   *
   * @param headroom above 0, at most 1; 0.9 by default
   * @throws IllegalArgumentException if out of range
   */
  public QuotaPolicy withHeadroom(double headroom) {
    Values v = values();
    v.headroom = headroom;
    return new QuotaPolicy(v);
  }

  /** Returns how many messages each message counts as. */
  public ToIntFunction<Message> cost() {
    return cost;
  }

  /**
   * Sets how many messages each message that is published counts as: some brokers count one per
   * queue it goes to, or a delayed one five times.
   *
   * <p>Called on the thread that publishes; should be quick. A message for which it throws, or
   * returns anything outside 1 to 10,000, is {@code NotSent(INVALID_MESSAGE)}. What is consumed
   * counts once.
   *
   * @param cost 1 for each by default
   */
  public QuotaPolicy withCost(ToIntFunction<Message> cost) {
    Values v = values();
    v.cost = Objects.requireNonNull(cost, "cost");
    return new QuotaPolicy(v);
  }

  /** Returns what happens to a publish that the quotas do not admit now. */
  public OnExceed onExceed() {
    return onExceed;
  }

  /**
   * Sets what happens to a publish that the quotas do not admit now.
   *
   * @param onExceed {@link OnExceed#WAIT} by default
   */
  public QuotaPolicy withOnExceed(OnExceed onExceed) {
    Values v = values();
    v.onExceed = Objects.requireNonNull(onExceed, "onExceed");
    return new QuotaPolicy(v);
  }

  /** Returns what happens to a message that is larger than all that may pass in a second. */
  public Oversize oversize() {
    return oversize;
  }

  /**
   * Sets what happens to a message that is larger than all that may pass in a second.
   *
   * @param oversize {@link Oversize#REJECT} by default
   */
  public QuotaPolicy withOversize(Oversize oversize) {
    Values v = values();
    v.oversize = Objects.requireNonNull(oversize, "oversize");
    return new QuotaPolicy(v);
  }

  /** Returns what happens to a delay that is over at the moment of sending. */
  public DelayGuard delayGuard() {
    return delayGuard;
  }

  /**
   * Sets what happens to a delay that is over, or never was one, at the moment of sending. A delay
   * runs from the call of {@code publish}: it may have passed while the message was queued.
   *
   * @param delayGuard {@link DelayGuard#STRIP} by default
   */
  public QuotaPolicy withDelayGuard(DelayGuard delayGuard) {
    Values v = values();
    v.delayGuard = Objects.requireNonNull(delayGuard, "delayGuard");
    return new QuotaPolicy(v);
  }

  /** Returns what happens while the broker seems to hold us back. */
  public OnThrottling onThrottling() {
    return onThrottling;
  }

  /**
   * Sets what happens while the broker seems to hold us back.
   *
   * @param onThrottling {@link OnThrottling#OBSERVE} by default
   */
  public QuotaPolicy withOnThrottling(OnThrottling onThrottling) {
    Values v = values();
    v.onThrottling = Objects.requireNonNull(onThrottling, "onThrottling");
    return new QuotaPolicy(v);
  }

  /** Returns at which part of a quota there is a warning. */
  public double warnAt() {
    return warnAt;
  }

  /**
   * Sets at which part of a quota, times share, there is a warning.
   *
   * @param warnAt above 0, at most 1; 0.8 by default
   * @throws IllegalArgumentException if out of range
   */
  public QuotaPolicy withWarnAt(double warnAt) {
    Values v = values();
    v.warnAt = warnAt;
    return new QuotaPolicy(v);
  }

  /**
   * Makes those who go by this object go by other values from now on: quotas, share, headroom, and
   * what happens at them. What passed in the last second counts on.
   *
   * <p>From any thread. This object's own getters go on telling what it was made with; see {@link
   * #inForce}.
   *
   * @param next whose values hold from now on; remains a budget of its own
   */
  public void changeTo(QuotaPolicy next) {
    pacer.changeTo(next);
  }

  /** Returns the values that hold now: this, or what was {@linkplain #changeTo changed to} last. */
  public QuotaPolicy inForce() {
    return pacer.rules();
  }

  /** Returns what has passed so far, and what had to wait, of all who go by this object. */
  public QuotaStatus status() {
    return pacer.status();
  }

  /** Returns what holds the quotas of all who go by this object. Applications do not call it. */
  public Pacer pacer() {
    return pacer;
  }

  /**
   * Returns how many messages a message counts as.
   *
   * @throws IllegalArgumentException if the function for it returns anything else than 1 to 10,000
   */
  public int costOf(Message message) {
    int counts = cost.applyAsInt(message);
    if (counts < 1 || counts > MOST_COST) {
      throw new IllegalArgumentException("cost must be from 1 to " + MOST_COST + ", was " + counts);
    }
    return counts;
  }

  private Values values() {
    Values v = new Values();
    v.quotas = quotas;
    v.share = share;
    v.headroom = headroom;
    v.cost = cost;
    v.onExceed = onExceed;
    v.oversize = oversize;
    v.delayGuard = delayGuard;
    v.onThrottling = onThrottling;
    v.warnAt = warnAt;
    return v;
  }

  @Override
  public String toString() {
    return "QuotaPolicy["
        + quotas
        + ", share "
        + share
        + ", headroom "
        + headroom
        + ", "
        + onExceed
        + "]";
  }

  /** What the one constructor checks; holds the defaults. */
  private static final class Values {
    private Map<Kind, Map<Scope, Quota>> quotas = Map.of();
    private double share = 1;
    private double headroom = 0.9;
    private ToIntFunction<Message> cost = message -> 1;
    private OnExceed onExceed = OnExceed.WAIT;
    private Oversize oversize = Oversize.REJECT;
    private DelayGuard delayGuard = DelayGuard.STRIP;
    private OnThrottling onThrottling = OnThrottling.OBSERVE;
    private double warnAt = 0.8;
  }
}
