package io.floatvalve.rabbit;

import com.rabbitmq.client.Channel;
import io.floatvalve.spi.Broker.ReceiveRequest;
import io.floatvalve.spi.ReceiveLink;
import java.io.IOException;
import java.time.Duration;

/** The opening of a channel to consume on. Nothing is consumed yet. */
final class ReceiveOpening extends Opening<RabbitReceiveLink> {
  private final ReceiveRequest request;
  private final Herald herald;

  ReceiveOpening(SharedTrunk trunks, ReceiveRequest request, ReceiveLink.Listener listener) {
    this(trunks, request, new Herald(listener, request.epoch()));
  }

  private ReceiveOpening(SharedTrunk trunks, ReceiveRequest request, Herald herald) {
    super(trunks, herald, "consume from " + request.addresses().get(0), request.timeout());
    this.request = request;
    this.herald = herald;
  }

  @Override
  RabbitReceiveLink open(Trunk used) throws IOException {
    Channel channel = channel(used);
    try {
      channel.queueDeclarePassive(request.addresses().get(0).name());
      return new RabbitReceiveLink(used, channel, herald, request);
    } catch (IOException | RuntimeException e) {
      herald.end();
      Trunk.abort(channel);
      throw e;
    }
  }

  @Override
  void end() {
    herald.end();
  }

  @Override
  void discard(RabbitReceiveLink late) {
    late.close(Duration.ZERO);
  }
}
