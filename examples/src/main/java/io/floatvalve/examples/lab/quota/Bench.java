package io.floatvalve.examples.lab.quota;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Experiments;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Metronome;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.testkit.PulsarLimits.Rate;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;

/** What the experiments share: a broker, topics with limits, events that were told. */
final class Bench extends Experiments implements AutoCloseable {
  static final int BODY_BYTES = 100;

  private final PulsarAtHand pulsar;
  private final List<String> made = new ArrayList<>();
  private final ConcurrentLinkedQueue<Event> events = new ConcurrentLinkedQueue<>();

  Bench(PulsarAtHand pulsar, Findings findings, Console console, boolean quick) {
    super(findings, console, quick);
    this.pulsar = pulsar;
  }

  PulsarAtHand pulsar() {
    return pulsar;
  }

  /** Begins messaging of its own; its events are kept. */
  Messaging messaging() {
    return pulsar.messaging(listener());
  }

  /** Returns the events of the last messaging of a type. */
  <E extends Event> List<E> told(Class<E> type) {
    return events.stream().filter(type::isInstance).map(type::cast).toList();
  }

  /** Returns what keeps the events of the next messaging, and forgets those of the last. */
  Consumer<Event> listener() {
    events.clear();
    return events::add;
  }

  /** Makes a topic. */
  String topic(String what) {
    String topic = pulsar.topic("quota-" + what + "-" + made.size());
    made.add(topic);
    pulsar.rest().createTopic(topic);
    return topic;
  }

  /** Makes a topic to which no more may be published a second. */
  String limited(String what, int perSecond) {
    String topic = topic(what);
    pulsar.rest().topicLimits(topic).setPublishRate(Rate.ofMessages(perSecond));
    return topic;
  }

  /** Returns settings for messages one by one, as many as come at once. */
  static PublisherSettings to(String topic) {
    return common(PublisherSettings.to(Address.topic(topic)))
        .withNative(PulsarBroker.PublishSettings.defaults().withBatching(false));
  }

  /** Returns settings with room for what is offered, and with patience. */
  static PublisherSettings common(PublisherSettings settings) {
    return settings
        .withMaxQueued(10_000)
        .withMaxWait(Duration.ofSeconds(20))
        .withConfirmTimeout(Duration.ofSeconds(30))
        .withOpenTimeout(Duration.ofSeconds(30));
  }

  /** Has a plain client send messages at once, and waits until all are there. */
  void burst(PulsarClient client, String topic, int messages) throws IOException {
    try (Producer<byte[]> producer = plain(client, topic, Duration.ofSeconds(30))) {
      List<CompletableFuture<?>> all = new ArrayList<>();
      for (int i = 0; i < messages; i++) {
        all.add(producer.sendAsync(new byte[BODY_BYTES]));
      }
      if (failures(all) > 0) {
        throw new IOException("a topic could not be filled");
      }
    }
  }

  /** Says a line. */
  void say(String line) {
    console().say(line);
  }

  /** Opens a plain producer of messages one by one. */
  static Producer<byte[]> plain(PulsarClient client, String topic, Duration sendTimeout)
      throws PulsarClientException {
    return client
        .newProducer()
        .topic(topic)
        .enableBatching(false)
        .maxPendingMessages(20_000)
        .blockIfQueueFull(true)
        .sendTimeout((int) sendTimeout.toMillis(), TimeUnit.MILLISECONDS)
        .create();
  }

  /** Opens a plain client of its own, with a connection of its own. */
  PulsarClient client() throws PulsarClientException {
    return PulsarClient.builder().serviceUrl(pulsar.uri()).build();
  }

  /** Returns how many messages a topic was given so far. */
  long received(String topic) {
    return pulsar.rest().topicStats(topic).number("msgInCounter");
  }

  /**
   * Returns how often the broker paused reading what is published to a topic; restarts at times.
   */
  long limitedTimes(String topic) {
    return pulsar.rest().topicStats(topic).number("publishRateLimitedTimes");
  }

  /** Waits until a time of {@link System#nanoTime}. */
  static void until(long nanos) throws IOException {
    for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
      LockSupport.parkNanos(left);
      if (Thread.interrupted()) {
        throw interrupted(new InterruptedException("asked to end"));
      }
    }
  }

  /** Waits until all are done, well or not; returns how many were not. */
  static int failures(List<? extends CompletableFuture<?>> all) throws IOException {
    int failed = 0;
    for (CompletableFuture<?> each : all) {
      try {
        each.get(2, TimeUnit.MINUTES);
      } catch (ExecutionException e) {
        failed++;
      } catch (TimeoutException e) {
        throw new IOException("neither sent nor failed in two minutes", e);
      } catch (InterruptedException e) {
        throw interrupted(e);
      }
    }
    return failed;
  }

  /** Returns a percentile of times, in seconds. */
  static double percentile(long[] nanos, double percentile) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    int at = (int) Math.ceil(sorted.length * percentile / 100) - 1;
    return sorted.length == 0 ? 0 : sorted[Math.max(0, at)] / 1e9;
  }

  /** Sends steadily, by a client of its own, until it is closed. */
  static final class Steady implements AutoCloseable {
    private final PulsarClient client;
    private final Producer<byte[]> producer;
    private final int perSecond;
    private final Thread thread;
    private volatile boolean ended;

    /**
     * Begins at once.
     *
     * @param client is closed with it
     */
    Steady(PulsarClient client, String topic, int perSecond) throws IOException {
      this.client = client;
      this.perSecond = perSecond;
      this.producer = plain(client, topic, Duration.ofSeconds(30));
      this.thread = new Thread(this::send, "lab-steady");
      thread.setDaemon(true);
      thread.start();
    }

    private void send() {
      Metronome pace = new Metronome(perSecond);
      while (!ended) {
        LockSupport.parkNanos(pace.waitNanos(System.nanoTime()));
        var unused = producer.sendAsync(new byte[BODY_BYTES]);
      }
    }

    @Override
    public void close() throws IOException {
      ended = true;
      try {
        thread.join(5_000);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      client.close();
    }
  }

  @Override
  public void close() {
    if (pulsar.isOwn()) {
      return;
    }
    for (String topic : made) {
      try {
        pulsar.rest().deleteTopic(topic);
      } catch (IllegalStateException e) {
        console().warn("the topic " + topic + " could not be deleted: " + e.getMessage());
      }
    }
  }
}
