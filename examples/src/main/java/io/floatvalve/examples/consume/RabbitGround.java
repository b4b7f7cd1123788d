package io.floatvalve.examples.consume;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.GetResponse;
import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.rabbit.RabbitBroker;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A queue of a RabbitMQ. */
final class RabbitGround implements Ground {
  /** Our header for a message's ordering key. */
  private static final String KEY = "x-floatvalve-key";

  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(8);

  private final RabbitAtHand rabbit;
  private final @Nullable Queues own;
  private final String queue;

  /**
   * Takes a broker, and closes it in the end.
   *
   * @param from the queue, or null for one that is there for the run alone
   */
  RabbitGround(RabbitAtHand rabbit, @Nullable Address from) throws IOException {
    this.rabbit = rabbit;
    if (from == null) {
      own = new Queues(rabbit, "floatvalve.consume");
      queue = own.classic("fed");
    } else {
      own = null;
      queue = from.name();
    }
  }

  @Override
  public void describeTo(Findings findings) {
    rabbit.describeTo(findings);
  }

  @Override
  public String name() {
    return queue;
  }

  @Override
  public ConsumerSettings at(ConsumerSettings checked) {
    return ConsumerSettings.from(Address.queue(queue))
        .withWorkers(checked.workers())
        .withOrdering(checked.ordering())
        .withPermits(checked.permits())
        .withCloseTimeout(checked.closeTimeout())
        .withNative(RabbitBroker.ConsumeSettings.defaults().withRetryQueues(false)); // none needed
  }

  @Override
  public Messaging messaging(Consumer<Event> listener) {
    return rabbit.messaging(listener);
  }

  @Override
  public Spout spout(boolean byKey) throws IOException {
    return new ChannelSpout(rabbit.connection("floatvalve feeder"), queue);
  }

  /** A channel with confirms. */
  private static final class ChannelSpout implements Spout {
    private final Connection connection;
    private final Channel channel;
    private final String queue;
    private final ConcurrentSkipListMap<Long, Consumer<@Nullable String>> open =
        new ConcurrentSkipListMap<>();

    ChannelSpout(Connection connection, String queue) throws IOException {
      this.connection = connection;
      this.channel = connection.createChannel();
      this.queue = queue;
      channel.confirmSelect();
      channel.addConfirmListener(
          (tag, multiple) -> answered(tag, multiple, null),
          (tag, multiple) -> answered(tag, multiple, "refused by the broker"));
      channel.addShutdownListener(
          signal -> answered(Long.MAX_VALUE, true, String.valueOf(signal.getMessage())));
    }

    private void answered(long tag, boolean multiple, @Nullable String failure) {
      if (multiple) {
        for (Long each : open.headMap(tag, true).keySet()) {
          answered(each, false, failure);
        }
        return;
      }
      Consumer<@Nullable String> answered = open.remove(tag);
      if (answered != null) {
        answered.accept(failure);
      }
    }

    @Override
    public void send(
        String key,
        Map<String, String> headers,
        byte[] payload,
        Consumer<@Nullable String> answered)
        throws IOException {
      Map<String, Object> all = new LinkedHashMap<>(headers);
      all.put(KEY, key);
      BasicProperties properties =
          new BasicProperties.Builder().headers(all).deliveryMode(2).build();
      long tag = channel.getNextPublishSeqNo();
      open.put(tag, answered);
      try {
        channel.basicPublish("", queue, properties, payload);
      } catch (IOException | RuntimeException e) {
        answered(tag, false, String.valueOf(e.getMessage()));
      }
    }

    @Override
    public void close() {
      connection.abort();
    }
  }

  /** A plain channel gets them all and acknowledges none. */
  @Override
  public void remains(String run, Account account) throws IOException {
    long deadline = System.nanoTime() + LIMIT_NANOS;
    try (Connection connection = rabbit.connection("floatvalve remains")) {
      Channel channel = connection.createChannel();
      GetResponse next = channel.basicGet(queue, false);
      while (next != null && System.nanoTime() < deadline) {
        Map<String, Object> headers = next.getProps().getHeaders();
        int number = headers == null ? -1 : Feeder.number(run, headers);
        if (number >= 0) {
          account.left(number);
        }
        next = channel.basicGet(queue, false);
      }
    }
  }

  @Override
  public String leaves() {
    return "";
  }

  @Override
  public void close() throws IOException {
    try (rabbit) {
      if (own != null) {
        own.close();
      }
    }
  }
}
