package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class HeaderTextTest {
  @Test
  void everyStatedType_comesBackAsItWas() {
    Map<String, Object> headers = new LinkedHashMap<>();
    headers.put("string", "a:b 3");
    headers.put("boolean", true);
    headers.put("byte", (byte) -1);
    headers.put("short", (short) 300);
    headers.put("int", 70_000);
    headers.put("long", 1L << 40);
    headers.put("float", 1.5f);
    headers.put("double", Double.MIN_VALUE);
    headers.put("decimal", new BigDecimal("1.500"));
    headers.put("instant", Instant.parse("2026-01-01T00:00:00.123456789Z"));
    headers.put("list", List.of("", 1, List.of("x y:z", 2L), Map.of("k", true)));
    headers.put("map", Map.of("a", List.of(), "b c", Map.of("d:", "é")));

    assertThat(roundTrip(headers)).isEqualTo(headers);
  }

  @Test
  void bytes_comeBackAsTheyWere() {
    byte[] bytes = {0, -1, 2};

    assertThat(roundTrip(Map.of("bytes", bytes)).get("bytes")).isEqualTo(bytes);
  }

  @Test
  void valueInWords_isReadableToOthers() {
    Map<String, String> properties = new LinkedHashMap<>();

    HeaderText.put(properties, "answer", 42);

    assertThat(properties).containsEntry("answer", "42");
  }

  @Test
  void typeThatDoesNotFitTheText_leavesTheText() {
    Map<String, String> properties = Map.of("a", "x", "floatvalve-type-a", "int");

    assertThat(HeaderText.headers(properties)).isEqualTo(Map.of("a", "x"));
  }

  private static Map<String, Object> roundTrip(Map<String, Object> headers) {
    Map<String, String> properties = new LinkedHashMap<>();
    headers.forEach((name, value) -> HeaderText.put(properties, name, value));
    return HeaderText.headers(properties);
  }
}
