package io.floatvalve.benchmarks;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.MessageProperties;
import com.sun.management.OperatingSystemMXBean;
import io.floatvalve.Messaging;
import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.testkit.RabbitNode;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * Callers that each publish a message and wait for its confirm before the next: over a channel
 * each, as the plain client has it, and through one publisher of Floatvalve, in turn, in one
 * process. The control runs the plain side against itself: its spread is the noise of the machine.
 */
@CommandLine.Command(name = "waiting-callers", mixinStandardHelpOptions = true)
public final class WaitingCallers implements Callable<Integer> {
  private static final long CONFIRM_MILLIS = 30_000;

  @Option(names = "--queues", split = ",", defaultValue = "classic,quorum")
  private String[] queues = {};

  @Option(names = "--threads", split = ",", defaultValue = "1,4,16,64")
  private int[] threads = {};

  @Option(names = "--pairs", defaultValue = "9", description = "counted pairs")
  private int pairs;

  @Option(names = "--warmup", defaultValue = "2", description = "pairs not counted, first")
  private int warmup;

  @Option(names = "--millis", defaultValue = "1000", description = "a run")
  private int millis;

  @Option(names = "--size", defaultValue = "100", description = "bytes a message")
  private int size;

  /** What one run measured; the latency is from the call to its return. */
  private record Run(double rate, double p50Micros, double cpuMicros) {}

  /** Publishes one message and waits for its confirm. */
  private interface Caller {
    void call() throws Exception;
  }

  /** Runs it. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new WaitingCallers()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    try (RabbitNode node = RabbitNode.start()) {
      System.out.println("RabbitMQ " + node.version() + ", a node of its own");
      Figures.heading();
      for (String type : queues) {
        for (int callers : threads) {
          measure(node, type, callers);
        }
      }
    }
    return 0;
  }

  private void measure(RabbitNode node, String type, int callers) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(node.uri());
    String queue = "callers-" + type;
    Figures figures = new Figures(type + ", " + callers + (callers == 1 ? " caller" : " callers"));
    ExecutorService pool = Executors.newFixedThreadPool(callers);
    try (Connection connection = factory.newConnection();
        Channel admin = connection.createChannel();
        Messaging messaging = Messaging.over(RabbitBroker.connect(node.uri()))) {
      Publisher publisher = messaging.publisher(PublisherSettings.to(Address.queue(queue)));
      byte[] payload = new byte[size];
      List<Caller> plain = new ArrayList<>();
      List<Caller> ours = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        Channel channel = connection.createChannel();
        channel.confirmSelect();
        plain.add(
            () -> {
              channel.basicPublish("", queue, true, MessageProperties.PERSISTENT_BASIC, payload);
              if (!channel.waitForConfirms(CONFIRM_MILLIS)) {
                throw new IllegalStateException("nacked");
              }
            });
        ours.add(
            () -> {
              PublishOutcome outcome = publisher.publish(Message.of(payload)).join();
              if (outcome.verdict() != PublishOutcome.Verdict.CONFIRMED) {
                throw new IllegalStateException("not confirmed: " + outcome);
              }
            });
      }
      for (int i = -warmup; i < pairs; i++) {
        // Each second round goes the other way round: whatever drifts meets both alike.
        boolean turned = (i & 1) != 0;
        Run a = run(pool, admin, queue, type, turned ? ours : plain);
        Run b = run(pool, admin, queue, type, turned ? plain : ours);
        Run control = run(pool, admin, queue, type, plain);
        if (i >= 0) {
          add(figures, Side.PLAIN, turned ? b : a);
          add(figures, Side.FLOATVALVE, turned ? a : b);
          figures.addControl("msg/s", control.rate);
          figures.addControl("CPU us/msg", control.cpuMicros);
        }
      }
      figures.print();
      admin.queueDelete(queue);
    } finally {
      pool.shutdownNow();
    }
  }

  private static void add(Figures figures, Side side, Run run) {
    figures.add("msg/s", side, run.rate);
    figures.add("p50 us", side, run.p50Micros);
    figures.add("CPU us/msg", side, run.cpuMicros);
  }

  private Run run(
      ExecutorService pool, Channel admin, String queue, String type, List<Caller> callers)
      throws Exception {
    admin.queueDelete(queue);
    admin.queueDeclare(queue, true, false, false, Map.of("x-queue-type", type));
    System.gc();
    var os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long cpu = os.getProcessCpuTime();
    long start = System.nanoTime();
    long end = start + TimeUnit.MILLISECONDS.toNanos(millis);
    List<Future<Histogram>> running = new ArrayList<>();
    for (Caller caller : callers) {
      running.add(pool.submit(() -> untilThen(end, caller)));
    }
    @Nullable Histogram all = null;
    for (Future<Histogram> each : running) {
      if (all == null) {
        all = each.get();
      } else {
        all.add(each.get());
      }
    }
    double nanos = System.nanoTime() - start;
    if (all == null) {
      throw new IllegalArgumentException("no callers");
    }
    return new Run(
        all.getTotalCount() / (nanos / 1e9),
        all.getValueAtPercentile(50) / 1e3,
        (os.getProcessCpuTime() - cpu) / 1e3 / all.getTotalCount());
  }

  private static Histogram untilThen(long end, Caller caller) throws Exception {
    Histogram latency = new Histogram(3);
    long from = System.nanoTime();
    while (from - end < 0) {
      caller.call();
      long to = System.nanoTime();
      latency.recordValue(to - from);
      from = to;
    }
    return latency;
  }
}
