package io.floatvalve.publish;

import static io.floatvalve.spi.Bounds.within;

import io.floatvalve.model.Address;
import io.floatvalve.rate.QuotaPolicy;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a {@link Publisher} works. Immutable; each {@code with} method returns a changed copy.
 *
 * <p>Values out of range are refused with an {@link IllegalArgumentException} that gives the range
 * and the value.
 */
public final class PublisherSettings {
  private static final Duration DAY = Duration.ofDays(1);

  private final Address address;
  private final WindowPolicy window;
  private final long maxInFlightBytes;
  private final int maxQueued;
  private final long maxQueuedBytes;
  private final int maxMessageBytes;
  private final Duration maxBlock;
  private final Duration maxWait;
  private final Duration confirmTimeout;
  private final Duration openTimeout;
  private final Duration closeTimeout;
  private final RetryPolicy retry;
  private final @Nullable QuotaPolicy quota;
  private final @Nullable Duration latencySummary;
  private final Duration stallWarning;
  private final @Nullable Object nativeSettings;

  private PublisherSettings(Values v) {
    address = v.address;
    window = v.window;
    maxInFlightBytes = within("maxInFlightBytes", v.maxInFlightBytes, 1, 1L << 40);
    maxQueued = within("maxQueued", v.maxQueued, 1, 1 << 20);
    maxQueuedBytes = within("maxQueuedBytes", v.maxQueuedBytes, 1, 1L << 40);
    maxMessageBytes = within("maxMessageBytes", v.maxMessageBytes, 1, Integer.MAX_VALUE);
    maxBlock = within("maxBlock", v.maxBlock, Duration.ZERO, DAY);
    maxWait = within("maxWait", v.maxWait, Duration.ofMillis(1), DAY);
    confirmTimeout = within("confirmTimeout", v.confirmTimeout, Duration.ofMillis(1), DAY);
    openTimeout = within("openTimeout", v.openTimeout, Duration.ofMillis(1), Duration.ofHours(1));
    closeTimeout = within("closeTimeout", v.closeTimeout, Duration.ZERO, DAY);
    retry = v.retry;
    quota = v.quota;
    latencySummary =
        v.latencySummary == null
            ? null
            : within("latencySummary", v.latencySummary, Duration.ofMillis(100), DAY);
    stallWarning = within("stallWarning", v.stallWarning, Duration.ZERO, DAY);
    nativeSettings = v.nativeSettings;
  }

  /**
   * Returns settings for publishing to an address, with the default of everything else.
   *
   * @param address where messages go that name no other place
   */
  public static PublisherSettings to(Address address) {
    Values v = new Values(Objects.requireNonNull(address, "address"));
    return new PublisherSettings(v);
  }

  /** Returns where messages go that name no other place. */
  public Address address() {
    return address;
  }

  /** Returns how it is decided how many messages may be sent and not yet answered. */
  public WindowPolicy window() {
    return window;
  }

  /**
   * Sets how it is decided how many messages may be sent and not yet answered.
   *
   * <p>{@link WindowPolicy#adaptive} finds the number by itself and follows the broker and the
   * network; {@link WindowPolicy#fixed} is for who knows better, or wants a known bound on what a
   * lost connection leaves unknown.
   *
   * @param window adaptive by default, at most 10,000 messages
   */
  public PublisherSettings withWindow(WindowPolicy window) {
    Values v = values();
    v.window = Objects.requireNonNull(window, "window");
    return new PublisherSettings(v);
  }

  /** Returns the most messages that may be sent and not yet answered, whoever decides. */
  public int maxInFlight() {
    return window.most();
  }

  /**
   * Sets how many messages may be sent and not yet answered to a fixed number: the same as {@code
   * withWindow(WindowPolicy.fixed(maxInFlight))}.
   *
   * <p>Throughput is bounded by this over the confirm latency: 100 in flight at 1 ms is at most
   * 100,000 messages a second. Raise it where confirms are slow, lower it to bound what a lost
   * connection leaves unknown.
   *
   * @param maxInFlight from 1 to 1,048,576 messages
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withMaxInFlight(int maxInFlight) {
    return withWindow(WindowPolicy.fixed(maxInFlight));
  }

  /** Returns how many bytes of payload may be sent and not yet answered. */
  public long maxInFlightBytes() {
    return maxInFlightBytes;
  }

