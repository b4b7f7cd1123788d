package io.floatvalve.examples.lab.crash;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeoutException;

/** A queue, and a publisher to it through a proxy, for one fault. */
final class Scene implements AutoCloseable {
  static final Duration CONFIRM_TIMEOUT = Duration.ofSeconds(2);
  static final Duration MAX_WAIT = Duration.ofSeconds(4);
  static final Duration MAX_BLOCK = Duration.ofSeconds(2);

  private final RabbitAtHand rabbit;
  private final String queue;
  private final FaultProxy proxy;
  private final Messaging messaging;
  private final List<Event> events = new CopyOnWriteArrayList<>();
  private long keptSinceNanos;

  Scene(RabbitAtHand rabbit, String fault) throws IOException {
    this.rabbit = rabbit;
    queue =
        "floatvalve.crash."
            + fault
            + "."
            + Integer.toHexString(ThreadLocalRandom.current().nextInt() & 0xFFFFFF);
    declare();
    proxy = FaultProxy.to(rabbit.host(), rabbit.port());
    messaging = RabbitAtHand.messaging(rabbit.uriAt(proxy.host(), proxy.port()), events::add);
  }

  FaultProxy proxy() {
    return proxy;
  }

  List<Event> events() {
    return events;
  }

  /** Returns settings under which every message has its outcome after some seconds. */
  PublisherSettings settings() {
    return PublisherSettings.to(Address.queue(queue))
        .withConfirmTimeout(CONFIRM_TIMEOUT)
        .withMaxWait(MAX_WAIT)
        .withMaxBlock(MAX_BLOCK);
  }

  Publisher publisher(PublisherSettings settings) {
    return messaging.publisher(settings);
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
    keptSinceNanos = System.nanoTime();
  }

  /** Returns since when the queue has kept what came to it, by {@link System#nanoTime}. */
  long keptSinceNanos() {
    return keptSinceNanos;
  }

  void deleteQueue() throws IOException {
    plainly(channel -> channel.queueDelete(queue));
  }

  /** Returns the ids of all messages in the queue, and takes them out. */
  Collection<String> takeIds() throws IOException {
    try (Queues reader = new Queues(rabbit, "floatvalve.crash")) {
      return reader.readAllIds(queue);
    }
  }

  @Override
  public void close() throws IOException {
    proxy.unstall();
    messaging.close();
    proxy.close();
    deleteQueue();
  }
}
