package io.floatvalve.benchmarks;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus.State;
import io.floatvalve.publish.WindowPolicy;
import io.floatvalve.pulsar.PulsarBroker;
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
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * Publishes to Pulsar by the plain producer with at most 1,000 pending messages and by Floatvalve,
 * in turn, in one process, and prints each figure as a ratio pair by pair; then publishes through
 * fixed windows and the adaptive one in turn.
 *
 * <p>The control runs the plain producer against itself: its spread is the noise of the machine.
 */
@CommandLine.Command(name = "pulsar-publish-load", mixinStandardHelpOptions = true)
public final class PulsarPublishLoad implements Callable<Integer> {
  private static final int PENDING = 1_000;
  private static final int ADAPTIVE = 0;
  private static final double REACHED = 0.95;

  @Option(names = "--cases", split = ",", defaultValue = "batched,single")
  private String[] cases = {};

  @Option(names = "--only", description = "pairs or windows")
  private @Nullable String only;

  @Option(names = "--pairs", defaultValue = "9", description = "counted pairs")
  private int pairs;

  @Option(names = "--warmup", defaultValue = "3", description = "pairs not counted, first")
  private int warmup;

  @Option(names = "--ours", split = ",", defaultValue = "1000,0", description = "0 is adaptive")
  private int[] ours = {};

  @Option(names = "--share", defaultValue = "1", description = "of the usual number of messages")
  private double share;

  @Option(names = "--windows", split = ",", defaultValue = "100,300,1000,3000,10000")
  private int[] windows = {};

  @Option(names = "--rtts", split = ",", defaultValue = "0,20", description = "milliseconds")
  private int[] rtts = {};

  @Option(names = "--rounds", defaultValue = "5", description = "runs of each window, in turn")
  private int rounds;

  @Option(names = "--millis", defaultValue = "1500", description = "counted, a run of a window")
  private int millis;

  /** What one run of a window measured. */
  private record Seen(double rate, double p50Millis, int window) {}