  /**
   * Sets how many bytes of payload may be sent and not yet answered.
   *
   * <p>A message larger than this is sent alone, when nothing else is in flight. The confirm
   * timeout must cover the time that this many bytes take on the network.
   *
   * @param maxInFlightBytes from 1 byte to 1 TiB; 32 MiB by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withMaxInFlightBytes(long maxInFlightBytes) {
    Values v = values();
    v.maxInFlightBytes = maxInFlightBytes;
    return new PublisherSettings(v);
  }

  /** Returns how many messages may wait to be sent. */
  public int maxQueued() {
    return maxQueued;
  }

  /**
   * Sets how many messages may wait to be sent.
   *
   * <p>What waits here is lost, as {@code NotSent}, when the process dies; a long queue also hides
   * a slow broker. Raise it to ride out bursts.
   *
   * @param maxQueued from 1 to 1,048,576 messages; 1,000 by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withMaxQueued(int maxQueued) {
    Values v = values();
    v.maxQueued = maxQueued;
    return new PublisherSettings(v);
  }

  /** Returns how many bytes of payload may wait to be sent. */
  public long maxQueuedBytes() {
    return maxQueuedBytes;
  }

  /**
   * Sets how many bytes of payload may wait to be sent.
   *
   * <p>A message larger than this may wait alone.
   *
   * @param maxQueuedBytes from 1 byte to 1 TiB; 64 MiB by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withMaxQueuedBytes(long maxQueuedBytes) {
    Values v = values();
    v.maxQueuedBytes = maxQueuedBytes;
    return new PublisherSettings(v);
  }

  /** Returns how large a payload may be. */
  public int maxMessageBytes() {
    return maxMessageBytes;
  }

  /**
   * Sets how large a payload may be.
   *
   * <p>A larger one is {@code NotSent(MESSAGE_TOO_LARGE)} at once. RabbitMQ 4 takes 16 MiB unless
   * told otherwise and closes the channel on more; RabbitMQ 3.10 takes 128 MiB, Pulsar 5 MiB.
   *
   * @param maxMessageBytes from 1 byte to 2,147,483,647 bytes; 16 MiB by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withMaxMessageBytes(int maxMessageBytes) {
    Values v = values();
    v.maxMessageBytes = maxMessageBytes;
    return new PublisherSettings(v);
  }

  /** Returns how long {@code publish} waits for room in the queue. */
  public Duration maxBlock() {
    return maxBlock;
  }

  /**
   * Sets how long {@code publish} waits for room in the queue.
   *
   * <p>After that the outcome is {@code NotSent(QUEUE_FULL)}.
   *
   * @param maxBlock from 0, never wait, to 1 day; 10 s by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withMaxBlock(Duration maxBlock) {
    Values v = values();
    v.maxBlock = maxBlock;
    return new PublisherSettings(v);
  }

  /** Returns how long a message may wait in the queue, whatever holds it. */
  public Duration maxWait() {
    return maxWait;
  }

  /**
   * Sets how long a message may wait in the queue, whatever holds it.
   *
   * <p>After that the outcome is {@code NotSent} with what held it. It should cover a restart of
   * the broker, if publishing is to go on through one.
   *
   * @param maxWait from 1 ms to 1 day; 30 s by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withMaxWait(Duration maxWait) {
    Values v = values();
    v.maxWait = maxWait;
    return new PublisherSettings(v);
  }

  /** Returns how long the broker may take to answer, from the send. */
  public Duration confirmTimeout() {
    return confirmTimeout;
  }

  /**
   * Sets how long the broker may take to answer, from the send.
   *
   * <p>After that the outcome is {@code Unknown(CONFIRM_TIMEOUT)}. The message keeps its place in
   * flight until the broker answers after all, or its channel is replaced: when its oldest is
   * unanswered for twice this time.
   *
   * @param confirmTimeout from 1 ms to 1 day; 10 s by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withConfirmTimeout(Duration confirmTimeout) {
    Values v = values();
    v.confirmTimeout = confirmTimeout;
    return new PublisherSettings(v);
  }

  /** Returns how long opening a link may take, at first and after each loss. */
  public Duration openTimeout() {
    return openTimeout;
  }

  /**
   * Sets how long opening a link may take, at first and after each loss.
   *
   * @param openTimeout from 1 ms to 1 hour; 10 s by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withOpenTimeout(Duration openTimeout) {
    Values v = values();
    v.openTimeout = openTimeout;
    return new PublisherSettings(v);
  }

  /** Returns how long {@code close} waits for what is queued and in flight. */
  public Duration closeTimeout() {
    return closeTimeout;
  }

