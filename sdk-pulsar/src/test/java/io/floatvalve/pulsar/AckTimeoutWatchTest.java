package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class AckTimeoutWatchTest {
  @Test
  void lateFromTheFirst_isSaidOnce() {
    AckTimeoutWatch watch = new AckTimeoutWatch(100);

    assertThat(watch.saw(100)).isFalse();
    assertThat(watch.saw(101)).isTrue();
    assertThat(watch.saw(101)).isFalse();
  }

  @Test
  void oneInAThousand_isUsual() {
    AckTimeoutWatch watch = new AckTimeoutWatch(100);
    for (int i = 0; i < 1_998; i++) {
      assertThat(watch.saw(1)).isFalse();
    }

    assertThat(watch.saw(101)).isFalse();
    assertThat(watch.saw(101)).isFalse(); // two of 2,000
    assertThat(watch.saw(101)).isTrue();
  }
}