  /** Runs it. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new PulsarPublishLoad()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    try (PulsarRig rig = new PulsarRig()) {
      System.out.println("Pulsar, a broker of its own");
      for (String name : cases) {
        boolean batched = name.equals("batched");
        if (!"windows".equals(only)) {
          for (int window : ours) {
            pairs(rig, batched, window);
          }
        }
        if (!"pairs".equals(only)) {
          for (int rtt : rtts) {
            table(rig, batched, rtt);
          }
        }
      }
    }
    return 0;
  }

  private static int size(boolean batched) {
    return batched ? 100 : 1_000;
  }

  private static String named(boolean batched) {
    return batched ? "100 B batched" : "1 KB single";
  }

  private static String named(int window) {
    return window == ADAPTIVE ? "adaptive" : "fixed " + window;
  }

  private static Publisher publisher(
      Messaging messaging, String topic, boolean batched, int window) {
    return messaging.publisher(
        PublisherSettings.to(Address.topic(topic))
            .withWindow(window == ADAPTIVE ? WindowPolicy.adaptive() : WindowPolicy.fixed(window))
            .withMaxBlock(Duration.ofMinutes(1))
            .withMaxWait(Duration.ofMinutes(1))
            .withConfirmTimeout(Duration.ofMinutes(1))
            .withCloseTimeout(Duration.ofMinutes(1))
            .withNative(PulsarBroker.PublishSettings.defaults().withBatching(batched)));
  }

  // ----------------------------------------------------------------------------------- the pairs

  private void pairs(PulsarRig rig, boolean batched, int window) throws Exception {
    int count = (int) (share * (batched ? 400_000 : 40_000));
    byte[] payload = new byte[size(batched)];
    String topic = rig.topic(1);
    List<PublishRun> plain = new ArrayList<>();
    List<PublishRun> sdk = new ArrayList<>();
    List<PublishRun> control = new ArrayList<>();
    try (Producer<byte[]> producer = plain(rig, topic, batched);
        Publisher publisher = publisher(rig.messaging(), topic, batched, window)) {
      PublishRun.Load theirs = messages -> publish(producer, payload, messages);
      PublishRun.Load mine = messages -> publish(publisher, payload, messages);
      for (int i = -warmup; i < pairs; i++) {
        // Each second round goes the other way round: whatever drifts meets both alike.
        boolean turned = (i & 1) != 0;
        PublishRun a = PublishRun.of(turned ? mine : theirs, count);
        PublishRun b = PublishRun.of(turned ? theirs : mine, count);
        PublishRun c = PublishRun.of(theirs, count);
        if (i >= 0) {
          plain.add(turned ? b : a);
          sdk.add(turned ? a : b);
          control.add(c);
        }
      }
      long confirmed = publisher.status().outcomes().getOrDefault(Verdict.CONFIRMED, 0L);
      if (confirmed != (long) (pairs + warmup) * count) {
        throw new IllegalStateException("not all confirmed: " + publisher.status());
      }
    }
    System.out.printf(
        Locale.ROOT,
        "%n%s, ours %s:         plain      floatvalve     ratio: median [min..max]%n",
        named(batched),
        named(window));
    row("msg/s", plain, sdk, PublishRun::rate);
    row("CPU us/msg", plain, sdk, PublishRun::cpuMicros);
    row("B/msg", plain, sdk, PublishRun::allocated);
    row("A/A msg/s", plain, control, PublishRun::rate);
    row("A/A CPU us/msg", plain, control, PublishRun::cpuMicros);
    row("A/A B/msg", plain, control, PublishRun::allocated);
    rig.delete(topic);
  }

  private static Producer<byte[]> plain(PulsarRig rig, String topic, boolean batched)
      throws PulsarClientException {
    return rig.plain()
        .newProducer()
        .topic(topic)
        .enableBatching(batched)
        .maxPendingMessages(PENDING)
        .blockIfQueueFull(true)
        .sendTimeout(0, TimeUnit.SECONDS)
        .create();
  }

  private static void publish(Producer<byte[]> producer, byte[] payload, int count)
      throws Exception {
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    CompletableFuture<MessageId> last = CompletableFuture.completedFuture(null);
    for (int i = 0; i < count; i++) {
      last = producer.newMessage().value(payload).sendAsync();
      var unused =
          last.whenComplete(
              (id, thrown) -> {
                if (thrown != null) {
                  failure.set(thrown);
                }
              });
    }
    last.get(1, TimeUnit.MINUTES);
    Throwable thrown = failure.get();
    if (thrown != null) {
      throw new IllegalStateException("the plain producer", thrown);
    }
  }

  private static void publish(Publisher publisher, byte[] payload, int count) {
    for (int i = 0; i < count; i++) {
      CompletableFuture<PublishOutcome> unused = publisher.publish(Message.of(payload));
    }
    if (publisher.drain(Duration.ofMinutes(1)) != 0) {
      throw new IllegalStateException("not drained: " + publisher.status());
    }
  }

  private static void row(
      String what, List<PublishRun> a, List<PublishRun> b, ToDoubleFunction<PublishRun> figure) {
    PublishRun.row(String.format(Locale.ROOT, "  %-16s", what), a, b, figure);
  }

  // ----------------------------------------------------------------------------------- the table

  private void table(PulsarRig rig, boolean batched, int rtt) throws Exception {
    rig.roundTrip(Duration.ofMillis(rtt));
    Map<Integer, List<Seen>> runs = new HashMap<>();
    int[] all = Arrays.copyOf(windows, windows.length + 1); // the last is ADAPTIVE
    for (int round = -1; round < rounds; round++) {
      for (int window : all) {
        Seen seen = watched(rig, batched, rtt, window);
        if (round >= 0) {
          runs.computeIfAbsent(window, w -> new ArrayList<>()).add(seen);
        }
      }
    }
    double best = 0;
    for (int window : windows) {
      best = Math.max(best, Figures.median(runs.getOrDefault(window, List.of()), Seen::rate));
    }
    double wanted = Double.NaN;
    for (int window : windows) {
      List<Seen> of = runs.getOrDefault(window, List.of());
      if (Double.isNaN(wanted) && Figures.median(of, Seen::rate) >= REACHED * best) {
        wanted = 2 * Figures.median(of, Seen::p50Millis);
      }
    }
    System.out.printf(
        Locale.ROOT, "%n%s, RTT %d ms: x is throughput over the best fixed%n", named(batched), rtt);
    for (int window : all) {
      List<Seen> of = runs.getOrDefault(window, List.of());
      double[] rates = of.stream().mapToDouble(Seen::rate).sorted().toArray();
      System.out.printf(
          Locale.ROOT,
          "  %-11s %8.0f msg/s [%.0f..%.0f]  x %.2f  p50 %6.1f ms  window %.0f%s%n",
          named(window),
          Figures.median(of, Seen::rate),
          rates[0],
          rates[rates.length - 1],
          Figures.median(of, Seen::rate) / best,
          Figures.median(of, Seen::p50Millis),
          Figures.median(of, Seen::window),
          window == ADAPTIVE
              ? String.format(Locale.ROOT, "  (wanted: x %.2f, p50 at most %.1f)", REACHED, wanted)
              : "");
    }
  }

  private Seen watched(PulsarRig rig, boolean batched, int rtt, int window) throws Exception {
    String topic = rig.topic(1);
    byte[] payload = new byte[size(batched)];
    try (Publisher publisher = publisher(rig.messaging(rtt > 0), topic, batched, window)) {
      Thread feed =
          new Thread(
              () -> {
                while (publisher.status().state() == State.OPEN) {
                  for (int i = 0; i < 1_000; i++) {
                    CompletableFuture<PublishOutcome> unused =
                        publisher.publish(Message.of(payload));
                  }
                }
              },
              "feed");
      feed.setDaemon(true);
      feed.start();
      pass(millis / 2 + 25L * rtt);
      Histogram before = latency(publisher);
      long began = System.nanoTime();
      long confirmed = confirmed(publisher);
      List<Integer> seen = new ArrayList<>();
      while (System.nanoTime() - began < TimeUnit.MILLISECONDS.toNanos(millis)) {
        pass(50);
        seen.add(publisher.status().window());
      }
      double rate = (confirmed(publisher) - confirmed) * 1e9 / (System.nanoTime() - began);
      Histogram latency = latency(publisher);
      latency.subtract(before);
      seen.sort(null);
      return new Seen(rate, latency.getValueAtPercentile(50) / 1e6, seen.get(seen.size() / 2));
    } finally {
      rig.delete(topic);
    }
  }

  private static void pass(long millis) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (System.nanoTime() < end) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }

  private static long confirmed(Publisher publisher) {
    var status = publisher.status();
    long confirmed = status.outcomes().getOrDefault(Verdict.CONFIRMED, 0L);
    if (status.outcomes().values().stream().mapToLong(n -> n).sum() != confirmed) {
      throw new IllegalStateException("not all confirmed: " + status);
    }
    return confirmed;
  }

  private static Histogram latency(Publisher publisher) {
    return publisher
        .latency()
        .stage("sent-confirmed")
        .map(stage -> stage.histogram().copy())
        .orElseGet(() -> new Histogram(3));
  }
}