  /**
   * Sets how long {@code close} waits for what is queued and in flight.
   *
   * @param closeTimeout from 0, settle at once, to 1 day; 10 s by default
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withCloseTimeout(Duration closeTimeout) {
    Values v = values();
    v.closeTimeout = closeTimeout;
    return new PublisherSettings(v);
  }

  /** Returns after which outcomes a message is sent again. */
  public RetryPolicy retry() {
    return retry;
  }

  /**
   * Sets after which outcomes a message is sent again: see {@link RetryPolicy} for what that may
   * duplicate.
   *
   * @param retry {@link RetryPolicy#never} by default
   */
  public PublisherSettings withRetry(RetryPolicy retry) {
    Values v = values();
    v.retry = Objects.requireNonNull(retry, "retry");
    return new PublisherSettings(v);
  }

  /** Returns the quotas to stay under, or null for none. */
  public @Nullable QuotaPolicy quota() {
    return quota;
  }

  /**
   * Sets the quotas to stay under. Several publishers and consumers that are given the same object
   * stay under them together.
   *
   * <p>A message takes from its quotas last, in the moment of its send: the confirm timeout begins
   * then, and what waits for a quota has waited for {@code maxWait} at most. Messages stay in their
   * order; a retry counts as another message.
   *
   * @param quota null, the default, for none
   */
  public PublisherSettings withQuota(@Nullable QuotaPolicy quota) {
    Values v = values();
    v.quota = quota;
    return new PublisherSettings(v);
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
  public PublisherSettings withLatencySummary(@Nullable Duration latencySummary) {
    Values v = values();
    v.latencySummary = latencySummary;
    return new PublisherSettings(v);
  }

  /** Returns after which time without progress a stall is told, or zero for never. */
  public Duration stallWarning() {
    return stallWarning;
  }

  /**
   * Sets after which time without progress an event tells of a stall, with its explanation:
   * messages wait to be sent or for an answer, and the broker answers none. Once for each stall;
   * never where there is nothing to do, nor while it is paused.
   *
   * @param stallWarning to 1 day, seen to within a second; 30 s by default; zero for never
   * @throws IllegalArgumentException if out of range
   */
  public PublisherSettings withStallWarning(Duration stallWarning) {
    Values v = values();
    v.stallWarning = stallWarning;
    return new PublisherSettings(v);
  }

  /** Returns the adapter's own settings, or null if there are none. */
  public @Nullable Object nativeSettings() {
    return nativeSettings;
  }

  /**
   * Sets what only one broker has: the adapter's own settings type, such as {@code
   * RabbitBroker.PublishSettings}. Another broker refuses it at opening.
   *
   * @param nativeSettings null for none
   */
  public PublisherSettings withNative(@Nullable Object nativeSettings) {
    Values v = values();
    v.nativeSettings = nativeSettings;
    return new PublisherSettings(v);
  }

  private Values values() {
    Values v = new Values(address);
    v.window = window;
    v.maxInFlightBytes = maxInFlightBytes;
    v.maxQueued = maxQueued;
    v.maxQueuedBytes = maxQueuedBytes;
    v.maxMessageBytes = maxMessageBytes;
    v.maxBlock = maxBlock;
    v.maxWait = maxWait;
    v.confirmTimeout = confirmTimeout;
    v.openTimeout = openTimeout;
    v.closeTimeout = closeTimeout;
    v.retry = retry;
    v.quota = quota;
    v.latencySummary = latencySummary;
    v.stallWarning = stallWarning;
    v.nativeSettings = nativeSettings;
    return v;
  }

  @Override
  public String toString() {
    return "PublisherSettings[to "
        + address
        + ", window "
        + window
        + ", confirmTimeout "
        + confirmTimeout
        + "]";
  }

  /** What the one constructor checks; holds the defaults. */
  private static final class Values {
    private final Address address;
    private WindowPolicy window = WindowPolicy.adaptive();
    private long maxInFlightBytes = 32L << 20;
    private int maxQueued = 1_000;
    private long maxQueuedBytes = 64L << 20;
    private int maxMessageBytes = 16 << 20;
    private Duration maxBlock = Duration.ofSeconds(10);
    private Duration maxWait = Duration.ofSeconds(30);
    private Duration confirmTimeout = Duration.ofSeconds(10);
    private Duration openTimeout = Duration.ofSeconds(10);
    private Duration closeTimeout = Duration.ofSeconds(10);
    private RetryPolicy retry = RetryPolicy.never();
    private @Nullable QuotaPolicy quota;
    private @Nullable Duration latencySummary;
    private Duration stallWarning = Duration.ofSeconds(30);
    private @Nullable Object nativeSettings;

    private Values(Address address) {
      this.address = address;
    }
  }
}
