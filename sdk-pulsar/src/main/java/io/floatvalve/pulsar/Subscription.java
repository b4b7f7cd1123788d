package io.floatvalve.pulsar;

import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.model.Ordering;
import io.floatvalve.spi.Broker.ReceiveRequest;
import io.floatvalve.spi.ReceiveLink.Traits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.ConsumerInterceptor;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.jspecify.annotations.Nullable;

/** What a request asks for in Pulsar's terms, checked; immutable. */
final class Subscription implements Partition.Subscriber {
  private static final int LEAST_PLAIN = 16;
  private static final int MOST_PLAIN = 100;

  private final PulsarClient client;
  private final ScheduledExecutorService ticker;
  private final ReceiveRequest request;
  private final PulsarBroker.ConsumeSettings settings;
  private final List<String> topics;
  private final String name;
  private final SubscriptionType type;
  private final String consumerName;
  private final String deadLetters;
  private final boolean bridged;
  private final boolean earliest;

  private Subscription(
      PulsarClient client,
      ScheduledExecutorService ticker,
      ReceiveRequest request,
      PulsarBroker.ConsumeSettings settings,
      List<String> topics,
      String name,
      SubscriptionType type,
      String consumerName,
      String deadLetters,
      boolean bridged,
      boolean earliest) {
    this.client = client;
    this.ticker = ticker;
    this.request = request;
    this.settings = settings;
    this.topics = topics;
    this.name = name;
    this.type = type;
    this.consumerName = consumerName;
    this.deadLetters = deadLetters;
    this.bridged = bridged;
    this.earliest = earliest;
  }

  /**
   * Reads a request.
   *
   * @param bridged whether receive queues can be resized
   * @throws MessagingException {@code INVALID} where it contradicts itself or the broker
   */
  static Subscription of(
      PulsarClient client,
      ScheduledExecutorService ticker,
      ReceiveRequest request,
      PulsarBroker.ConsumeSettings settings,
      boolean bridged) {
    Set<String> topics = new LinkedHashSet<>();
    for (Address each : request.addresses()) {
      topics.add(TopicNames.full(topic(each)));
    }
    String group = request.group();
    String given = settings.subscriptionName();
    if (group != null && given != null && !group.equals(given)) {
      throw invalid(
          "the group is '"
              + group
              + "', but the native settings name the subscription '"
              + given
              + "'");
    }
    String name = given == null ? group : given;
    if (name == null) {
      throw invalid("a group is needed: it is the name of the subscription");
    }
    String first = topics.iterator().next();
    Address wanted = request.deadLetter();
    String settled = settings.deadLetterTopic();
    if (wanted != null && settled != null && !topic(wanted).equals(settled)) {
      throw invalid(
          "dead letters are to go to "
              + wanted
              + ", but to '"
              + settled
              + "' by the native settings");
    }
    String deadLetters =
        wanted != null
            ? topic(wanted)
            : settled != null ? settled : TopicNames.deadLetters(first, name);
    String consumerName = settings.consumerName();
    return new Subscription(
        client,
        ticker,
        request,
        settings,
        List.copyOf(topics),
        name,
        type(request.ordering(), settings.subscriptionType()),
        consumerName == null
            ? "floatvalve-" + UUID.randomUUID().toString().substring(0, 8)
            : consumerName,
        TopicNames.full(deadLetters),
        bridged,
        false);
  }

  private static String topic(Address address) {
    if (address.kind() != Address.Kind.TOPIC) {
      throw invalid(address + " is not a topic, and Pulsar has nothing else");
    }
    return address.name();
  }

  private static SubscriptionType type(Ordering ordering, @Nullable SubscriptionType asked) {
    Set<SubscriptionType> fit =
        switch (ordering) {
          case NONE ->
              Set.of(
                  SubscriptionType.Shared,
                  SubscriptionType.Key_Shared,
                  SubscriptionType.Failover,
                  SubscriptionType.Exclusive);
          case BY_KEY ->
              Set.of(
                  SubscriptionType.Key_Shared,
                  SubscriptionType.Failover,
                  SubscriptionType.Exclusive);
          case TOTAL -> Set.of(SubscriptionType.Failover, SubscriptionType.Exclusive);
        };
    if (asked == null) {
      return switch (ordering) {
        case NONE -> SubscriptionType.Shared;
        case BY_KEY -> SubscriptionType.Key_Shared;
        case TOTAL -> SubscriptionType.Failover;
      };
    }
    if (!fit.contains(asked)) {
      throw invalid(
          "ordering "
              + ordering
              + " is asked for, which a subscription of type "
              + asked
              + " does not keep");
    }
    return asked;
  }

  private static MessagingException invalid(String why) {
    return new MessagingException(Kind.INVALID, why, null);
  }

  /** Returns the same for topics that appear later: nothing in them may be missed. */
  Subscription fromEarliest() {
    return new Subscription(
        client,
        ticker,
        request,
        settings,
        topics,
        name,
        type,
        consumerName,
        deadLetters,
        bridged,
        true);
  }

