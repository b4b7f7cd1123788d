package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import io.floatvalve.spi.Broker.PublishRequest;
import io.floatvalve.spi.PublishLink;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The opening of a channel to publish on. */
final class PublishOpening extends Opening<PublishLink> {
  private final PublishRequest request;
  private final Answers answers;
  private final @Nullable String delayedExchange;

  PublishOpening(
      SharedTrunk trunks,
      PublishRequest request,
      Answers answers,
      @Nullable String delayedExchange) {
    super(trunks, answers, "publish to " + request.address(), request.timeout());
    this.request = request;
    this.answers = answers;
    this.delayedExchange = delayedExchange;
  }

  @Override
  PublishLink open(Trunk used) throws IOException {
    String exchange = PublishChannel.exchange(request.address());
    if (!exchange.isEmpty()) {
      Channel probe = channel(used);
      try {
        probe.exchangeDeclarePassive(exchange); // the broker closes the channel if there is none
      } finally {
        Trunk.abort(probe);
      }
    }
    Channel channel = channel(used);
    try {
      channel.addConfirmListener(answers);
      channel.addReturnListener(answers);
      channel.addShutdownListener(
          signal -> {
            answers.lost(signal);
            used.leave(answers);
          });
      // Not by confirmSelect, after which the client keeps an entry for each unanswered message.
      channel.rpc(new AMQP.Confirm.Select.Builder().build());
      return new PublishChannel(
          used, channel, answers, request.address(), request.epoch(), delayedExchange);
    } catch (IOException | RuntimeException e) {
      answers.end();
      Trunk.abort(channel);
      throw e;
    }
  }

  @Override
  void end() {
    answers.end();
  }

  @Override
  void discard(PublishLink late) {
    late.abort();
  }
}
