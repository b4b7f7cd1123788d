package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.Nacked;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Returned;
import io.floatvalve.publish.PublishOutcome.Unknown;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class RetryPolicyTest {
  private static final RetryPolicy ALL =
      RetryPolicy.upTo(3).afterNacked().afterUnknown().afterNotSent();

  private static Unknown unknown(Unknown.Cause cause) {
    return new Unknown(cause, "", 1);
  }

  private static NotSent notSent(NotSent.Reason reason) {
    return new NotSent(reason, "", 1);
  }

  @Test
  void whatSucceededOrIsFutile_isNeverSentAgain() {
    assertThat(ALL.again(new Confirmed(null, 1, 1, 1, 1, false))).isFalse();
    assertThat(ALL.again(new Returned(312, "", "", "", Message.of(new byte[0]), 1))).isFalse();
    for (NotSent.Reason reason :
        Set.of(
            NotSent.Reason.MESSAGE_TOO_LARGE,
            NotSent.Reason.INVALID_MESSAGE,
            NotSent.Reason.CLOSED)) {
      assertThat(ALL.again(notSent(reason))).as("%s", reason).isFalse();
    }
    assertThat(ALL.again(unknown(Unknown.Cause.PUBLISHER_CLOSED))).isFalse();
  }

  @Test
  void eachKind_isSentAgainOnlyWhereItWasAskedFor() {
    RetryPolicy none = RetryPolicy.upTo(3);
    Unknown lost = unknown(Unknown.Cause.CONNECTION_LOST);
    NotSent waited = notSent(NotSent.Reason.RECOVERING);
    Nacked nacked = new Nacked(null, 1);

    assertThat(none.again(lost) || none.again(waited) || none.again(nacked)).isFalse();
    assertThat(none.afterNacked().again(nacked)).isTrue();
    assertThat(none.afterNacked().again(lost)).isFalse();
    assertThat(none.afterNacked().again(waited)).isFalse();
    assertThat(none.afterUnknown().again(lost)).isTrue();
    assertThat(none.afterUnknown().again(nacked)).isFalse();
    assertThat(none.afterUnknown().again(waited)).isFalse();
    assertThat(none.afterNotSent().again(waited)).isTrue();
    assertThat(none.afterNotSent().again(nacked)).isFalse();
    assertThat(none.afterNotSent().again(lost)).isFalse();
    assertThat(ALL.again(nacked) && ALL.again(lost) && ALL.again(waited)).isTrue();
  }

  @Test
  void theLastAttempt_isTheLast() {
    assertThat(ALL.again(new Nacked(null, 2))).isTrue();
    assertThat(ALL.again(new Nacked(null, 3))).isFalse();
    assertThat(ALL.maxAttempts()).isEqualTo(3);
    assertThat(RetryPolicy.never().afterNacked().again(new Nacked(null, 1))).isFalse();
  }

  @Test
  void backOff_isKeptByAllWhoAreMadeFromIt() {
    RetryPolicy policy =
        RetryPolicy.upTo(9)
            .withBackoff(Duration.ofMillis(3), Duration.ofMillis(10))
            .afterNacked()
            .afterUnknown()
            .afterNotSent();

    assertThat(policy.delayNanos(1, 0)).isEqualTo(3_000_000);
    assertThat(policy.delayNanos(3, 0)).isEqualTo(10_000_000);
    assertThat(policy.delayNanos(3, 1)).isEqualTo(5_000_000);
    assertThat(RetryPolicy.never().delayNanos(1, 0)).isEqualTo(100_000_000);
  }

  @Test
  void bounds_areHeldAndNamed() {
    assertThat(RetryPolicy.upTo(1).maxAttempts()).isEqualTo(1);
    assertThat(RetryPolicy.upTo(100).maxAttempts()).isEqualTo(100);
    assertThatThrownBy(() -> RetryPolicy.upTo(0)).hasMessageContaining("from 1 to 100, was 0");
    assertThatThrownBy(() -> RetryPolicy.upTo(101)).hasMessageContaining("was 101");
    Duration ms = Duration.ofMillis(1);
    Duration hour = Duration.ofHours(1);
    assertThat(RetryPolicy.upTo(2).withBackoff(ms, ms).delayNanos(9, 0)).isEqualTo(1_000_000);
    assertThat(RetryPolicy.upTo(2).withBackoff(hour, hour).delayNanos(1, 0))
        .isEqualTo(hour.toNanos());
    for (Duration[] wrong :
        new Duration[][] {{ms.minusNanos(1), hour}, {ms, hour.plusNanos(1)}, {hour, ms}}) {
      assertThatThrownBy(() -> RetryPolicy.upTo(2).withBackoff(wrong[0], wrong[1]))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(wrong[0] + " to " + wrong[1]);
    }
  }

  @Test
  void text_saysWhatItDoes() {
    assertThat(RetryPolicy.never()).hasToString("never");
    assertThat(ALL).hasToString("up to 3 attempts after NACKED UNKNOWN NOT_SENT");
    assertThat(RetryPolicy.upTo(2).afterUnknown()).hasToString("up to 2 attempts after UNKNOWN");
  }
}
