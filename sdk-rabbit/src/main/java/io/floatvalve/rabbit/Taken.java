package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.Envelope;
import io.floatvalve.model.Message;
import io.floatvalve.spi.ReceiveLink;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One delivery, as the engine sees it. */
final class Taken extends Unsettled.Entry implements ReceiveLink.Received {
  /** How often the broker had delivered a message before; quorum queues only. */
  static final String DELIVERY_COUNT = "x-delivery-count";

  private static final String STREAM_OFFSET = "x-stream-offset";

  private final RabbitReceiveLink from;
  private final Envelope envelope;
  private final BasicProperties properties;
  private final byte[] body;
  private final long arrivedNanos;
  private volatile @Nullable Message message;

  Taken(
      RabbitReceiveLink from,
      Unsettled.Source source,
      Envelope envelope,
      BasicProperties properties,
      byte[] body,
      long arrivedNanos) {
    super(envelope.getDeliveryTag(), source);
    this.from = from;
    this.envelope = envelope;
    this.properties = properties;
    this.body = body;
    this.arrivedNanos = arrivedNanos;
  }

  RabbitReceiveLink from() {
    return from;
  }

  BasicProperties properties() {
    return properties;
  }

  byte[] body() {
    return body;
  }

  Envelope envelope() {
    return envelope;
  }

  @Override
  public Message message() {
    Message known = message;
    if (known != null) {
      return known;
    }
    synchronized (this) {
      Message made = message;
      if (made == null) {
        made = PropertyMap.toMessage(properties, body);
        message = made;
      }
      return made;
    }
  }

  @Override
  public Delivery nativeMessage() {
    return new Delivery(envelope, properties, body);
  }

  @Override
  public @Nullable String key() {
    String key = PropertyMap.text(header(PropertyMap.KEY));
    return key == null || key.isEmpty() ? null : key;
  }

  @Override
  public int size() {
    return body.length;
  }

  @Override
  public long arrivedNanos() {
    return arrivedNanos;
  }

  /** Set by the broker where it is told to put a timestamp into each message that comes in. */
  @Override
  public long storedMillis() {
    return header("timestamp_in_ms") instanceof Number number ? Math.max(0, number.longValue()) : 0;
  }

  @Override
  public int attempts() {
    return header(PropertyMap.ATTEMPTS) instanceof Number number
        ? Math.max(0, number.intValue())
        : 0;
  }

  @Override
  public int deliveryCount() {
    return header(DELIVERY_COUNT) instanceof Number number ? number.intValue() + 1 : 0;
  }

  @Override
  public boolean redelivered() {
    return envelope.isRedeliver();
  }

  /** AMQP has no name for a message that is the same when it comes again. */
  @Override
  public @Nullable Object identity() {
    return null;
  }

  /** Returns its place in a stream; -1 in a queue. */
  long streamOffset() {
    return header(STREAM_OFFSET) instanceof Number number ? number.longValue() : -1;
  }

  private @Nullable Object header(String name) {
    Map<String, Object> headers = properties.getHeaders();
    return headers == null ? null : headers.get(name);
  }

  @Override
  public String describe() {
    String id = properties.getMessageId();
    return "delivery "
        + tag()
        + " of "
        + from.where()
        + (id == null ? "" : ", message id '" + id + "'");
  }
}
