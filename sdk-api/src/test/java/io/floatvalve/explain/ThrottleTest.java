package io.floatvalve.explain;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ThrottleTest {
  @ParameterizedTest
  @CsvSource({
    "SUSPECTED, false, POSSIBLE",
    "LIKELY,    false, LIKELY",
    "NONE,      true,  CERTAIN",
    "SUSPECTED, true,  CERTAIN",
    "LIKELY,    true,  CERTAIN",
    "CONFIRMED, true,  CERTAIN",
  })
  void certainty_isTheBrokersWord_orWhatTheRhythmSays(
      Throttle.Level level, boolean confirmed, Certainty expected) {
    assertThat(new Throttle(level, "seen").certainty(confirmed)).isEqualTo(expected);
  }
}
