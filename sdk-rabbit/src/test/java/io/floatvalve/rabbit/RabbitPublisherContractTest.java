package io.floatvalve.rabbit;

import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.contract.BrokerUnderTest;
import io.floatvalve.testkit.contract.PublisherContract;

@NeedsRabbit
class RabbitPublisherContractTest extends PublisherContract {
  @Override
  protected BrokerUnderTest broker() {
    return new RabbitUnderTest(RabbitNode.shared());
  }
}
