package io.floatvalve.pulsar;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.contract.ConsumedBroker;
import io.floatvalve.testkit.contract.ConsumerFaultContract;

@NeedsPulsar(ownProcess = true)
class PulsarConsumerFaultContractTest extends ConsumerFaultContract {
  @Override
  protected ConsumedBroker broker() {
    return new ConsumedPulsar(PulsarNode.start());
  }
}
