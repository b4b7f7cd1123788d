package io.floatvalve.benchmarks;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.publish.WindowPolicy;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * Publishes through fixed windows and the adaptive one in turn, for each kind of queue, size of
 * message and round trip, and compares throughput, confirm latency and window; then shows the
 * adaptive window in motion: while the round trip, the size of messages or its neighbours change.
 */
@CommandLine.Command(name = "window-load", mixinStandardHelpOptions = true)
public final class WindowLoad implements Callable<Integer> {
  private static final int ADAPTIVE = 0;
  private static final long BIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  @Option(names = "--queues", split = ",", defaultValue = "classic,quorum")
  private String[] queues = {};

  @Option(names = "--sizes", split = ",", defaultValue = "100,16384", description = "bytes")
  private int[] sizes = {};

  @Option(names = "--rtts", split = ",", defaultValue = "0,20", description = "milliseconds")
  private int[] rtts = {};

  @Option(names = "--windows", split = ",", defaultValue = "50,100,1000,10000")
  private int[] windows = {};

  @Option(names = "--rounds", defaultValue = "5", description = "runs of each window, in turn")
  private int rounds;

  @Option(names = "--millis", defaultValue = "2000", description = "counted, a run")
  private int millis;

  @Option(names = "--warmup", defaultValue = "1000", description = "milliseconds before that")
  private int warmup;

  @Option(names = "--only", description = "table or motion")
  private @Nullable String only;

  private final RabbitNode node;
  private final FaultProxy proxy;
  private final Channel admin;

  /** What one run measured. */
  private record Run(double rate, double p50Millis, double window) {}

  private WindowLoad(RabbitNode node, FaultProxy proxy, Channel admin) {
    this.node = node;
    this.proxy = proxy;
    this.admin = admin;
  }

  /** Runs it. */
  public static void main(String[] args) throws Exception {
    int exit;
    try (RabbitNode node = RabbitNode.start();
        FaultProxy proxy = FaultProxy.to(node.host(), node.port());
        Connection connection = connect(node);
        Channel admin = connection.createChannel()) {
      System.out.println("RabbitMQ " + node.version() + ", a node of its own");
      exit = new CommandLine(new WindowLoad(node, proxy, admin)).execute(args);
    }
    System.exit(exit);
  }

