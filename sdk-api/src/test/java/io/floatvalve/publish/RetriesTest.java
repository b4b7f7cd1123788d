package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.Nacked;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Returned;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RetriesTest {
  private static PublishOutcome end(Verdict verdict, int attempt) {
    return switch (verdict) {
      case CONFIRMED -> new Confirmed(null, 1, attempt, 10, attempt, false);
      case RETURNED -> new Returned(312, "NO_ROUTE", "e", "k", Message.of(new byte[0]), attempt);
      case NACKED -> new Nacked("reason " + attempt, attempt);
      case UNKNOWN -> new Unknown(Unknown.Cause.CONNECTION_LOST, "detail " + attempt, attempt);
      case NOT_SENT -> new NotSent(NotSent.Reason.RECOVERING, "detail " + attempt, attempt);
    };
  }

  @Test
  void ofAnyThreeAttempts_confirmedGoesBeforeUnknown_beforeNacked_beforeTheLast() {
    List<Verdict> earlier = List.of(Verdict.UNKNOWN, Verdict.NACKED, Verdict.NOT_SENT);
    for (Verdict first : earlier) {
      for (Verdict second : earlier) {
        for (Verdict last : Verdict.values()) {
          Retries retries = new Retries();
          retries.ended(end(first, 1));
          retries.ended(end(second, 2));

          PublishOutcome all = retries.all(end(last, 3));

          List<Verdict> seen = List.of(first, second, last);
          Verdict expected =
              seen.contains(Verdict.CONFIRMED)
                  ? Verdict.CONFIRMED
                  : seen.contains(Verdict.UNKNOWN)
                      ? Verdict.UNKNOWN
                      : seen.contains(Verdict.NACKED) ? Verdict.NACKED : last;
          assertThat(all.verdict()).as("%s", seen).isEqualTo(expected);
          assertThat(all.attempts()).as("%s", seen).isEqualTo(3);
          assertThat(retries.attempts()).isEqualTo(2);
        }
      }
    }
  }

  @Test
  void whatIsTold_isOfTheLatestAttemptThatCameToThat() {
    Retries retries = new Retries();
    List<PublishOutcome> all = new ArrayList<>();

    retries.ended(end(Verdict.NACKED, 1));
    all.add(retries.all(end(Verdict.NOT_SENT, 2)));
    retries.ended(end(Verdict.NACKED, 2));
    all.add(retries.all(end(Verdict.NOT_SENT, 3)));
    retries.ended(end(Verdict.UNKNOWN, 3));
    retries.ended(end(Verdict.NACKED, 4));
    all.add(retries.all(end(Verdict.NACKED, 5)));

    assertThat(all)
        .containsExactly(
            new Nacked("reason 1", 2),
            new Nacked("reason 2", 3),
            new Unknown(Unknown.Cause.CONNECTION_LOST, "detail 3", 5));
  }

  @Test
  void ofTwoThatCameToTheSame_theLastIsTold() {
    for (Verdict each : List.of(Verdict.NACKED, Verdict.UNKNOWN, Verdict.NOT_SENT)) {
      Retries retries = new Retries();
      retries.ended(end(each, 1));
      PublishOutcome last = end(each, 2);

      assertThat(retries.all(last)).isSameAs(last);
    }
  }

  @Test
  void lateConfirm_standsWhateverTheLastAttemptCameTo() {
    Confirmed late = new Confirmed("receipt", 1, 7, 10, 1, false);
    for (Verdict last : Verdict.values()) {
      Retries retries = new Retries();
      retries.ended(end(Verdict.UNKNOWN, 1));
      assertThat(retries.late()).isNull();
      retries.confirmedLate(late);
      assertThat(retries.late()).isSameAs(late);

      PublishOutcome all = retries.all(end(last, 2));

      assertThat(all.verdict()).isEqualTo(Verdict.CONFIRMED);
      if (last != Verdict.CONFIRMED) {
        assertThat(all).isSameAs(late);
      }
    }
  }
}
