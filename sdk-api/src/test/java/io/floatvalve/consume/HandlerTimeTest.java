package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HandlerTimeTest {
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

  private static double after(double mean, long nanos, int times) {
    double next = mean;
    for (int i = 0; i < times; i++) {
      next = HandlerTime.next(next, nanos);
    }
    return next;
  }

  @Test
  void firstSample_isTakenAsItIs() {
    assertThat(HandlerTime.next(0, 5 * MILLI)).isEqualTo(5.0 * MILLI);
  }

  @Test
  void pauseOfAllWorkers_isForgottenAfterTwoDozenMessages() {
    double paused = after(1.0 * MILLI, 5_000 * MILLI, 16);

    assertThat(paused).isGreaterThan(1_000.0 * MILLI);
    assertThat(after(paused, MILLI, 24)).isLessThan(5.0 * MILLI);
  }

  @Test
  void fastHandlerThatTurnsSlow_isBelievedAfterAHandful() {
    double slow = after(MILLI / 100.0, 20 * MILLI, 5);

    assertThat(slow).isGreaterThan(10.0 * MILLI);
  }

  @Test
  void unevenTimes_stayNearTheirMean() {
    double time = 5.0 * MILLI;
    for (int i = 0; i < 200; i++) {
      time = HandlerTime.next(time, i % 2 == 0 ? 2 * MILLI : 8 * MILLI);
    }

    assertThat(time).isBetween(4.0 * MILLI, 8.0 * MILLI);
  }
}
