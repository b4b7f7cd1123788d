package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.floatvalve.rate.ThrottleDetector.Evidence;
import io.floatvalve.rate.ThrottleDetector.Verdict;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReductionTest {
  private static final long SECOND = 1_000_000_000;

  private final Reduction reduction = new Reduction();

  private static Evidence seen(Verdict verdict, double perSecond) {
    return new Evidence(verdict, Set.of(), 0, 0, perSecond, 0, 1_000);
  }

  @Test
  void likelyThrottling_cutsBelowWhatIsServed_andNotAgainForSevenSeconds() {
    assertThat(reduction.next(0, seen(Verdict.LIKELY, 600), 1_000)).isTrue();
    assertThat(reduction.part()).isCloseTo(0.54, within(1e-9));

    assertThat(reduction.next(7 * SECOND - 1, seen(Verdict.LIKELY, 400), 1_000)).isFalse();
    assertThat(reduction.next(7 * SECOND, seen(Verdict.LIKELY, 400), 1_000)).isTrue();
    assertThat(reduction.part()).isCloseTo(0.36, within(1e-9));
  }

  @Test
  void cut_goesDownByATenthAtLeast_evenIfMoreIsServed() {
    reduction.next(0, seen(Verdict.LIKELY, 5_000), 1_000);

    assertThat(reduction.part()).isCloseTo(0.9, within(1e-9));
  }

  @Test
  void cut_withoutARate_takesThreeTenths() {
    reduction.next(0, seen(Verdict.LIKELY, 0), 1_000);

    assertThat(reduction.part()).isCloseTo(0.7, within(1e-9));
  }

  @Test
  void cut_withoutALimit_takesThreeTenths_ofWhatIsLeft() {
    double none = Double.POSITIVE_INFINITY;
    reduction.next(0, seen(Verdict.LIKELY, 600), none);
    assertThat(reduction.part()).isCloseTo(0.7, within(1e-9));

    reduction.next(7 * SECOND, seen(Verdict.LIKELY, 0), none);
    assertThat(reduction.part()).isCloseTo(0.49, within(1e-9));
  }

  @Test
  void times_countFromWhatHappened_whateverTheClockBeganWith() {
    long start = 100 * SECOND;
    reduction.next(start, seen(Verdict.LIKELY, 600), 1_000);
    assertThat(reduction.next(start + 7 * SECOND - 1, seen(Verdict.LIKELY, 1), 1_000)).isFalse();

    long calm = start + 8 * SECOND;
    assertThat(reduction.next(calm, seen(Verdict.NONE, 0), 1_000)).isFalse();
    assertThat(reduction.next(calm + 3 * SECOND, seen(Verdict.NONE, 0), 1_000)).isFalse();
    assertThat(reduction.next(calm + 5 * SECOND, seen(Verdict.NONE, 0), 1_000)).isTrue();
    assertThat(reduction.next(calm + 6 * SECOND - 1, seen(Verdict.NONE, 0), 1_000)).isFalse();
    assertThat(reduction.next(calm + 6 * SECOND, seen(Verdict.NONE, 0), 1_000)).isTrue();
    assertThat(reduction.part()).isCloseTo(0.58, within(1e-9));
  }

  @Test
  void suspicion_neitherCutsNorRaises() {
    reduction.next(0, seen(Verdict.LIKELY, 600), 1_000);
    double cut = reduction.part();

    for (long now = 1; now < 100; now++) {
      assertThat(reduction.next(now * SECOND, seen(Verdict.SUSPECTED, 0), 1_000)).isFalse();
    }

    assertThat(reduction.part()).isEqualTo(cut);
  }

  @Test
  void calm_findsTheWayBack_slowly() {
    reduction.next(0, seen(Verdict.LIKELY, 600), 1_000);

    long now = 0;
    while (reduction.part() < 1) {
      now += SECOND / 10;
      double before = reduction.part();
      reduction.next(now, seen(Verdict.NONE, 0), 1_000);
      assertThat(reduction.part()).isBetween(before, before + 0.02 + 1e-9);
      assertThat(now).isLessThan(60 * SECOND);
    }

    assertThat(now).isGreaterThan(20 * SECOND);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void whateverIsSeen_thePartStaysInItsRange_andChangesAreTold(long seed) {
    Random random = new Random(seed);
    List<Verdict> verdicts = List.copyOf(EnumSet.allOf(Verdict.class));
    long now = 0;
    for (int i = 0; i < 20_000; i++) {
      now += random.nextLong(3 * SECOND);
      double before = reduction.part();
      boolean told =
          reduction.next(
              now,
              seen(
                  verdicts.get(random.nextInt(verdicts.size())),
                  random.nextInt(3) * random.nextInt(2_000)),
              random.nextBoolean() ? Double.POSITIVE_INFINITY : 1 + random.nextInt(1_000));
      assertThat(reduction.part()).isBetween(0.1, 1.0);
      assertThat(told).isEqualTo(reduction.part() != before);
    }
  }

  /** A broker that serves 700 of the 1,000 we may send: it is throttling above that. */
  @Test
  void brokerThatServesLess_isMostlyLeftBelowItsLimit() {
    long now = 0;
    int throttled = 0;
    double sum = 0;
    for (int second = 0; second < 600; second++) {
      now += SECOND;
      boolean over = reduction.part() * 1_000 > 700;
      throttled += over ? 1 : 0;
      sum += Math.min(700, reduction.part() * 1_000);
      reduction.next(now, seen(over ? Verdict.LIKELY : Verdict.NONE, over ? 700 : 0), 1_000);
    }

    assertThat(throttled).isLessThan(200);
    assertThat(sum / 600).isGreaterThan(0.9 * 700);
  }
}
