package io.floatvalve.pulsar;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.contract.BrokerUnderTest;
import io.floatvalve.testkit.contract.PublisherContract;

@NeedsPulsar(ownProcess = true)
class PulsarPublisherContractTest extends PublisherContract {
  @Override
  protected BrokerUnderTest broker() {
    return new PulsarUnderTest(PulsarNode.shared());
  }
}
