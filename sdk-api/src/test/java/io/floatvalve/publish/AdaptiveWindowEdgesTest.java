package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where the law changes its mind, to the message and the nanosecond. */
final class AdaptiveWindowEdgesTest {
  private static final long MS = 1_000_000L;
  private static final long BASE = 10 * MS;
  private static final long TARGET = 29_500_000L; // of that base, at a slow broker
  private static final long SENT = 100;

  private AdaptiveWindow law = new AdaptiveWindow(10_000);
  private long now;

  private int answer(int count, double nanosEach, long settled, boolean waiting) {
    int limit = law.answered(now, count, count * nanosEach, SENT, settled, waiting);
    assertThat(limit).isEqualTo(law.limit());
    return limit;
  }

  /** An answer after which something of before the round is still in flight. */
  private int early(int count, double nanosEach) {
    return answer(count, nanosEach, SENT - 1, true);
  }

  private int last(int count, double nanosEach) {
    return answer(count, nanosEach, SENT, true);
  }

  /** Four answers at one moment, the last of which settles what was in flight. */
  private int round(long nanos, int count, double nanosEach) {
    now += nanos;
    early(1, nanosEach);
    early(1, nanosEach);
    early(1, nanosEach);
    return last(count - 3, nanosEach);
  }

  private int tick(long nanos) {
    now += nanos;
    int limit = law.tick(now, SENT);
    assertThat(limit).isEqualTo(law.limit());
    return limit;
  }

  private void begin(double baseNanos) {
    assertThat(last(1, baseNanos)).isEqualTo(Math.min(16, law.size()));
  }

  /** To 64.9, at rest no more than at the start. */
  private void grown() {
    begin(BASE);
    assertThat(round(10 * MS, 16, BASE)).isEqualTo(32);
    assertThat(round(10 * MS, 32, BASE)).isEqualTo(65);
  }

  /** In a check of 16 by 8 whose drain is over. */
  private void checking(long suspectNanos) {
    begin(BASE);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(16);
    assertThat(round(suspectNanos, 16, (double) suspectNanos)).isEqualTo(8);
    assertThat(last(1, MS)).isEqualTo(8);
  }

  /** In a probe whose drain is over, at 700 ms. */
  private void probing() {
    grown();
    now = 700 * MS;
    assertThat(last(1, BASE)).isEqualTo(8);
    assertThat(law.size()).isEqualTo(65);
  }

  // ------------------------------------------------------------------------------------ beginning

  @ParameterizedTest
  @CsvSource({"1, 1", "3, 3", "15, 15", "16, 16", "17, 16", "10000, 16"})
  void theFirstWindow_isSixteen_orTheMost(int most, int first) {
    law = new AdaptiveWindow(most);

    assertThat(law.limit()).isEqualTo(first);
    assertThat(law.size()).isEqualTo(first);
    assertThat(law.baseNanos()).isNegative();
  }

  @Test
  void theFirstAnswer_isTheBase_ofEachMessageItSettles() {
    assertThat(last(4, BASE)).isEqualTo(16);

    assertThat(law.baseNanos()).isEqualTo(BASE);
    assertThat(law.targetNanos()).isEqualTo(TARGET);
  }

  @Test
  void aFirstAnswerInNoTime_isABaseToo() {
    begin(0);
    early(1, BASE);

    assertThat(law.baseNanos()).isZero();
  }

  @Test
  void theFirstRound_endsWithWhatWasInFlightAtTheFirstAnswer() {
    assertThat(law.answered(0, 1, BASE, 17, 1, true)).isEqualTo(16);
    for (int settled = 2; settled <= 16; settled++) {
      assertThat(law.answered(10 * MS, 1, BASE, 33, settled, true)).isEqualTo(16);
    }
    assertThat(law.answered(10 * MS, 1, BASE, 33, 17, true)).isEqualTo(32);
  }

  // ----------------------------------------------------------------------------------- the target

