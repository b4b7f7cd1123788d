package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.model.Message;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.OnExceed;
import io.floatvalve.rate.QuotaPolicy.Scope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class QuotaPolicyTest {
  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE, Long.MAX_VALUE, 10_000_001})
  void messagesOutOfRange_areRefused_withRangeAndValue(long perSecond) {
    assertThatThrownBy(() -> Quota.messagesPerSecond(perSecond))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("messagesPerSecond must be from 1 to 10000000, was " + perSecond);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE, Long.MAX_VALUE})
  void bytesOutOfRange_areRefused_withRangeAndValue(long perSecond) {
    assertThatThrownBy(() -> Quota.bytesPerSecond(perSecond))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("bytesPerSecond must be from 1 to 1099511627776, was " + perSecond);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -0.1, 1.1, Double.NaN, Double.POSITIVE_INFINITY})
  void partsOutOfRange_areRefused_withRangeAndValue(double part) {
    String range = " must be above 0 and at most 1, was " + part;
    QuotaPolicy policy = QuotaPolicy.none();

    assertThatThrownBy(() -> policy.withHeadroom(part)).hasMessage("headroom" + range);
    assertThatThrownBy(() -> policy.withShare(part)).hasMessage("share" + range);
    assertThatThrownBy(() -> policy.withWarnAt(part)).hasMessage("warnAt" + range);
    assertThatThrownBy(() -> policy.pacer().scaleTo(Kind.PUBLISH, part))
        .hasMessage("factor" + range);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -5, 10_001, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void costOutOfRange_isRefused_withRangeAndValue(int cost) {
    QuotaPolicy policy = QuotaPolicy.none().withCost(message -> cost);

    assertThatThrownBy(() -> policy.costOf(Message.of(new byte[1])))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("cost must be from 1 to 10000, was " + cost);
  }

  @Test
  void withMethods_changeACopy_thatIsABudgetOfItsOwn() {
    QuotaPolicy none = QuotaPolicy.none();

    QuotaPolicy some =
        none.withPublish(Scope.TOPIC, Quota.messagesPerSecond(10)).withOnExceed(OnExceed.FAIL);

    assertThat(none.has(Kind.PUBLISH)).isFalse();
    assertThat(some.quota(Kind.PUBLISH, Scope.TOPIC)).isEqualTo(Quota.messagesPerSecond(10));
    assertThat(some.quota(Kind.CONSUME, Scope.TOPIC)).isEqualTo(Quota.none());
    assertThat(some.headroom()).isEqualTo(0.9);
    assertThat(some.warnAt()).isEqualTo(0.8);
    assertThat(some.pacer()).isNotSameAs(some.withShare(1).pacer());
    assertThat(some.withPublish(Scope.TOPIC, Quota.none()).has(Kind.PUBLISH)).isFalse();
  }

  @Test
  void change_isInForceForThoseWhoGoByTheObject() {
    QuotaPolicy policy = QuotaPolicy.none();
    QuotaPolicy next = policy.withPublish(Scope.CLUSTER, Quota.bytesPerSecond(5));

    policy.changeTo(next);

    assertThat(policy.inForce()).isSameAs(next);
    assertThat(policy.has(Kind.PUBLISH)).isFalse();
    assertThat(next.inForce()).isSameAs(next);
  }
}
