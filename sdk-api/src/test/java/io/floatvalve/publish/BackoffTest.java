package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class BackoffTest {
  private static final long MS = 1_000_000;

  @Test
  void firstAttempt_waitsUpTo20Milliseconds() {
    assertThat(Backoff.nanos(0, 0)).isZero();
    assertThat(Backoff.nanos(0, 0.5)).isEqualTo(10 * MS);
    assertThat(Backoff.nanos(0, 1)).isEqualTo(20 * MS);
    assertThat(Backoff.nanos(-1, 1)).isEqualTo(20 * MS);
  }

  @Test
  void laterAttempts_doubleFrom100MillisecondsTo5Seconds() {
    assertThat(Backoff.nanos(1, 0)).isEqualTo(100 * MS);
    assertThat(Backoff.nanos(2, 0)).isEqualTo(200 * MS);
    assertThat(Backoff.nanos(6, 0)).isEqualTo(3_200 * MS);
    assertThat(Backoff.nanos(7, 0)).isEqualTo(5_000 * MS);
    assertThat(Backoff.nanos(Integer.MAX_VALUE, 0)).isEqualTo(5_000 * MS);
  }

  @Test
  void jitter_shortensByUpToHalf() {
    assertThat(Backoff.nanos(1, 1)).isEqualTo(50 * MS);
    assertThat(Backoff.nanos(1, 0.5)).isEqualTo(75 * MS);
    assertThat(Backoff.nanos(40, 1)).isEqualTo(2_500 * MS);
  }

  @Test
  void ofAPolicy_beginsAndEndsWhereItSays() {
    assertThat(Backoff.nanos(3, 10, 1, 0)).isEqualTo(3);
    assertThat(Backoff.nanos(3, 10, 2, 0)).isEqualTo(6);
    assertThat(Backoff.nanos(3, 10, 3, 0)).isEqualTo(10);
  }
}
