package io.floatvalve.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PulsarStatsTest {
  private static final String JSON =
      " {\"a\": [ {\"b\":-12, \"t\":true}, 2.5e1 ], \"s\":\"\\u0041\\n\\\"\", \"n\":null, \"e\":{}, \"l\":[]} ";

  @Test
  void path_leadsThroughFieldsAndElements() {
    PulsarStats stats = new PulsarStats(JSON);

    assertThat(stats.number("a", "0", "b")).isEqualTo(-12);
    assertThat(stats.fraction("a", "1")).isEqualTo(25.0);
    assertThat(stats.flag("a", "0", "t")).isTrue();
    assertThat(stats.text("s")).isEqualTo("A\n\"");
    assertThat(stats.has("n")).isFalse();
    assertThat(stats.names("e")).isEmpty();
    assertThat(stats.size("l")).isZero();
    assertThat(stats.has("a", "2")).isFalse();
  }

  @Test
  void pathToNothing_isToldWithTheAnswer() {
    assertThatThrownBy(() -> new PulsarStats(JSON).number("a", "9"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("a/9")
        .hasMessageContaining("2.5e1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{", "[1,]", "{\"a\" 1}", "tru", "\"a", "1 2", "\"\\u00", "nan"})
  void textThatIsNoJson_isRefused(String text) {
    assertThatThrownBy(() -> new PulsarStats(text)).isInstanceOf(IllegalArgumentException.class);
  }
}
