package io.floatvalve.consume;

import static io.floatvalve.spi.Bounds.within;

import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Ordering;
import io.floatvalve.rate.QuotaPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How a {@link Consumer} or {@link PullConsumer} works. Immutable; each {@code with} method returns
 * a changed copy.
 *
 * <p>Values out of range are refused with an {@link IllegalArgumentException} that gives the range
 * and the value.
 */
public final class ConsumerSettings {
  private static final Duration DAY = Duration.ofDays(1);

  private final List<Address> addresses;
  private final @Nullable String group;
  private final Ordering ordering;
  private final @Nullable Function<Message, @Nullable String> keyOf;
  private final int workers;
  private final int maxUnsettled;
  private final PermitPolicy permits;
  private final @Nullable Executor executor;
  private final int maxAttempts;
  private final List<Duration> retryDelays;
  private final @Nullable Address deadLetter;
  private final Duration handlerWarning;
  private final Duration openTimeout;
  private final Duration closeTimeout;
  private final @Nullable QuotaPolicy quota;
  private final @Nullable Duration latencySummary;
  private final Duration stallWarning;
  private final @Nullable Object nativeSettings;

  private ConsumerSettings(Values v) {
    addresses = List.copyOf(v.addresses);
    if (addresses.isEmpty()) {
      throw new IllegalArgumentException("there must be at least one address");
    }
    group = v.group;
    if (group != null && group.isEmpty()) {
      throw new IllegalArgumentException("group must not be empty");
    }
    ordering = Objects.requireNonNull(v.ordering, "ordering");
    keyOf = v.keyOf;
    workers = within("workers", v.workers, 1, 10_000);
    maxUnsettled = within("maxUnsettled", v.maxUnsettled, 1, 100_000);
    permits = Objects.requireNonNull(v.permits, "permits");
    executor = v.executor;
    maxAttempts = within("maxAttempts", v.maxAttempts, 1, 1_000_000);
    retryDelays = List.copyOf(v.retryDelays);
    if (retryDelays.isEmpty() || retryDelays.size() > 16) {
      throw new IllegalArgumentException(
          "there must be from 1 to 16 retryDelays, were " + retryDelays.size());
    }
    Duration before = Duration.ZERO;
    for (Duration each : retryDelays) {
      within("retryDelays", each, before, DAY);
      before = each;
    }
    deadLetter = v.deadLetter;
    handlerWarning = within("handlerWarning", v.handlerWarning, Duration.ofMillis(10), DAY);
    openTimeout = within("openTimeout", v.openTimeout, Duration.ofMillis(1), Duration.ofHours(1));
    closeTimeout = within("closeTimeout", v.closeTimeout, Duration.ZERO, DAY);
    quota = v.quota;
    latencySummary =
        v.latencySummary == null
            ? null
            : within("latencySummary", v.latencySummary, Duration.ofMillis(100), DAY);
    stallWarning = within("stallWarning", v.stallWarning, Duration.ZERO, DAY);
    nativeSettings = v.nativeSettings;
  }

  /**
   * Returns settings for consuming from an address, with the default of everything else.
   *
   * @param address a queue on RabbitMQ, a topic on Pulsar
   * @param more further topics (Pulsar only), consumed as if they were one
   */
  public static ConsumerSettings from(Address address, Address... more) {
    Values v = new Values();
    List<Address> all = new ArrayList<>(List.of(more));
    all.add(0, Objects.requireNonNull(address, "address"));
    v.addresses = all;
    return new ConsumerSettings(v);
  }

  /** Returns where messages come from; at least one. */
  public List<Address> addresses() {
    return addresses;
  }

  /** Returns who shares the messages, or null if nobody was named. */
  public @Nullable String group() {
    return group;
  }

