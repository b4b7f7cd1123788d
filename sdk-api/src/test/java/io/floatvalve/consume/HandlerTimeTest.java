package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HandlerTimeTest {
  private static final int SLOTS = 16;
  private static final long MICRO = TimeUnit.MICROSECONDS.toNanos(1);
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

  private final HandlerTime time = new HandlerTime(SLOTS);

  private double seen(long nanos, int times) {
    double last = 0;
    for (int i = 0; i < times; i++) {
      last = time.saw(nanos);
    }
    return last;
  }

  @Test
  void firstSample_isTakenAsItIs() {
    assertThat(time.saw(5 * MILLI)).isEqualTo(5.0 * MILLI);
  }

  @Test
  void handlersThatAllHungOnce_areNotCounted() {
    seen(MILLI, 10);

    assertThat(seen(5_000 * MILLI, SLOTS)).isEqualTo(1.0 * MILLI);
    assertThat(seen(5_000 * MILLI, 1)).isGreaterThan(1_000.0 * MILLI);
  }

  @Test
  void shortPauseOfAllHandlers_isForgottenAfterADozenMessages() {
    seen(MILLI, 10);

    assertThat(seen(900 * MILLI, SLOTS)).isGreaterThan(500.0 * MILLI);
    assertThat(seen(MILLI, 14)).isLessThan(50.0 * MILLI);
  }

  @Test
  void fastHandlerThatTurnsSlow_isBelievedAfterAHandful() {
    seen(10 * MICRO, 100);

    assertThat(seen(20 * MILLI, 5)).isGreaterThan(10.0 * MILLI);
  }

  @Test
  void unevenTimes_stayNearTheirMean() {
    double last = 0;
    for (int i = 0; i < 200; i++) {
      last = time.saw(i % 2 == 0 ? 2 * MILLI : 8 * MILLI);
    }

    assertThat(last).isBetween(4.0 * MILLI, 8.0 * MILLI);
  }

  @Test
  void longerTime_raisesByAQuarter_andAShorterOneLowersByAnEighth() {
    assertThat(time.saw(8 * MILLI)).isEqualTo(8.0 * MILLI);
    assertThat(time.saw(12 * MILLI)).isEqualTo(9.0 * MILLI);
    assertThat(time.saw(5 * MILLI)).isEqualTo(8.5 * MILLI);
  }

  @Test
  void lessThanASixteenth_lowersByHalf() {
    time.saw(16 * MILLI);
    assertThat(time.saw(MILLI)).isEqualTo(14.125 * MILLI);

    assertThat(time.saw(0)).isEqualTo(7.0625 * MILLI);
  }

  @Test
  void firstSample_isNoHang_howeverLong() {
    assertThat(time.saw(5_000 * MILLI)).isEqualTo(5_000.0 * MILLI);
  }

  @Test
  void hang_isASecondAndMoreThanSixteenTimesTheUsual() {
    time.saw(MILLI);
    assertThat(time.saw(1_000 * MILLI)).isEqualTo(1.0 * MILLI);
    assertThat(time.saw(1_000 * MILLI - 1)).isGreaterThan(1.0 * MILLI);

    HandlerTime slow = new HandlerTime(SLOTS);
    slow.saw(62_500 * MICRO);
    assertThat(slow.saw(1_000 * MILLI)).isEqualTo(296_875.0 * MICRO);
  }

  @ParameterizedTest
  @CsvSource({"31, false", "32, true"})
  void hangs_areForgivenAgain_afterSixteenUsualOnesOfEachHandler(int usual, boolean forgiven) {
    HandlerTime two = new HandlerTime(2);
    two.saw(MILLI);
    two.saw(5_000 * MILLI);
    two.saw(5_000 * MILLI);
    for (int i = 0; i < usual; i++) {
      two.saw(MILLI);
    }

    assertThat(two.saw(5_000 * MILLI) == MILLI).isEqualTo(forgiven);
  }
}