  @ParameterizedTest
  @CsvSource({"0, 12", "10, 29.5", "60, 117", "80, 137"})
  void theTarget_isThreeQuartersAboveTheBase_atMost45Millis_andTwelveMore(
      double baseMillis, double targetMillis) {
    begin(baseMillis * MS);

    assertThat(law.targetNanos()).isEqualTo(targetMillis * MS);
  }

  @ParameterizedTest
  @CsvSource({"65, 11.5", "61, 12", "130, 6.5", "650, 2.5", "6500, 1.6"})
  void theTarget_leavesTheTimeOf65Messages(int perTenMillis, double queueMillis) {
    begin(0);
    round(10 * MS, perTenMillis, 10.0 * MS * 16 / perTenMillis);

    assertThat(law.targetNanos()).isEqualTo(queueMillis * MS, within(1e-3));
  }

  // -------------------------------------------------------------------------------------- a round

  @Test
  void aRound_isOfTenMillis() {
    begin(BASE);
    assertThat(round(10 * MS - 1, 16, BASE)).isEqualTo(16);
    now++;
    assertThat(last(1, BASE)).isEqualTo(32);
  }

  @Test
  void aRound_isOfFourAnswers() {
    begin(BASE);
    now = 10 * MS;
    early(5, BASE);
    early(5, BASE);
    assertThat(last(5, BASE)).isEqualTo(16);
    assertThat(last(1, BASE)).isEqualTo(32);
  }

  @Test
  void aRound_isOfFewerAnswers_afterATenthOfASecond() {
    begin(BASE);
    now = 100 * MS - 1;
    assertThat(last(100, BASE)).isEqualTo(16);
    now++;
    assertThat(last(80, BASE)).isGreaterThan(16);
  }

  @Test
  void aRound_lastsUntilWhatWasInFlightIsSettled() {
    begin(BASE);
    now = 20 * MS;
    for (int i = 0; i < 20; i++) {
      assertThat(early(1, BASE)).isEqualTo(16);
    }
    assertThat(last(1, BASE)).isEqualTo(32);
  }

  @Test
  void eachRound_beginsAnew() {
    begin(BASE);
    round(10 * MS, 16, 2 * BASE);
    assertThat(law.size()).isEqualTo(24);
    now += 10 * MS;
    early(1, BASE);
    early(1, BASE);
    assertThat(last(30, BASE)).isEqualTo(24);
    assertThat(last(1, BASE)).isEqualTo(48);
  }

  // ----------------------------------------------------------------------------- who is the limit

  @Test
  void aWindowThatIsHalfUsed_isTheLimit() {
    begin(BASE);
    assertThat(round(10 * MS, 8, BASE)).isEqualTo(32);
  }

  @Test
  void aWindowThatIsLessThanHalfUsed_isNot() {
    begin(BASE);
    assertThat(round(10 * MS + 2, 8, BASE)).isEqualTo(16);
    assertThat(law.targetNanos()).isEqualTo(TARGET);
  }

  @ParameterizedTest
  @CsvSource({"4, 2, 32", "4, 1, 16", "5, 2, 16", "5, 3, 32"})
  void theWindowIsTheLimit_whereHalfOfTheAnswersFoundMessagesWaiting(
      int answers, int waiting, int limit) {
    begin(BASE);
    now = 10 * MS;
    for (int i = 1; i < answers; i++) {
      answer(4, BASE, SENT - 1, i <= waiting);
    }
    assertThat(answer(4, BASE, SENT, answers <= waiting)).isEqualTo(limit);
  }

  @Test
  void theBase_fallsWithARoundBelowIt() {
    begin(BASE);
    round(10 * MS, 16, BASE - 1);

    assertThat(law.baseNanos()).isEqualTo(BASE - 1);
  }

  @Test
  void theBase_doesNotRiseWithTheRoundTrip() {
    begin(BASE);
    round(20 * MS, 16, 20 * MS);

    assertThat(law.baseNanos()).isEqualTo(BASE);
  }

