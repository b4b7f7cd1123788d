package io.floatvalve.pulsar;

import io.floatvalve.model.Message;
import io.floatvalve.spi.Unicode;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.jspecify.annotations.Nullable;

/** Messages of ours as Pulsar's, and what Pulsar cannot carry. Knows no network. */
final class Outgoing {
  private static final Duration MOST_DELAY = Duration.ofDays(36_500);
  private static final Instant FIRST = Instant.ofEpochMilli(1);
  private static final Instant LAST = Instant.ofEpochMilli(Long.MAX_VALUE);

  private final @Nullable String sequenceHeader;

  /**
   * Makes it.
   *
   * @param sequenceHeader the header that holds a message's sequence id, or null if the client
   *     counts
   */
  Outgoing(@Nullable String sequenceHeader) {
    this.sequenceHeader = sequenceHeader;
  }

  /** Says why a message cannot be carried, or null if it can. */
  @Nullable String refusal(Message message) {
    if (message.address() != null) {
      return "its address is " + message.address() + ": a Pulsar producer has one topic";
    }
    if (message.ttl() != null) {
      return "it has a time to live, which Pulsar knows of topics only";
    }
    Duration delay = message.delay();
    if (delay != null && delay.compareTo(MOST_DELAY) > 0) {
      return "its delay is " + delay + ", at most " + MOST_DELAY + " is carried";
    }
    Instant timestamp = message.timestamp();
    if (timestamp != null && (timestamp.isBefore(FIRST) || timestamp.isAfter(LAST))) {
      return "its timestamp is " + timestamp + ": Pulsar carries milliseconds after 1970";
    }
    for (String name : message.headers().keySet()) {
      if (name.startsWith(HeaderText.PREFIX)) {
        return "header '" + name + "': names that begin with " + HeaderText.PREFIX + " are ours";
      }
    }
    String broken = Unicode.refusal(message);
    if (broken != null) {
      return broken;
    }
    if (sequenceHeader != null) {
      Object id = message.headers().get(sequenceHeader);
      if (!(id instanceof Long number) || number < 0) {
        return "header '" + sequenceHeader + "' must hold its sequence id, a Long from 0";
      }
    }
    return null;
  }

  /** Fills in a message that was not refused. */
  TypedMessageBuilder<byte[]> fill(TypedMessageBuilder<byte[]> b, Message message) {
    b.value(message.payload());
    String key = message.key();
    if (key != null && !key.isEmpty()) {
      b.key(key);
    }
    if (!message.headers().isEmpty()) {
      Map<String, String> properties = new HashMap<>();
      message.headers().forEach((name, value) -> HeaderText.put(properties, name, value));
      b.properties(properties);
    }
    property(b, Taken.CONTENT_TYPE, message.contentType());
    property(b, Taken.MESSAGE_ID, message.messageId());
    property(b, Taken.CORRELATION_ID, message.correlationId());
    property(b, Taken.REPLY_TO, message.replyTo());
    if (message.priority() != 0) {
      b.property(Taken.PRIORITY, Integer.toString(message.priority()));
    }
    Instant timestamp = message.timestamp();
    if (timestamp != null) {
      b.eventTime(timestamp.toEpochMilli());
    }
    Duration delay = message.delay();
    if (delay != null && delay.toMillis() > 0) { // a delay of zero counts as one, and ends batches
      b.deliverAfter(delay.toMillis(), TimeUnit.MILLISECONDS);
    }
    if (sequenceHeader != null && message.headers().get(sequenceHeader) instanceof Long id) {
      b.sequenceId(id);
    }
    return b;
  }

  private static void property(TypedMessageBuilder<byte[]> b, String name, @Nullable String value) {
    if (value != null) {
      b.property(name, value);
    }
  }
}
