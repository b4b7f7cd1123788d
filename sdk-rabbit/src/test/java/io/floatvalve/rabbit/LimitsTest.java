package io.floatvalve.rabbit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LimitsTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void utf8Bytes_areWhatTheEncoderWrites(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 2_000; i++) {
      StringBuilder text = new StringBuilder();
      for (int n = random.nextInt(12); n > 0; n--) {
        switch (random.nextInt(4)) {
          case 0 -> text.append((char) random.nextInt(0x80));
          case 1 -> text.append((char) random.nextInt(0x10000)); // half pairs among them
          case 2 -> text.appendCodePoint(0x10000 + random.nextInt(0x1000));
          default -> text.append((char) (0x80 + random.nextInt(0x780)));
        }
      }

      assertThat(Limits.utf8Bytes(text.toString()))
          .isEqualTo(text.toString().getBytes(UTF_8).length);
    }
  }

  @Test
  void shortString_isAtMost255BytesNotChars() {
    assertThat(Limits.shortString("x", null)).isNull();
    assertThat(Limits.shortString("x", "a".repeat(255))).isNull();
    assertThat(Limits.shortString("x", "ä".repeat(127))).isNull();
    assertThat(Limits.shortString("x", "€".repeat(85))).isNull();
    assertThat(Limits.shortString("routing key", "ä".repeat(128)))
        .startsWith("routing key must be at most 255 bytes in UTF-8, has 256: 'ää");
    assertThat(Limits.shortString("x", "a".repeat(256))).contains("has 256");
  }

  @Test
  void whatAmqpCannotCarry_isNamedWithItsPlace() {
    assertThat(Limits.table("header", Map.of("a".repeat(256), 1)))
        .startsWith("the name of a header must be at most 255 bytes");
    assertThat(Limits.table("header", Map.of("big", new BigDecimal(BigInteger.ONE.shiftLeft(31)))))
        .startsWith("header 'big': a decimal must");
    assertThat(Limits.table("header", Map.of("d", new BigDecimal("1e10")))).contains("has -10 and");
    assertThat(Limits.table("header", Map.of("n", Double.NaN)))
        .isEqualTo("header 'n': a number must be finite, was NaN");
    assertThat(Limits.table("header", Map.of("n", List.of(1f, Float.NEGATIVE_INFINITY))))
        .isEqualTo("header 'n': a number must be finite, was -Infinity");
    assertThat(
            Limits.table(
                "header", Map.of("n", Map.of("m", List.of(Map.of("k", Double.POSITIVE_INFINITY))))))
        .isEqualTo("key in header 'n' 'k': a number must be finite, was Infinity");
    assertThat(Limits.table("header", Map.of("t", Instant.MAX))).startsWith("header 't' must be");
    assertThat(Limits.table("header", Map.of("l", List.of(Map.of("b".repeat(256), 1)))))
        .startsWith("the name of a key in header 'l' must be");
    assertThat(
            Limits.table(
                "header",
                Map.of(
                    "a", new BigDecimal("-12.34"),
                    "b", new BigDecimal(BigInteger.valueOf(Integer.MIN_VALUE), 255),
                    "c", List.of(Instant.EPOCH, Map.of("k", new byte[3])))))
        .isNull();
  }

  @Test
  void nesting_isBounded_andTheHeaderNamed() {
    assertThat(Limits.table("header", Map.of("deep", nested(32)))).isNull();
    assertThat(Limits.table("header", Map.of("deep", nested(33))))
        .isEqualTo("key in header 'deep': tables and lists must be nested at most 32 deep");
    assertThat(Limits.table("header", Map.of("deep", nested(100_000)))).contains("at most 32 deep");
  }

  /** Returns lists and tables by turns, so many, around a number. */
  private static Object nested(int deep) {
    Object value = 1;
    for (int i = 0; i < deep; i++) {
      value = i % 2 == 0 ? Collections.singletonList(value) : Collections.singletonMap("k", value);
    }
    return value;
  }
}
