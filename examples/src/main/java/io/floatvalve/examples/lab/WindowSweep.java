package io.floatvalve.examples.lab;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.MessageProperties;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.WindowPolicy;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Throughput and latency of confirms over window and queue type: C3, C4, and the types of C8. */
final class WindowSweep {
  private static final int BODY_BYTES = 100;
  private static final List<WindowPolicy> WINDOWS =
      List.of(
          WindowPolicy.fixed(1),
          WindowPolicy.fixed(10),
          WindowPolicy.fixed(50),
          WindowPolicy.fixed(100),
          WindowPolicy.fixed(1_000),
          WindowPolicy.fixed(10_000),
          WindowPolicy.adaptive());
  private static final int MOST = 50_000;

  private final Lab lab;
  private final Table table =
      new Table("queue", "window", "msg/s", "confirm p50 ms", "confirm p99 ms", "messages");
  private int queueNumber;

  WindowSweep(Lab lab) {
    this.lab = lab;
  }

  Table table() {
    return table;
  }

  void run() throws IOException {
    warmUp();
    double none = withoutConfirms();
    table.row("classic", "no confirms", none, "-", "-", (long) lab.amount(20_000, 5_000));
    double waited = 0;
    double hundred = 0;
    double thousand = 0;
    for (String type : new String[] {"classic", "quorum", "stream"}) {
      long published = 0;
      long confirmed = 0;
      long stored = 0;
      for (WindowPolicy policy : WINDOWS) {
        String name = policy.isAdaptive() ? "adaptive" : String.valueOf(policy.most());
        lab.doing(type + " queue, window " + name);
        Measured measured = windowed(type, policy, true);
        published += measured.published();
        confirmed += measured.confirmed();
        stored += measured.stored();
        String prefix = type + "_window_" + name;
        lab.findings().figure(prefix + "_msgs_per_s", measured.perSecond());
        lab.findings().figure(prefix + "_confirm_p50_us", measured.p50() * 1e3);
        lab.findings().figure(prefix + "_confirm_p99_us", measured.p99() * 1e3);
        if (policy.isAdaptive()) {
          lab.findings().figure(prefix + "_at_end_msgs", measured.window());
          name = "adaptive (" + measured.window() + " at the end)";
        }
        int window = policy.most();
        table.row(
            type,
            window == 1 ? "each waited for" : name,
            measured.perSecond(),
            measured.p50(),
            measured.p99(),
            measured.published());
        if (type.equals("classic")) {
          waited = window == 1 ? measured.perSecond() : waited;
          hundred = window == 100 ? measured.perSecond() : hundred;
          thousand = window == 1_000 ? measured.perSecond() : thousand;
        }
      }
      if (!type.equals("classic")) {
        lab.check(
            "C8-" + type,
            type + " queue, windows 1 to 10,000 and adaptive",
            "left unverified",
            "each of " + published + " messages confirmed and stored",
            confirmed + " confirmed, " + stored + " in the queue",
            confirmed == published && stored == published);
      }
    }
    lab.check(
        "C3",
        "msg/s: no confirms / each waited for / window 100 / 1000",
        "37,800 / 5,752 / 54,057 / 54,634",
        "window 100 and 1000 at least twice as fast as waiting for each",
        String.format("%,.0f / %,.0f / %,.0f / %,.0f", none, waited, hundred, thousand),
        hundred > 2 * waited && thousand > 2 * waited);
    waitedLatency();
  }

  /** Lets the JVM compile what is measured next. */
  private void warmUp() throws IOException {
    lab.doing("warming up");
    windowed("classic", WindowPolicy.fixed(100), true);
    windowed("classic", WindowPolicy.fixed(1), true);
  }

  private record Measured(
      long published,
      long confirmed,
      long stored,
      double perSecond,
      double p50,
      double p99,
      int window) {}

  private Measured windowed(String type, WindowPolicy window, boolean persistent)
      throws IOException {
    String queue = lab.queues().make("w" + queueNumber++, type, Map.of());
    PublisherSettings settings =
        PublisherSettings.to(Address.queue(queue))
            .withWindow(window)
            .withConfirmTimeout(Duration.ofMinutes(1))
            .withMaxBlock(Duration.ofMinutes(1))
            .withMaxWait(Duration.ofMinutes(1));
    try (var messaging = lab.messaging();
        Publisher publisher = messaging.publisher(settings)) {
      Message message = Message.builder(new byte[BODY_BYTES]).persistent(persistent).build();
      long began = System.nanoTime();
      long until = began + TimeUnit.MILLISECONDS.toNanos(lab.amount(1_500, 300));
      long published = 0;
      while (published < MOST && System.nanoTime() < until) {
        var future = publisher.publish(message);
        if (window.most() == 1) {
          var unused = future.join();
        }
        published++;
      }
      int atEnd = publisher.status().window();
      Lab.drain(publisher);
      double seconds = (System.nanoTime() - began) / 1e9;
      lab.queues().awaitStored(queue, published, Duration.ofSeconds(10));
      return new Measured(
          published,
          Lab.confirmed(publisher),
          lab.queues().count(queue),
          published / seconds,
          Lab.confirmMillis(publisher.latency(), 50),
          Lab.confirmMillis(publisher.latency(), 99),
          atEnd);
    } finally {
      lab.queues().delete(queue);
    }
  }

  /* The plain client, as nobody should: publish, and ask nothing. The time ends when the broker has
   * answered a question that it reads after the last message. */
  private double withoutConfirms() throws IOException {
    lab.doing("no confirms");
    String queue = lab.queues().classic("c3");
    int messages = lab.amount(20_000, 5_000);
    try (Connection connection = lab.rabbit().connection("floatvalve-no-confirms");
        Channel channel = connection.createChannel()) {
      byte[] body = new byte[BODY_BYTES];
      long began = System.nanoTime();
      for (int i = 0; i < messages; i++) {
        channel.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, body);
      }
      channel.queueDeclarePassive(queue);
      double perSecond = messages / ((System.nanoTime() - began) / 1e9);
      lab.findings().figure("no_confirms_msgs_per_s", perSecond);
      return perSecond;
    } catch (TimeoutException e) {
      throw new IOException("closing the channel", e);
    } finally {
      lab.queues().delete(queue);
    }
  }

  private void waitedLatency() throws IOException {
    lab.doing("C4: latency of a waited confirm");
    Measured fleeting = windowed("classic", WindowPolicy.fixed(1), false);
    Measured persistent = windowed("classic", WindowPolicy.fixed(1), true);
    lab.findings().figure("waited_transient_p50_us", fleeting.p50() * 1e3);
    lab.findings().figure("waited_transient_p99_us", fleeting.p99() * 1e3);
    lab.findings().figure("waited_persistent_p50_us", persistent.p50() * 1e3);
    lab.findings().figure("waited_persistent_p99_us", persistent.p99() * 1e3);
    boolean all =
        fleeting.confirmed() == fleeting.published()
            && persistent.confirmed() == persistent.published();
    lab.check(
        "C4",
        "latency of a waited confirm, p50/p99 ms",
        "transient 0.08/0.15, persistent 0.15/0.26",
        "all confirmed; the medians of both between 0 and 100 ms",
        String.format(
            "transient %.2f/%.2f, persistent %.2f/%.2f; %d and %d confirmed",
            fleeting.p50(),
            fleeting.p99(),
            persistent.p50(),
            persistent.p99(),
            fleeting.confirmed(),
            persistent.confirmed()),
        all && within(fleeting.p50()) && within(persistent.p50()));
  }

  private static boolean within(double millis) {
    return millis > 0 && millis < 100;
  }
}