  @Test
  void theBase_followsByAQuarter_whereLessThanAQuarterIsUsed() {
    begin(BASE);
    round(40 * MS + 10, 8, 20 * MS);

    assertThat(law.baseNanos()).isEqualTo(12.5 * MS);
  }

  @Test
  void theBase_doesNotFollow_whereAQuarterIsUsed() {
    begin(BASE);
    round(40 * MS, 8, 20 * MS);

    assertThat(law.baseNanos()).isEqualTo(BASE);
  }

  // --------------------------------------------------------------------------------------- a step

  @Test
  void atTheStart_theWindowGrowsToTheTargetAtOnce() {
    begin(BASE);
    assertThat(round(21 * MS, 16, 20_700_000)).isEqualTo(23);
    assertThat(round(10 * MS, 23, BASE)).isEqualTo(46);
  }

  @Test
  void nearTheTarget_theStartIsOver() {
    begin(BASE);
    assertThat(round(21 * MS, 16, 20_900_000)).isEqualTo(19);
    assertThat(round(10 * MS, 19, BASE)).isEqualTo(27);
    assertThat(round(10 * MS, 27, BASE)).isEqualTo(38);
  }

  @Test
  void atTheTarget_theWindowStays() {
    begin(BASE);
    assertThat(round(TARGET, 16, TARGET)).isEqualTo(16);
  }

  @Test
  void aboveTheTarget_theWindowShrinksByHalfOfWhatItIsAbove() {
    begin(BASE);
    assertThat(round(20 * MS, 32, BASE)).isEqualTo(32);
    round(10 * MS, 32, BASE);
    assertThat(round(36 * MS, 65, 36 * MS)).isEqualTo(59); // 64.9 by the root of 29.5 / 36
  }

  @Test
  void farAboveTheTarget_theWindowShrinksByASixth() {
    grown();
    assertThat(round(45 * MS, 65, 45 * MS)).isEqualTo(54);
    assertThat(round(45 * MS, 65, 59 * MS)).isEqualTo(46);
  }

  @Test
  void theWindow_doesNotGrowBeyondTheMost() {
    law = new AdaptiveWindow(20);
    begin(BASE);
    assertThat(round(10 * MS, 16, BASE)).isEqualTo(20);
    assertThat(law.size()).isEqualTo(20);
  }

  @Test
  void theWindow_doesNotShrinkBelowFour() {
    law = new AdaptiveWindow(4);
    begin(BASE);
    for (int i = 0; i < 5; i++) {
      assertThat(round(100 * MS, 16, 100 * MS)).isEqualTo(4);
      assertThat(law.size()).isEqualTo(4);
    }
  }

  @Test
  void aMostBelowFour_isTheLeast() {
    law = new AdaptiveWindow(2);
    begin(BASE);
    for (int i = 0; i < 5; i++) {
      assertThat(round(100 * MS, 16, 100 * MS)).isEqualTo(2);
    }
  }

  // --------------------------------------------------------------------------------------- checks

  @Test
  void twiceTheTarget_isNotSuspect() {
    begin(BASE);
    assertThat(round(59 * MS, 16, 2 * TARGET)).isEqualTo(13);
  }

  @Test
  void moreThanTwiceTheTarget_forTwoRounds_halvesTheWindowForAMoment() {
    begin(BASE);
    assertThat(round(60 * MS, 16, 2 * TARGET + 1)).isEqualTo(16);
    assertThat(round(60 * MS, 16, 2 * TARGET + 1)).isEqualTo(8);
    assertThat(law.size()).isEqualTo(16);
  }

  @Test
  void moreThanTwiceTheTarget_endsTheStart() {
    begin(BASE);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(16);
    assertThat(round(10 * MS, 16, BASE)).isEqualTo(23);
  }

  @Test
  void suspicion_isForgottenAfterARoundThatIsNotAbove() {
    begin(BASE);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(16);
    assertThat(round(TARGET, 16, TARGET)).isEqualTo(16);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(16);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(8);
  }

