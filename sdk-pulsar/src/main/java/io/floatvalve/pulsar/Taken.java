package io.floatvalve.pulsar;

import io.floatvalve.model.Message;
import io.floatvalve.spi.ReceiveLink;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.apache.pulsar.client.api.MessageId;
import org.jspecify.annotations.Nullable;

/** A message that was taken from the client's queue. */
final class Taken implements ReceiveLink.Received {
  /** How often a copy's message was handled before. */
  static final String ATTEMPTS = HeaderText.PREFIX + "attempts";

  static final String CONTENT_TYPE = HeaderText.PREFIX + "content-type";
  static final String MESSAGE_ID = HeaderText.PREFIX + "message-id";
  static final String CORRELATION_ID = HeaderText.PREFIX + "correlation-id";
  static final String REPLY_TO = HeaderText.PREFIX + "reply-to";
  static final String PRIORITY = HeaderText.PREFIX + "priority";
  static final String TTL = HeaderText.PREFIX + "ttl";

  private static final VarHandle SETTLED;

  static {
    try {
      SETTLED = MethodHandles.lookup().findVarHandle(Taken.class, "settled", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Partition from;
  private final org.apache.pulsar.client.api.Message<byte[]> message;
  private final BatchAcks.@Nullable Batch batch;
  private final int batchIndex;
  private final long arrivedNanos;
  private final long takenNanos;
  private final boolean redelivered;
  private final boolean counted;

  @SuppressWarnings("UnusedVariable") // by SETTLED
  private volatile boolean settled;

  private @Nullable Message ours; // guarded by this

  Taken(
      Partition from,
      org.apache.pulsar.client.api.Message<byte[]> message,
      BatchAcks.@Nullable Batch batch,
      int batchIndex,
      long arrivedNanos,
      long takenNanos,
      boolean redelivered,
      boolean counted) {
    this.from = from;
    this.message = message;
    this.batch = batch;
    this.batchIndex = batchIndex;
    this.arrivedNanos = arrivedNanos;
    this.takenNanos = takenNanos;
    this.redelivered = redelivered;
    this.counted = counted;
  }

  Partition from() {
    return from;
  }

  BatchAcks.@Nullable Batch batch() {
    return batch;
  }

  int batchIndex() {
    return batchIndex;
  }

  /** Returns when it was taken, or 0 where nobody asks. */
  long takenNanos() {
    return takenNanos;
  }

  MessageId id() {
    return message.getMessageId();
  }

  /** Returns whether this is the first time it is settled. */
  boolean settle() {
    return SETTLED.compareAndSet(this, false, true);
  }

  @Override
  public synchronized Message message() {
    Message known = ours;
    if (known == null) {
      known = translate();
      ours = known;
    }
    return known;
  }

  private Message translate() {
    byte[] data = message.getData();
    Map<String, String> properties = message.getProperties();
    Message.Builder b =
        Message.builder(data == null ? new byte[0] : data)
            .headers(HeaderText.headers(properties))
            .key(key())
            .contentType(properties.get(CONTENT_TYPE))
            .messageId(properties.get(MESSAGE_ID))
            .correlationId(properties.get(CORRELATION_ID))
            .replyTo(properties.get(REPLY_TO));
    if (message.getEventTime() > 0) {
      b.timestamp(Instant.ofEpochMilli(message.getEventTime()));
    }
    int priority = number(properties.get(PRIORITY), 0);
    if (priority >= 0 && priority <= 255) {
      b.priority(priority);
    }
    String ttl = properties.get(TTL);
    if (ttl != null) {
      try {
        b.ttl(Duration.parse(ttl));
      } catch (DateTimeException | IllegalArgumentException e) {
        // Somebody else's value: the broker knows no time to live of a message anyway.
        b.ttl(null);
      }
    }
    return b.build();
  }

  @Override
  public org.apache.pulsar.client.api.Message<byte[]> nativeMessage() {
    return message;
  }

  @Override
  public @Nullable String key() {
    String key =
        message.hasOrderingKey()
            ? new String(message.getOrderingKey(), StandardCharsets.UTF_8)
            : message.getKey();
    return key == null || key.isEmpty() ? null : key;
  }

  @Override
  public int size() {
    return message.size();
  }

  @Override
  public long arrivedNanos() {
    return arrivedNanos;
  }

  @Override
  public long publishedMillis() {
    return message.getPublishTime();
  }

  @Override
  public long storedMillis() {
    return message.hasBrokerPublishTime() ? message.getBrokerPublishTime().orElse(0L) : 0;
  }

  @Override
  public int attempts() {
    return Math.max(0, number(message.getProperty(ATTEMPTS), 0));
  }

  @Override
  public int deliveryCount() {
    return counted ? message.getRedeliveryCount() + 1 : 0;
  }

  @Override
  public boolean redelivered() {
    return redelivered || message.getRedeliveryCount() > 0;
  }

  @Override
  public Object identity() {
    return message.getMessageId();
  }

  @Override
  public String describe() {
    return message.getTopicName() + " " + message.getMessageId();
  }

  @Override
  public String toString() {
    return describe();
  }

  private static int number(@Nullable String text, int otherwise) {
    if (text == null) {
      return otherwise;
    }
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      return otherwise;
    }
  }
}
