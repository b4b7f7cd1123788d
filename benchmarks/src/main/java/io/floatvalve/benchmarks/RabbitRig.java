package io.floatvalve.benchmarks;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.MessageProperties;
import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.testkit.RabbitNode;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A private RabbitMQ node and clients of both sides, and another one that feeds. */
final class RabbitRig implements AutoCloseable {
  /** How the plain client is used where nothing else is said: as Spring's containers do. */
  static final PlainRabbit.Way USUAL = new PlainRabbit.Way(250, 1, true);

  private static final int UNCONFIRMED_BYTES = 8 << 20;
  private static final int MOST_UNCONFIRMED = 1_000;
  private static final long QUIET_LIMIT_NANOS = TimeUnit.SECONDS.toNanos(3);
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  final RabbitNode node;
  private final Connection feeder;
  private final Channel admin;
  private final Connection plain;
  private final Messaging messaging;
  private int queues;

  RabbitRig() throws Exception {
    node = RabbitNode.start();
    feeder = connection(node.uri());
    admin = feeder.createChannel();
    plain = connection(node.uri());
    messaging = Messaging.over(RabbitBroker.connect(node.uri()));
  }

  private static Connection connection(String uri) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(uri);
    factory.setAutomaticRecoveryEnabled(false);
    return factory.newConnection();
  }

  Contestant plain(Contestant.Plan plan, PlainRabbit.Way way) throws Exception {
    return new PlainRabbit(plain, plan, way);
  }

  Contestant ours(Contestant.Plan plan) {
    return ours(messaging, plan);
  }

  private static Contestant ours(Messaging messaging, Contestant.Plan plan) {
    var source =
        ConsumerSettings.from(Address.queue(plan.topic()))
            .withNative(RabbitBroker.ConsumeSettings.defaults().withRetryQueues(false));
    return new FloatvalveContestant(messaging, source, plan);
  }

  /** Opens one with a connection of its own, which stays open. */
  static Contestant open(String uri, Contestant.Side side, Contestant.Plan plan) throws Exception {
    return switch (side) {
      case PLAIN -> new PlainRabbit(connection(uri), plan, USUAL);
      case FLOATVALVE -> ours(Messaging.over(RabbitBroker.connect(uri)), plan);
    };
  }

  /**
   * Makes a queue in which messages wait, and waits until the broker has nothing else to do.
   *
   * @param type classic or quorum
   */
  String backlog(String type, int count, int size) throws Exception {
    String queue = "load-" + ++queues;
    admin.queueDeclare(queue, true, false, false, Map.of("x-queue-type", type));
    byte[] body = new byte[size];
    int unconfirmed = Math.max(1, Math.min(MOST_UNCONFIRMED, UNCONFIRMED_BYTES / size));
    Channel channel = feeder.createChannel();
    channel.confirmSelect();
    for (int i = 1; i <= count; i++) {
      channel.basicPublish("", queue, MessageProperties.MINIMAL_PERSISTENT_BASIC, body);
      if (i % unconfirmed == 0 || i == count) {
        channel.waitForConfirmsOrDie(60_000);
      }
    }
    channel.close();
    settle();
    return queue;
  }

  /** Waits until the broker uses less than a fifth of a core; not for ever. */
  private void settle() {
    long end = System.nanoTime() + QUIET_LIMIT_NANOS;
    long spent = LOOK_NANOS;
    while (spent > LOOK_NANOS / 5 && System.nanoTime() < end) {
      long before = cpuNanos();
      long until = System.nanoTime() + LOOK_NANOS;
      while (System.nanoTime() < until) {
        LockSupport.parkNanos(until - System.nanoTime());
      }
      spent = cpuNanos() - before;
    }
  }

  /** Returns the CPU time of the broker's process so far; it is told in steps of 10 ms. */
  long cpuNanos() {
    return ProcessHandle.of(node.pids().get(0))
        .flatMap(process -> process.info().totalCpuDuration())
        .orElseThrow(() -> new IllegalStateException("the broker's CPU time is not told"))
        .toNanos();
  }

  void delete(String queue) throws Exception {
    admin.queueDelete(queue);
  }

  @Override
  public void close() {
    try {
      messaging.close();
      plain.abort();
      feeder.abort();
    } finally {
      node.close();
    }
  }
}
