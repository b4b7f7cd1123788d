package io.floatvalve.examples.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MetronomeTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  @Test
  void steadyCalls_keepTheRate() {
    Metronome metronome = new Metronome(1_000);
    long now = 0;
    for (int i = 0; i < 10_000; i++) {
      now += metronome.waitNanos(now);
    }

    assertThat(now).isBetween(10 * SECOND - SECOND / 100, 10 * SECOND);
  }

  @Test
  void afterAPause_itDoesNotBurst() {
    Metronome metronome = new Metronome(1_000);
    long now = metronome.waitNanos(0) + 60 * SECOND;

    int atOnce = 0;
    while (metronome.waitNanos(now) == 0) {
      atOnce++;
    }

    assertThat(atOnce).isLessThanOrEqualTo(101);
  }
}
