package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Envelope;
import io.floatvalve.spi.ReceiveLink.Copy;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;

/** What a copy of a message carries beside its body. Pure. */
@SuppressWarnings("JavaUtilDate") // the client's type for AMQP's timestamps
final class CopyProperties {
  /** Why the last attempt failed. */
  static final String REASON = PropertyMap.PREFIX + "reason";

  /** When the last attempt failed. */
  static final String FAILED_AT = PropertyMap.PREFIX + "failed-at";

  /** Which queue the message was consumed from. */
  static final String ORIGIN_QUEUE = PropertyMap.PREFIX + "origin-queue";

  /** Which exchange it was published to at first. */
  static final String ORIGIN_EXCHANGE = PropertyMap.PREFIX + "origin-exchange";

  /** By which routing key it was published at first. */
  static final String ORIGIN_KEY = PropertyMap.PREFIX + "origin-routing-key";

  private static final int MOST_REASON = 1_000;

  private CopyProperties() {}

  /**
   * Returns the properties of a copy, with a mark of zeros to be overwritten.
   *
   * <p>What would make the broker treat the copy otherwise is left out: the sender's name, which it
   * would compare with ours; the time to live, which the message has survived; further routing
   * keys; and its own notes on earlier deaths, by which it may take a retry for a loop and drop it.
   */
  static BasicProperties of(BasicProperties original, Envelope envelope, String queue, Copy copy) {
    Map<String, Object> headers = new HashMap<>();
    if (original.getHeaders() != null) {
      original
          .getHeaders()
          .forEach(
              (name, value) -> {
                if (!isForTheBroker(name)) {
                  headers.put(name, value);
                }
              });
    }
    headers.put(PropertyMap.MARK, new byte[Long.BYTES]);
    headers.put(PropertyMap.ATTEMPTS, copy.attempts());
    headers.put(REASON, cut(copy.reason()));
    headers.put(FAILED_AT, Date.from(copy.at()));
    headers.putIfAbsent(ORIGIN_QUEUE, queue);
    headers.putIfAbsent(ORIGIN_EXCHANGE, envelope.getExchange());
    headers.putIfAbsent(ORIGIN_KEY, envelope.getRoutingKey());
    return original.builder().headers(headers).userId(null).expiration(null).build();
  }

  private static boolean isForTheBroker(String name) {
    return switch (name) {
      case "CC", "BCC", "x-stream-offset", "x-delay" -> true;
      default -> PropertyMap.isOfDeath(name) || PropertyMap.isCount(name);
    };
  }

  private static String cut(String reason) {
    return reason.length() <= MOST_REASON ? reason : reason.substring(0, MOST_REASON) + "…";
  }
}
