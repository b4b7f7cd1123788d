package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.floatvalve.model.Message;
import io.floatvalve.testkit.Seeds;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Headers of any name, type and depth: carried as they are or refused, and none is deadly. */
final class RandomHeadersTest {
  private static final byte[] BODY = {};
  private static final String[] TEXTS = {
    "",
    "a",
    "ünï",
    "\0",
    "€",
    "\uD83D\uDE00",
    "\uD83D",
    "\uDE00x",
    "\uFFFD",
    "floatvalve",
    " ",
    "3:"
  };
  private static final String[] TYPES = {
    "boolean", "byte", "short", "int", "long", "float", "double", "decimal", "instant", "bytes",
    "list", "map", "string", "nothing"
  };

  static LongStream seeds() {
    return Seeds.of(4);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatIsNotRefused_comesBackAsItWas(long seed) {
    Random random = new Random(seed);
    Outgoing outgoing = new Outgoing(null);
    int carried = 0;
    for (int i = 0; i < 700; i++) {
      Message sent = message(random);
      if (outgoing.refusal(sent) == null) {
        carried++;
        assertThat(plain(HeaderText.headers(overTheWire(properties(sent)))))
            .isEqualTo(plain(sent.headers()));
      }
    }
    assertThat(carried).isGreaterThan(100);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whateverABrokerDelivers_isAMessage(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 700; i++) {
      Map<String, String> spoilt = new HashMap<>();
      properties(message(random))
          .forEach((name, text) -> spoilt.put(spoil(name, random), spoil(text, random)));
      spoilt.put("floatvalve-type-a", TYPES[random.nextInt(TYPES.length)]);
      spoilt.put("a", random.nextBoolean() ? spoil("int 2:42string 1:xmap 0:", random) : "-1");

      assertThatCode(() -> Message.builder(BODY).headers(HeaderText.headers(spoilt)).build())
          .as("%s", spoilt)
          .doesNotThrowAnyException();
    }
  }

  @Test
  @Timeout(20)
  void headersNestedWithoutEnd_stayText() {
    StringBuilder types = new StringBuilder("int 1:7");
    for (int depth = 0; depth < 100_000 && types.length() < 1_000_000; depth++) {
      types.insert(0, "list " + types.length() + ":");
    }
    Map<String, String> properties = Map.of("a", types.toString(), "floatvalve-type-a", "list");

    assertThat(HeaderText.headers(properties)).isEqualTo(Map.of("a", types.toString()));
  }

  /** What UTF-8 makes of it, as the client writes it. */
  private static Map<String, String> overTheWire(Map<String, String> properties) {
    Map<String, String> read = new LinkedHashMap<>();
    properties.forEach((name, text) -> read.put(utf8(name), utf8(text)));
    return read;
  }

  private static String utf8(String text) {
    return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
  }

  private static Map<String, String> properties(Message message) {
    Map<String, String> properties = new LinkedHashMap<>();
    message.headers().forEach((name, value) -> HeaderText.put(properties, name, value));
    return properties;
  }

  private static String spoil(String text, Random random) {
    if (text.isEmpty() || random.nextInt(3) > 0) {
      return text;
    }
    int at = random.nextInt(text.length());
    return switch (random.nextInt(4)) {
      case 0 -> text.substring(0, at);
      case 1 -> text.substring(at);
      case 2 -> text.substring(0, at) + (char) random.nextInt(128) + text.substring(at + 1);
      default -> text.substring(0, at) + TYPES[random.nextInt(TYPES.length)] + text.substring(at);
    };
  }

  private static Message message(Random random) {
    Message.Builder builder = Message.builder(BODY);
    for (int n = random.nextInt(5); n > 0; n--) {
      builder.header(text(random) + n, value(random, 1));
    }
    return builder.build();
  }

  private static String text(Random random) {
    StringBuilder text = new StringBuilder();
    for (int n = random.nextInt(4); n > 0; n--) {
      text.append(TEXTS[random.nextInt(TEXTS.length)]);
    }
    return text.toString();
  }

  private static Object value(Random random, int depth) {
    return switch (random.nextInt(depth < 6 ? 14 : 12)) {
      case 0, 1 -> text(random);
      case 2 -> random.nextBoolean();
      case 3 -> (byte) random.nextInt();
      case 4 -> (short) random.nextInt();
      case 5 -> random.nextInt();
      case 6 -> random.nextLong();
      case 7 -> Float.intBitsToFloat(random.nextInt());
      case 8 -> Double.longBitsToDouble(random.nextLong());
      case 9 -> new BigDecimal(new BigInteger(99, random), random.nextInt());
      case 10 -> Instant.ofEpochSecond(random.nextInt(), random.nextInt(1_000_000_000));
      case 11 -> {
        byte[] bytes = new byte[random.nextInt(20)];
        random.nextBytes(bytes);
        yield bytes;
      }
      case 12 -> {
        List<Object> list = new ArrayList<>();
        for (int n = random.nextInt(4); n > 0; n--) {
          list.add(value(random, depth + 1));
        }
        yield list;
      }
      default -> {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int n = random.nextInt(4); n > 0; n--) {
          map.put(text(random), value(random, depth + 1));
        }
        yield map;
      }
    };
  }

  /** Arrays by their elements. */
  private static Object plain(Object value) {
    if (value instanceof byte[] bytes) {
      List<Object> list = new ArrayList<>();
      for (byte each : bytes) {
        list.add(each);
      }
      return Map.of("bytes", list);
    }
    if (value instanceof List<?> list) {
      return list.stream().map(RandomHeadersTest::plain).toList();
    }
    if (value instanceof Map<?, ?> map) {
      Map<Object, Object> plain = new HashMap<>();
      map.forEach((name, each) -> plain.put(name, plain(each)));
      return plain;
    }
    return value;
  }
}
