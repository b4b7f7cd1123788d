package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.floatvalve.rate.ThrottleDetector.Evidence;
import io.floatvalve.rate.ThrottleDetector.Sign;
import io.floatvalve.rate.ThrottleDetector.Verdict;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is a gap, what is a sign, and for how long, to the nanosecond. */
class ThrottleDetectorEdgesTest {
  private static final long MS = 1_000_000;
  private static final long SECOND = 1_000 * MS;
  private static final long TICK = 100 * MS;
  private static final long START = 7 * SECOND;
  private static final double NONE = Double.POSITIVE_INFINITY;
  private static final long THIRD = 3_100 * MS; // where the third gap of a course ends
  private static final long JUDGED = 50 * MS + 1; // after its end

  /** A detector that is told a tick each 100 ms; its times begin with it. */
  private static final class Course {
    private final ThrottleDetector detector = new ThrottleDetector(START, TICK);
    private boolean able = true;
    private boolean wanting;
    private double pace = NONE;
    private long ticked;

    private void until(long at) {
      while (ticked + TICK < at) {
        tickOnce(ticked + TICK);
      }
    }

    private boolean tickOnce(long at) {
      ticked = at;
      return detector.tick(START + at, able, wanting, pace);
    }

    private boolean tick(long at) {
      until(at);
      return tickOnce(at);
    }

    private Course answer(long at, int count, long waiting) {
      until(at);
      detector.answered(START + at, count, MS, waiting);
      return this;
    }

    private Course arrive(long at, long since, int times) {
      until(at);
      for (int i = 0; i < times; i++) {
        detector.arrived(START + at, START + since);
      }
      return this;
    }

    private Course gap(long end, int before, int after) {
      return answer(end - 200 * MS, before, 1_000).answer(end, after, 0);
    }

    private Course gap(long end) {
      return gap(end, 20, 5);
    }

    private Evidence evidence() {
      return detector.evidence();
    }

    private boolean isThirdAGap() {
      tick(Math.max(ticked, THIRD + JUDGED));
      return evidence().signs().contains(Sign.PHASE);
    }
  }

  private static Course twoGaps() {
    return new Course().gap(1_100 * MS).gap(2_100 * MS);
  }

  private static Course threeGaps() {
    return twoGaps().gap(THIRD);
  }

  // ----------------------------------------------------------------------------------------- gaps

  @Test
  void newDetector_saysNothing() {
    Evidence evidence = new ThrottleDetector(START, TICK).evidence();

    assertThat(evidence.verdict()).isEqualTo(Verdict.NONE);
    assertThat(evidence.signs()).isEmpty();
    assertThat(evidence.gaps()).isZero();
    assertThat(evidence.longestGapNanos()).isZero();
    assertThat(evidence.perSecond()).isZero();
    assertThat(evidence.peakSecond()).isZero();
    assertThat(evidence.quota()).isEqualTo(NONE);
  }

  @Test
  void threeGaps_areAPhase_onceTheLastIsJudged() {
    Course course = threeGaps();

    assertThat(course.tick(THIRD + JUDGED - 1)).isFalse();
    assertThat(course.evidence().verdict()).isEqualTo(Verdict.NONE);
    assertThat(course.tick(THIRD + JUDGED)).isTrue();
    assertThat(course.evidence())
        .isEqualTo(
            new Evidence(
                Verdict.LIKELY, Set.of(Sign.PHASE, Sign.EQUAL), 3, 200 * MS, 25, 25, NONE));
    assertThat(course.tick(THIRD + JUDGED + MS)).isFalse();
  }

