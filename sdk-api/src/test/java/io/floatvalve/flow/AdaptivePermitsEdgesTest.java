package io.floatvalve.flow;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.flow.PermitLaw.Seen;
import org.junit.jupiter.api.Test;

/** Where the law changes its mind, to the message and the nanosecond. */
final class AdaptivePermitsEdgesTest {
  private static final long MS = 1_000_000L;
  private static final double SHORT = 1_000;
  private static final double TEN_FREE = 400_000; // 4 ms of work are ten messages

  private final AdaptivePermits law = new AdaptivePermits(PermitPolicy.adaptive(), 1);

  private void begin() {
    law.ranEmpty(0, 0, 0, 0, 0);
  }

  private int empty(long nanos, long taken, double handlerNanos) {
    int permits = law.ranEmpty(nanos, taken, 0, 0, handlerNanos);
    assertThat(permits).isEqualTo(law.permits());
    return permits;
  }

  private int tick(long nanos, long taken, int leastWaiting, long bytes) {
    int permits = law.tick(new Seen(nanos, taken, 0, leastWaiting, false, bytes));
    assertThat(permits).isEqualTo(law.permits());
    return permits;
  }

  @Test
  void fewerMayBeWanted_forTheirNumberOrTheirBytes() {
    assertThat(law.permits(3, 1)).isEqualTo(3);
    assertThat(law.permits(9, 1)).isEqualTo(4);
    law.taken(100);
    assertThat(law.permits(9, 250)).isEqualTo(2);
  }

  @Test
  void theTimeBeforeTheFirstMessage_isNoTrickle() {
    assertThat(empty(10_000 * MS, 0, TEN_FREE)).isEqualTo(4);
    assertThat(empty(10_050 * MS, 4, TEN_FREE)).isEqualTo(10);
  }

  @Test
  void evidence_isOfHalfASecond() {
    begin();
    assertThat(empty(500 * MS, 1, 0)).isEqualTo(4);
    assertThat(empty(500 * MS, 4, 0)).isEqualTo(8);
  }

  @Test
  void evidenceThatIsOlder_beginsAnew() {
    begin();
    assertThat(empty(500 * MS + 1, 1, 0)).isEqualTo(4);
    assertThat(empty(501 * MS, 4, 0)).isEqualTo(4);
    assertThat(empty(502 * MS, 5, 0)).isEqualTo(8);
  }

  @Test
  void evidence_countsFromTheLastChange() {
    begin();
    assertThat(empty(300 * MS, 4, 0)).isEqualTo(8);
    assertThat(empty(400 * MS, 5, 0)).isEqualTo(8);
    assertThat(empty(450 * MS, 11, 0)).isEqualTo(8);
    assertThat(empty(450 * MS, 12, 0)).isEqualTo(16);
  }

  @Test
  void noTimeAtAll_speaksAgainstNothing() {
    AdaptivePermits wide = new AdaptivePermits(PermitPolicy.adaptive(), 10);
    wide.ranEmpty(0, 0, 0, 0, 0);

    assertThat(wide.ranEmpty(0, 4, 4, 0, SHORT)).isEqualTo(6);
  }

  @Test
  void noTimeAtAll_speaksAgainstNothing_whateverHandlersDid() {
    AdaptivePermits wide = new AdaptivePermits(PermitPolicy.adaptive(), 10);
    wide.ranEmpty(0, 0, 0, 0, 0);

    assertThat(wide.ranEmpty(0, 4, 4, 100, SHORT)).isEqualTo(6);
  }

  @Test
  void theFirstLook_mayFindMessagesTaken() {
    assertThat(empty(10_000 * MS, 4, TEN_FREE)).isEqualTo(4);
    assertThat(empty(10_050 * MS, 4, TEN_FREE)).isEqualTo(10);
  }

  @Test
  void growing_paysWhereHandlersAreIdle_forMoreThanItsPart() {
    begin();
    assertThat(law.ranEmpty(250 * MS, 4, 0, 125 * MS, 62.5 * MS)).isEqualTo(4);
    assertThat(law.ranEmpty(500 * MS, 8, 0, 249 * MS, 62.5 * MS)).isEqualTo(8);
  }

  @Test
  void growth_isJudgedByWhatComesAfterABrokerHasHeardOfIt() {
    begin();
    assertThat(empty(50 * MS, 4, TEN_FREE)).isEqualTo(10);
    law.heardAfter(1);
    assertThat(empty(150 * MS, 44, TEN_FREE)).isEqualTo(10); // in part due to the number before
    assertThat(empty(250 * MS, 84, TEN_FREE)).isEqualTo(20);
  }

