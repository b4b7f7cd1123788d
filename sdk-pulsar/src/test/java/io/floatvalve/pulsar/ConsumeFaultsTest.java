package io.floatvalve.pulsar;

import static io.floatvalve.pulsar.LinkRig.PATIENCE;
import static io.floatvalve.pulsar.LinkRig.topic;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.model.Settlement;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.apache.pulsar.client.api.Producer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What goes wrong between a consumer and its broker. */
@NeedsPulsar(ownProcess = true)
@Timeout(300)
final class ConsumeFaultsTest {
  @Test
  void brokerKilled_underAConsumer_losesNothing() throws Exception {
    try (PulsarNode node = PulsarNode.start()) {
      String topic = topic("killed");
      int all = 2_000;
      try (Producer<byte[]> producer =
          LinkRig.plain(node).newProducer().topic(topic).maxPendingMessages(all).create()) {
        for (int i = 0; i < all; i++) {
          producer.sendAsync(Integer.toString(i).getBytes(UTF_8));
        }
        producer.flush();
      }
      Map<String, Integer> handled = new ConcurrentHashMap<>();
      Semaphore go = new Semaphore(all / 4);
      try (Messaging messaging = LinkRig.messaging(node);
          Consumer consumer =
              messaging.consumer(
                  ConsumerSettings.from(Address.topic(topic))
                      .withGroup("s")
                      .withNative(LinkRig.earliest()))) {
        consumer.handle(
            delivery -> {
              go.acquire();
              handled.merge(new String(delivery.message().payload(), UTF_8), 1, Integer::sum);
              return Settlement.accept();
            });
        await().atMost(PATIENCE).until(() -> handled.size() >= all / 4);

        node.kill();
        node.restart();
        go.release(2 * all);

        await().atMost(PATIENCE).until(() -> handled.size() == all);
        await()
            .atMost(PATIENCE)
            .until(
                () ->
                    node.rest().topicStats(topic).number("subscriptions", "s", "msgBacklog") == 0);
        assertThat(consumer.drain(PATIENCE)).isZero();
      }
    }
  }

  @Test
  void clientOfAnotherShape_isNotLinked() {
    assertThat(PermitBridge.link(new ClassLoader(null) {})).isNull();
    assertThat(PermitBridge.links()).isTrue();
  }
}
