package io.floatvalve.rabbit;

import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.contract.ConsumedBroker;
import io.floatvalve.testkit.contract.ConsumerFaultContract;

@NeedsRabbit(ownProcess = true)
class QuorumConsumerFaultContractTest extends ConsumerFaultContract {
  @Override
  protected ConsumedBroker broker() {
    RabbitNode node = RabbitNode.start();
    node.restart(); // a kill soon after the very first boot may lose what was declared since
    return new ConsumedRabbit(node, "quorum");
  }
}