  @Test
  void growth_isJudgedAtOnce_whereABrokerHearsAtOnce() {
    begin();
    assertThat(empty(50 * MS, 4, TEN_FREE)).isEqualTo(10);
    assertThat(empty(150 * MS, 44, TEN_FREE)).isEqualTo(20);
  }

  @Test
  void growth_isJudgedByPermitsThatCameRoundFourTimes_inFiftyMilliseconds() {
    begin();
    assertThat(empty(50 * MS, 4, TEN_FREE)).isEqualTo(10);
    assertThat(empty(100 * MS, 43, TEN_FREE)).isEqualTo(10);
    assertThat(empty(100 * MS, 44, TEN_FREE)).isEqualTo(20);
  }

  @Test
  void growth_isJudgedAfterAQuarterOfASecond_whateverCameRound() {
    begin();
    assertThat(empty(50 * MS, 4, TEN_FREE)).isEqualTo(10);
    assertThat(empty(300 * MS - 1, 43, TEN_FREE)).isEqualTo(10);
    assertThat(empty(300 * MS, 43, TEN_FREE)).isEqualTo(20);
  }

  /** To 20 permits, at 400 messages a second, which is what it takes to pay: 582 a second. */
  private void grownToTwenty() {
    begin();
    assertThat(empty(50 * MS, 4, TEN_FREE)).isEqualTo(10);
    assertThat(empty(150 * MS, 44, TEN_FREE)).isEqualTo(20);
  }

  @Test
  void growth_thatBroughtLessThanHalfOfWhatItCould_isNotFollowed() {
    grownToTwenty();
    assertThat(empty(400 * MS, 44 + 140, TEN_FREE)).isEqualTo(20);
  }

  @Test
  void growth_thatBroughtHalfOfWhatItCould_isFollowed() {
    grownToTwenty();
    assertThat(empty(400 * MS, 44 + 150, TEN_FREE)).isEqualTo(40);
  }

  /** Leaves 1.4 s behind in which nothing more came than before the growth at 150 ms. */
  private void didNotPay() {
    grownToTwenty();
    for (int i = 1; i <= 5; i++) {
      assertThat(empty((150 + 250L * i) * MS, 44 + 100L * i, TEN_FREE)).isEqualTo(20);
    }
  }

  @Test
  void growth_thatDidNotPay_isTakenBackAfterASecondAndAHalf() {
    didNotPay();
    assertThat(empty(1_650 * MS, 644, TEN_FREE)).isEqualTo(10);
  }

  @Test
  void growth_thatDidNotPay_isNotTakenBackBefore() {
    didNotPay();
    assertThat(empty(1_650 * MS - 1, 644, TEN_FREE)).isEqualTo(20);
  }

  @Test
  void growth_thatDidNotPay_isTriedAgainAfterHalfAMinute() {
    didNotPay();
    long millis = 1_650;
    long taken = 644;
    while (millis < 31_650) {
      assertThat(empty(millis * MS, taken, TEN_FREE)).isEqualTo(10);
      millis += 250;
      taken += 100;
    }
    assertThat(empty(millis * MS, taken, TEN_FREE)).isEqualTo(20);
  }

  @Test
  void growth_thatDidNotPay_isTriedAgainOnceTheRateIsLessThanHalf() {
    didNotPay();
    empty(1_650 * MS, 644, TEN_FREE);
    assertThat(empty(1_900 * MS, 644 + 50, TEN_FREE)).isEqualTo(10); // just half
    assertThat(empty(2_150 * MS, 694 + 50, TEN_FREE)).isEqualTo(10);
    assertThat(empty(2_400 * MS, 744 + 49, TEN_FREE)).isEqualTo(10); // in the middle of that time
    assertThat(empty(2_650 * MS, 793 + 49, TEN_FREE)).isEqualTo(20);
  }

  /** Four workers at 1 ms, where each number of permits brings as much as it can from afar. */
  private static AdaptivePermits grownFarAway() {
    var far = new AdaptivePermits(PermitPolicy.adaptive(), 4);
    int unused = far.ranEmpty(0, 0, 0, 0, 0);
    assertThat(far.ranEmpty(50 * MS, 8, 0, 8 * MS, MS)).isEqualTo(16);
    assertThat(far.ranEmpty(150 * MS, 88, 0, 88 * MS, MS)).isEqualTo(32);
    assertThat(far.ranEmpty(250 * MS, 248, 0, 248 * MS, MS)).isEqualTo(64);
    return far;
  }

