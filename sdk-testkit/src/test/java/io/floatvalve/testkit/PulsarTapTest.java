package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@NeedsPulsar(ownProcess = true)
@Timeout(300)
class PulsarTapTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @Test
  void defaultConsumer_grantsThousandPermitsAtOnce(PulsarNode node) throws Exception {
    PulsarTap tap = new PulsarTap();
    try (FaultProxy proxy = node.openProxy().tap(tap);
        PulsarClient client = through(proxy);
        Consumer<byte[]> consumer =
            client
                .newConsumer()
                .topic("tap-permits")
                .subscriptionName("s")
                .subscriptionType(SubscriptionType.Shared)
                .subscribe()) {
      await().atMost(PATIENCE).until(() -> !tap.frames(PulsarFrame.Flow.class).isEmpty());

      PulsarFrame.Subscribe subscribe = tap.frames(PulsarFrame.Subscribe.class).get(0);
      assertThat(subscribe.topic()).isEqualTo("tap-permits");
      assertThat(subscribe.type()).isEqualTo("Shared");
      assertThat(tap.frames(PulsarFrame.Flow.class))
          .extracting(PulsarFrame.Flow::permits)
          .containsExactly(1000);
      assertThat(consumer.isConnected()).isTrue();
    }
  }

  @Test
  void batch_isSentConfirmedDeliveredAndAcknowledgedAsOneEntry(PulsarNode node) throws Exception {
    PulsarTap tap = new PulsarTap();
    try (FaultProxy proxy = node.openProxy().tap(tap);
        PulsarClient client = through(proxy);
        Consumer<byte[]> consumer =
            client.newConsumer().topic("tap-batch").subscriptionName("s").subscribe();
        Producer<byte[]> producer =
            client
                .newProducer()
                .topic("tap-batch")
                .batchingMaxMessages(3)
                .batchingMaxPublishDelay(1, TimeUnit.MINUTES)
                .create()) {
      CompletableFuture.allOf(
              producer.sendAsync("a".getBytes(UTF_8)),
              producer.sendAsync("b".getBytes(UTF_8)),
              producer.sendAsync("c".getBytes(UTF_8)))
          .get(60, TimeUnit.SECONDS);
      for (int i = 0; i < 3; i++) {
        Message<byte[]> message = consumer.receive(60, TimeUnit.SECONDS);
        assertThat(message).isNotNull();
        consumer.acknowledge(message);
      }
      await().atMost(PATIENCE).until(() -> !tap.frames(PulsarFrame.Ack.class).isEmpty());

      assertThat(tap.frames(PulsarFrame.Send.class))
          .extracting(PulsarFrame.Send::messages)
          .containsExactly(3);
      PulsarFrame.SendReceipt receipt = tap.frames(PulsarFrame.SendReceipt.class).get(0);
      assertThat(tap.frames(PulsarFrame.Message.class))
          .extracting(PulsarFrame.Message::entry, PulsarFrame.Message::messages)
          .containsExactly(tuple(receipt.entry(), 3));
      assertThat(tap.messagesSent()).isEqualTo(3);
      assertThat(tap.frames(PulsarFrame.Ack.class).get(0).entries()).contains(receipt.entry());
    }
  }

  @Test
  void entriesGivenBack_areSeenAndComeAgainWithTheirCount(PulsarNode node) throws Exception {
    PulsarTap tap = new PulsarTap();
    try (FaultProxy proxy = node.openProxy().tap(tap);
        PulsarClient client = through(proxy);
        Consumer<byte[]> consumer =
            client
                .newConsumer()
                .topic("tap-back")
                .subscriptionName("s")
                .subscriptionType(SubscriptionType.Shared)
                .negativeAckRedeliveryDelay(100, TimeUnit.MILLISECONDS)
                .subscribe();
        Producer<byte[]> producer =
            client.newProducer().topic("tap-back").enableBatching(false).create()) {
      producer.send("x".getBytes(UTF_8));
      Message<byte[]> first = consumer.receive(60, TimeUnit.SECONDS);
      consumer.negativeAcknowledge(first);
      Message<byte[]> again = consumer.receive(60, TimeUnit.SECONDS);
      assertThat(again).isNotNull();

      List<PulsarFrame.Message> sent = tap.frames(PulsarFrame.Message.class);
      assertThat(sent).extracting(PulsarFrame.Message::redeliveries).containsExactly(0, 1);
      assertThat(tap.frames(PulsarFrame.RedeliverUnacknowledged.class).get(0).entries())
          .containsExactly(sent.get(0).entry());
    }
  }

  private static PulsarClient through(FaultProxy proxy) throws Exception {
    return PulsarClient.builder()
        .serviceUrl("pulsar://" + proxy.host() + ":" + proxy.port())
        .listenerName(PulsarNode.PROXY_LISTENER)
        .build();
  }
}
