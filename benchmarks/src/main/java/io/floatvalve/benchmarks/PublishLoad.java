package io.floatvalve.benchmarks;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * Publishes the same load by a hand-written windowed loop over amqp-client and by Floatvalve, in
 * turn, in one process, and prints each figure as a ratio pair by pair.
 *
 * <p>The loop has what Floatvalve has: a ring by delivery tag, mandatory, a correlation header and
 * a future for each message, {@code Confirm.Select} sent raw. The control runs the loop against
 * itself: its spread is the noise of the machine.
 */
@CommandLine.Command(name = "publish-load", mixinStandardHelpOptions = true)
public final class PublishLoad implements Callable<Integer> {
  @Option(names = "--uri", description = "an existing broker; else a node of its own is started")
  private @Nullable String uri;

  @Option(names = "--messages", defaultValue = "100000", description = "messages a run")
  private int messages;

  @Option(names = "--pairs", defaultValue = "9", description = "counted pairs")
  private int pairs;

  @Option(names = "--warmup", defaultValue = "2", description = "pairs not counted, first")
  private int warmup;

  @Option(names = "--size", defaultValue = "100", description = "bytes a message")
  private int size;

  @Option(names = "--windows", split = ",", defaultValue = "100,1000")
  private int[] windows = {};

  @Option(names = "--queues", split = ",", defaultValue = "classic,quorum")
  private String[] queues = {};

  /** Runs it. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new PublishLoad()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    String given = uri;
    if (given != null) {
      measure(given);
      return 0;
    }
    try (RabbitNode node = RabbitNode.start()) {
      System.out.println("RabbitMQ " + node.version() + ", a node of its own");
      measure(node.uri());
    }
    return 0;
  }

  private void measure(String broker) throws Exception {
    System.out.println(
        "queue    window   what              hand-written      floatvalve     ratio: median [min..max]");
    for (String queue : queues) {
      for (int window : windows) {
        measure(broker, queue, window);
      }
    }
  }

  private void measure(String broker, String type, int window) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(broker);
    String queue = "load-" + type;
    try (Connection connection = factory.newConnection();
        Channel admin = connection.createChannel();
        HandWritten loop = new HandWritten(connection, queue, window, size);
        Messaging messaging = Messaging.over(RabbitBroker.connect(broker))) {
      Publisher publisher =
          messaging.publisher(
              PublisherSettings.to(Address.queue(queue))
                  .withMaxInFlight(window)
                  .withConfirmTimeout(Duration.ofMinutes(1)));
      byte[] payload = new byte[size];
      PublishRun.Load ours =
          count -> {
            for (int i = 0; i < count; i++) {
              CompletableFuture<PublishOutcome> unused = publisher.publish(Message.of(payload));
            }
            if (publisher.drain(Duration.ofMinutes(1)) != 0) {
              throw new IllegalStateException("not drained: " + publisher.status());
            }
          };
      List<PublishRun> control = new ArrayList<>();
      List<PublishRun> hand = new ArrayList<>();
      List<PublishRun> sdk = new ArrayList<>();
      for (int i = -warmup; i < pairs; i++) {
        PublishRun a = run(admin, queue, type, loop);
        PublishRun b = run(admin, queue, type, ours);
        PublishRun c = run(admin, queue, type, loop);
        if (i >= 0) {
          hand.add(a);
          sdk.add(b);
          control.add(c);
        }
      }
      long confirmed =
          publisher.status().outcomes().getOrDefault(PublishOutcome.Verdict.CONFIRMED, 0L);
      if (confirmed != (long) (pairs + warmup) * messages) {
        throw new IllegalStateException("not all confirmed: " + publisher.status());
      }
      row(type, window, "msg/s", hand, sdk, PublishRun::rate);
      row(type, window, "CPU us/msg", hand, sdk, PublishRun::cpuMicros);
      row(type, window, "B/msg", hand, sdk, PublishRun::allocated);
      row(type, window, "A/A msg/s", hand, control, PublishRun::rate);
      row(type, window, "A/A CPU us/msg", hand, control, PublishRun::cpuMicros);
      admin.queueDelete(queue);
    }
  }

  private static void row(
      String type,
      int window,
      String what,
      List<PublishRun> a,
      List<PublishRun> b,
      ToDoubleFunction<PublishRun> figure) {
    PublishRun.row(
        String.format(Locale.ROOT, "%-8s %6d   %-15s", type, window, what), a, b, figure);
  }

  private PublishRun run(Channel admin, String queue, String type, PublishRun.Load load)
      throws Exception {
    admin.queueDelete(queue);
    admin.queueDeclare(queue, true, false, false, Map.of("x-queue-type", type));
    return PublishRun.of(load, messages);
  }

  /** The loop that a careful programmer writes over amqp-client. */
  private static final class HandWritten implements PublishRun.Load, AutoCloseable {
    private final Channel channel;
    private final String queue;
    private final int window;
    private final byte[] payload;
    private final Semaphore slots;
    private final @Nullable CompletableFuture<Boolean>[] ring;
    private final int mask;
    private final Object lock = new Object();
    private long oldest = 1; // guarded by lock
    private long next = 1; // guarded by lock

    @SuppressWarnings({"unchecked", "rawtypes"}) // an array of a generic type
    HandWritten(Connection connection, String queue, int window, int size) throws Exception {
      this.channel = connection.createChannel();
      this.queue = queue;
      this.window = window;
      this.payload = new byte[size];
      this.slots = new Semaphore(window);
      int length = Integer.highestOneBit(4 * window * 2 - 1);
      this.ring = new CompletableFuture[length];
      this.mask = length - 1;
      channel.rpc(new AMQP.Confirm.Select.Builder().build());
      channel.addConfirmListener(
          (tag, multiple) -> settle(tag, multiple, true),
          (tag, multiple) -> settle(tag, multiple, false));
    }

    private void settle(long tag, boolean multiple, boolean confirmed) {
      int settled = 0;
      synchronized (lock) {
        for (long s = multiple ? oldest : tag; s <= tag; s++) {
          CompletableFuture<Boolean> future = ring[(int) s & mask];
          if (future != null) {
            ring[(int) s & mask] = null;
            settled++;
            future.complete(confirmed);
          }
        }
        while (oldest < next && ring[(int) oldest & mask] == null) {
          oldest++;
        }
      }
      slots.release(settled);
    }

    @Override
    public void publish(int count) throws Exception {
      for (int i = 0; i < count; i++) {
        slots.acquire();
        CompletableFuture<Boolean> future = new CompletableFuture<>();
        long sequence;
        synchronized (lock) {
          sequence = next++;
          ring[(int) sequence & mask] = future;
        }
        AMQP.BasicProperties properties =
            new AMQP.BasicProperties.Builder()
                .deliveryMode(2)
                .headers(Map.of("x-sequence", sequence))
                .build();
        channel.basicPublish("", queue, true, properties, payload);
      }
      if (!slots.tryAcquire(window, 1, TimeUnit.MINUTES)) {
        throw new IllegalStateException("not confirmed");
      }
      slots.release(window);
    }

    @Override
    public void close() throws IOException {
      channel.abort();
    }
  }
}