  @Test
  void twoGaps_areNoPhase() {
    assertThat(twoGaps().isThirdAGap()).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"200000000, true", "199999999, false"})
  void gap_lasts200Millis(long nanos, boolean gap) {
    Course course = twoGaps().answer(THIRD - nanos, 20, 1_000).answer(THIRD, 5, 0);

    assertThat(course.isThirdAGap()).isEqualTo(gap);
  }

  @Test
  void longestGap_isOfThoseSeen() {
    Course course = twoGaps().answer(THIRD - 300 * MS, 20, 1_000).answer(THIRD, 5, 0);

    assertThat(course.isThirdAGap()).isTrue();
    assertThat(course.evidence().longestGapNanos()).isEqualTo(300 * MS);
  }

  @ParameterizedTest
  @CsvSource({"5, 0, true", "4, 0, false", "4, 50000000, true", "4, 50000001, false"})
  void gap_isOne_onlyIfFiveAreServedWithin50Millis(int at, long later, boolean gap) {
    Course course = twoGaps().answer(THIRD - 200 * MS, 20, 1_000).answer(THIRD, at, 0);
    if (later > 0) {
      course.answer(THIRD + later, 1, 0);
    }

    assertThat(course.isThirdAGap()).isEqualTo(gap);
  }

  @ParameterizedTest
  @CsvSource({"1, 8, true", "1, 7, false", "1000, 100, true", "1000, 99, false"})
  void gap_isOne_onlyIfEnoughWaited(int served, long waiting, boolean gap) {
    Course course = twoGaps().answer(THIRD - 200 * MS, served, waiting).answer(THIRD, 5, 0);

    assertThat(course.isThirdAGap()).isEqualTo(gap);
  }

  @ParameterizedTest
  @CsvSource({"999, true", "1000, false"})
  void whatWaited_isComparedWithTheSecondBeforeTheGap(long millis, boolean gap) {
    Course course = new Course().answer(millis * MS, 1_000, 0);
    course.answer(1_900 * MS, 20, 100).answer(2_100 * MS, 5, 0);
    course.gap(3_100 * MS).gap(4_100 * MS);
    course.tick(4_100 * MS + JUDGED);

    assertThat(course.evidence().gaps()).isEqualTo(gap ? 3 : 0);
  }

  @Test
  void answersThatComeLate_areTakenAsOfTheLastOne() {
    Course course = twoGaps().answer(THIRD - 200 * MS, 20, 1_000);
    course.answer(THIRD - 300 * MS, 1, 1_000).answer(THIRD, 5, 0);

    assertThat(course.isThirdAGap()).isTrue();
    assertThat(course.evidence().longestGapNanos()).isEqualTo(200 * MS);
  }

  // ------------------------------------------------------------------------------------- arrivals

  @ParameterizedTest
  @CsvSource({"8, 0, true", "7, 0, false", "7, 1, false", "8, 8, true", "8, 9, false"})
  void gapOfArrivals_isOne_onlyIfEnoughOfThemWereThereBefore(int old, int young, boolean gap) {
    long start = THIRD - 200 * MS;
    Course course = twoGaps().arrive(start, start, 1).arrive(THIRD, start, old);
    course.arrive(THIRD, start + 1, young);

    assertThat(course.isThirdAGap()).isEqualTo(gap);
  }

  @ParameterizedTest
  @CsvSource({"50000000, true", "50000001, false"})
  void gapOfArrivals_isJudgedByThoseWithin50Millis(long later, boolean gap) {
    long start = THIRD - 200 * MS;
    Course course = twoGaps().arrive(start, start, 1).arrive(THIRD, start, 7);
    course.arrive(THIRD + later, start, 1);

    assertThat(course.isThirdAGap()).isEqualTo(gap);
  }

  @Test
  void gapsOfArrivals_areJudgedEachByItself() {
    Course course = new Course();
    for (long end = 1_100 * MS; end <= THIRD; end += SECOND) {
      course.arrive(end - 200 * MS, end - 200 * MS, 1).arrive(end, end - 200 * MS, 8);
    }

    assertThat(course.isThirdAGap()).isTrue();
    assertThat(course.evidence().gaps()).isEqualTo(3);
    assertThat(course.evidence().perSecond()).isEqualTo(9);
  }

  // --------------------------------------------------------------------------------- standing
  // still

  @ParameterizedTest
  @CsvSource({"150000000, true", "150000001, false"})
  void tickThatIsLate_tellsThatTheProcessStoodStill(long nanos, boolean gap) {
    Course course = twoGaps().answer(THIRD - 200 * MS, 20, 1_000);
    course.tick(THIRD - 149 * MS);
    course.detector.answered(START + THIRD, 5, MS, 0);
    course.tickOnce(THIRD - 149 * MS + nanos);

    assertThat(course.isThirdAGap()).isEqualTo(gap);
  }

  @ParameterizedTest
  @CsvSource({"200000000, true", "199999999, false"})
  void silence_beginsWhenWeCouldBeServedAgain(long before, boolean gap) {
    Course course = twoGaps().answer(2_600 * MS, 20, 1_000);
    course.able = false;
    course.tick(THIRD - before);
    course.able = true;
    course.answer(THIRD, 5, 0);

    assertThat(course.isThirdAGap()).isEqualTo(gap);
    if (gap) {
      assertThat(course.evidence().longestGapNanos()).isEqualTo(200 * MS);
    }
  }

  /** A gap of 500 ms that is noted before the tick that tells of time in it. */
  private static Course stood(long from, long to) {
    Course course = twoGaps().answer(2_600 * MS, 20, 1_000);
    course.tick(from);
    course.detector.answered(START + THIRD, 5, MS, 0);
    course.able = false;
    course.tickOnce(to);
    course.able = true;
    return course;
  }

  @ParameterizedTest
  @CsvSource({
    "2700000000, 3000000000, true",
    "2700000000, 3000000001, false",
    "2699999999, 3000000000, false",
    "2600000000, 2900000000, true",
    "2590000000, 2900000000, true",
    "2590000000, 2900000001, false",
    "3000000000, 3050000000, true",
    "3000000000, 3050000001, false",
    "3099999999, 3100000000, false",
    "3100000000, 3140000000, true",
    "3120000000, 3140000000, true"
  })
  void timeInWhichWeCouldNotBeServed_isNotOfTheGap(long from, long to, boolean gap) {
    assertThat(stood(from, to).isThirdAGap()).isEqualTo(gap);
  }

  @Test
  void gapThatIsNone_leavesThoseAfterIt() {
    Course course = new Course();
    course.gap(1_100 * MS).gap(2_100 * MS);
    course.tick(2_700 * MS);
    course.detector.answered(START + 2_700 * MS, 1, MS, 1_000);
    course.detector.answered(START + 2_901 * MS, 4, MS, 1_000);
    course.detector.answered(START + 3_102 * MS, 5, MS, 0);
    for (long at = 2_800; at <= 3_300; at += 100) {
      course.tickOnce(at * MS);
    }

    assertThat(course.evidence().gaps()).isEqualTo(3);
    assertThat(course.evidence().longestGapNanos()).isEqualTo(201 * MS);
    assertThat(course.evidence().signs()).containsExactly(Sign.PHASE);
  }

  // ---------------------------------------------------------------------------------------- PHASE

  @ParameterizedTest
  @CsvSource({"0, true", "152, true", "154, false", "-152, true", "-154, false", "500, false"})
  void phase_isWhereEndsConcentrate(long off, boolean phase) {
    Course course = twoGaps().gap(THIRD + off * MS);
    course.tick(THIRD + off * MS + JUDGED);

    assertThat(course.evidence().signs().contains(Sign.PHASE)).isEqualTo(phase);
  }

  @ParameterizedTest
  @CsvSource({"1050000001, 3", "1050000000, 0"})
  void phase_isOfTheGapsOfTenSeconds(long first, int gaps) {
    Course course = new Course().gap(first).gap(10 * SECOND).gap(11 * SECOND);
    course.tick(11 * SECOND + JUDGED);

    assertThat(course.evidence().gaps()).isEqualTo(gaps);
  }

  @Test
  void sign_isHeldForFiveSeconds_afterItWasSeenLast() {
    Course course = threeGaps();
    long seen = 11_100 * MS;
    course.tick(seen);

    assertThat(course.tick(seen + 5 * SECOND)).isFalse();
    assertThat(course.evidence().verdict()).isEqualTo(Verdict.LIKELY);
    assertThat(course.tick(seen + 5 * SECOND + 1)).isTrue();
    assertThat(course.evidence().verdict()).isEqualTo(Verdict.NONE);
    assertThat(course.evidence().signs()).isEmpty();
    assertThat(course.evidence().perSecond()).isZero();
  }

  // ---------------------------------------------------------------------------------------- EQUAL

  @ParameterizedTest
  @CsvSource({"90, 100, 95", "100, 90, 95", "100, 89, 0", "89, 100, 0", "20, 20, 20", "30, 0, 0"})
  void equal_isWhatIsServedFromEndToEnd_withinATenth(int one, int other, double perSecond) {
    Course course = new Course().gap(1_100 * MS, 700, 5);
    course.answer(1_900 * MS, Math.max(1, one - 5), 1_000).answer(2_100 * MS, 5, 0);
    course.answer(2_900 * MS, Math.max(1, other - 5), 1_000).answer(THIRD, 700, 0);

    assertThat(course.isThirdAGap()).isTrue();
    assertThat(course.evidence().perSecond()).isEqualTo(perSecond);
    assertThat(course.evidence().signs().contains(Sign.EQUAL)).isEqualTo(perSecond > 0);
    assertThat(course.evidence().verdict())
        .isEqualTo(perSecond > 0 ? Verdict.LIKELY : Verdict.SUSPECTED);
  }

  @Test
  void equal_isOfEndsThatFollowEachOther() {
    Course apart = new Course().gap(1_100 * MS).gap(THIRD).gap(5_100 * MS);
    apart.tick(5_100 * MS + JUDGED);
    assertThat(apart.evidence().signs()).containsExactly(Sign.PHASE);

    Course pairs = new Course().gap(1_100 * MS).gap(2_100 * MS).gap(4_100 * MS).gap(5_100 * MS);
    pairs.tick(5_100 * MS + JUDGED);
    assertThat(pairs.evidence().signs()).containsExactlyInAnyOrder(Sign.PHASE, Sign.EQUAL);
    assertThat(pairs.evidence().perSecond()).isEqualTo(25);
  }

  // -------------------------------------------------------------------------------------- PLATEAU

  /** So many in each second from 100 ms on, while more is wanted. */
  private static Course wanted(double pace, int... perSecond) {
    Course course = new Course();
    course.pace = pace;
    course.tickOnce(0);
    course.wanting = true;
    for (int i = 0; i < perSecond.length; i++) {
      course.answer(i * SECOND + 150 * MS, perSecond[i], 0);
    }
    return course;
  }

  private static double plateau(Course course, int seconds) {
    course.tick(seconds * SECOND + TICK);
    assertThat(course.evidence().signs().contains(Sign.PLATEAU))
        .isEqualTo(course.evidence().perSecond() > 0);
    return course.evidence().perSecond();
  }

  @Test
  void plateau_isOfThreeSecondsInARow() {
    Course course = wanted(NONE, 100, 100, 100);

    course.tick(3_000 * MS);
    assertThat(course.evidence().signs()).isEmpty();
    assertThat(course.tick(3_100 * MS)).isTrue();
    assertThat(course.evidence().signs()).containsExactly(Sign.PLATEAU);
    assertThat(course.evidence().verdict()).isEqualTo(Verdict.SUSPECTED);
    assertThat(course.evidence().perSecond()).isEqualTo(100);
    assertThat(course.evidence().peakSecond()).isEqualTo(100);
  }

  @Test
  void plateau_isOfFiveSeconds_whereItIsFewerThanAHundred() {
    Course course = wanted(NONE, 99, 99, 99, 99, 99);

    course.tick(5_000 * MS);
    assertThat(course.evidence().signs()).isEmpty();
    assertThat(course.tick(5_100 * MS)).isTrue();
    assertThat(course.evidence().perSecond()).isEqualTo(99);
  }

  @ParameterizedTest
  @CsvSource({"95, 98.333", "94, 0", "105, 101.667", "106, 0"})
  void plateau_isEvenWithin5Percent(int odd, double perSecond) {
    assertThat(plateau(wanted(NONE, odd, 100, 100), 3)).isEqualTo(perSecond, within(0.01));
  }

  @ParameterizedTest
  @CsvSource({"10, 8, 9.6", "10, 7, 0", "10, 12, 10.4", "8, 8, 8", "7, 7, 0", "7, 8, 7.2"})
  void plateauOfFew_isEvenWithinTwo_andNotJudgedBelowEight(int four, int odd, double perSecond) {
    assertThat(plateau(wanted(NONE, four, four, odd, four, four), 5)).isEqualTo(perSecond);
  }

  @ParameterizedTest
  @CsvSource({"100, 0", "100.1, 95", "99, 0"})
  void paceOfOurOwn_isNoPlateau(double pace, double perSecond) {
    assertThat(plateau(wanted(pace, 95, 95, 95, 95, 95), 5)).isEqualTo(perSecond);
  }

  @ParameterizedTest
  @CsvSource({"0, 100", "100, 0", "3000, 0", "3100, 100"})
  void paceOfOurOwn_isTheLeastOfThoseSeconds(long millis, double perSecond) {
    Course slowed = new Course();
    slowed.tickOnce(0);
    slowed.wanting = true;
    for (long at = 0; at <= 3_100; at += 100) {
      if (at % 1_000 == 100 && at < 3_000) {
        slowed.detector.answered(START + at * MS, 100, MS, 0);
      }
      slowed.pace = at == millis ? 100 : NONE;
      slowed.tickOnce(at * MS + (at == 0 ? 1 : 0));
    }

    assertThat(slowed.evidence().perSecond()).isEqualTo(perSecond);
  }

  @ParameterizedTest
  @CsvSource({"117, 100", "116, 0"})
  void paceOfOurOwn_isLess_whereTheProcessStoodStill(double pace, double perSecond) {
    Course course = wanted(pace, 100);
    course.tick(SECOND);
    course.tickOnce(1_300 * MS);
    course.answer(1_350 * MS, 100, 0).answer(2_150 * MS, 100, 0);

    assertThat(plateau(course, 3)).isEqualTo(perSecond);
  }

  @ParameterizedTest
  @CsvSource({"true, true, 100", "true, false, 0", "false, true, 0"})
  void plateau_needsThatMoreIsWantedAtEachTick(boolean one, boolean next, double perSecond) {
    Course course = wanted(NONE, 100, 100);
    course.until(1_200 * MS);
    course.wanting = one;
    course.tick(1_200 * MS);
    course.wanting = next;
    course.tick(1_210 * MS);
    course.wanting = true;
    for (long at = 1_300; at < 2_100; at += 100) {
      course.tickOnce(at * MS);
    }
    course.answer(2_150 * MS, 100, 0);

    assertThat(plateau(course, 3)).isEqualTo(perSecond);
  }

  @ParameterizedTest
  @CsvSource({"true, 100", "false, 0"})
  void plateau_needsThatWeCouldBeServed(boolean able, double perSecond) {
    Course course = wanted(NONE, 100, 100);
    course.able = able;
    course.tick(1_200 * MS);
    course.able = true;
    course.answer(2_150 * MS, 100, 0);

    assertThat(plateau(course, 3)).isEqualTo(perSecond);
  }

  @ParameterizedTest
  @CsvSource({"true, 100", "false, 0"})
  void whatIsWanted_isAsBefore_untilATickTells(boolean wanting, double perSecond) {
    Course course = wanted(NONE, 100);
    course.tick(SECOND);
    course.wanting = wanting;
    course.tickOnce(1_199 * MS);
    course.wanting = true;
    course.tickOnce(1_300 * MS);
    course.answer(1_350 * MS, 100, 0).answer(2_150 * MS, 100, 0);

    assertThat(plateau(course, 3)).isEqualTo(perSecond);
  }

  @Test
  void plateau_thatIsHeld_keepsItsRate() {
    Course course = wanted(NONE, 100, 100, 100);
    course.tick(3_100 * MS);
    course.wanting = false;
    course.gap(4_100 * MS).gap(5_100 * MS).gap(6_100 * MS, 200, 5);
    course.tick(6_100 * MS + JUDGED);

    assertThat(course.evidence().signs()).containsExactlyInAnyOrder(Sign.PHASE, Sign.PLATEAU);
    assertThat(course.evidence().perSecond()).isEqualTo(100);
  }

  @Test
  void plateau_isSeenAfterLongSilence() {
    Course course = new Course();
    course.tickOnce(12_350 * MS);
    course.wanting = true;
    for (long at = 12_400; at < 15_400; at += 100) {
      course.tickOnce(at * MS);
      course.detector.answered(START + at * MS, 10, MS, 0);
    }

    assertThat(course.evidence().signs()).isEmpty();
    assertThat(course.tickOnce(15_400 * MS)).isTrue();
    assertThat(course.evidence().perSecond()).isEqualTo(100);
    assertThat(course.evidence().peakSecond()).isEqualTo(100);
  }

  // ---------------------------------------------------------------------------------------- QUOTA

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, Double.NaN})
  void quota_isAboveZero(double perSecond) {
    ThrottleDetector detector = new ThrottleDetector(START, TICK);

    assertThatThrownBy(() -> detector.quota(perSecond))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("quota must be above 0 a second: " + perSecond);
  }

  @ParameterizedTest
  @CsvSource({"90, 100, true", "89, 100, false", "11, 10, true", "12, 10, false"})
  void quota_isASign_whereThatIsServedWithinATenth(int served, double quota, boolean sign) {
    Course course = wanted(NONE, served, served, served, served, served);
    course.detector.quota(quota);
    course.tick(5_100 * MS);

    assertThat(course.evidence().signs().contains(Sign.QUOTA)).isEqualTo(sign);
    assertThat(course.evidence().verdict()).isEqualTo(sign ? Verdict.LIKELY : Verdict.SUSPECTED);
    assertThat(course.evidence().quota()).isEqualTo(quota);
  }

  @ParameterizedTest
  @CsvSource({"31.25, LIKELY", "31.26, SUSPECTED", "1, LIKELY"})
  void likely_needsASecondWith80PercentOfTheQuota(double quota, Verdict verdict) {
    Course course = threeGaps();
    course.detector.quota(quota);

    assertThat(course.tick(THIRD + JUDGED)).isTrue();
    assertThat(course.evidence().verdict()).isEqualTo(verdict);
  }

  // ----------------------------------------------------------------------------------------- peak

  @ParameterizedTest
  @CsvSource({"0, 999, 1000", "0, 1000, 500", "300, 1299, 1000", "300, 1300, 500"})
  void peak_isOfASecondOfTenBuckets(long one, long other, long peak) {
    Course course = new Course().answer(one * MS, 500, 0).answer(other * MS, 500, 0);
    course.gap(3_100 * MS).gap(4_100 * MS).gap(5_100 * MS);
    course.tick(5_100 * MS + JUDGED);

    assertThat(course.evidence().peakSecond()).isEqualTo(peak);
  }

  @ParameterizedTest
  @CsvSource({"100, 500", "99, 32"})
  void peak_isOfTheLastTenSeconds(long millis, long peak) {
    Course course = new Course().answer(millis * MS, 500, 0);
    course.gap(7_960 * MS).gap(8_960 * MS).gap(9_960 * MS).answer(10_005 * MS, 7, 0);
    course.tick(9_960 * MS + JUDGED);

    assertThat(course.evidence().peakSecond()).isEqualTo(peak);
  }

  // --------------------------------------------------------------------------------------- forget

  @Test
  void forgetting_dropsGaps_judgedOrNot() {
    Course course = threeGaps();
    course.detector.forget();
    course.gap(4_100 * MS).gap(5_100 * MS);
    course.tick(5_100 * MS + JUDGED);
    assertThat(course.evidence().signs()).isEmpty();

    course.gap(6_100 * MS);
    assertThat(course.tick(6_100 * MS + JUDGED)).isTrue();
    assertThat(course.evidence().gaps()).isEqualTo(3);
  }

  @Test
  void forgetting_dropsWhatWasWanted() {
    Course course = wanted(NONE, 100, 100, 100);
    course.until(3_100 * MS);
    course.detector.forget();

    assertThat(course.tick(3_100 * MS)).isFalse();
    assertThat(course.evidence().signs()).isEmpty();
  }

  @Test
  void forgetting_endsTheSilence() {
    Course silent = new Course().answer(900 * MS, 20, 1_000);
    silent.detector.forget();
    silent.answer(1_100 * MS, 5, 0).gap(2_100 * MS).gap(THIRD);

    assertThat(silent.isThirdAGap()).isFalse();
  }

  @Test
  void answerFromBeforeTheHistory_isNotCounted() {
    Course course = new Course();
    course.tick(10 * SECOND);
    course.answer(99 * MS, 1_000, 0);
    course.gap(11_100 * MS).gap(12_100 * MS).gap(13_100 * MS);
    course.tick(13_100 * MS + JUDGED);
    assertThat(course.evidence().peakSecond()).isEqualTo(25);

    assertThatCode(() -> new Course().answer(-TICK, 1, 0)).doesNotThrowAnyException();
  }

  // ------------------------------------------------------------------------------------- isWanting

  private static ThrottleDetector after(long... roundTrips) {
    ThrottleDetector detector = new ThrottleDetector(START, TICK);
    for (long roundTrip : roundTrips) {
      detector.answered(START, 1, roundTrip, 0);
    }
    return detector;
  }

  @Test
  void nothingIsWanted_beforeTheFirstAnswer() {
    assertThat(after().isWanting(true, 1_000, SECOND)).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "10000000, 8, 50000000, true",
    "10000000, 7, 50000000, false",
    "10000000, 8, 49999999, false",
    "20000000, 8, 80000000, true",
    "20000000, 8, 79999999, false"
  })
  void more_isWanted_whereManyAreLate(long best, int inFlight, long oldest, boolean wanting) {
    assertThat(after(best).isWanting(false, inFlight, oldest)).isEqualTo(wanting);
  }

  @ParameterizedTest
  @CsvSource({"24, true", "23, false"})
  void more_isWanted_whereMessagesWaitAndTheOldestIsLate(long oldest, boolean wanting) {
    assertThat(after(16).isWanting(true, 1, oldest)).isEqualTo(wanting);
    assertThat(after(16).isWanting(false, 1, oldest)).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"369, true", "368, false"})
  void more_isWanted_whereMessagesWaitAndAnswersTookLonger(long roundTrip, boolean wanting) {
    assertThat(after(16, roundTrip).isWanting(true, 0, 0)).isEqualTo(wanting);
  }
}
