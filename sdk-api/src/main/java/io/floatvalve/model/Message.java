package io.floatvalve.model;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One message: a payload and what travels with it.
 *
 * <p>Immutable but for the payload, which is neither copied nor protected: it must not change after
 * it was given. Header values are copied. Thread-safe under that rule.
 *
 * <p>Header values are of stated types, and both brokers carry them: {@link String}, {@link
 * Boolean}, {@link Byte}, {@link Short}, {@link Integer}, {@link Long}, {@link Float}, {@link
 * Double}, {@link BigDecimal}, {@link Instant} (to the second on RabbitMQ), {@code byte[]}, and
 * {@link List}s and {@link Map}s with string keys of these, at most 32 deep. Anything else is
 * refused by the builder, never turned into text. What neither broker can carry as it is, such as
 * half of a surrogate pair, is refused when it is published.
 */
public final class Message {
  private static final Map<String, Object> NO_HEADERS = Map.of();
  private static final int MOST_DEPTH = 32;

  private final byte[] payload;
  private final Envelope envelope;

  private Message(byte[] payload, Envelope envelope) {
    this.payload = Objects.requireNonNull(payload, "payload");
    this.envelope = envelope;
  }

  /** All but the payload: messages that say nothing else share one. */
  private record Envelope(
      Map<String, Object> headers,
      @Nullable String key,
      @Nullable String contentType,
      @Nullable String messageId,
      @Nullable String correlationId,
      @Nullable String replyTo,
      @Nullable Instant timestamp,
      int priority,
      @Nullable Duration ttl,
      @Nullable Duration delay,
      boolean persistent,
      boolean mandatory,
      @Nullable Address address) {
    static final Envelope PLAIN =
        new Envelope(
            NO_HEADERS, null, null, null, null, null, null, 0, null, null, true, true, null);
  }

  /**
   * Makes a persistent, mandatory message of a payload alone.
   *
   * @param payload may be empty; not copied, must not change afterwards
   */
  public static Message of(byte[] payload) {
    return new Message(payload, Envelope.PLAIN);
  }

  /**
   * Begins a message.
   *
   * @param payload may be empty; not copied, must not change afterwards
   */
  public static Builder builder(byte[] payload) {
    return new Builder(payload);
  }

  /** Begins a message that differs from this one in what is set next. */
  public Builder toBuilder() {
    Builder b = new Builder(payload);
    b.headers = envelope.headers.isEmpty() ? null : new LinkedHashMap<>(envelope.headers);
    b.key = envelope.key;
    b.contentType = envelope.contentType;
    b.messageId = envelope.messageId;
    b.correlationId = envelope.correlationId;
    b.replyTo = envelope.replyTo;
    b.timestamp = envelope.timestamp;
    b.priority = envelope.priority;
    b.ttl = envelope.ttl;
    b.delay = envelope.delay;
    b.persistent = envelope.persistent;
    b.mandatory = envelope.mandatory;
    b.address = envelope.address;
    return b;
  }

  /** Returns the payload itself, not a copy. */
  public byte[] payload() {
    return payload;
  }

  /** Returns the headers in the order they were set; not modifiable. */
  public Map<String, Object> headers() {
    return envelope.headers;
  }

  /** Returns the ordering key, or null if there is none. */
  public @Nullable String key() {
    return envelope.key;
  }

  /** Returns the content type, or null if none was set. */
  public @Nullable String contentType() {
    return envelope.contentType;
  }

  /** Returns the application's message id, or null if none was set. */
  public @Nullable String messageId() {
    return envelope.messageId;
  }

  /** Returns the correlation id, or null if none was set. */
  public @Nullable String correlationId() {
    return envelope.correlationId;
  }

  /** Returns where an answer is wanted, or null if none was set. */
  public @Nullable String replyTo() {
    return envelope.replyTo;
  }

  /** Returns when the application says the message came about, or null if it does not say. */
  public @Nullable Instant timestamp() {
    return envelope.timestamp;
  }

  /** Returns the priority, from 0 (the default) to 255. */
  public int priority() {
    return envelope.priority;
  }

  /** Returns after which time in a queue the broker may drop it, or null for never. */
  public @Nullable Duration ttl() {
    return envelope.ttl;
  }

  /** Returns after which time the broker may deliver it, or null for at once. */
  public @Nullable Duration delay() {
    return envelope.delay;
  }

  /** Returns whether the broker shall keep it on disk. */
  public boolean persistent() {
    return envelope.persistent;
  }

  /** Returns whether it shall be returned when no queue takes it (RabbitMQ only). */
  public boolean mandatory() {
    return envelope.mandatory;
  }

  /** Returns where it goes to instead of the publisher's address, or null for the latter. */
  public @Nullable Address address() {
    return envelope.address;
  }

  /** Names sizes and ids only: payloads and header values may hold secrets. */
  @Override
  public String toString() {
    return "Message["
        + payload.length
        + " bytes, "
        + envelope.headers.size()
        + " headers"
        + (envelope.messageId == null ? "" : ", id " + envelope.messageId)
        + (envelope.key == null ? "" : ", key " + envelope.key)
        + "]";
  }

  /** Collects what makes a message. Not thread-safe; may be used for several messages. */
  public static final class Builder {
    private byte[] payload;
    private @Nullable Map<String, Object> headers;
    private @Nullable String key;
    private @Nullable String contentType;
    private @Nullable String messageId;
    private @Nullable String correlationId;
    private @Nullable String replyTo;
    private @Nullable Instant timestamp;
    private int priority;
    private @Nullable Duration ttl;
    private @Nullable Duration delay;
    private boolean persistent = true;
    private boolean mandatory = true;
    private @Nullable Address address;

