package io.floatvalve.pulsar;

import io.floatvalve.spi.ReceiveLink;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends copies of messages, each confirmed by the broker, to places in which nothing is lost: a
 * place is made ready, a subscription above all, before the first copy goes there. Thread-safe.
 */
final class Copies {
  /** Why the last attempt failed. */
  static final String REASON = HeaderText.PREFIX + "reason";

  /** When the last attempt failed. */
  static final String FAILED_AT = HeaderText.PREFIX + "failed-at";

  /** Which topic the message came from at first. */
  static final String ORIGIN_TOPIC = HeaderText.PREFIX + "origin-topic";

  /** What the message was called there. */
  static final String ORIGIN_ID = HeaderText.PREFIX + "origin-id";

  private static final Logger LOG = LoggerFactory.getLogger(Copies.class);
  private static final int MOST_REASON = 1_000;

  /**
   * How much too early a broker may deliver: it looks once in {@code
   * delayedDeliveryTickTimeMillis}, a second unless told otherwise, and then hands out what is due
   * before its next look, unless {@code isDelayedDeliveryDeliverAtTimeStrict}.
   */
  private static final Duration TOO_EARLY = Duration.ofSeconds(1);

  private final PulsarClient client;
  private final Duration timeout;
  private final Map<String, CompletableFuture<Producer<byte[]>>> producers =
      new ConcurrentHashMap<>();

  /**
   * Makes it.
   *
   * @param client not the one that consumes: a throttled sender must not starve it
   * @param timeout for one copy
   */
  Copies(PulsarClient client, Duration timeout) {
    this.client = client;
    this.timeout = timeout;
  }

  /**
   * Sends a copy.
   *
   * @param ready makes a topic ready, called before the first copy to it and again after a failure
   * @return ends when the broker has confirmed it, after at most the timeout
   */
  CompletableFuture<Void> send(
      String topic,
      Function<String, CompletableFuture<Void>> ready,
      Message<byte[]> original,
      ReceiveLink.Copy copy) {
    return producer(topic, ready)
        .thenCompose(producer -> fill(producer.newMessage(), original, copy).sendAsync())
        .<Void>thenApply(id -> null)
        .orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it ends in `made`
  private CompletableFuture<Producer<byte[]>> producer(
      String topic, Function<String, CompletableFuture<Void>> ready) {
    CompletableFuture<Producer<byte[]>> made = new CompletableFuture<>();
    CompletableFuture<Producer<byte[]>> known = producers.putIfAbsent(topic, made);
    if (known != null) {
      return known;
    }
    ready
        .apply(topic)
        .thenCompose(
            nothing ->
                client
                    .newProducer()
                    .topic(topic)
                    .enableBatching(false)
                    .blockIfQueueFull(false)
                    .sendTimeout(millis(timeout), TimeUnit.MILLISECONDS)
                    .createAsync())
        .whenComplete(
            (producer, failure) -> {
              if (failure != null) {
                producers.remove(topic, made);
                made.completeExceptionally(failure);
              } else {
                made.complete(producer);
              }
            });
    return made;
  }

  private static TypedMessageBuilder<byte[]> fill(
      TypedMessageBuilder<byte[]> b, Message<byte[]> original, ReceiveLink.Copy copy) {
    Map<String, String> properties = new HashMap<>(original.getProperties());
    properties.put(Taken.ATTEMPTS, Integer.toString(copy.attempts()));
    properties.put(REASON, cut(copy.reason()));
    properties.put(FAILED_AT, copy.at().toString());
    properties.putIfAbsent(ORIGIN_TOPIC, original.getTopicName());
    properties.putIfAbsent(ORIGIN_ID, original.getMessageId().toString());
    b.value(original.getData()).properties(properties);
    if (original.hasKey()) {
      if (original.hasBase64EncodedKey()) {
        b.keyBytes(original.getKeyBytes());
      } else {
        b.key(original.getKey());
      }
    }
    if (original.hasOrderingKey()) {
      b.orderingKey(original.getOrderingKey());
    }
    if (original.getEventTime() > 0) {
      b.eventTime(original.getEventTime());
    }
    if (!copy.delay().isZero()) {
      b.deliverAfter(millis(copy.delay().plus(TOO_EARLY)), TimeUnit.MILLISECONDS);
    }
    return b;
  }

  private static String cut(String reason) {
    return reason.length() <= MOST_REASON ? reason : reason.substring(0, MOST_REASON) + "…";
  }

  private static int millis(Duration duration) {
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, duration.toMillis()));
  }

  /** Closes what it opened, also what is still being opened. Does not wait. */
  CompletableFuture<Void> close() {
    List<CompletableFuture<Void>> closing =
        producers.values().stream()
            .map(
                opening ->
                    opening
                        .thenCompose(Producer::closeAsync)
                        .exceptionally(
                            failure -> {
                              LOG.debug("closing failed: {}", Failures.words(failure));
                              return null;
                            }))
            .toList();
    return CompletableFuture.allOf(closing.toArray(CompletableFuture[]::new));
  }
}
