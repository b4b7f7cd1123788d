package io.floatvalve.model;

/**
 * What order a consumer's handlers must keep. The broker's way of delivering follows from it; what
 * contradicts it is refused when the consumer is opened.
 */
public enum Ordering {
  /**
   * Any message may be handled at any time, several at once. On Pulsar a Shared subscription; on
   * RabbitMQ any number of consumers of a queue.
   */
  NONE,
  /**
   * Messages of one key are handled one after the other, in the order of the broker; other keys are
   * handled meanwhile. A message without a key has no order. On Pulsar a Key_Shared subscription.
   */
  BY_KEY,
  /**
   * One message at a time, in the order of the broker. On Pulsar a Failover or Exclusive
   * subscription; on RabbitMQ one active consumer.
   */
  TOTAL
}
