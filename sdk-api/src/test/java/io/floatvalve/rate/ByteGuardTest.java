package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The guard alone, and the pauses beside it. */
final class ByteGuardTest {
  private static final long MS = 1_000_000;
  private static final long BUCKET = 10 * MS;
  private static final long SECOND = 1_000 * MS;

  private record Passed(long at, long size) {}

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void randomSizes_neverExceedTheLimitInAnySecond_andNobodyWaitsInVain(long seed) {
    Random random = new Random(seed);
    long limit = 1 + random.nextInt(2_000);
    ByteGuard guard = new ByteGuard(limit, SECOND);
    List<Passed> passed = new ArrayList<>();
    long now = 0;
    for (int step = 0; step < 2_000; step++) {
      now +=
          random.nextInt(4) == 0 ? random.nextInt((int) (400 * MS)) : random.nextInt((int) BUCKET);
      long size = random.nextInt((int) limit + 1);
      assertThat(guard.sum(now)).isEqualTo(inWindow(passed, now));
      long wait = guard.nanosUntil(size, now);
      if (wait > 0) {
        assertThat(inWindow(passed, now) + size).isGreaterThan(limit);
        assertThat(inWindow(passed, now + wait - 1) + size).isGreaterThan(limit);
        assertThat(inWindow(passed, now + wait) + size).isLessThanOrEqualTo(limit);
        now += wait;
      }
      assertThat(guard.nanosUntil(size, now)).isZero();
      guard.enter(size, now);
      passed.add(new Passed(now, size));
      long since = now - SECOND;
      assertThat(passed.stream().filter(p -> p.at() >= since).mapToLong(Passed::size).sum())
          .isLessThanOrEqualTo(limit);
    }
  }

  /** What a list says of the current bucket and the hundred before it. */
  private static long inWindow(List<Passed> passed, long now) {
    long first = now / BUCKET - 100;
    return passed.stream().filter(p -> p.at() / BUCKET >= first).mapToLong(Passed::size).sum();
  }

  @Test
  void whatIsLargerThanTheLimit_passesAlone() {
    ByteGuard guard = new ByteGuard(10, SECOND);
    guard.enter(1, 5 * MS);

    assertThat(guard.nanosUntil(11, 5 * MS)).isEqualTo(101 * BUCKET - 5 * MS);
    assertThat(guard.nanosUntil(11, 101 * BUCKET)).isZero();
    guard.enter(11, 101 * BUCKET);
    assertThat(guard.nanosUntil(0, 101 * BUCKET)).isEqualTo(101 * BUCKET);
    assertThat(guard.nanosUntil(0, 202 * BUCKET)).isZero();
  }

  @Test
  void time_passesWithEachQuestion_andEachEntry() {
    ByteGuard guard = new ByteGuard(10, SECOND);
    guard.enter(4, 0);
    guard.enter(6, 500 * MS);
    assertThat(guard.sum(101 * BUCKET)).isEqualTo(6);

    assertThat(guard.nanosUntil(10, 2 * SECOND)).isZero();
  }

  @Test
  void lowerLimit_countsWhatHasPassed() {
    ByteGuard guard = new ByteGuard(10, SECOND);
    guard.enter(4, 0);
    guard.enter(4, 20 * MS);
    guard.limit(5);

    assertThat(guard.limit()).isEqualTo(5);
    assertThat(guard.sum(20 * MS)).isEqualTo(8);
    assertThat(guard.nanosUntil(1, 20 * MS)).isEqualTo(101 * BUCKET - 20 * MS);
  }

  @Test
  void longerSpan_hasLongerBuckets_andAStepBackIsNone() {
    ByteGuard guard = new ByteGuard(1, 10 * SECOND);
    guard.enter(1, 0);

    assertThat(guard.spanNanos()).isEqualTo(10 * SECOND);
    assertThat(guard.nanosUntil(1, 0)).isEqualTo(101 * 10 * BUCKET);
    assertThat(guard.sum(101 * 10 * BUCKET - 1)).isEqualTo(1);
    assertThat(guard.sum(101 * 10 * BUCKET)).isZero();
    guard.enter(1, 0);
    assertThat(guard.sum(101 * 10 * BUCKET)).isEqualTo(1);
  }

  @Test
  void spread_pausesForFourFifthsOfAnEvenPart() {
    Spread spread = new Spread(10, 10 * MS);
    assertThat(spread.nanosUntil(0)).isEqualTo(-10 * MS);
    spread.enter(1, 0);
    assertThat(spread.nanosUntil(0)).isEqualTo(70 * MS);
    spread.enter(2, 20 * MS); // before its time: pauses add up
    assertThat(spread.nanosUntil(20 * MS)).isEqualTo((80 + 160 - 10 - 20) * MS);
    spread.enter(1, 500 * MS); // late: nothing is made up for
    assertThat(spread.nanosUntil(500 * MS)).isEqualTo(70 * MS);
    spread.enter(99, 1_000 * MS); // never more than a whole second's pause
    assertThat(spread.nanosUntil(1_000 * MS)).isEqualTo(790 * MS);
  }
}
