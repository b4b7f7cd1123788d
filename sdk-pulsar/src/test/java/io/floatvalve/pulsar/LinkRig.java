package io.floatvalve.pulsar;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.Broker.ReceiveRequest;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.spi.ReceiveLink;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.PulsarTap;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.jspecify.annotations.Nullable;

/** A link to a broker through a proxy with a tap, and a plain producer beside it. */
final class LinkRig implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(60);

  /**
   * For a client to close its connections; its threads end two seconds later, which nobody needs.
   */
  static final Duration SOON = Duration.ofMillis(100);

  private static final AtomicLong NAMES = new AtomicLong(System.currentTimeMillis());

  final PulsarTap tap = new PulsarTap();
  final FaultProxy proxy;
  final PulsarBroker broker;
  final Heard heard = new Heard();
  private static final Map<String, PulsarClient> PLAIN = new HashMap<>(); // closing takes seconds
  private final PulsarClient plain;
  private final List<ReceiveLink> links = new ArrayList<>();

  LinkRig(PulsarNode node) throws Exception {
    this(node, true);
  }

  LinkRig(PulsarNode node, boolean bridged) throws Exception {
    proxy = node.openProxy().tap(tap);
    PulsarBroker.Settings settings = through(proxy);
    broker = bridged ? PulsarBroker.connect(settings) : PulsarBroker.connectUnbridged(settings);
    plain = plain(node);
  }

  static synchronized PulsarClient plain(PulsarNode node) throws IOException {
    String url = node.serviceUrl(); // some tests have a node of their own
    PulsarClient known = PLAIN.get(url);
    if (known == null) {
      known = PulsarClient.builder().serviceUrl(url).build();
      PLAIN.put(url, known);
    }
    return known;
  }

  static PulsarBroker.Settings through(FaultProxy proxy) {
    return PulsarBroker.Settings.at("pulsar://" + proxy.host() + ":" + proxy.port())
        .withListenerName(PulsarNode.PROXY_LISTENER);
  }

  static Messaging messaging(PulsarNode node) {
    return messaging(PulsarBroker.Settings.at(node.serviceUrl()));
  }

  static Messaging messaging(PulsarBroker.Settings settings) {
    return messaging(settings, event -> {});
  }

  /**
   * Returns a messaging as users have it, but for the end: it closes its connections {@link #SOON}.
   */
  static Messaging messaging(PulsarBroker.Settings settings, Consumer<Event> listener) {
    return Messaging.over(new ClosedSoon(PulsarBroker.connect(settings)), listener);
  }

  private record ClosedSoon(Broker broker) implements Broker {
    @Override
    public String describe() {
      return broker.describe();
    }

    @Override
    public PublishLink openPublish(PublishRequest request, PublishLink.Listener listener)
        throws MessagingException {
      return broker.openPublish(request, listener);
    }

    @Override
    public ReceiveLink openReceive(ReceiveRequest request, ReceiveLink.Listener listener)
        throws MessagingException {
      return broker.openReceive(request, listener);
    }

    @Override
    public void close(Duration timeout) {
      broker.close(SOON);
    }
  }

  /** Returns a topic name that no other test has. */
  static String topic(String what) {
    return what + "-" + NAMES.incrementAndGet();
  }

  static PulsarBroker.ConsumeSettings earliest() {
    return PulsarBroker.ConsumeSettings.defaults()
        .withInitialPosition(SubscriptionInitialPosition.Earliest);
  }

  static ReceiveRequest request(String topic, Ordering ordering, @Nullable Object nativeSettings) {
    return new ReceiveRequest(
        List.of(Address.topic(topic)),
        "s",
        ordering,
        4,
        4,
        1000,
        32 << 20,
        List.of(Duration.ofMillis(200)),
        null,
        1,
        null,
        nativeSettings,
        Duration.ofSeconds(30));
  }

  /** Keeps a thread until the end of a test. */
  static void hold(CountDownLatch end) {
    try {
      end.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  ReceiveLink open(String topic) {
    return open(request(topic, Ordering.NONE, earliest()));
  }

  ReceiveLink open(ReceiveRequest request) {
    ReceiveLink link = broker.openReceive(request, heard);
    links.add(link);
    return link;
  }

  PulsarClient plain() {
    return plain;
  }

  /** Sends messages {@code from} up to {@code to}, one entry each. */
  void send(String topic, int from, int to) throws Exception {
    try (Producer<byte[]> producer =
        plain.newProducer().topic(topic).enableBatching(false).create()) {
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = from; i < to; i++) {
        sent.add(producer.newMessage().key("k" + i).value(text(i)).sendAsync());
      }
      CompletableFuture.allOf(sent.toArray(CompletableFuture[]::new)).get(60, TimeUnit.SECONDS);
    }
  }

  /** Sends messages {@code from} up to {@code to} in batches of this size. */
  void sendBatches(String topic, int from, int to, int size) throws Exception {
    try (Producer<byte[]> producer =
        plain
            .newProducer()
            .topic(topic)
            .batcherBuilder(BatcherBuilder.DEFAULT)
            .batchingMaxMessages(size)
            .batchingMaxPublishDelay(1, TimeUnit.MINUTES)
            .create()) {
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = from; i < to; i++) {
        sent.add(producer.sendAsync(text(i)));
      }
      producer.flush();
      CompletableFuture.allOf(sent.toArray(CompletableFuture[]::new)).get(60, TimeUnit.SECONDS);
    }
  }

  private static byte[] text(int i) {
    return Integer.toString(i).getBytes(UTF_8);
  }

  static int number(ReceiveLink.Received received) {
    return Integer.parseInt(new String(received.message().payload(), UTF_8));
  }

  /** Takes this many messages, waiting for the link to say that there are any. */
  List<ReceiveLink.Received> take(ReceiveLink link, int count) throws Exception {
    List<ReceiveLink.Received> taken = new ArrayList<>();
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (taken.size() < count) {
      ReceiveLink.Received next = link.poll();
      if (next != null) {
        taken.add(next);
      } else if (!heard.available.tryAcquire(
          Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)) {
        throw new AssertionError("got " + taken.size() + " of " + count + ": " + link.observe());
      }
    }
    return taken;
  }

  @Override
  public void close() throws IOException {
    try {
      for (ReceiveLink link : links) {
        link.close(Duration.ofSeconds(5));
      }
      broker.close(SOON);
    } finally {
      proxy.close();
    }
  }

  /** What a link said. */
  static final class Heard implements ReceiveLink.Listener {
    final Semaphore available = new Semaphore(0);
    final AtomicInteger disconnected = new AtomicInteger();
    final AtomicInteger reconnected = new AtomicInteger();
    final CompletableFuture<String> lost = new CompletableFuture<>();

    @Override
    public void available() {
      available.release();
    }

    @Override
    public void disconnected(String detail) {
      disconnected.incrementAndGet();
    }

    @Override
    public void reconnected() {
      reconnected.incrementAndGet();
    }

    @Override
    public void lost(boolean connection, boolean retryable, String detail) {
      lost.complete(detail);
    }
  }
}