  @Test
  void suspicion_isForgottenAfterARoundInWhichTheApplicationWasTheLimit() {
    begin(BASE);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(16);
    assertThat(round(60 * MS, 7, 60 * MS)).isEqualTo(16);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(16);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(8);
  }

  @Test
  void aWindowThatCameDownByAThird_isHalvedForAMoment() {
    grown();
    assertThat(round(45 * MS, 65, 45 * MS)).isEqualTo(54);
    assertThat(round(45 * MS, 65, 45 * MS)).isEqualTo(46); // 0.705 of it
    assertThat(round(45 * MS, 65, 45 * MS)).isEqualTo(19);
    assertThat(law.size()).isEqualTo(38);
  }

  @Test
  void aCheck_waitsForWhatWasInFlight_thenForThreeMillisAndFourAnswers() {
    begin(BASE);
    round(60 * MS, 16, 60 * MS);
    round(60 * MS, 16, 60 * MS);
    now += 20 * MS;
    for (int i = 0; i < 5; i++) {
      assertThat(early(1, 60 * MS)).isEqualTo(8);
    }
    assertThat(last(1, 60 * MS)).isEqualTo(8);
    assertThat(round(3 * MS - 1, 4, BASE)).isEqualTo(8);
    now++;
    assertThat(early(1, BASE)).isEqualTo(8);
    assertThat(last(1, BASE)).isEqualTo(16);
  }

  @Test
  void aCheck_isOfFourAnswers() {
    checking(60 * MS);
    now += 3 * MS;
    assertThat(last(1, BASE)).isEqualTo(8);
    assertThat(last(1, BASE)).isEqualTo(8);
    assertThat(last(1, BASE)).isEqualTo(8);
    assertThat(last(1, BASE)).isEqualTo(16);
  }

  @Test
  void aCheck_atTheTarget_showsAPauseThatIsOver() {
    checking(60 * MS);
    assertThat(round(3 * MS, 8, TARGET)).isEqualTo(16);
    assertThat(law.size()).isEqualTo(16);
    assertThat(law.baseNanos()).isEqualTo(BASE);
  }

  @Test
  void aCheck_aboveTheTarget_showsASlowerBroker() {
    checking(60 * MS);
    assertThat(round(3 * MS, 8, TARGET + 1)).isEqualTo(8);
    assertThat(law.size()).isEqualTo(8);
    assertThat(law.baseNanos()).isEqualTo(BASE);
  }

  @Test
  void aCheckAsSlowAsBefore_showsALongerWay() {
    checking(60 * MS);
    assertThat(round(3 * MS, 8, 60 * MS)).isEqualTo(16);
    assertThat(law.size()).isEqualTo(16);
    assertThat(law.baseNanos()).isEqualTo(60 * MS);
  }

  @Test
  void aWayOfHalfTheRoundTrip_isNoneYet() {
    checking(60 * MS);
    assertThat(round(3 * MS, 8, 40 * MS)).isEqualTo(8);
    assertThat(law.size()).isEqualTo(8);
    assertThat(law.baseNanos()).isEqualTo(BASE);
  }

  @Test
  void aWayOfMoreThanHalfTheRoundTrip_isTheBase() {
    checking(60 * MS);
    assertThat(round(3 * MS, 8, 40 * MS + 1)).isEqualTo(16);
    assertThat(law.size()).isEqualTo(16);
    assertThat(law.baseNanos()).isEqualTo(20 * MS + 2);
  }

  @Test
  void aSlowerBroker_getsHalfAgain_whereTheRoundTripIsStillTwiceTheTarget() {
    checking(200 * MS);
    assertThat(round(3 * MS, 8, 2 * TARGET + 1)).isEqualTo(4);
    assertThat(law.size()).isEqualTo(8);
  }

  @Test
  void aSlowerBroker_keepsTheHalf_whereTheRoundTripIsTwiceTheTarget() {
    checking(200 * MS);
    assertThat(round(3 * MS, 8, 2 * TARGET)).isEqualTo(8);
    assertThat(law.size()).isEqualTo(8);
  }

