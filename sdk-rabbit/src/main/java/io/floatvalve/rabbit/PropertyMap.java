package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.LongString;
import io.floatvalve.model.Message;
import io.floatvalve.spi.Unicode;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Translates between a {@link Message} and the properties that AMQP carries beside a body. Pure.
 *
 * <p>Headers whose names begin with {@value #PREFIX} are Floatvalve's own. They never reach an
 * application; {@value #MARK} and {@value #KEY} that an application sets are never sent.
 */
@SuppressWarnings("JavaUtilDate") // the client's type for AMQP's timestamps
final class PropertyMap {
  /** What the names of our headers begin with. */
  static final String PREFIX = "x-floatvalve-";

  /** Epoch and sequence of a mandatory message, eight bytes, so that a return finds its way. */
  static final String MARK = "x-floatvalve-send";

  /** The ordering key. */
  static final String KEY = "x-floatvalve-key";

  /** How often a message was handled before. */
  static final String ATTEMPTS = "x-floatvalve-attempts";

  /** Milliseconds that an exchange of the delayed-message plugin holds a message. */
  static final String DELAY = "x-delay";

  /** A pseudo-queue; the broker closes a channel that names it and does not consume from it. */
  private static final String DIRECT_REPLY = "amq.rabbitmq.reply-to";

  private static final Integer PERSISTENT = 2;
  private static final Integer TRANSIENT = 1;
  private static final Duration LONGEST_TTL = Duration.ofDays(49);

  private PropertyMap() {}

  /**
   * Returns the properties of a message that {@link #refusal} lets pass.
   *
   * @param mark goes along as {@value #MARK}; null for none
   */
  static BasicProperties toAmqp(Message message, byte @Nullable [] mark) {
    Instant timestamp = message.timestamp();
    Duration ttl = message.ttl();
    return new BasicProperties(
        message.contentType(),
        null,
        headers(message, mark),
        message.persistent() ? PERSISTENT : TRANSIENT,
        message.priority() == 0 ? null : (Integer) message.priority(),
        message.correlationId(),
        message.replyTo(),
        ttl == null ? null : Long.toString(ceilMillis(ttl)),
        message.messageId(),
        timestamp == null ? null : date(timestamp),
        null,
        null,
        null,
        null);
  }

  private static @Nullable Map<String, Object> headers(Message message, byte @Nullable [] mark) {
    Duration delay = message.delay();
    String key = message.key();
    boolean delayed = isDelay(delay);
    if (message.headers().isEmpty() && key == null && !delayed) {
      return mark == null ? null : Map.of(MARK, mark);
    }
    Map<String, Object> headers = new HashMap<>();
    message.headers().forEach((name, value) -> headers.put(name, toAmqp(value)));
    headers.remove(MARK);
    headers.remove(KEY);
    if (mark != null) {
      headers.put(MARK, mark);
    }
    if (key != null) {
      headers.put(KEY, key);
    }
    if (delay != null && delayed) {
      headers.put(DELAY, ceilMillis(delay));
    }
    return headers.isEmpty() ? null : headers;
  }

  /** Whether this delays anything: the past and now do not. */
  static boolean isDelay(@Nullable Duration delay) {
    return delay != null && !delay.isNegative() && !delay.isZero();
  }

  /** Returns a table of {@code Message}'s types in those of AMQP. */
  static Map<String, Object> toAmqp(Map<String, Object> table) {
    Map<String, Object> values = new HashMap<>();
    table.forEach((name, value) -> values.put(name, toAmqp(value)));
    return values;
  }

  private static Object toAmqp(Object value) {
    if (value instanceof Instant time) {
      return date(time);
    }
    if (value instanceof List<?> list) {
      List<Object> values = new ArrayList<>(list.size());
      for (Object element : list) {
        values.add(toAmqp(element));
      }
      return values;
    }
    if (value instanceof Map<?, ?> table) {
      Map<String, Object> values = new LinkedHashMap<>();
      table.forEach((name, element) -> values.put((String) name, toAmqp(element)));
      return values;
    }
    return value;
  }

  private static Date date(Instant time) {
    return new Date(time.getEpochSecond() * 1_000);
  }

  private static long ceilMillis(Duration time) {
    return time.plusNanos(999_999).toMillis();
  }

  /**
   * Says why the properties of a message cannot be sent, or null if they can. Allocates nothing for
   * a message without headers.
   *
   * @param frameMax the most bytes of a frame, 0 for no limit
   */
  static @Nullable String refusal(Message message, int frameMax) {
    String refusal = Unicode.refusal(message);
    if (refusal == null) {
      refusal = Limits.shortString("content type", message.contentType());
    }
    if (refusal == null) {
      refusal = Limits.shortString("message id", message.messageId());
    }
    if (refusal == null) {
      refusal = Limits.shortString("correlation id", message.correlationId());
    }
    if (refusal == null) {
      refusal = Limits.shortString("reply-to", message.replyTo());
    }
    if (refusal == null && DIRECT_REPLY.equals(message.replyTo())) {
      refusal =
          "reply-to must not be "
              + DIRECT_REPLY
              + ", by which only the channel that publishes could be answered, and it consumes"
              + " nothing: name a queue";
    }
    if (refusal == null) {
      refusal = Limits.instant("timestamp", message.timestamp());
    }
    if (refusal != null || (message.headers().isEmpty() && message.key() == null)) {
      return refusal; // all the rest fits into the smallest frame that AMQP allows
    }
    refusal = Limits.table("header", message.headers());
    if (refusal == null) {
      refusal = extraRecipients("CC", message.headers().get("CC"));
    }
    if (refusal == null) {
      refusal = extraRecipients("BCC", message.headers().get("BCC"));
    }
    if (refusal == null && frameMax > 0) {
      long bytes = headerFrameBytes(message);
      if (bytes > frameMax) {
        refusal =
            "headers and properties must fit into a frame of " + frameMax + " bytes, take " + bytes;
      }
    }
    return refusal;
  }

  /** The broker closes the channel on these two headers if they are no lists of routing keys. */
  private static @Nullable String extraRecipients(String name, @Nullable Object value) {
    if (value == null) {
      return null;
    }
    if (!(value instanceof List<?> keys)) {
      return "header '" + name + "' must be a list of routing keys";
    }
    for (Object key : keys) {
      if (!(key instanceof String)) {
        return "header '" + name + "' must be a list of routing keys, as strings";
      }
    }
    return null;
  }

  /** An upper bound, by a few bytes: the headers of our own are always counted. */
  private static long headerFrameBytes(Message message) {
    String key = message.key();
    long frame = 8 + 2 + 2 + 8 + 2; // frame, class, weight, body size, which properties there are
    long fixed = 1 + 1 + 8 + 21; // delivery mode, priority, timestamp, expiration
    long own = 1L + MARK.length() + 5 + 8 + 1 + DELAY.length() + 9 + 1 + KEY.length() + 5;
    return frame
        + fixed
        + shortBytes(message.contentType())
        + shortBytes(message.correlationId())
        + shortBytes(message.replyTo())
        + shortBytes(message.messageId())
        + 4
        + own
        + (key == null ? 0 : Limits.utf8Bytes(key))
        + Limits.tableBytes(message.headers());
  }

  private static long shortBytes(@Nullable String text) {
    return text == null ? 0 : 1 + Limits.utf8Bytes(text);
  }

  /**
   * Returns the message that a broker gave us. What no {@link Message} can hold, such as a header
   * without a value or what is nested more than 32 deep, is left out; and so are the broker's notes
   * on its death where it is one of our copies, which died in a retry queue of ours. A copy carries
   * no older ones. How often the broker delivered it is the delivery's to tell, and no header.
   */
  static Message toMessage(BasicProperties properties, byte[] body) {
    Message.Builder message =
        Message.builder(body)
            .contentType(properties.getContentType())
            .messageId(properties.getMessageId())
            .correlationId(properties.getCorrelationId())
            .replyTo(properties.getReplyTo())
            .persistent(PERSISTENT.equals(properties.getDeliveryMode()))
            .ttl(ttl(properties.getExpiration()));
    Date timestamp = properties.getTimestamp();
    if (timestamp != null) {
      message.timestamp(Instant.ofEpochMilli(timestamp.getTime()));
    }
    Integer priority = properties.getPriority();
    if (priority != null) {
      message.priority(priority);
    }
    Map<String, Object> headers = properties.getHeaders();
    if (headers != null) {
      boolean copy = headers.containsKey(ATTEMPTS);
      headers.forEach(
          (name, value) -> {
            if (!copy || !isOfDeath(name)) {
              header(message, name, value);
            }
          });
    }
    return message.build();
  }

  /** Whether this is a header by which the broker says where a message died before. */
  static boolean isOfDeath(String name) {
    return name.equals("x-death")
        || name.startsWith("x-first-death-")
        || name.startsWith("x-last-death-");
  }

  /** Whether this is a header in which a quorum queue counts deliveries. */
  static boolean isCount(String name) {
    return name.equals(Taken.DELIVERY_COUNT) || name.equals("x-acquired-count");
  }

  private static void header(Message.Builder message, String name, @Nullable Object value) {
    Object ours = fromAmqp(value, 1);
    if (name.isEmpty() || ours == null || isCount(name)) {
      return;
    }
    if (name.equals(KEY)) {
      message.key(ours instanceof String key ? key : null);
    } else if (!name.startsWith(PREFIX)) {
      message.header(name, ours);
    }
  }

  /** Returns a value of ours; null for none, and for what lies deeper than in any message. */
  private static @Nullable Object fromAmqp(@Nullable Object value, int depth) {
    if (depth > Limits.DEEPEST) {
      return null;
    }
    if (value instanceof LongString text) {
      return text(text);
    }
    if (value instanceof Date date) {
      return Instant.ofEpochMilli(date.getTime());
    }
    if (value instanceof List<?> list) {
      List<Object> values = new ArrayList<>(list.size());
      for (Object element : list) {
        Object ours = fromAmqp(element, depth + 1);
        if (ours != null) {
          values.add(ours);
        }
      }
      return values;
    }
    if (value instanceof Map<?, ?> table) {
      Map<String, Object> values = new LinkedHashMap<>();
      table.forEach(
          (name, element) -> {
            Object ours = fromAmqp(element, depth + 1);
            if (ours != null) {
              values.put((String) name, ours);
            }
          });
      return values;
    }
    if (value instanceof String
        || value instanceof Number
        || value instanceof Boolean
        || value instanceof byte[]) {
      return value;
    }
    return null;
  }

  /** Returns a header's text, or null if it is none. */
  static @Nullable String text(@Nullable Object header) {
    return fromAmqp(header, 1) instanceof String text ? text : null;
  }

  /** AMQP's long strings are bytes; those that are no UTF-8 stay bytes. */
  private static Object text(LongString value) {
    String text = value.toString();
    if (text.indexOf('\uFFFD') < 0) {
      return text;
    }
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(value.getBytes()))
          .toString();
    } catch (CharacterCodingException e) {
      return value.getBytes();
    }
  }

  private static @Nullable Duration ttl(@Nullable String expiration) {
    if (expiration == null || !expiration.matches("\\d{1,18}")) {
      return null;
    }
    Duration ttl = Duration.ofMillis(Long.parseLong(expiration));
    return ttl.compareTo(LONGEST_TTL) > 0 ? LONGEST_TTL : ttl;
  }

  /** Whether a header value is a number above zero. */
  static boolean isPositive(@Nullable Object value) {
    return value instanceof BigDecimal decimal
        ? decimal.signum() > 0
        : value instanceof Number number && number.doubleValue() > 0;
  }
}
