package io.floatvalve.pulsar;

import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.spi.Broker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.contract.BrokerUnderTest;
import java.time.Duration;
import java.util.List;

/** A node as the contracts see it: places are topics that drop duplicates. */
final class PulsarUnderTest implements BrokerUnderTest {
  private final PulsarNode node;

  PulsarUnderTest(PulsarNode node) {
    this.node = node;
  }

  @Override
  public FaultProxy openProxy() {
    return node.openProxy();
  }

  @Override
  public Broker connect(FaultProxy proxy) {
    return PulsarBroker.connect(LinkRig.through(proxy));
  }

  @Override
  public Address newPlace() {
    String topic = PublishFieldCasesTest.onceTopic(node, "contract");
    node.rest().createTopic(topic);
    return Address.topic(topic);
  }

  @Override
  public List<String> stored(Address place) throws Exception {
    return PublishFieldCasesTest.stored(node, place.name());
  }

  @Override
  public boolean sendsAgainByItself() {
    return true;
  }

  @Override
  public Message invalid() {
    return Message.builder(new byte[1]).ttl(Duration.ofSeconds(1)).build();
  }

  @Override
  public void kill() {
    node.kill();
  }

  @Override
  public void restart() {
    node.restart();
  }
}