  /**
   * Sets who shares the messages: consumers of one group get each message once among them. On
   * Pulsar it is the name of the subscription, which is needed; on RabbitMQ the queue itself is the
   * group.
   *
   * @param group not empty; null for none
   */
  public ConsumerSettings withGroup(@Nullable String group) {
    Values v = values();
    v.group = group;
    return new ConsumerSettings(v);
  }

  /** Returns what order handlers must keep. */
  public Ordering ordering() {
    return ordering;
  }

  /**
   * Sets what order handlers must keep. The more order, the less runs at the same time, and the
   * longer a message that fails holds up others: with an order it is tried again in place.
   *
   * @param ordering {@code NONE} by default
   */
  public ConsumerSettings withOrdering(Ordering ordering) {
    Values v = values();
    v.ordering = ordering;
    return new ConsumerSettings(v);
  }

  /** Returns what gives a message its key, or null if the broker does. */
  public @Nullable Function<Message, @Nullable String> keyOf() {
    return keyOf;
  }

  /**
   * Sets what gives a message its ordering key, for messages of publishers that do not set ours.
   *
   * <p>Called once for each message, by one thread at a time, before it can be handled: it should
   * be quick. What it throws counts as a failure of the handler. Only used with {@code BY_KEY}; on
   * Pulsar the broker picks the consumer by its own key, which must then go with this one.
   *
   * @param keyOf returns null for a message that has no order; null, the default, for the message's
   *     key
   */
  public ConsumerSettings withKeyOf(@Nullable Function<Message, @Nullable String> keyOf) {
    Values v = values();
    v.keyOf = keyOf;
    return new ConsumerSettings(v);
  }

  /** Returns how many messages may be in handlers at a time. */
  public int workers() {
    return workers;
  }

  /**
   * Sets how many messages of a {@link Consumer} may be in handlers at a time.
   *
   * <p>It is a limit, not a number of threads: threads are shared by all consumers, and a handler
   * that returned a stage holds none. Total order means 1, whatever is set here.
   *
   * @param workers from 1 to 10,000; 16 by default
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withWorkers(int workers) {
    Values v = values();
    v.workers = workers;
    return new ConsumerSettings(v);
  }

  /** Returns how many messages a pull consumer may have handed out and not settled. */
  public int maxUnsettled() {
    return maxUnsettled;
  }

  /**
   * Sets how many messages a {@link PullConsumer} may have handed out and not settled.
   *
   * <p>On Pulsar it should be below the broker's limits of unacknowledged messages (50,000 for a
   * consumer unless told otherwise), at which the broker stops without a word.
   *
   * @param maxUnsettled from 1 to 100,000 messages; 100 by default
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withMaxUnsettled(int maxUnsettled) {
    Values v = values();
    v.maxUnsettled = maxUnsettled;
    return new ConsumerSettings(v);
  }

  /** Returns how much the broker may send ahead. */
  public PermitPolicy permits() {
    return permits;
  }

  /**
   * Sets how much the broker may send ahead of the handlers, by count and by bytes.
   *
   * @param permits {@link PermitPolicy#adaptive()} by default
   */
  public ConsumerSettings withPermits(PermitPolicy permits) {
    Values v = values();
    v.permits = permits;
    return new ConsumerSettings(v);
  }

  /** Returns what runs the handlers, or null for the shared threads. */
  public @Nullable Executor executor() {
    return executor;
  }

  /**
   * Sets what runs the handlers, such as an executor of virtual threads. It must not refuse, nor
   * run a task on the thread that submits it. It is not closed.
   *
   * @param executor null, the default, for threads that all consumers of a {@code Messaging} share
   */
  public ConsumerSettings withExecutor(@Nullable Executor executor) {
    Values v = values();
    v.executor = executor;
    return new ConsumerSettings(v);
  }

  /** Returns how often a message is tried before it is rejected. */
  public int maxAttempts() {
    return maxAttempts;
  }

