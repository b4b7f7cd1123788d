package io.floatvalve.pulsar;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.contract.BrokerUnderTest;
import io.floatvalve.testkit.contract.FaultContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

@NeedsPulsar(ownProcess = true)
class PulsarFaultContractTest extends FaultContract {
  private static PulsarNode node;

  @BeforeAll
  static void start() {
    node = PulsarNode.start();
  }

  @AfterAll
  static void stop() {
    node.close();
  }

  @Override
  protected BrokerUnderTest broker() {
    return new PulsarUnderTest(node);
  }
}
