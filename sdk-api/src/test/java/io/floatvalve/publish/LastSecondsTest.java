package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LastSecondsTest {
  private static final long SECOND = 1_000_000_000L;

  @Test
  void looksBackAsFarAsIsAskedFor() {
    var seconds = new LastSeconds<>(0, "at 0");
    for (int i = 1; i <= 5; i++) {
      assertThat(seconds.isDue(i * SECOND)).isTrue();
      seconds.add(i * SECOND, "at " + i);
      assertThat(seconds.isDue(i * SECOND + SECOND / 2)).isFalse();
    }

    assertThat(seconds.newest()).isEqualTo("at 5");
    assertThat(seconds.lately(5 * SECOND + SECOND / 2)).isEqualTo("at 5");
    assertThat(seconds.lately(5 * SECOND + SECOND / 2 - 1)).isEqualTo("at 4");
    assertThat(seconds.base(5 * SECOND)).isEqualTo("at 3");
    assertThat(seconds.base(5 * SECOND - 1)).isEqualTo("at 2");
  }

  @Test
  void whereThereIsOnlyOne_itIsAllOfThem() {
    var seconds = new LastSeconds<>(0, "first");

    assertThat(seconds.newest()).isEqualTo("first");
    assertThat(seconds.lately(1)).isEqualTo("first");
    assertThat(seconds.base(1)).isEqualTo("first");
  }
}
