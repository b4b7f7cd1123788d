package io.floatvalve.pulsar;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.contract.ConsumedBroker;
import io.floatvalve.testkit.contract.ConsumerContract;

@NeedsPulsar(ownProcess = true)
class PulsarConsumerContractTest extends ConsumerContract {
  @Override
  protected ConsumedBroker broker() {
    return new ConsumedPulsar(PulsarNode.shared());
  }
}
