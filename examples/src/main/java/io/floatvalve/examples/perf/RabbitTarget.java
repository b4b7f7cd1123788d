package io.floatvalve.examples.perf;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublisherSettings;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/** A RabbitMQ under load: a queue for each load, gone afterwards. */
public final class RabbitTarget implements Target {
  /** Without consumers the oldest are dropped: the disk is not what is measured. */
  private static final int MOST_KEPT = 200_000;

  private final RabbitAtHand rabbit;
  private final Queues queues;
  private int places;
  private String queue = "";

  /** Owns the broker from here on. */
  public RabbitTarget(RabbitAtHand rabbit) throws IOException {
    this.rabbit = rabbit;
    this.queues = new Queues(rabbit, "floatvalve.perf");
  }

  @Override
  public String kind() {
    return "rabbit";
  }

  @Override
  public void describeTo(Findings findings) {
    rabbit.describeTo(findings);
  }

  @Override
  public String describe() {
    return rabbit.describe();
  }

  @Override
  public Messaging messaging(Consumer<Event> listener) {
    return rabbit.messaging(listener);
  }

  @Override
  public PublisherSettings place(Load load) throws IOException {
    boolean bounded = load.consumers() == 0 && !load.queueType().equals("stream");
    queue =
        queues.make(
            "p" + places++,
            load.queueType(),
            bounded ? Map.of("x-max-length", MOST_KEPT, "x-overflow", "drop-head") : Map.of());
    return PublisherSettings.to(Address.queue(queue));
  }

  @Override
  public ConsumerSettings consumers() {
    return ConsumerSettings.from(Address.queue(queue));
  }

  @Override
  public void remove() throws IOException {
    queues.delete(queue);
  }

  @Override
  public void close() throws IOException {
    queues.close();
    rabbit.close();
  }
}
