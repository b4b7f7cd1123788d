package io.floatvalve.testkit.contract;

import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.model.MessagingException;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.spi.ReceiveLink;
import io.floatvalve.testkit.FaultProxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A broker through a proxy, for one test. A client may take seconds to end its threads once its
 * connections are closed; the next test need not wait for that.
 */
final class RigBroker implements Broker {
  private static final Duration LIMIT = Duration.ofSeconds(90);

  private final Broker broker;
  private final FaultProxy proxy;
  private volatile boolean closing;

  RigBroker(Broker broker, FaultProxy proxy) {
    this.broker = broker;
    this.proxy = proxy;
  }

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
    closing = true;
    broker.close(timeout);
  }

  /**
   * Closes what runs over this, and the proxy once nothing goes through it any more. What is
   * returned ends when all is closed, as it failed if it did.
   */
  CompletableFuture<Void> end(Messaging messaging) {
    proxy.unstall();
    CompletableFuture<Void> end =
        CompletableFuture.runAsync(messaging::close, task -> new Thread(task, "rig-end").start());
    await()
        .pollInterval(Duration.ofMillis(10))
        .atMost(LIMIT)
        .until(() -> end.isDone() || (closing && proxy.connections() == 0));
    proxy.close();
    return end;
  }
}
