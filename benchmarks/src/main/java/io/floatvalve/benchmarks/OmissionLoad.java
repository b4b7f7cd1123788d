package io.floatvalve.benchmarks;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.Messaging;
import io.floatvalve.latency.LatencyRecorder;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.RabbitNode;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * Publishes by a plan while the way to the broker is stalled for a while, and compares what three
 * say of it: the publisher's own latencies, an observer who computes them afterwards from when each
 * message was due and when its outcome was there, and a recorder that counts from when the stalled
 * sender got round to sending.
 */
@CommandLine.Command(name = "omission-load", mixinStandardHelpOptions = true)
public final class OmissionLoad implements Callable<Integer> {
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double[] SHOWN = {50, 90, 95, 99, 99.9, 100};

  @Option(names = "--rate", defaultValue = "10000", description = "messages a second")
  private int rate;

  @Option(names = "--seconds", defaultValue = "20")
  private int seconds;

  @Option(names = "--stall", defaultValue = "1000", description = "milliseconds, in the middle")
  private int stall;

  @Option(names = "--window", defaultValue = "200", description = "messages in flight, at most")
  private int window;

  private int failed;

  /** Runs it. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new OmissionLoad()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    try (RabbitNode node = RabbitNode.start();
        FaultProxy proxy = FaultProxy.to("127.0.0.1", node.port())) {
      String queue = "omission";
      ConnectionFactory factory = new ConnectionFactory();
      factory.setUri(node.uri());
      try (Connection connection = factory.newConnection();
          Channel channel = connection.createChannel()) {
        channel.queueDeclare(queue, true, false, false, null);
        try (Messaging messaging =
                Messaging.over(RabbitBroker.connect("amqp://127.0.0.1:" + proxy.port()));
            Publisher publisher =
                messaging.publisher(
                    PublisherSettings.to(Address.queue(queue))
                        .withMaxInFlight(window)
                        .withMaxQueued(window))) {
          warmUp(publisher);
          run(publisher, proxy);
        }
      }
    }
    return failed == 0 ? 0 : 1;
  }

  private static void warmUp(Publisher publisher) {
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
    while (System.nanoTime() < until) {
      var unused = publisher.publish(Message.of(new byte[100]));
    }
    long unused = publisher.drain(Duration.ofSeconds(20));
  }

  private void run(Publisher publisher, FaultProxy proxy) throws InterruptedException {
    int messages = rate * seconds;
    long[] due = new long[messages];
    AtomicLongArray ended = new AtomicLongArray(messages);
    LatencyRecorder naive = new LatencyRecorder("naive");
    LatencySnapshot before = publisher.latency();
    long begin = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(100);
    long stallAt = begin + TimeUnit.SECONDS.toNanos(seconds) / 2;
    Thread staller =
        new Thread(
            () -> {
              waitUntil(stallAt);
              proxy.stall();
              waitUntil(stallAt + TimeUnit.MILLISECONDS.toNanos(stall));
              proxy.unstall();
            });
    staller.start();
    double period = 1e9 / rate;
    for (int i = 0; i < messages; i++) {
      int index = i;
      due[i] = begin + (long) (i * period);
      waitUntil(due[i]);
      var future = publisher.publish(Message.of(new byte[100]), due[i]);
      long sent = System.nanoTime(); // when the sender, held up itself, had got rid of it
      var unused =
          future.whenComplete(
              (outcome, error) -> {
                long now = System.nanoTime();
                ended.set(index, now);
                naive.record(now - sent);
              });
    }
    long left = publisher.drain(Duration.ofSeconds(60));
    staller.join();
    LatencySnapshot seen = publisher.latency().since(before);
    LatencySnapshot.Stage response = seen.stage("due-confirmed").orElseThrow();
    LatencySnapshot.Stage service = seen.stage("sent-confirmed").orElseThrow();
    LatencySnapshot.Stage closed =
        LatencyRecorder.snapshot(List.of(naive)).stage("naive").orElseThrow();
    long[] raw = new long[messages];
    for (int i = 0; i < messages; i++) {
      raw[i] = ended.get(i) - due[i];
    }
    Arrays.sort(raw);
    System.out.println("ms        observer  due-confirmed  naive   sent-confirmed");
    for (double p : SHOWN) {
      System.out.printf(
          Locale.ROOT,
          "p%-6s %11.2f %14.2f %6.2f %16.2f%n",
          p == 100 ? "max" : p,
          raw(raw, p) / NANOS_PER_MILLI,
          response.nanosAt(p) / NANOS_PER_MILLI,
          closed.nanosAt(p) / NANOS_PER_MILLI,
          service.nanosAt(p) / NANOS_PER_MILLI);
    }
    double truth = raw(raw, 99);
    double off = 100 * (response.nanosAt(99) - truth) / truth;
    check(
        left == 0 && response.count() == messages,
        "all %,d messages are confirmed and counted once: %,d",
        messages,
        response.count());
    check(Math.abs(off) <= 2, "p99 is within 2 %% of the observer's: %+.2f %%", off);
    check(
        truth > 10 * closed.nanosAt(99),
        "the naive recorder is off by more than 10 times: %.0f times",
        truth / closed.nanosAt(99));
  }

  private void check(boolean ok, String what, Object... figures) {
    failed += ok ? 0 : 1;
    System.out.println((ok ? "ok  " : "NO  ") + String.format(Locale.ROOT, what, figures));
  }

  private static double raw(long[] sorted, double percentile) {
    int rank = (int) Math.ceil(sorted.length * percentile / 100);
    return sorted[Math.max(0, rank - 1)];
  }

  private static void waitUntil(long nanos) {
    long left = nanos - System.nanoTime();
    while (left > 0) {
      LockSupport.parkNanos(left);
      left = nanos - System.nanoTime();
    }
  }
}
