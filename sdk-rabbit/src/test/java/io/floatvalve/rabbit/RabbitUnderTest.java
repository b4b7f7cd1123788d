package io.floatvalve.rabbit;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.spi.Broker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.contract.BrokerUnderTest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/** A node as the contracts see it: places are durable classic queues. */
final class RabbitUnderTest implements BrokerUnderTest {
  private static final AtomicLong NAMES = new AtomicLong();

  private final RabbitNode node;

  RabbitUnderTest(RabbitNode node) {
    this.node = node;
  }

  /** Does something on a plain channel of its own. */
  interface Work<T> {
    T on(Channel channel) throws IOException;
  }

  <T> T plainly(Work<T> work) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(node.uri());
    factory.setAutomaticRecoveryEnabled(false);
    try (Connection connection = factory.newConnection("contract")) {
      return work.on(connection.createChannel());
    }
  }

  @Override
  public FaultProxy openProxy() throws IOException {
    return FaultProxy.to(node.host(), node.port());
  }

  @Override
  public Broker connect(FaultProxy proxy) {
    return RabbitBroker.connect(
        RabbitBroker.Settings.at(node.uri().replace(":" + node.port(), ":" + proxy.port()))
            .withHeartbeat(Duration.ofSeconds(5)));
  }

  @Override
  public Address newPlace() throws Exception {
    String queue = "contract-" + ProcessHandle.current().pid() + "-" + NAMES.incrementAndGet();
    plainly(channel -> channel.queueDeclare(queue, true, false, false, null));
    return Address.queue(queue);
  }

  @Override
  public List<String> stored(Address place) throws Exception {
    String queue = Objects.requireNonNull(place.name());
    return plainly(
        channel -> {
          List<String> texts = new ArrayList<>();
          GetResponse got = channel.basicGet(queue, true);
          while (got != null) {
            texts.add(new String(got.getBody(), StandardCharsets.UTF_8));
            got = channel.basicGet(queue, true);
          }
          channel.queueDelete(queue);
          return texts;
        });
  }

  @Override
  public boolean sendsAgainByItself() {
    return false;
  }

  @Override
  public Message invalid() {
    return Message.builder(new byte[1]).address(Address.exchange("", "k".repeat(256))).build();
  }

  @Override
  public void kill() {
    node.syncDeclared(); // a kill is to lose no queue: that is not what is tested
    node.kill();
  }

  @Override
  public void restart() {
    node.restart();
  }
}
