package io.floatvalve.examples.lab.crash;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;
import java.util.Collection;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeoutException;

/** A queue of RabbitMQ. */
final class RabbitScene extends Scene {
  private final RabbitAtHand rabbit;
  private final String queue;

  private RabbitScene(RabbitAtHand rabbit, String queue, FaultProxy proxy) {
    super(
        Address.queue(queue),
        proxy,
        listener -> RabbitAtHand.messaging(rabbit.uriAt(proxy.host(), proxy.port()), listener));
    this.rabbit = rabbit;
    this.queue = queue;
  }

  static RabbitScene open(RabbitAtHand rabbit, String fault) throws IOException {
    String queue =
        "floatvalve.crash."
            + fault
            + "."
            + Integer.toHexString(ThreadLocalRandom.current().nextInt() & 0xFFFFFF);
    RabbitScene scene = new RabbitScene(rabbit, queue, FaultProxy.to(rabbit.host(), rabbit.port()));
    scene.declare();
    return scene;
  }

  private interface Work {
    void on(Channel channel) throws IOException;
  }

  private void plainly(Work work) throws IOException {
    try (Connection connection = rabbit.connection("floatvalve-crash");
        Channel channel = connection.createChannel()) {
      work.on(channel);
    } catch (TimeoutException e) {
      throw new IOException("closing a channel", e);
    }
  }

  /** Makes the queue; again, after it was deleted. */
  void declare() throws IOException {
    plainly(channel -> channel.queueDeclare(queue, true, false, false, null));
    keepsSinceNow();
  }

  void deleteQueue() throws IOException {
    plainly(channel -> channel.queueDelete(queue));
  }

  @Override
  Collection<String> takeIds() throws IOException {
    try (Queues reader = new Queues(rabbit, "floatvalve.crash")) {
      return reader.readAllIds(queue);
    }
  }

  @Override
  public void close() throws IOException {
    super.close();
    deleteQueue();
  }
}
