package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Consumer;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.ShutdownSignalException;

/** One consumer of a channel, with a prefetch of its own that cannot be changed. */
final class Feed implements Consumer {
  private final RabbitReceiveLink link;
  private final String tag;
  private final int prefetch;
  private final Unsettled.Source source = new Unsettled.Source();

  /**
   * Makes it.
   *
   * @param tag its name on the channel
   * @param prefetch how many messages may be outstanding; 0 if it never asks for any
   */
  Feed(RabbitReceiveLink link, String tag, int prefetch) {
    this.link = link;
    this.tag = tag;
    this.prefetch = prefetch;
  }

  String tag() {
    return tag;
  }

  int prefetch() {
    return prefetch;
  }

  Unsettled.Source source() {
    return source;
  }

  @Override
  public void handleDelivery(
      String consumerTag, Envelope envelope, BasicProperties properties, byte[] body) {
    link.arrived(this, envelope, properties, body);
  }

  @Override
  public void handleCancel(String consumerTag) {
    link.cancelledByBroker();
  }

  @Override
  public void handleConsumeOk(String consumerTag) {}

  @Override
  public void handleCancelOk(String consumerTag) {}

  @Override
  public void handleShutdownSignal(String consumerTag, ShutdownSignalException signal) {}

  @Override
  public void handleRecoverOk(String consumerTag) {}
}