  Traits traits() {
    boolean shared = type == SubscriptionType.Shared;
    List<String> notes = new ArrayList<>();
    if (!bridged) {
      notes.add(
          "the receive queue of this client cannot be resized: it is small and of fixed size");
    }
    return new Traits(
        bridged,
        Duration.ZERO,
        0,
        shared || type == SubscriptionType.Key_Shared,
        shared,
        true,
        String.join("; ", notes));
  }

  /** Returns whether a message that is given back may come out of order. */
  boolean ordered() {
    return type != SubscriptionType.Shared;
  }

  boolean countsDeliveries() {
    return type == SubscriptionType.Shared || type == SubscriptionType.Key_Shared;
  }

  boolean receipts() {
    return settings.receipts();
  }

  Duration watchEvery() {
    return settings.partitionsCheck();
  }

  /** Returns what all partitions together begin with. */
  int firstWindow() {
    if (bridged) {
      return request.permits();
    }
    int roomy = Math.max(LEAST_PLAIN, Math.min(MOST_PLAIN, 2 * request.slots()));
    return Math.max(request.permits(), Math.min(request.maxPermits(), roomy));
  }

  String deadLetters() {
    return deadLetters;
  }

  String retries() {
    String given = settings.retryTopic();
    return TopicNames.full(given == null ? TopicNames.retries(topics.get(0), name) : given);
  }

  /**
   * Asks for all topics there are: the partitions of each, and those of retries if there are any.
   *
   * @param create whether the broker may create what is not there, as it is set to
   * @param withRetries whether to ask for those of retries; the client logs a warning with a stack
   *     trace where there are none
   */
  CompletableFuture<List<String>> topics(boolean create, boolean withRetries) {
    List<CompletableFuture<List<String>>> parts = new ArrayList<>();
    for (String topic : topics) {
      parts.add(partitionsOf(topic, create));
    }
    if (withRetries && type == SubscriptionType.Shared) {
      parts.add(
          partitionsOf(retries(), false)
              .exceptionally(
                  failure -> {
                    if (Failures.opening(Failures.cause(failure)) == Kind.NOT_FOUND) {
                      return List.of();
                    }
                    throw new java.util.concurrent.CompletionException(Failures.cause(failure));
                  }));
    }
    return CompletableFuture.allOf(parts.toArray(CompletableFuture[]::new))
        .thenApply(
            nothing -> {
              Set<String> all = new LinkedHashSet<>();
              parts.forEach(part -> all.addAll(part.join()));
              return List.copyOf(all);
            });
  }

  CompletableFuture<List<String>> partitionsOf(String topic, boolean create) {
    return client.getPartitionsForTopic(topic, create);
  }

  /** Makes sure that dead letters have a subscription, without which they are not kept. */
  CompletableFuture<Void> readyDeadLetters(String topic) {
    String keeper = settings.deadLetterSubscription();
    return client
        .newConsumer(Schema.BYTES)
        .topic(topic)
        .subscriptionName(keeper == null ? name : keeper)
        .subscriptionType(SubscriptionType.Shared)
        .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
        .startPaused(true)
        .receiverQueueSize(1)
        .subscribeAsync()
        .thenCompose(Consumer::closeAsync)
        .exceptionallyCompose(
            failure ->
                Failures.cause(failure) instanceof PulsarClientException.ConsumerBusyException
                    ? CompletableFuture.completedFuture(null) // it is there, and in use
                    : CompletableFuture.failedFuture(failure));
  }

  @Override
  @SuppressWarnings("unchecked") // one interceptor as an array of its type
  public CompletableFuture<Consumer<byte[]>> subscribe(
      String topic, int size, ConsumerInterceptor<byte[]> interceptor) {
    ConsumerBuilder<byte[]> b =
        client
            .newConsumer(Schema.BYTES)
            .topic(topic)
            .subscriptionName(name)
            .subscriptionType(type)
            .subscriptionInitialPosition(
                earliest ? SubscriptionInitialPosition.Earliest : settings.initialPosition())
            .consumerName(consumerName)
            .receiverQueueSize(size)
            .startPaused(true)
            .autoUpdatePartitions(false)
            .enableBatchIndexAcknowledgment(true)
            .isAckReceiptEnabled(settings.receipts())
            .acknowledgmentGroupTime(
                settings.acknowledgementDelay().toNanos(), TimeUnit.NANOSECONDS)
            .ackTimeout(settings.ackTimeout().toMillis(), TimeUnit.MILLISECONDS)
            .priorityLevel(settings.priorityLevel())
            .readCompacted(settings.readCompacted())
            .intercept(interceptor);
    if (!settings.subscriptionProperties().isEmpty()) {
      b.subscriptionProperties(settings.subscriptionProperties());
    }
    return b.subscribeAsync();
  }

  @Override
  public Duration ackTimeout() {
    return settings.ackTimeout();
  }

  @Override
  public ReceiveQueue queueOf(Consumer<byte[]> consumer, int size, ArrivalStamps stamps) {
    PermitBridge bridge = bridged ? PermitBridge.to(consumer) : null;
    return bridge == null
        ? new PlainQueue(consumer, size, settings.acknowledgementDelay(), ticker, stamps)
        : bridge;
  }
}
