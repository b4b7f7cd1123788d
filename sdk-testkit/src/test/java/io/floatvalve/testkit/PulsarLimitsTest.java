package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.testkit.PulsarLimits.Rate;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@NeedsPulsar
@Timeout(300)
class PulsarLimitsTest {
  @Test
  void limitsOfATopic_areReadBackAndRemoved(PulsarNode node) {
    node.rest().createTopic("limits-topic");

    roundTrip(node.rest().topicLimits("limits-topic"));
  }

  @Test
  void limitsOfANamespace_areReadBackAndRemoved(PulsarNode node) {
    node.rest().createNamespace("public/limits");

    roundTrip(node.rest().namespaceLimits("public/limits"));
  }

  @Test
  void dispatchRateOfASubscription_isReadBackAndTheOnlyLimitThereIs(PulsarNode node) {
    node.rest().createTopic("limits-subscription");
    node.rest().createSubscription("limits-subscription", "s");
    PulsarLimits limits = node.rest().subscriptionLimits("limits-subscription", "s");

    limits.setDispatchRate(Rate.ofMessages(7));

    assertThat(limits.dispatchRate()).contains(new Rate(7, PulsarLimits.NONE));
    assertThatThrownBy(() -> limits.setPublishRate(Rate.ofMessages(7)))
        .isInstanceOf(UnsupportedOperationException.class);
    limits.removeAll();
    assertThat(limits.dispatchRate()).isEmpty();
  }

  @Test
  void backlogOfASubscription_isInTheStats(PulsarNode node) throws Exception {
    node.rest().createTopic("stats");
    node.rest().createSubscriptionFromFirst("stats", "s");
    try (PulsarClient client = PulsarClient.builder().serviceUrl(node.serviceUrl()).build();
        Producer<byte[]> producer = client.newProducer().topic("stats").create()) {
      producer.send("x".getBytes(UTF_8));
      producer.send("y".getBytes(UTF_8));
    }

    PulsarStats stats = node.rest().topicStats("stats");

    assertThat(stats.number("subscriptions", "s", "msgBacklog")).isEqualTo(2);
    assertThat(stats.flag("subscriptions", "s", "blockedSubscriptionOnUnackedMsgs")).isFalse();
    assertThat(stats.names("subscriptions")).containsExactly("s");
  }

  @Test
  void partitions_canBeAddedAndTheTopicUnloadedAndDeleted(PulsarNode node) {
    PulsarRest rest = node.rest();
    rest.createPartitionedTopic("parts", 2);
    rest.updatePartitions("parts", 3);
    rest.unloadTopic("parts");

    assertThat(rest.partitions("parts")).isEqualTo(3);
    rest.deleteTopic("parts");
    assertThat(rest.partitions("parts")).isZero();
  }

  @Test
  void refusal_carriesTheBrokersAnswer(PulsarNode node) {
    assertThatThrownBy(() -> node.rest().topicStats("no-such-topic"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("404")
        .hasMessageContaining("no-such-topic");
  }

  private static void roundTrip(PulsarLimits limits) {
    limits.setPublishRate(new Rate(100, 20_000));
    limits.setDispatchRate(Rate.ofMessages(50));
    limits.setSubscriptionDispatchRate(Rate.ofBytes(9_000));
    limits.setMaxUnackedMessagesPerConsumer(5);

    assertThat(limits.publishRate()).contains(new Rate(100, 20_000));
    assertThat(limits.dispatchRate()).contains(Rate.ofMessages(50));
    assertThat(limits.subscriptionDispatchRate()).contains(Rate.ofBytes(9_000));
    assertThat(limits.maxUnackedMessagesPerConsumer()).hasValue(5);

    limits.removeAll();

    assertThat(limits.publishRate()).isEmpty();
    assertThat(limits.dispatchRate()).isEmpty();
    assertThat(limits.subscriptionDispatchRate()).isEmpty();
    assertThat(limits.maxUnackedMessagesPerConsumer()).isEmpty();
  }
}
