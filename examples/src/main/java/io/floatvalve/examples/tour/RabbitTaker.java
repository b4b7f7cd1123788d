package io.floatvalve.examples.tour;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Message;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Takes messages from queues by the plain client, one acknowledgement for each that was dealt with;
 * what was not goes back to its queue.
 */
final class RabbitTaker implements AutoCloseable {
  private static final int AHEAD = 1_000;

  private final Connection connection;

  RabbitTaker(RabbitAtHand rabbit) {
    connection = rabbit.connection("floatvalve.tour taker");
  }

  /**
   * Takes so many messages from a queue and waits until all are dealt with.
   *
   * @param deal whether it is done with a message, told by the future
   * @return whether all came to an end in time
   */
  boolean take(
      String queue,
      long messages,
      Function<Message, CompletableFuture<Boolean>> deal,
      Duration limit)
      throws IOException {
    CountDownLatch open = new CountDownLatch(Math.toIntExact(messages));
    Channel channel = connection.createChannel();
    try {
      channel.basicQos(AHEAD);
      channel.basicConsume(
          queue,
          false,
          new DefaultConsumer(channel) {
            @Override
            public void handleDelivery(
                String tag, Envelope envelope, BasicProperties properties, byte[] body) {
              var unused =
                  deal.apply(message(properties, body))
                      .thenAccept(
                          done -> {
                            settle(channel, envelope.getDeliveryTag(), done);
                            open.countDown();
                          });
            }
          });
      return open.await(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while reading " + queue, e);
    } finally {
      channel.abort();
    }
  }

  private static void settle(Channel channel, long tag, boolean done) {
    try {
      if (done) {
        channel.basicAck(tag, false);
      } else {
        channel.basicNack(tag, false, true);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Message message(BasicProperties properties, byte[] body) {
    Message.Builder message =
        Message.builder(body)
            .messageId(properties.getMessageId())
            .contentType(properties.getContentType());
    if (properties.getHeaders() != null
        && properties.getHeaders().get("line") instanceof Long line) {
      message.header("line", line);
    }
    return message.build();
  }

  @Override
  public void close() {
    connection.abort();
  }
}
