package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class StandstillTest {
  /** Beside a dull model, which keeps every look. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6})
  void standstill_isFromTheFirstOfTheLooksThatSawTheSame(int seed) {
    var random = new Random(seed);
    var standstill = new Standstill();
    long at = 0;
    long ended = 0;
    long first = 0;
    long endedThen = -1;
    for (int i = 0; i < 1_000; i++) {
      at += random.nextInt(10);
      ended += random.nextInt(4) == 0 ? 1 : 0;
      boolean some = random.nextInt(4) != 0;
      if (!some) {
        endedThen = -1;
      } else if (endedThen != ended) {
        endedThen = ended;
        first = at;
      }

      assertThat(standstill.at(at, ended, some)).isEqualTo(some ? at - first : 0);
    }
  }

  @Test
  void standstill_isToldOnce_notCountingPauses_andAgainAfterProgress() {
    var standstill = new Standstill();
    long unused = standstill.at(0, 7, true);
    unused = standstill.at(99, 7, true);

    assertThat(standstill.toTell(99, 100, 0)).isZero();
    assertThat(standstill.toTell(140, 100, 41)).isZero();
    assertThat(standstill.toTell(150, 0, 0)).as("never").isZero();
    assertThat(standstill.toTell(150, 100, 50)).isEqualTo(Duration.ofNanos(150));
    assertThat(standstill.toTell(400, 100, 0)).as("once").isZero();

    unused = standstill.at(500, 8, true);
    assertThat(standstill.toTell(599, 100, 0)).isZero();
    assertThat(standstill.toTell(600, 100, 0)).isEqualTo(Duration.ofNanos(100));
    unused = standstill.at(700, 8, false);
    assertThat(standstill.toTell(9_000, 100, 0)).as("nothing is there").isZero();
  }
}