  /**
   * Sets how often a message is tried before it is rejected, the first time included.
   *
   * @param maxAttempts from 1, never again, to 1,000,000; 5 by default
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withMaxAttempts(int maxAttempts) {
    Values v = values();
    v.maxAttempts = maxAttempts;
    return new ConsumerSettings(v);
  }

  /** Returns how long to wait before each retry. */
  public List<Duration> retryDelays() {
    return retryDelays;
  }

  /**
   * Sets how long to wait before each retry: the first delay after the first failure, and so on;
   * the last one for all further. With an order they hold up what comes after, and those of all
   * attempts together must be well below the time for which the broker lets a message be unsettled:
   * RabbitMQ ends the link after 30 minutes unless told otherwise. If they are longer an event says
   * so when it is opened.
   *
   * @param retryDelays from 1 to 16, ascending, each from 0 to 1 day; 200 ms, 1 s, 5 s and 30 s by
   *     default. RabbitMQ has a delay queue for each
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withRetryDelays(List<Duration> retryDelays) {
    Values v = values();
    v.retryDelays = retryDelays;
    return new ConsumerSettings(v);
  }

  /** Returns where rejected messages go, or null for the usual place. */
  public @Nullable Address deadLetter() {
    return deadLetter;
  }

  /**
   * Sets where rejected messages go: as a copy that says why, when, and how often it was tried.
   *
   * @param deadLetter null, the default, for a dead-letter topic of the subscription's on Pulsar,
   *     and for what the queue's own settings say on RabbitMQ, <b>which may be nowhere</b>
   */
  public ConsumerSettings withDeadLetter(@Nullable Address deadLetter) {
    Values v = values();
    v.deadLetter = deadLetter;
    return new ConsumerSettings(v);
  }

  /** Returns after which time a handler is named as stuck. */
  public Duration handlerWarning() {
    return handlerWarning;
  }

  /**
   * Sets after which time in a handler a message is named by an event; again when that has doubled.
   *
   * <p>It should be well below what the broker allows: RabbitMQ closes the channel after 30
   * minutes.
   *
   * @param handlerWarning from 10 ms to 1 day; 30 s by default
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withHandlerWarning(Duration handlerWarning) {
    Values v = values();
    v.handlerWarning = handlerWarning;
    return new ConsumerSettings(v);
  }

  /** Returns how long opening may take, at first and after each loss. */
  public Duration openTimeout() {
    return openTimeout;
  }

  /**
   * Sets how long opening may take, at first and after each loss, and the confirm of one copy.
   *
   * @param openTimeout from 1 ms to 1 hour; 10 s by default
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withOpenTimeout(Duration openTimeout) {
    Values v = values();
    v.openTimeout = openTimeout;
    return new ConsumerSettings(v);
  }

  /** Returns how long {@code close} may take. */
  public Duration closeTimeout() {
    return closeTimeout;
  }

  /**
   * Sets how long {@code close} may take: handlers, then acknowledgements.
   *
   * @param closeTimeout from 0, wait for nothing, to 1 day; 10 s by default
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withCloseTimeout(Duration closeTimeout) {
    Values v = values();
    v.closeTimeout = closeTimeout;
    return new ConsumerSettings(v);
  }

  /** Returns the quotas to stay under, or null for none. */
  public @Nullable QuotaPolicy quota() {
    return quota;
  }

  /**
   * Sets the quotas to stay under, of which those for consuming count here. Several consumers and
   * publishers that are given the same object stay under them together.
   *
   * <p>Handlers are given no more than they allow, and the broker is asked for no more than they
   * allow in half a second. What came is kept until it may be handled; nothing is dropped.
   *
   * @param quota null, the default, for none
   */
  public ConsumerSettings withQuota(@Nullable QuotaPolicy quota) {
    Values v = values();
    v.quota = quota;
    return new ConsumerSettings(v);
  }

  /** Returns how often a line on latencies is logged, or null for never. */
  public @Nullable Duration latencySummary() {
    return latencySummary;
  }