  private static Connection connect(RabbitNode node) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(node.uri());
    return factory.newConnection();
  }

  @Override
  public Integer call() throws Exception {
    if (!"motion".equals(only)) {
      for (String queue : queues) {
        for (int size : sizes) {
          for (int rtt : rtts) {
            table(queue, size, rtt);
          }
        }
      }
    }
    if (!"table".equals(only)) {
      for (String queue : queues) {
        motion(queue);
      }
    }
    return 0;
  }

  // ----------------------------------------------------------------------------------- the table

  private void table(String type, int size, int rtt) throws Exception {
    Map<Integer, List<Run>> runs = new HashMap<>();
    int[] all = Arrays.copyOf(windows, windows.length + 1); // the last is ADAPTIVE
    for (int round = -1; round < rounds; round++) {
      for (int window : all) {
        Run run = run(type, size, rtt, window);
        if (round >= 0) {
          runs.computeIfAbsent(window, w -> new ArrayList<>()).add(run);
        }
      }
    }
    double best = 0;
    double p50Of50 = Double.NaN;
    for (int window : windows) {
      best = Math.max(best, Figures.median(runs.getOrDefault(window, List.of()), Run::rate));
      p50Of50 =
          window == 50
              ? Figures.median(runs.getOrDefault(window, List.of()), Run::p50Millis)
              : p50Of50;
    }
    System.out.printf(
        Locale.ROOT,
        "%n%s, %d B, RTT %d ms: x is throughput over the best fixed%n",
        type,
        size,
        rtt);
    for (int window : all) {
      List<Run> of = runs.getOrDefault(window, List.of());
      double[] rates = of.stream().mapToDouble(Run::rate).sorted().toArray();
      System.out.printf(
          Locale.ROOT,
          "  %-9s %8.0f msg/s [%.0f..%.0f]  x %.2f  p50 %7.1f ms  window %.0f%s%n",
          window == ADAPTIVE ? "adaptive" : "fixed " + window,
          Figures.median(of, Run::rate),
          rates[0],
          rates[rates.length - 1],
          Figures.median(of, Run::rate) / best,
          Figures.median(of, Run::p50Millis),
          Figures.median(of, Run::window),
          window == ADAPTIVE
              ? String.format(
                  Locale.ROOT,
                  "  (wanted: x 0.90, p50 at most %.1f)",
                  rtt == 0 ? 3 * p50Of50 : 2.5 * rtt)
              : "");
    }
  }

  private Run run(String type, int size, int rtt, int window) throws Exception {
    delay(rtt);
    try (Messaging messaging = messaging();
        Feed feed = new Feed(messaging, type, size, window)) {
      feed.watch(warmup);
      Mark from = feed.mark();
      List<Bin> bins = feed.watch(millis);
      return feed.since(from, bins);
    } finally {
      delay(0);
    }
  }

  private void delay(int rttMillis) {
    Duration half = Duration.ofNanos(rttMillis * 500_000L);
    proxy.delay(Direction.TO_BROKER, half).delay(Direction.FROM_BROKER, half);
  }

  private Messaging messaging() {
    String user = String.valueOf(URI.create(node.uri()).getUserInfo());
    return Messaging.over(
        RabbitBroker.connect("amqp://" + user + "@" + proxy.host() + ":" + proxy.port()));
  }

  // ---------------------------------------------------------------------------------- in motion

  private void motion(String type) throws Exception {
    System.out.printf(Locale.ROOT, "%nIn motion, %s; each 100 ms: thousand msg/s / window%n", type);
    try (Messaging messaging = messaging();
        Feed feed = new Feed(messaging, type, 100, ADAPTIVE)) {
      feed.watch(2_000);
      show("RTT 0", feed.watch(500));
      delay(20);
      show("RTT 20 ms", feed.watch(2_000));
      delay(0);
      show("RTT 0 again", feed.watch(2_000));
      feed.size(65_536);
      show("64 KiB", feed.watch(1_500));
      feed.size(100);
      show("100 B again", feed.watch(1_500));
      node.pause();
      List<Bin> frozen = feed.watch(300);
      node.resume();
      show("frozen 300 ms", frozen);
      show("after it", feed.watch(1_000));
      feed.perSecond(1_000);
      feed.watch(1_000);
      show("1,000 msg/s offered", feed.watch(1_000));
    } finally {
      delay(0);
    }
    together(type, ADAPTIVE);
    together(type, 1_000);
  }

  private static void show(String what, List<Bin> bins) {
    StringBuilder line = new StringBuilder();
    for (Bin bin : bins) {
      line.append(String.format(Locale.ROOT, " %.1f/%d", bin.rate / 1e3, bin.window));
    }
    System.out.printf(Locale.ROOT, "  %-20s%s%n", what, line);
  }

  /** An adaptive window and another one, each on a queue of its own of one broker. */
  private void together(String type, int other) throws Exception {
    try (Messaging messaging = messaging();
        Messaging others = messaging();
        Feed beside = new Feed(others, type, 100, other);
        Feed feed = new Feed(messaging, type, 100, ADAPTIVE)) {
      feed.watch(2_000);
      Mark from = feed.mark();
      Mark fromBeside = beside.mark();
      List<Bin> bins = feed.watch(4_000);
      Run ours = feed.since(from, bins);
      Run theirs = beside.since(fromBeside, bins);
      System.out.printf(
          Locale.ROOT,
          "  adaptive beside %s: %.0f msg/s (p50 %.1f ms, window %.0f) and %.0f msg/s (p50 %.1f ms)%n",
          other == ADAPTIVE ? "adaptive" : "fixed " + other,
          ours.rate,
          ours.p50Millis,
          ours.window,
          theirs.rate,
          theirs.p50Millis);
    }
  }

  // -------------------------------------------------------------------------------------- a feed

  private record Mark(long nanos, long confirmed, Histogram latency) {}

  private record Bin(double rate, int window) {}

  /** A publisher with a queue of its own and a thread that never lets it wait for messages. */
  private final class Feed implements AutoCloseable {
    private final String queue;
    private final Publisher publisher;
    private volatile byte[] payload;
    private volatile long everyNanos;
    private volatile boolean closed;

    Feed(Messaging messaging, String type, int size, int window) throws Exception {
      queue = "window-" + type + "-" + System.nanoTime();
      admin.queueDeclare(queue, true, false, false, Map.of("x-queue-type", type));
      payload = new byte[size];
      publisher =
          messaging.publisher(
              PublisherSettings.to(Address.queue(queue))
                  .withWindow(
                      window == ADAPTIVE ? WindowPolicy.adaptive() : WindowPolicy.fixed(window))
                  .withMaxInFlightBytes(1L << 30)
                  .withMaxBlock(Duration.ofSeconds(60))
                  .withMaxWait(Duration.ofSeconds(60))
                  .withConfirmTimeout(Duration.ofSeconds(60))
                  .withCloseTimeout(Duration.ofSeconds(20)));
      Thread thread = new Thread(this::feed, queue);
      thread.setDaemon(true);
      thread.start();
    }

    private void feed() {
      long next = System.nanoTime();
      while (!closed) {
        CompletableFuture<PublishOutcome> unused = publisher.publish(Message.of(payload));
        if (everyNanos > 0) {
          next = Math.max(next, System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(10)) + everyNanos;
          LockSupport.parkNanos(next - System.nanoTime());
        }
      }
    }

    void size(int bytes) {
      payload = new byte[bytes];
    }

    void perSecond(int messages) {
      everyNanos = TimeUnit.SECONDS.toNanos(1) / messages;
    }

    private long confirmed() {
      PublisherStatus status = publisher.status();
      Map<PublishOutcome.Verdict, Long> ends = status.outcomes();
      long sum = ends.values().stream().mapToLong(n -> n).sum();
      long confirmed = ends.getOrDefault(PublishOutcome.Verdict.CONFIRMED, 0L);
      if (sum != confirmed) {
        throw new IllegalStateException("not all confirmed: " + status);
      }
      return confirmed;
    }

    Mark mark() {
      return new Mark(System.nanoTime(), confirmed(), latency());
    }

    private Histogram latency() {
      return publisher
          .latency()
          .stage("sent-confirmed")
          .map(stage -> stage.histogram().copy())
          .orElseGet(() -> new Histogram(3));
    }

    /** Looks on for a time. */
    List<Bin> watch(int millis) {
      List<Bin> bins = new ArrayList<>();
      long at = System.nanoTime();
      long end = at + TimeUnit.MILLISECONDS.toNanos(millis);
      long confirmed = confirmed();
      while (at < end) {
        long next = at + BIN_NANOS;
        while (System.nanoTime() < next) {
          LockSupport.parkNanos(next - System.nanoTime());
        }
        long now = System.nanoTime();
        long more = confirmed();
        bins.add(new Bin((more - confirmed) * 1e9 / (now - at), publisher.status().window()));
        confirmed = more;
        at = now;
      }
      return bins;
    }

    Run since(Mark from, List<Bin> bins) {
      Mark to = mark();
      Histogram latency = to.latency;
      latency.subtract(from.latency);
      int[] seen = bins.stream().mapToInt(Bin::window).sorted().toArray();
      return new Run(
          (to.confirmed - from.confirmed) * 1e9 / (to.nanos - from.nanos),
          latency.getValueAtPercentile(50) / 1e6,
          seen[seen.length / 2]);
    }

    @Override
    public void close() throws IOException {
      closed = true;
      delay(0);
      publisher.close(); // a feed that waits for room ends with it
      admin.queueDelete(queue);
    }
  }
}
