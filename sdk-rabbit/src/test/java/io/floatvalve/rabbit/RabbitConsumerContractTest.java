package io.floatvalve.rabbit;

import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.contract.ConsumedBroker;
import io.floatvalve.testkit.contract.ConsumerContract;

@NeedsRabbit
class RabbitConsumerContractTest extends ConsumerContract {
  @Override
  protected ConsumedBroker broker() {
    return new ConsumedRabbit(RabbitNode.shared(), "classic");
  }
}
