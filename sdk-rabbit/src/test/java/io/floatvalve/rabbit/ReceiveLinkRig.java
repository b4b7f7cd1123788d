package io.floatvalve.rabbit;

import io.floatvalve.model.Address;
import io.floatvalve.model.Ordering;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.spi.Broker.ReceiveRequest;
import io.floatvalve.spi.ReceiveLink;
import io.floatvalve.testkit.RabbitNode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/** A broker and links of it, without the engine. */
final class ReceiveLinkRig implements AutoCloseable, ReceiveLink.Listener {
  private static final AtomicLong EPOCHS = new AtomicLong();

  final RabbitBroker broker;
  final List<String> heard = new CopyOnWriteArrayList<>();

  ReceiveLinkRig(RabbitNode node) {
    broker = RabbitBroker.connect(node.uri());
  }

  ReceiveLink open(String queue, int slots, long maxBytes, ConsumeSettings settings) {
    return open(queue, slots, maxBytes, settings, Ordering.TOTAL);
  }

  ReceiveLink open(
      String queue, int slots, long maxBytes, ConsumeSettings settings, Ordering ordering) {
    return broker.openReceive(
        new ReceiveRequest(
            List.of(Address.queue(queue)),
            null,
            ordering,
            slots,
            4,
            10_000,
            maxBytes,
            List.of(Duration.ofMillis(200)),
            null,
            EPOCHS.incrementAndGet(),
            null,
            settings,
            Duration.ofSeconds(30)),
        this);
  }

  ReceiveLink open(String queue, int slots) {
    return open(queue, slots, 1L << 30, ConsumeSettings.defaults());
  }

  @Override
  public void available() {}

  @Override
  public void disconnected(String detail) {
    heard.add("disconnected " + detail);
  }

  @Override
  public void reconnected() {
    heard.add("reconnected");
  }

  @Override
  public void lost(boolean connection, boolean retryable, String detail) {
    heard.add("lost " + detail);
  }

  @Override
  public void close() {
    broker.close(Duration.ofSeconds(10));
  }
}
