package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.model.Address;
import io.floatvalve.pulsar.PulsarBroker.Admin;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarLimits.Rate;
import io.floatvalve.testkit.PulsarNode;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class AdminViewsTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  @NeedsPulsar
  void subscription_isToldAsItStands_withPartitionsOrWithout(int partitions) throws Exception {
    PulsarNode node = PulsarNode.shared();
    String topic = "viewed-" + UUID.randomUUID();
    if (partitions == 0) {
      node.rest().createTopic(topic);
    } else {
      node.rest().createPartitionedTopic(topic, partitions);
    }
    try (Consumer<byte[]> consumer =
            LinkRig.plain(node)
                .newConsumer()
                .topic(topic)
                .subscriptionName("viewers")
                .consumerName("mine")
                .subscriptionType(SubscriptionType.Shared)
                .subscribe();
        Producer<byte[]> producer =
            LinkRig.plain(node).newProducer().topic(topic).enableBatching(false).create()) {
      for (int i = 0; i < 10; i++) {
        producer.send(new byte[10]);
      }
      assertThat(consumer.receive((int) LONG.toSeconds(), TimeUnit.SECONDS)).isNotNull();
      BrokerViews views = Admin.at(node.adminUrl()).withInterval(Duration.ofMillis(200)).views();
      List<Address> place = List.of(Address.topic(topic));

      BrokerView view =
          await()
              .atMost(LONG)
              .until(
                  () -> views.of(place, "viewers", "mine"),
                  v -> v.isPresent() && v.get().unacked().orElse(0) == 10)
              .orElseThrow();
      assertThat(view.backlog()).hasValue(10);
      assertThat(view.undelivered()).hasValue(0);
      assertThat(view.spread()).isEqualTo(BrokerView.Spread.SHARED);
      assertThat(view.storedBytes().orElse(0)).isPositive();
      assertThat(view.dispatchThrottled()).hasValue(0);
      assertThat(view.publishThrottled()).hasValue(0);
      assertThat(view.drainingKeys()).hasValue(0);
      assertThat(view.unackedLimit()).hasValue(50_000);
      assertThat(view.consumers())
          .isNotEmpty()
          .allSatisfy(
              member -> {
                assertThat(member.own()).isTrue();
                assertThat(member.permits()).isPresent();
                assertThat(member.blockedOnUnacked()).isFalse();
              });
      assertThat(view.source()).contains(node.adminUrl());
      BrokerView unknown =
          await().atMost(LONG).until(() -> views.of(place, "others", ""), v -> v.isPresent()).get();
      assertThat(unknown.backlog()).isEmpty();
    }
  }

  /** That they are its word where the limit is near, PP-07 shows. */
  @Test
  @NeedsPulsar
  void pausesOfTheBroker_areNoLimitsWord_whereTheLimitIsFar() throws Exception {
    PulsarNode node = PulsarNode.shared();
    String topic = "limited-" + UUID.randomUUID();
    node.rest().createTopic(topic);
    node.rest().topicLimits(topic).setPublishRate(Rate.ofMessages(1_000_000));
    BrokerViews views = Admin.at(node.adminUrl()).withInterval(Duration.ofMillis(200)).views();
    List<Address> place = List.of(Address.topic(topic));
    boolean heard = false;
    int paused = 0;
    try (Producer<byte[]> producer =
        LinkRig.plain(node)
            .newProducer()
            .topic(topic)
            .enableBatching(false)
            .maxPendingMessages(5_000)
            .blockIfQueueFull(true)
            .create()) {
      long end = System.nanoTime() + LONG.toNanos();
      while (paused < 3 && System.nanoTime() < end) { // the client waits where it has too many
        for (int i = 0; i < 5_000; i++) {
          var unused = producer.sendAsync(new byte[10]);
        }
        paused += node.rest().topicStats(topic).number("publishRateLimitedTimes") > 0 ? 1 : 0;
        heard |=
            views.of(place, null, "").map(v -> v.publishThrottled().orElse(0) > 0).orElse(false);
      }
    }
    assertThat(paused).as("the broker paused").isEqualTo(3);
    assertThat(heard).isFalse();
  }

  @Test
  void address_isCheckedWithoutBeingShown_andQueuesAreNotKnown() {
    assertThatThrownBy(() -> Admin.at("http://u:s3cret@h:1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("s3cret");
    assertThat(Admin.at("http://h:1").withToken(() -> "s3cret"))
        .asString()
        .doesNotContain("s3cret");
    assertThat(Admin.at("http://127.0.0.1:1").views().of(List.of(Address.queue("q")), null, ""))
        .isEmpty();
  }
}