  @Test
  void aSlowerBroker_getsNoLessThanFour() {
    checking(200 * MS);
    assertThat(round(3 * MS, 8, 100 * MS)).isEqualTo(4);
    assertThat(last(1, 100 * MS)).isEqualTo(4);
    assertThat(law.size()).isEqualTo(8);
    assertThat(round(3 * MS, 4, 60 * MS)).isEqualTo(4); // a way of 20 by the 100 of before
    assertThat(law.size()).isEqualTo(4);
    last(1, 60 * MS);
    assertThat(round(10 * MS, 16, BASE)).isEqualTo(6);
  }

  @Test
  void aCheckThatCannotHalve_tellsNothingOfTheWay() {
    law = new AdaptiveWindow(6);
    begin(BASE);
    assertThat(round(50 * MS, 16, 50 * MS)).isEqualTo(5);
    assertThat(round(50 * MS, 16, 50 * MS)).isEqualTo(4);
    assertThat(round(50 * MS, 16, 50 * MS)).isEqualTo(4);
    assertThat(law.size()).isEqualTo(4);
    last(1, 50 * MS);
    assertThat(round(3 * MS, 4, 70 * MS)).isEqualTo(4);

    assertThat(law.baseNanos()).isEqualTo(BASE);
  }

  @Test
  void aWindowOfFour_isNotChecked() {
    law = new AdaptiveWindow(5);
    assertThat(last(1, BASE)).isEqualTo(5);
    assertThat(round(50 * MS, 5, 50 * MS)).isEqualTo(4);
    assertThat(round(100 * MS, 5, 100 * MS)).isEqualTo(4);
    assertThat(round(100 * MS, 5, 100 * MS)).isEqualTo(4);
    assertThat(round(10 * MS, 5, BASE)).isEqualTo(5);
  }

  @Test
  void afterACheck_whatWasInFlightTellsNothing_andSuspicionBeginsAnew() {
    checking(60 * MS);
    round(3 * MS, 8, TARGET);
    now += 100 * MS;
    for (int i = 0; i < 5; i++) {
      assertThat(early(1, BASE)).isEqualTo(16);
    }
    assertThat(last(1, BASE)).isEqualTo(16);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(16);
    assertThat(round(60 * MS, 16, 60 * MS)).isEqualTo(8);
  }

  @Test
  void afterACheck_aThirdIsOfTheWindowItLeft() {
    checking(60 * MS);
    assertThat(round(3 * MS, 8, TARGET + 1)).isEqualTo(8);
    last(1, BASE);
    assertThat(round(50 * MS, 8, 50 * MS)).isEqualTo(7);
    assertThat(law.size()).isEqualTo(7);
    assertThat(round(50 * MS, 8, 50 * MS)).isEqualTo(6);
    assertThat(law.size()).isEqualTo(6);
  }

  @Test
  void aLongerWay_isProbedAfter200Millis() {
    checking(60 * MS);
    assertThat(round(3 * MS, 8, 60 * MS)).isEqualTo(16);
    long found = now;
    last(1, 60 * MS);
    assertThat(round(60 * MS, 16, 60 * MS)).isGreaterThan(16);
    now = found + 200 * MS - 1;
    int before = law.limit();
    assertThat(early(1, 60 * MS)).isEqualTo(before);
    now++;
    assertThat(early(1, 60 * MS)).isEqualTo(4);
  }

  @Test
  void aLongerWay_isProbedBefore_whereAProbeIsDue() {
    checking(60 * MS);
    now = 600 * MS;
    assertThat(round(0, 8, 60 * MS)).isEqualTo(16);
    last(1, 60 * MS);
    round(60 * MS, 16, 60 * MS);
    now = 700 * MS - 1;
    int before = law.limit();
    assertThat(early(1, 60 * MS)).isEqualTo(before);
    now++;
    assertThat(early(1, 60 * MS)).isEqualTo(4);
  }

  // --------------------------------------------------------------------------------------- probes

