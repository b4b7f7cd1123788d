package io.floatvalve;

import io.floatvalve.consume.ConsumeSide;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.event.Event;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.explain.Explanation;
import io.floatvalve.model.MessagingException;
import io.floatvalve.publish.PublishSide;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.spi.Broker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishers and consumers over one broker, closed together.
 *
 * <p>Thread-safe. Owns the broker it is given: closing it closes the broker's connections.
 */
public final class Messaging implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Messaging.class);
  private static final Duration BROKER_LIMIT = Duration.ofSeconds(5);
  private static final Duration CLOSE_LIMIT = Duration.ofMinutes(1);

  private final AtomicBoolean closing = new AtomicBoolean();
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Broker broker;
  private final EventLoop events;
  private final PublishSide publishing;
  private final ConsumeSide consuming;

  private Messaging(Broker broker, Consumer<Event> listener) {
    this.broker = Objects.requireNonNull(broker, "broker");
    this.events = new EventLoop(Objects.requireNonNull(listener, "listener"));
    this.publishing = new PublishSide(broker, events);
    this.consuming = new ConsumeSide(broker, events);
  }

  /**
   * Begins messaging over a broker.
   *
   * @param broker as {@code RabbitBroker.connect} or {@code PulsarBroker.connect} gave it; used by
   *     this alone from here on
   */
  public static Messaging over(Broker broker) {
    return new Messaging(broker, event -> {});
  }

  /**
   * Begins messaging over a broker, and tells what happens to its connections.
   *
   * @param listener called on one thread of ours, one event at a time. While it is slow, up to
   *     1,024 events wait; more are dropped and {@linkplain #droppedEvents counted}. What it throws
   *     is logged
   */
  public static Messaging over(Broker broker, Consumer<Event> listener) {
    return new Messaging(broker, listener);
  }

  /**
   * Opens a publisher. Waits for the broker, for at most the {@code openTimeout} of the settings.
   *
   * @throws MessagingException if it cannot be opened: names the address and the cause
   */
  public Publisher publisher(PublisherSettings settings) {
    return publishing.open(settings);
  }

  /**
   * Opens a consumer. It asks for nothing before it is given a handler. Waits for the broker, for
   * at most the {@code openTimeout} of the settings.
   *
   * @throws MessagingException if it cannot be opened: names the address and the cause
   */
  public io.floatvalve.consume.Consumer consumer(ConsumerSettings settings) {
    return consuming.open(settings);
  }

  /**
   * Opens a consumer that hands out messages to whoever asks. Waits for the broker, for at most the
   * {@code openTimeout} of the settings.
   *
   * @throws MessagingException if it cannot be opened: names the address and the cause
   */
  public PullConsumer pullConsumer(ConsumerSettings settings) {
    return consuming.openPull(settings);
  }

  /**
   * Has explanations look at what the broker says, beside what is counted here. Without it they say
   * what cannot be told apart.
   *
   * @param views asked from any thread, for each explanation
   */
  public void viewedBy(BrokerViews views) {
    Objects.requireNonNull(views, "views");
    publishing.viewedBy(views);
    consuming.viewedBy(views);
  }

  /**
   * Explains all publishers and consumers, each as by its own {@code explain}. Does not wait for
   * the network.
   */
  public Explanation explain() {
    List<Explanation> all = new ArrayList<>(publishing.explain());
    all.addAll(consuming.explain());
    return Explanation.together(broker.describe(), all);
  }

  /** Returns how many events were dropped because the listener was slow. */
  public long droppedEvents() {
    return events.dropped();
  }

  /**
   * Waits until all that was published so far has its outcome.
   *
   * @return how many publishes have none when the timeout is over; 0 if all are settled
   */
  public long drain(Duration timeout) {
    return publishing.drain(timeout);
  }

  /**
   * Ends in order: consumers take no more and their handlers finish, for at most their {@code
   * closeTimeout}; publishers close, each as by {@link Publisher#close}, all at the same time;
   * consumers send their acknowledgements and close; then the broker's connections. A second call
   * waits for the first.
   */
  @Override
  public void close() {
    if (closing.getAndSet(true)) {
      awaitClosed();
      return;
    }
    try {
      consuming.finish();
      publishing.close();
      consuming.close();
      broker.close(BROKER_LIMIT);
      events.close();
    } finally {
      closed.countDown();
    }
  }

  private void awaitClosed() {
    try {
      if (!closed.await(CLOSE_LIMIT.toNanos(), TimeUnit.NANOSECONDS)) {
        LOG.warn("still closing after {}: {}", CLOSE_LIMIT, broker.describe());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
