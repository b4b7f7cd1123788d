package io.floatvalve.rabbit;

import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import io.floatvalve.testkit.contract.BrokerUnderTest;
import io.floatvalve.testkit.contract.FaultContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

@NeedsRabbit(ownProcess = true)
class RabbitFaultContractTest extends FaultContract {
  private static RabbitNode node;

  @BeforeAll
  static void start() {
    node = RabbitNode.start();
    node.restart(); // a kill soon after the very first boot may lose what was declared since
  }

  @AfterAll
  static void stop() {
    node.close();
  }

  @Override
  protected BrokerUnderTest broker() {
    return new RabbitUnderTest(node);
  }
}
