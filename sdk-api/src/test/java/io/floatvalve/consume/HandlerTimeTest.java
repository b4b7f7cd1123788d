package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

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
}
