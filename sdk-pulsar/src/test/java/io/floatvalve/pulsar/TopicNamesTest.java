package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class TopicNamesTest {
  @Test
  void slashOfASubscription_makesNoOtherTopic() {
    assertThat(TopicNames.deadLetters("persistent://t/n/orders", "team/a"))
        .isEqualTo("persistent://t/n/orders-team=002Fa-DLQ");
  }

  @Test
  void twoSubscriptions_haveTwoNames() {
    assertThat(TopicNames.safe("team/a"))
        .isNotEqualTo(TopicNames.safe("team=002Fa"))
        .isNotEqualTo(TopicNames.safe("team?a"));
  }

  @Test
  void partition_sharesTheNamesOfItsTopic() {
    assertThat(TopicNames.whole("a-partition-12")).isEqualTo("a");
    assertThat(TopicNames.whole("a-partition-x")).isEqualTo("a-partition-x");
    assertThat(TopicNames.whole("a-partition-")).isEqualTo("a-partition-");
  }

  @Test
  void shortName_isOfTheDefaultNamespace() {
    assertThat(TopicNames.full("a")).isEqualTo("persistent://public/default/a");
    assertThat(TopicNames.full("t/n/a")).isEqualTo("persistent://t/n/a");
    assertThat(TopicNames.full("persistent://t/n/a")).isEqualTo("persistent://t/n/a");
  }
}