  @ParameterizedTest
  @CsvSource({"32, 8", "60, 15", "128, 32", "132, 32", "400, 32"})
  void aProbe_isOfAQuarterOfWhatTheWayHolds_orHalfTheWindow(int count, int limit) {
    begin(BASE);
    round(10 * MS, 16, BASE);
    assertThat(round(10 * MS, count, BASE)).isEqualTo(65);
    now = 700 * MS - 1;
    assertThat(early(1, BASE)).isEqualTo(65);
    now++;
    assertThat(early(1, BASE)).isEqualTo(limit);
    assertThat(law.size()).isEqualTo(65);
  }

  @ParameterizedTest
  @CsvSource({"0, 700", "680, 700", "700, 1400", "-20, 0", "-700, 0", "-720, -700"})
  void probes_areAtEach700MillisOfTheClock(long firstMillis, long probeMillis) {
    now = firstMillis * MS;
    begin(BASE);
    assertThat(round(10 * MS, 16, BASE)).isEqualTo(32);
    now = probeMillis * MS - 1;
    assertThat(early(1, BASE)).isEqualTo(32);
    now++;
    assertThat(early(1, BASE)).isEqualTo(4);
  }

  @Test
  void noProbe_whereTheApplicationIsTheLimit() {
    grown();
    round(10 * MS, 4, BASE);
    now = 700 * MS;
    assertThat(early(1, BASE)).isEqualTo(65);
  }

  @Test
  void noProbe_underSuspicion() {
    grown();
    round(60 * MS, 65, 60 * MS);
    now = 700 * MS;
    assertThat(early(1, BASE)).isEqualTo(65);
  }

  @Test
  void aProbe_waitsForWhatWasInFlight_thenForThreeMillisAndFourAnswers() {
    grown();
    now = 700 * MS;
    for (int i = 0; i < 5; i++) {
      assertThat(early(1, 50 * MS)).isEqualTo(8);
    }
    now += 20 * MS;
    assertThat(last(1, 50 * MS)).isEqualTo(8);
    assertThat(round(3 * MS - 1, 4, 9 * MS)).isEqualTo(8);
    now++;
    assertThat(early(1, 9 * MS)).isEqualTo(8);
    assertThat(last(1, 9 * MS)).isEqualTo(65);
    assertThat(law.baseNanos()).isEqualTo(9 * MS);
  }

  @Test
  void aProbe_isOfFourAnswers() {
    probing();
    now += 3 * MS;
    assertThat(last(1, BASE)).isEqualTo(8);
    assertThat(last(1, BASE)).isEqualTo(8);
    assertThat(last(1, BASE)).isEqualTo(8);
    assertThat(last(1, BASE)).isEqualTo(65);
  }

  /** Ends what is restored after a probe, and goes to the next. */
  private void nextProbe(long millis) {
    last(1, BASE);
    now = millis * MS;
    assertThat(last(1, BASE)).isLessThan(65);
  }

  @Test
  void theBase_risesOnlyWhereTwoProbesSaySo() {
    probing();
    assertThat(round(3 * MS, 8, 20 * MS)).isEqualTo(65);
    assertThat(law.baseNanos()).isEqualTo(BASE);
    nextProbe(1_400);
    assertThat(round(3 * MS, 8, 15 * MS)).isEqualTo(65);
    assertThat(law.baseNanos()).isEqualTo(15 * MS);
    nextProbe(2_100);
    assertThat(round(3 * MS, 8, 30 * MS)).isEqualTo(65);
    assertThat(law.baseNanos()).isEqualTo(15 * MS);
    nextProbe(2_800);
    assertThat(round(3 * MS, 8, 40 * MS)).isEqualTo(65);
    assertThat(law.baseNanos()).isEqualTo(30 * MS);
  }

  @Test
  void aProbe_isForgotten_whereNothingOfOursWaitedSince() {
    probing();
    assertThat(round(3 * MS, 8, 20 * MS)).isEqualTo(65);
    last(1, BASE);
    round(10 * MS, 16, BASE);
    round(10 * MS, 60, BASE);
    now = 1_400 * MS;
    last(1, BASE);
    round(3 * MS, 8, 15 * MS);

    assertThat(law.baseNanos()).isEqualTo(BASE);
  }

