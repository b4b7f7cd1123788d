package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.model.Address;
import io.floatvalve.rabbit.RabbitBroker.Credentials;
import io.floatvalve.rabbit.RabbitBroker.Management;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;

class ManagementViewsTest {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final String QUEUE = "a queue/with a slash";

  static boolean isNoNode() {
    return RabbitNode.whyNoProcess().isPresent();
  }

  /** One node, and all that is said of it: a node with management takes seconds to start. */
  @Test
  @NeedsRabbit
  @DisabledIf("isNoNode")
  void queue_isToldAsItStands_andARefusalNamesNoSecret() throws Exception {
    try (RabbitNode node = RabbitNode.startManaged()) {
      ConnectionFactory factory = new ConnectionFactory();
      factory.setUri(node.uri());
      try (Connection connection = factory.newConnection();
          Channel channel = connection.createChannel()) {
        channel.queueDeclare(QUEUE, true, false, false, Map.of("x-single-active-consumer", true));
        channel.basicQos(3);
        channel.basicConsume(QUEUE, false, "mine-1", (tag, m) -> {}, tag -> {});
        channel.basicConsume(QUEUE, false, "mine-2", (tag, m) -> {}, tag -> {});
        for (int i = 0; i < 10; i++) {
          channel.basicPublish("", QUEUE, null, new byte[10]);
        }
        Management management =
            Management.at(node.managementUrl()).withInterval(Duration.ofMillis(200));
        BrokerViews views = management.views();
        List<Address> place = List.of(Address.queue(QUEUE));

        BrokerView view =
            await()
                .atMost(LONG)
                .until(
                    () -> views.of(place, null, "mine-"),
                    v ->
                        v.isPresent()
                            && v.get().undelivered().equals(java.util.OptionalLong.of(7))
                            && !v.get().consumers().isEmpty())
                .orElseThrow();
        assertThat(view.backlog()).hasValue(10);
        assertThat(view.unacked()).hasValue(3);
        assertThat(view.storedBytes()).hasValue(100);
        assertThat(view.spread()).isEqualTo(BrokerView.Spread.ONE);
        assertThat(view.alarm()).isEmpty();
        assertThat(view.consumers())
            .singleElement()
            .satisfies(
                member -> {
                  assertThat(member.name()).startsWith("mine-");
                  assertThat(member.own()).isTrue();
                });
        BrokerViews refused =
            management.withCredentials(() -> new Credentials("guest", "s3cret")).views();
        await()
            .atMost(LONG)
            .until(
                () -> {
                  Optional<BrokerView> none = refused.of(place, null, "");
                  assertThat(none).isEmpty();
                  return refused.toString().contains("401");
                });
        assertThat(refused.toString()).doesNotContain("s3cret");
      }
    }
  }

  @Test
  void address_isCheckedWithoutBeingShown_andTopicsAreNotKnown() {
    assertThatThrownBy(() -> Management.at("http://u:s3cret@h:1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("s3cret");
    assertThat(Management.at("http://h:1").withCredentials(() -> new Credentials("u", "s3cret")))
        .asString()
        .doesNotContain("s3cret");
    assertThat(Management.at("http://127.0.0.1:1").views().of(List.of(Address.topic("t")), "g", ""))
        .isEmpty();
  }
}
