package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.impl.Frame;
import io.floatvalve.model.Message;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PropertyMapTest {
  private static final byte[] MARK = {1, 2, 3, 4, 5, 6, 7, 8};
  private static final byte[] BODY = {42};

  /** Returns what a peer reads of what the client writes. */
  private static BasicProperties overTheWire(BasicProperties properties) throws IOException {
    Frame frame = properties.toFrame(1, 1);
    byte[] payload = frame.getPayload();
    int classId = 2;
    return new BasicProperties(
        new DataInputStream(new ByteArrayInputStream(payload, classId, payload.length - classId)));
  }

  private static Message roundTrip(Message message) throws IOException {
    return PropertyMap.toMessage(overTheWire(PropertyMap.toAmqp(message, MARK)), BODY);
  }

  @Test
  void everyProperty_comesBackAsItWas() throws IOException {
    Message sent =
        Message.builder(BODY)
            .contentType("text/plain")
            .messageId("id")
            .correlationId("correlation")
            .replyTo("answers")
            .key("ключ")
            .timestamp(Instant.ofEpochSecond(1_700_000_000))
            .priority(255)
            .ttl(Duration.ofMillis(1_500))
            .persistent(false)
            .build();

    Message got = roundTrip(sent);

    assertThat(got.contentType()).isEqualTo("text/plain");
    assertThat(got.messageId()).isEqualTo("id");
    assertThat(got.correlationId()).isEqualTo("correlation");
    assertThat(got.replyTo()).isEqualTo("answers");
    assertThat(got.key()).isEqualTo("ключ");
    assertThat(got.timestamp()).isEqualTo(sent.timestamp());
    assertThat(got.priority()).isEqualTo(255);
    assertThat(got.ttl()).isEqualTo(sent.ttl());
    assertThat(got.persistent()).isFalse();
    assertThat(got.headers()).isEmpty();
    assertThat(got.payload()).isSameAs(BODY);
  }

  @Test
  void everyHeaderType_comesBackAsItWas() throws IOException {
    Map<String, Object> headers = new HashMap<>();
    headers.put("string", "ünï");
    headers.put("replacement", "\uFFFD is no error");
    headers.put("boolean", true);
    headers.put("byte", (byte) -1);
    headers.put("short", (short) -2);
    headers.put("int", Integer.MIN_VALUE);
    headers.put("long", Long.MAX_VALUE);
    headers.put("float", 1.5f);
    headers.put("double", Math.PI);
    headers.put("decimal", new BigDecimal("-123.45"));
    headers.put("instant", Instant.ofEpochSecond(-5));
    headers.put("list", List.of("a", 1L, List.of(Instant.EPOCH)));
    headers.put("map", Map.of("k", Map.of("n", new BigDecimal("0.1"))));

    assertThat(roundTrip(Message.builder(BODY).headers(headers).build()).headers())
        .isEqualTo(headers);
    assertThat(
            roundTrip(Message.builder(BODY).header("bytes", new byte[] {9, 8}).build())
                .headers()
                .get("bytes"))
        .isEqualTo(new byte[] {9, 8});
  }

  @Test
  void plainMessage_hasNoPropertyButPersistence() {
    BasicProperties properties =
        PropertyMap.toAmqp(Message.builder(BODY).mandatory(false).build(), null);

    assertThat(properties).isEqualTo(new BasicProperties.Builder().deliveryMode(2).build());
  }

  @Test
  void ourNames_replaceThoseOfAnApplication() {
    Message message =
        Message.builder(BODY).header(PropertyMap.MARK, "x").header(PropertyMap.KEY, "y").build();

    assertThat(PropertyMap.toAmqp(message, MARK).getHeaders())
        .containsEntry(PropertyMap.MARK, MARK)
        .doesNotContainKey(PropertyMap.KEY);
    assertThat(PropertyMap.toAmqp(message, null).getHeaders()).isNull();
    assertThat(PropertyMap.toAmqp(message.toBuilder().key("k").build(), null).getHeaders())
        .doesNotContainKey(PropertyMap.MARK)
        .containsEntry(PropertyMap.KEY, "k");
  }

  @Test
  void ourNames_neverReachAnApplicationAsHeaders() {
    BasicProperties foreign =
        new BasicProperties.Builder()
            .headers(Map.of(PropertyMap.MARK, "x", PropertyMap.KEY, 7))
            .build();

    assertThat(PropertyMap.toMessage(foreign, BODY).headers()).isEmpty();
  }

  @Test
  void onlyADelayAboveZero_isSent() {
    Message.Builder message = Message.builder(BODY);

    assertThat(PropertyMap.toAmqp(message.delay(Duration.ZERO).build(), null).getHeaders())
        .isNull();
    assertThat(PropertyMap.toAmqp(message.delay(Duration.ofSeconds(-1)).build(), null).getHeaders())
        .isNull();
    assertThat(PropertyMap.toAmqp(message.delay(Duration.ofNanos(1)).build(), null).getHeaders())
        .isEqualTo(Map.of("x-delay", 1L));
  }

  @Test
  void whatNoMessageHolds_isLeftOut() throws IOException {
    Map<String, Object> headers = new HashMap<>();
    headers.put("void", null);
    headers.put("", "nameless");
    headers.put("list", Arrays.asList("a", null));
    headers.put("map", Collections.singletonMap("k", null));
    BasicProperties foreign =
        new BasicProperties.Builder().headers(headers).expiration("4294967295").build();

    Message message = PropertyMap.toMessage(overTheWire(foreign), BODY);

    assertThat(message.headers()).isEqualTo(Map.of("list", List.of("a"), "map", Map.of()));
    assertThat(message.ttl()).isEqualTo(Duration.ofDays(49));
    assertThat(message.persistent()).isFalse();
  }

  @Test
  void stringThatIsNoUtf8_staysBytes() throws IOException {
    byte[] latin = {(byte) 0xE4, 'a'};
    BasicProperties foreign =
        new BasicProperties.Builder()
            .headers(Map.of("h", com.rabbitmq.client.impl.LongStringHelper.asLongString(latin)))
            .build();

    assertThat(PropertyMap.toMessage(overTheWire(foreign), BODY).headers().get("h"))
        .isEqualTo(latin);
  }

  @Test
  void tooLongProperties_areRefusedByName() {
    String tooLong = "a".repeat(256);

    assertThat(PropertyMap.refusal(Message.builder(BODY).contentType(tooLong).build(), 0))
        .startsWith("content type must be at most 255 bytes in UTF-8, has 256");
    assertThat(PropertyMap.refusal(Message.builder(BODY).messageId(tooLong).build(), 0))
        .startsWith("message id ");
    assertThat(PropertyMap.refusal(Message.builder(BODY).correlationId(tooLong).build(), 0))
        .startsWith("correlation id ");
    assertThat(PropertyMap.refusal(Message.builder(BODY).replyTo(tooLong).build(), 0))
        .startsWith("reply-to ");
    assertThat(
            PropertyMap.refusal(Message.builder(BODY).replyTo("amq.rabbitmq.reply-to").build(), 0))
        .startsWith("reply-to must not be amq.rabbitmq.reply-to");
    assertThat(PropertyMap.refusal(Message.builder(BODY).timestamp(Instant.MIN).build(), 0))
        .startsWith("timestamp ");
    assertThat(PropertyMap.refusal(Message.builder(BODY).header("CC", "queue").build(), 0))
        .isEqualTo("header 'CC' must be a list of routing keys");
    assertThat(PropertyMap.refusal(Message.builder(BODY).header("BCC", List.of(1)).build(), 0))
        .isEqualTo("header 'BCC' must be a list of routing keys, as strings");
    assertThat(PropertyMap.refusal(Message.builder(BODY).key("k".repeat(5_000)).build(), 4_096))
        .startsWith("headers and properties must fit into a frame of 4096 bytes, take 51");
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void whatIsNotRefused_fitsIntoAFrame(long seed) throws IOException {
    Random random = new Random(seed);
    int refused = 0;
    for (int i = 0; i < 3_000; i++) {
      Message.Builder builder = Message.builder(BODY).delay(Duration.ofDays(1));
      for (int n = random.nextInt(20); n > 0; n--) {
        builder.header("h" + n, value(random, 3));
      }
      if (random.nextBoolean()) {
        builder
            .key("ä".repeat(random.nextInt(1_000)))
            .messageId("m".repeat(random.nextInt(256)))
            .correlationId("€".repeat(random.nextInt(86)))
            .timestamp(Instant.EPOCH)
            .priority(1)
            .ttl(Duration.ofDays(49));
      }
      Message message = builder.build();
      int size = PropertyMap.toAmqp(message, MARK).toFrame(1, 1).size();

      if (PropertyMap.refusal(message, 4_096) == null) {
        assertThat(size).isLessThanOrEqualTo(4_096);
      } else {
        refused++;
        assertThat(size).isGreaterThan(4_096 - 100);
      }
    }
    assertThat(refused).isBetween(100, 2_900);
  }

  @Test
  void whatAQuorumQueueCounts_isNoHeaderOfTheMessage() {
    Map<String, Object> headers =
        Map.of("colour", "red", "x-delivery-count", 3L, "x-acquired-count", 4L);

    Message message =
        PropertyMap.toMessage(new BasicProperties.Builder().headers(headers).build(), BODY);

    assertThat(message.headers()).isEqualTo(Map.of("colour", "red"));
  }

  @Test
  void notesOnADeath_areLeftOutOfOurCopies_andStayElsewhere() {
    Map<String, Object> headers = new HashMap<>();
    headers.put("colour", "red");
    headers.put("x-death", List.of(Map.of("queue", "orders.retry.200ms")));
    headers.put("x-first-death-queue", "orders.retry.200ms");
    headers.put("x-last-death-reason", "expired");
    BasicProperties theirs = new BasicProperties.Builder().headers(headers).build();

    assertThat(PropertyMap.toMessage(theirs, BODY).headers()).isEqualTo(headers);
    headers.put(PropertyMap.ATTEMPTS, 1);
    BasicProperties ours = new BasicProperties.Builder().headers(headers).build();
    assertThat(PropertyMap.toMessage(ours, BODY).headers()).isEqualTo(Map.of("colour", "red"));
  }

  private static Object value(Random random, int depth) {
    return switch (random.nextInt(depth > 0 ? 13 : 11)) {
      case 0 -> "ß".repeat(random.nextInt(600));
      case 1 -> true;
      case 2 -> (byte) 1;
      case 3 -> (short) 1;
      case 4 -> 1;
      case 5 -> 1L;
      case 6 -> 1f;
      case 7 -> 1d;
      case 8 -> new BigDecimal("1.1");
      case 9 -> Instant.EPOCH;
      case 10 -> new byte[random.nextInt(600)];
      case 11 -> List.of(value(random, depth - 1), value(random, depth - 1));
      default -> Map.of("a", value(random, depth - 1), "b€", value(random, depth - 1));
    };
  }
}