  @Test
  void aBaseThatFellByAQuarter_isProbedAtTheNext700Millis() {
    probing();
    assertThat(round(3 * MS, 8, 7_500_000)).isEqualTo(65);
    assertThat(law.baseNanos()).isEqualTo(7_500_000);
    last(1, BASE);
    assertThat(early(1, BASE)).isEqualTo(65);
    now = 1_400 * MS - 1;
    assertThat(early(1, BASE)).isEqualTo(65);
    now++;
    assertThat(early(1, BASE)).isEqualTo(6);
  }

  @Test
  void aBaseThatFellByMore_isProbedAtOnce() {
    probing();
    assertThat(round(3 * MS, 8, 7_499_999)).isEqualTo(65);
    last(1, BASE);
    assertThat(early(1, BASE)).isEqualTo(5);
  }

  @Test
  void afterAProbe_whatWasInFlightTellsNothing() {
    probing();
    round(3 * MS, 8, BASE);
    now += 100 * MS;
    for (int i = 0; i < 5; i++) {
      assertThat(early(100, 50 * MS)).isEqualTo(65);
    }
    assertThat(last(1, 50 * MS)).isEqualTo(65);
    assertThat(round(10 * MS, 60, BASE)).isEqualTo(131);
  }

  @Test
  void aBaseThatFollowed_isWhatAProbeIsHeldTo() {
    begin(BASE);
    round(40 * MS + 10, 8, 20 * MS);
    assertThat(law.baseNanos()).isEqualTo(12.5 * MS);
    round(10 * MS, 16, BASE);
    assertThat(law.baseNanos()).isEqualTo(BASE);
    now = 700 * MS;
    last(1, BASE);
    round(3 * MS, 8, 20 * MS);

    assertThat(law.baseNanos()).isEqualTo(12.5 * MS);
  }

  // -------------------------------------------------------------------------------------- silence

  @Test
  void silenceOfATenthOfASecond_endsAProbe() {
    probing();
    assertThat(tick(100 * MS)).isEqualTo(8);
    assertThat(tick(1)).isEqualTo(65);
  }

  @Test
  void silence_endsTheDrainOfAProbe() {
    grown();
    now = 700 * MS;
    early(1, BASE);
    assertThat(tick(100 * MS)).isEqualTo(8);
    assertThat(tick(1)).isEqualTo(65);
  }

  @Test
  void silence_endsACheck() {
    checking(60 * MS);
    assertThat(tick(100 * MS)).isEqualTo(8);
    assertThat(tick(1)).isEqualTo(16);
  }

  @Test
  void silenceOfTwiceTheTarget_endsAProbe_whereThatIsLonger() {
    begin(80 * MS);
    assertThat(round(80 * MS, 16, 80 * MS)).isGreaterThan(16);
    now = 700 * MS;
    assertThat(last(1, 80 * MS)).isEqualTo(4);
    assertThat(tick(274 * MS)).isEqualTo(4);
    assertThat(tick(1)).isGreaterThan(16);
  }

  @Test
  void silenceAtOtherTimes_meansNothing() {
    grown();
    assertThat(tick(800 * MS)).isEqualTo(65);
    assertThat(last(1, BASE)).isEqualTo(8);
  }

  @Test
  void silenceInAProbe_leavesTheNextToTheClock() {
    probing();
    tick(100 * MS + 1);
    last(1, BASE);
    now = 1_400 * MS - 1;
    assertThat(early(1, BASE)).isEqualTo(65);
    now++;
    assertThat(early(1, BASE)).isEqualTo(8);
  }

  @Test
  void silenceAfterAProbe_isNotThatOfTheProbe() {
    probing();
    tick(100 * MS + 1);
    tick(1_000 * MS);
    last(1, BASE);
    assertThat(early(1, BASE)).isEqualTo(8);
  }
}
