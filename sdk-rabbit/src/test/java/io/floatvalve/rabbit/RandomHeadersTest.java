package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.impl.LongStringHelper;
import io.floatvalve.model.Message;
import io.floatvalve.testkit.Seeds;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Headers of any name, type and depth: carried as they are or refused, and none is deadly. */
@SuppressWarnings("JavaUtilDate") // the client's type for AMQP's timestamps
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
    "x-death",
    " ",
    "\uFEFF"
  };

  static LongStream seeds() {
    return Seeds.of(4);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatIsNotRefused_comesBackAsItWas(long seed) throws IOException {
    Random random = new Random(seed);
    int carried = 0;
    for (int i = 0; i < 700; i++) {
      Map<String, Object> headers = new LinkedHashMap<>();
      Message.Builder builder = Message.builder(BODY);
      for (int n = random.nextInt(5); n > 0; n--) {
        String name = text(random) + n;
        Object value = value(random, 1);
        builder.header(name, value);
        headers.put(name, value);
      }
      String key = random.nextBoolean() ? text(random) : null;
      String id = random.nextBoolean() ? text(random) : null;
      Message sent = builder.key(key).messageId(id).build();
      if (PropertyMap.refusal(sent, 0) == null) {
        carried++;
        Message got =
            PropertyMap.toMessage(overTheWire(PropertyMap.toAmqp(sent, null)), sent.payload());
        assertThat(plain(got.headers())).isEqualTo(plain(headers));
        assertThat(got.key()).isEqualTo(key);
        assertThat(got.messageId()).isEqualTo(id);
      }
    }
    assertThat(carried).isGreaterThan(100);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whateverABrokerDelivers_isAMessage(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 700; i++) {
      Map<String, @Nullable Object> headers = new HashMap<>();
      for (int n = random.nextInt(6); n > 0; n--) {
        String name =
            switch (random.nextInt(8)) {
              case 0 -> PropertyMap.KEY;
              case 1 -> PropertyMap.ATTEMPTS;
              case 2 -> "x-death";
              case 3 -> Taken.DELIVERY_COUNT;
              default -> text(random);
            };
        headers.put(name, foreign(random, random.nextInt(10) == 0 ? 100 : 4));
      }
      BasicProperties properties =
          new BasicProperties.Builder()
              .headers(headers)
              .expiration(text(random) + random.nextLong())
              .deliveryMode(random.nextInt(256))
              .priority(random.nextInt(256))
              .timestamp(new Date(random.nextLong()))
              .contentType(text(random))
              .build();

      assertThatCode(() -> PropertyMap.toMessage(properties, BODY)).doesNotThrowAnyException();
    }
  }

  @Test
  void headersNestedTooDeep_areCutOff_andTheOthersStay() {
    Object deep = 7;
    for (int depth = 0; depth < 1_000; depth++) {
      deep = depth % 2 == 0 ? List.of(deep) : Map.of("a", deep);
    }
    BasicProperties properties =
        new BasicProperties.Builder().headers(Map.of("deep", deep, "flat", 1)).build();

    Message message = PropertyMap.toMessage(properties, BODY);

    assertThat(message.headers()).containsEntry("flat", 1);
    assertThat(message.headers().toString()).doesNotContain("7");
  }

  /** Returns what a peer reads of what the client writes. */
  private static BasicProperties overTheWire(BasicProperties properties) throws IOException {
    byte[] payload = properties.toFrame(1, 1).getPayload();
    return new BasicProperties(
        new DataInputStream(new ByteArrayInputStream(payload, 2, payload.length - 2)));
  }

  private static String text(Random random) {
    StringBuilder text = new StringBuilder();
    for (int n = random.nextInt(4); n > 0; n--) {
      text.append(TEXTS[random.nextInt(TEXTS.length)]);
    }
    return random.nextInt(50) == 0
        ? text.append("é".repeat(random.nextInt(200))).toString()
        : text.toString();
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
      case 9 ->
          new BigDecimal(new BigInteger(1 + random.nextInt(40), random), random.nextInt(9) - 2);
      case 10 ->
          Instant.ofEpochSecond(
              random.nextInt(20) == 0 ? Instant.MAX.getEpochSecond() : random.nextInt());
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

  /** A value as the client library gives it, from whatever publisher. */
  private static @Nullable Object foreign(Random random, int deepest) {
    return switch (random.nextInt(deepest > 0 ? 12 : 8)) {
      case 0 -> null;
      case 1 -> new Date(random.nextLong());
      case 2 -> {
        byte[] bytes = new byte[random.nextInt(9)];
        random.nextBytes(bytes);
        yield LongStringHelper.asLongString(bytes);
      }
      case 3 -> random.nextLong();
      case 4 -> Double.longBitsToDouble(random.nextLong());
      case 5 -> new BigDecimal(BigInteger.valueOf(random.nextInt()), random.nextInt(256));
      case 6 -> text(random);
      case 7 -> new Object();
      case 8, 9 -> {
        List<@Nullable Object> list = new ArrayList<>();
        list.add(foreign(random, deepest - 1));
        yield list;
      }
      default -> {
        Map<String, @Nullable Object> map = new HashMap<>();
        map.put(text(random), foreign(random, deepest - 1));
        yield map;
      }
    };
  }

  /** Arrays by their elements, times to the second. */
  private static Object plain(Object value) {
    if (value instanceof byte[] bytes) {
      List<Object> list = new ArrayList<>();
      for (byte each : bytes) {
        list.add(each);
      }
      return Map.of("bytes", list);
    }
    if (value instanceof Instant time) {
      return Instant.ofEpochSecond(time.getEpochSecond());
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