  /**
   * Sets how often one line on the latencies since the last is logged, at level info: samples, p50,
   * p99 and maximum of each stage, and the age of the oldest message without an end. Nothing is
   * logged where there is nothing to say.
   *
   * @param latencySummary from 100 ms to 1 day; null, the default, for never
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withLatencySummary(@Nullable Duration latencySummary) {
    Values v = values();
    v.latencySummary = latencySummary;
    return new ConsumerSettings(v);
  }

  /** Returns after which time without progress a stall is told, or zero for never. */
  public Duration stallWarning() {
    return stallWarning;
  }

  /**
   * Sets after which time without progress an event tells of a stall, with its explanation:
   * messages wait here or are with handlers, and none was taken and none settled. Once for each
   * stall; never where there is nothing to do, nor while it is paused.
   *
   * @param stallWarning to 1 day, seen to within a second; 30 s by default; zero for never
   * @throws IllegalArgumentException if out of range
   */
  public ConsumerSettings withStallWarning(Duration stallWarning) {
    Values v = values();
    v.stallWarning = stallWarning;
    return new ConsumerSettings(v);
  }

  /** Returns the adapter's own settings, or null if there are none. */
  public @Nullable Object nativeSettings() {
    return nativeSettings;
  }

  /**
   * Sets what only one broker has: the adapter's own settings type. Another broker refuses it at
   * opening.
   *
   * @param nativeSettings null for none
   */
  public ConsumerSettings withNative(@Nullable Object nativeSettings) {
    Values v = values();
    v.nativeSettings = nativeSettings;
    return new ConsumerSettings(v);
  }

  /** The delay before the attempt after this one. */
  Duration delayAfter(int attempt) {
    return retryDelays.get(Math.min(attempt, retryDelays.size()) - 1);
  }

  private Values values() {
    Values v = new Values();
    v.addresses = addresses;
    v.group = group;
    v.ordering = ordering;
    v.keyOf = keyOf;
    v.workers = workers;
    v.maxUnsettled = maxUnsettled;
    v.permits = permits;
    v.executor = executor;
    v.maxAttempts = maxAttempts;
    v.retryDelays = retryDelays;
    v.deadLetter = deadLetter;
    v.handlerWarning = handlerWarning;
    v.openTimeout = openTimeout;
    v.closeTimeout = closeTimeout;
    v.quota = quota;
    v.latencySummary = latencySummary;
    v.stallWarning = stallWarning;
    v.nativeSettings = nativeSettings;
    return v;
  }

  @Override
  public String toString() {
    return "ConsumerSettings[from "
        + addresses
        + (group == null ? "" : " as " + group)
        + ", order "
        + ordering
        + ", workers "
        + workers
        + ", permits "
        + permits
        + "]";
  }

  /** What the one constructor checks; holds the defaults. */
  private static final class Values {
    private List<Address> addresses = List.of();
    private @Nullable String group;
    private Ordering ordering = Ordering.NONE;
    private @Nullable Function<Message, @Nullable String> keyOf;
    private int workers = 16;
    private int maxUnsettled = 100;
    private PermitPolicy permits = PermitPolicy.adaptive();
    private @Nullable Executor executor;
    private int maxAttempts = 5;
    private List<Duration> retryDelays =
        List.of(
            Duration.ofMillis(200),
            Duration.ofSeconds(1),
            Duration.ofSeconds(5),
            Duration.ofSeconds(30));
    private @Nullable Address deadLetter;
    private Duration handlerWarning = Duration.ofSeconds(30);
    private Duration openTimeout = Duration.ofSeconds(10);
    private Duration closeTimeout = Duration.ofSeconds(10);
    private @Nullable QuotaPolicy quota;
    private @Nullable Duration latencySummary;
    private Duration stallWarning = Duration.ofSeconds(30);
    private @Nullable Object nativeSettings;
  }
}