    private Builder(byte[] payload) {
      this.payload = Objects.requireNonNull(payload, "payload");
    }

    /** Sets the payload; not copied. */
    public Builder payload(byte[] payload) {
      this.payload = Objects.requireNonNull(payload, "payload");
      return this;
    }

    /**
     * Sets a header.
     *
     * @param name not empty
     * @param value of a type that {@link Message} states
     * @throws IllegalArgumentException if the name is empty or the value is of another type
     */
    public Builder header(String name, Object value) {
      if (name.isEmpty()) {
        throw new IllegalArgumentException("header name must not be empty");
      }
      Object copy = copy(name, value, 1);
      if (headers == null) {
        headers = new LinkedHashMap<>();
      }
      headers.put(name, copy);
      return this;
    }

    /** Sets all of these headers, each as by {@link #header}. */
    public Builder headers(Map<String, ?> headers) {
      headers.forEach(this::header);
      return this;
    }

    /** Sets the ordering key; null for none. */
    public Builder key(@Nullable String key) {
      this.key = key;
      return this;
    }

    /** Sets the content type; null for none. */
    public Builder contentType(@Nullable String contentType) {
      this.contentType = contentType;
      return this;
    }

    /** Sets the application's message id; null for none. */
    public Builder messageId(@Nullable String messageId) {
      this.messageId = messageId;
      return this;
    }

    /** Sets the correlation id; null for none. */
    public Builder correlationId(@Nullable String correlationId) {
      this.correlationId = correlationId;
      return this;
    }

    /** Sets where an answer is wanted; null for nowhere. */
    public Builder replyTo(@Nullable String replyTo) {
      this.replyTo = replyTo;
      return this;
    }

    /** Sets when the message came about (to the second on RabbitMQ); null for unsaid. */
    public Builder timestamp(@Nullable Instant timestamp) {
      this.timestamp = timestamp;
      return this;
    }

    /**
     * Sets the priority.
     *
     * @param priority from 0 to 255
     * @throws IllegalArgumentException if out of range
     */
    public Builder priority(int priority) {
      if (priority < 0 || priority > 255) {
        throw new IllegalArgumentException("priority must be from 0 to 255, was " + priority);
      }
      this.priority = priority;
      return this;
    }

    /**
     * Sets after which time in a queue the broker may drop it; null for never.
     *
     * @throws IllegalArgumentException if negative or above 49 days, the most that AMQP carries
     */
    public Builder ttl(@Nullable Duration ttl) {
      if (ttl != null && (ttl.isNegative() || ttl.compareTo(Duration.ofDays(49)) > 0)) {
        throw new IllegalArgumentException("ttl must be from 0 to 49 days, was " + ttl);
      }
      this.ttl = ttl;
      return this;
    }

    /** Sets after which time the broker may deliver it; null for at once. */
    public Builder delay(@Nullable Duration delay) {
      this.delay = delay;
      return this;
    }

    /** Sets whether the broker shall keep it on disk; true by default. */
    public Builder persistent(boolean persistent) {
      this.persistent = persistent;
      return this;
    }

    /**
     * Sets whether it shall be returned when no queue takes it; true by default. Pulsar has no such
     * thing and ignores it.
     */
    public Builder mandatory(boolean mandatory) {
      this.mandatory = mandatory;
      return this;
    }

    /** Sets where it goes to instead of the publisher's address; null for the latter. */
    public Builder address(@Nullable Address address) {
      this.address = address;
      return this;
    }

    /** Returns the message; this builder can go on being used. */
    public Message build() {
      return new Message(
          payload,
          new Envelope(
              headers == null
                  ? NO_HEADERS
                  : Collections.unmodifiableMap(new LinkedHashMap<>(headers)),
              key,
              contentType,
              messageId,
              correlationId,
              replyTo,
              timestamp,
              priority,
              ttl,
              delay,
              persistent,
              mandatory,
              address));
    }

    /** Returns a copy that nobody else can change; refuses what cannot be sent. */
    private static Object copy(String name, Object value, int depth) {
      Objects.requireNonNull(value, name);
      if (depth > MOST_DEPTH) {
        throw new IllegalArgumentException(
            "header '" + name + "': lists and maps must be at most " + MOST_DEPTH + " deep");
      }
      if (value instanceof List<?> list) {
        List<Object> copy = new ArrayList<>(list.size());
        for (Object element : list) {
          copy.add(copy(name, element, depth + 1));
        }
        return Collections.unmodifiableList(copy);
      }
      if (value instanceof Map<?, ?> map) {
        Map<String, Object> copy = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          if (!(entry.getKey() instanceof String key)) {
            throw new IllegalArgumentException(
                "header '" + name + "': keys of a map must be strings");
          }
          copy.put(key, copy(name, entry.getValue(), depth + 1));
        }
        return Collections.unmodifiableMap(copy);
      }
      if (value instanceof byte[] bytes) {
        return bytes.clone();
      }
      if (!isScalar(value)) {
        throw new IllegalArgumentException(
            "header '" + name + "': values of " + value.getClass().getName() + " cannot be sent");
      }
      return value;
    }

    private static boolean isScalar(Object value) {
      return value instanceof String
          || value instanceof Boolean
          || value instanceof Byte
          || value instanceof Short
          || value instanceof Integer
          || value instanceof Long
          || value instanceof Float
          || value instanceof Double
          || value instanceof BigDecimal
          || value instanceof Instant;
    }
  }
}
