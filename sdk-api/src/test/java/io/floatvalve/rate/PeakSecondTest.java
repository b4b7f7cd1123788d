package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PeakSecondTest {
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000 * MILLI;

  /** What went through, each amount with its time; asked as dully as can be. */
  private static final class Log {
    private final List<long[]> all = new ArrayList<>();

    private void add(long nanos, long amount) {
      all.add(new long[] {nanos, amount});
    }

    /** Returns the most in any window of a length that ends within some time before now. */
    private long most(long length, long now, long withinNanos) {
      long most = 0;
      long sum = 0;
      int from = 0;
      for (long[] each : all) {
        sum += each[1];
        while (all.get(from)[0] <= each[0] - length) {
          sum -= all.get(from++)[1];
        }
        if (each[0] > now - withinNanos) {
          most = Math.max(most, sum);
        }
      }
      return most;
    }

    private long sum(long from) {
      return all.stream().filter(each -> each[0] > from).mapToLong(each -> each[1]).sum();
    }
  }

  /** Bursts, trickles and pauses, at whatever point of a bucket. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void peak_isNeverBelowTheTrueOne_norAboveThatOfALittleMore(long seed) {
    Random random = new Random(seed);
    long now = random.nextLong(-SECOND * 1_000, SECOND * 1_000);
    long begun = now;
    PeakSecond peaks = new PeakSecond(now);
    Log log = new Log();
    for (int i = 0; i < 3_000; i++) {
      now +=
          switch (random.nextInt(20)) {
            case 0 -> random.nextLong(3 * SECOND);
            case 1 -> random.nextInt(100) == 0 ? random.nextLong(90 * SECOND) : SECOND;
            default -> random.nextLong(40 * MILLI);
          };
      long amount = random.nextInt(4) == 0 ? random.nextInt(1_000) : 1;
      peaks.add(now, amount);
      log.add(now, amount);

      if (i % 50 == 0) {
        PeakSecond.Reading reading = peaks.reading(now);
        assertThat(reading.highest())
            .isBetween(
                log.most(SECOND, now, Long.MAX_VALUE / 2),
                log.most(SECOND + 10 * MILLI, now, Long.MAX_VALUE / 2));
        assertThat(reading.peak())
            .isBetween(
                log.most(SECOND, now, 59 * SECOND),
                log.most(SECOND + 10 * MILLI, now, 60 * SECOND + 10 * MILLI));
        assertThat(reading.total()).isEqualTo(log.sum(Long.MIN_VALUE));
        assertThat(reading.average() * Math.min(60, Math.max(1, (now - begun) / 1e9)))
            .isBetween(
                log.sum(now - 59 * SECOND) * 0.98, log.sum(now - 60 * SECOND - 10 * MILLI) * 1.02);
      }
    }
  }

  @Test
  void twoHalvesAroundAFullSecond_areOneBusySecond() {
    PeakSecond peaks = new PeakSecond(0);

    peaks.add(995 * MILLI, 500);
    peaks.add(1_994 * MILLI, 500);

    assertThat(peaks.reading(3 * SECOND).peak()).isEqualTo(1_000);
  }

  @Test
  void burst_thatAnAverageHides_isSeen() {
    PeakSecond peaks = new PeakSecond(0);
    peaks.quota(1_000);

    for (int second = 0; second < 60; second++) {
      peaks.add(second * SECOND + second * 17 * MILLI % SECOND, second == 30 ? 900 : 10);
    }

    PeakSecond.Reading reading = peaks.reading(60 * SECOND - 1);
    assertThat(reading.average()).isCloseTo(25, within(1.0));
    assertThat(reading.peak()).isBetween(900L, 920L);
    assertThat(reading.peakToAverage()).isGreaterThan(30);
    assertThat(reading.peakOfQuota()).isBetween(0.9, 0.92);
    assertThat(reading.secondsBusy()).isBetween(1L, 2L); // the one it began in, and the next
    assertThat(reading.secondsOver()).isZero();
  }

  @Test
  void peak_isForgottenAfterAMinute_theHighestIsNot() {
    PeakSecond peaks = new PeakSecond(0);
    peaks.add(0, 700);

    assertThat(peaks.reading(58 * SECOND).peak()).isEqualTo(700);
    assertThat(peaks.reading(61 * SECOND).peak()).isZero();
    assertThat(peaks.reading(600 * SECOND).peak()).isZero();
    assertThat(peaks.reading(600 * SECOND).highest()).isEqualTo(700);
  }

  @Test
  void secondsOverTheQuota_areCounted_evenIfNothingComesAfterThem() {
    PeakSecond peaks = new PeakSecond(0);
    peaks.quota(10);
    for (int second = 0; second < 5; second++) {
      peaks.add(second * 3 * SECOND, 11);
    }

    assertThat(peaks.reading(3_600 * SECOND).secondsOver()).isBetween(5L, 10L);
    assertThat(peaks.reading(3_600 * SECOND).secondsBusy()).isBetween(5L, 10L);
  }

  @Test
  void earlierTime_countsAsTheLatest() {
    PeakSecond peaks = new PeakSecond(0);
    peaks.add(5 * SECOND, 3);
    peaks.add(SECOND, 4);

    assertThat(peaks.reading(5 * SECOND).lastSecond()).isEqualTo(7);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, Double.NaN})
  void quota_thatIsNone_isRefusedWithItsValue(double quota) {
    PeakSecond peaks = new PeakSecond(0);

    assertThatThrownBy(() -> peaks.quota(quota))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("above 0")
        .hasMessageContaining(String.valueOf(quota));
  }

  @Test
  void adding_allocatesNothing() {
    PeakSecond peaks = new PeakSecond(0);
    var threads =
        (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
    long now = 0;
    for (int i = 0; i < 20_000; i++) {
      peaks.add(now += MILLI, 1);
    }

    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 20_000; i++) {
      peaks.add(now += MILLI, 1);
    }
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;

    assertThat(allocated).isLessThan(20_000); // below a byte each: none, but for the question
  }

  @ParameterizedTest
  @CsvSource({"79, 0, 0", "80, 1, 0", "100, 1, 0", "101, 1, 1"})
  void busy_isFourFifthsOfTheQuota_andOverIsMore(long amount, long busy, long over) {
    PeakSecond fresh = new PeakSecond(0);
    fresh.quota(100);
    fresh.add(0, amount);

    assertThat(fresh.reading(0).secondsBusy()).isEqualTo(busy);
    assertThat(fresh.reading(0).secondsOver()).isEqualTo(over);
    // a sliding second reaches into two of those that are counted
    assertThat(fresh.reading(10 * SECOND).secondsBusy()).isEqualTo(2 * busy);
    assertThat(fresh.reading(10 * SECOND).secondsOver()).isEqualTo(2 * over);
  }

  @Test
  void whatALongSilenceEnds_isCounted() {
    PeakSecond fresh = new PeakSecond(0);
    fresh.quota(100);
    fresh.add(0, 101);

    assertThat(fresh.reading(600 * SECOND).highest()).isEqualTo(101);
    assertThat(fresh.reading(600 * SECOND).secondsOver()).isEqualTo(1);
  }

  @Test
  void average_isOfTheTimeSinceTheBeginning_thenOfTheLastMinute() {
    PeakSecond fresh = new PeakSecond(0);
    assertThat(fresh.reading(0).peakToAverage()).isZero();
    for (int second = 0; second <= 2; second++) {
      fresh.add(second * SECOND, 100);
    }
    assertThat(fresh.reading(2_495 * SECOND / 1_000).average()).isEqualTo(300 / 2.5);
    for (int second = 3; second <= 100; second++) {
      fresh.add(second * SECOND, 100);
    }

    PeakSecond.Reading reading = fresh.reading(100_495 * SECOND / 1_000);
    assertThat(reading.average()).isEqualTo(6_000 / 59.5);
    assertThat(reading.peakToAverage()).isEqualTo(reading.peak() / (6_000 / 59.5));
  }

  @Test
  void lastSecond_passes() {
    PeakSecond fresh = new PeakSecond(0);
    fresh.add(0, 7);

    assertThat(fresh.lastSecond(SECOND)).isEqualTo(7);
    assertThat(fresh.lastSecond(SECOND + SECOND / 100)).isZero();
  }
}