  @Test
  void growth_isHeldToWhatHandlersWereBusy_sinceTheChangeBefore() {
    AdaptivePermits far = grownFarAway();

    assertThat(far.ranEmpty(500 * MS, 748, 0, 748 * MS, MS)).isEqualTo(64);
  }

  @Test
  void growth_isAskedForNoMoreThanBusyHandlersCouldBring() {
    AdaptivePermits far = grownFarAway();

    assertThat(far.ranEmpty(350 * MS, 518, 0, 518 * MS, MS)).isEqualTo(128);
    // From 68 % busy to 92 %, where twice the permits could have meant twice the rate.
    assertThat(far.ranEmpty(700 * MS, 1_813, 0, 1_813 * MS, MS)).isEqualTo(256);
  }

  @Test
  void surplus_isWhatWaits_beyondTheTimeAhead() {
    begin();
    assertThat(empty(50 * MS, 4, SHORT)).isEqualTo(64);
    assertThat(tick(1_000 * MS, 4, 110, 0)).isEqualTo(64); // the first tells no rate
    assertThat(tick(1_050 * MS, 104, 110, 0)).isEqualTo(54); // 2,000 a second: 100 ahead
    assertThat(tick(1_100 * MS, 144, 92, 0)).isEqualTo(44); // 1,640: 82 ahead
    assertThat(tick(1_150 * MS, 144, 92, 0)).isEqualTo(44); // nothing was taken: no rate
    assertThat(tick(1_200 * MS, 226, 82, 0)).isEqualTo(44); // 1,640: just what is ahead
  }

  @Test
  void ticksAtTheSameMoment_tellNoRate() {
    begin();
    empty(50 * MS, 4, SHORT);
    tick(1_000 * MS, 4, 110, 0);
    assertThat(tick(1_000 * MS, 9, 110, 0)).isEqualTo(64);
    assertThat(tick(1_050 * MS, 109, 110, 0)).isEqualTo(54);
  }

  @Test
  void bytesThatWait_takeAllPermits_onceTheyAreAboveTheBudget() {
    begin();
    empty(50 * MS, 4, SHORT);

    assertThat(tick(60 * MS, 4, -1, 32 << 20)).isEqualTo(64);
    assertThat(tick(70 * MS, 4, -1, (32 << 20) + 1)).isEqualTo(2);
  }

  @Test
  void aTickThatTakesNothingAway_leavesTheEvidence() {
    begin();
    tick(1 * MS, 0, -1, 0);
    tick(20 * MS, 2, -1, 0);

    assertThat(empty(50 * MS, 4, TEN_FREE)).isEqualTo(10);
  }

  @Test
  void aTickThatShrinks_beginsTheEvidenceAnew() {
    begin();
    empty(50 * MS, 4, SHORT);
    tick(60 * MS, 4, -1, 0);
    assertThat(tick(110 * MS, 104, 110, 0)).isEqualTo(54);

    assertThat(empty(120 * MS, 157, SHORT)).isEqualTo(54);
    assertThat(empty(120 * MS, 158, SHORT)).isGreaterThan(54);
  }

  @Test
  void turningSlow_goesDownToTheLeast() {
    begin();
    empty(50 * MS, 4, SHORT);

    assertThat(law.turnedSlow()).isEqualTo(2);
    assertThat(law.permits()).isEqualTo(2);
  }

  @Test
  void afterBeingStuck_whatHeldBeforeHoldsAgain_andHasToBeEarnedAnew() {
    begin();
    assertThat(empty(50 * MS, 4, TEN_FREE)).isEqualTo(10);
    assertThat(law.stuck()).isEqualTo(2);

    assertThat(empty(150 * MS, 13, TEN_FREE)).isEqualTo(10);
    assertThat(empty(200 * MS, 14, TEN_FREE)).isEqualTo(10);
  }

  @Test
  void stuckAgain_afterAsManyAsThereWerePermits_isForgivenAgain() {
    begin();
    empty(50 * MS, 4, TEN_FREE);
    law.stuck();
    assertThat(empty(150 * MS, 14, TEN_FREE)).isEqualTo(10);
    assertThat(law.stuck()).isEqualTo(2);
    assertThat(empty(200 * MS, 15, TEN_FREE)).isEqualTo(10);
  }

  @Test
  void stuckAgain_afterFewer_isNot() {
    begin();
    empty(50 * MS, 4, TEN_FREE);
    law.stuck();
    assertThat(empty(150 * MS, 13, TEN_FREE)).isEqualTo(10);
    law.stuck();
    assertThat(empty(151 * MS, 14, TEN_FREE)).isEqualTo(2);
  }
}
