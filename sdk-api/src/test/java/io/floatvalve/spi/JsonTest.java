package io.floatvalve.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class JsonTest {
  private static final String WHOLE =
      " {\"a\": [1, -2.5e3, true, false, null, \"x\\n"
          + "\\u00e9\\\"\"], \"b\" : {\"c\":{}}, \"d\":[]}\n";

  @Test
  void values_areFoundByTheirWay() {
    Json json = Json.parse(WHOLE);

    assertThat(json.at("a").elements()).hasSize(6);
    assertThat(json.at("a").elements().get(0).number()).hasValue(1);
    assertThat(json.at("a").elements().get(1).number()).hasValue(-2500);
    assertThat(json.at("a").elements().get(2).isTrue()).isTrue();
    assertThat(json.at("a").elements().get(4).exists()).isFalse();
    assertThat(json.at("a").elements().get(5).text()).isEqualTo("x\né\"");
    assertThat(json.at("b").at("c").fields()).isEmpty();
    assertThat(json.fields()).containsOnlyKeys("a", "b", "d");
  }

  @Test
  void whatIsNotThere_isNothing() {
    Json json = Json.parse("{\"n\":1}");

    assertThat(json.at("x").at("y").exists()).isFalse();
    assertThat(json.at("x").number()).isEmpty();
    assertThat(json.at("n").text()).isEmpty();
    assertThat(json.at("n").elements()).isEmpty();
    assertThat(json.number()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", " ", "{", "[", "[1,]", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "[1 2]", "1 2", "tru", "nul",
        "01", "-", "1.", ".5", "1e", "+1", "NaN", "Infinity", "'a'", "\"a", "\"\\x\"",
            "\"\\u12g4\"",
        "\"\\u12\"", "\"\t\"", "[1]]", "// c\n1", "\"\\u\uff11\uff11\uff11\uff11\"", "{\"a\":}",
            "{,}"
      })
  void whatIsNoJson_isRefused(String text) {
    assertThatThrownBy(() -> Json.parse(text)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void depth_isBounded() {
    String deepest = "[".repeat(Json.MOST_DEPTH) + "]".repeat(Json.MOST_DEPTH);
    assertThat(Json.parse(deepest).exists()).isTrue();

    assertThatThrownBy(() -> Json.parse("[" + deepest + "]"))
        .hasMessageContaining("deeper than " + Json.MOST_DEPTH);
    assertThatThrownBy(() -> Json.parse("[".repeat(1_000_000)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Json.parse("{\"a\":".repeat(1_000_000)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void numbers_areBounded() {
    assertThat(Json.parse("999999999999999999").number()).hasValue(999_999_999_999_999_999L);
    assertThat(Json.parse("1e999999999").number()).hasValue(Long.MAX_VALUE);
    assertThat(Json.parse("-1e400").number()).hasValue(Long.MIN_VALUE);
    assertThat(Json.parse("9223372036854775808").number()).hasValue(Long.MAX_VALUE);
    assertThatThrownBy(() -> Json.parse("9".repeat(101)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void refusal_showsNothingOfTheText() {
    assertThatThrownBy(() -> Json.parse("{\"password\":\"s3cret\"")).hasMessageNotContaining("s3c");
  }

  /** Whatever comes, it is read or refused: no other exception, and no more than one of the two. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void spoiltText_isReadOrRefused(int seed) {
    var random = new Random(seed);
    String alphabet = "{}[]\",:\\u0123456789eE+-.truefalsn \n\t\u0000\uffff\ud800";
    int read = 0;
    for (int i = 0; i < 4_000; i++) {
      StringBuilder text = new StringBuilder(i % 2 == 0 ? WHOLE : "");
      int changes = i % 2 == 0 ? 1 + random.nextInt(3) : random.nextInt(40);
      for (int c = 0; c < changes; c++) {
        char any = alphabet.charAt(random.nextInt(alphabet.length()));
        int at = random.nextInt(text.length() + 1);
        if (random.nextBoolean() || at == text.length()) {
          text.insert(at, any);
        } else {
          text.setCharAt(at, any);
        }
      }
      try {
        assertThat(Json.parse(text.toString())).isNotNull();
        read++;
      } catch (IllegalArgumentException e) {
        assertThat(e).isExactlyInstanceOf(IllegalArgumentException.class);
      }
    }
    assertThat(read).isBetween(1, 3_999);
  }
}
