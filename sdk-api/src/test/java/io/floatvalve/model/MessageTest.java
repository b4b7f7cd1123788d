package io.floatvalve.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MessageTest {

  @Test
  void headers_areCopiedDeeply() {
    List<Object> list = new ArrayList<>(List.of("a"));
    Map<String, Object> map = new HashMap<>(Map.of("list", list));
    byte[] bytes = {1};
    Message message = Message.builder(new byte[0]).header("m", map).header("b", bytes).build();

    list.add(new Object());
    map.clear();
    bytes[0] = 2;

    assertThat(message.headers().get("m")).isEqualTo(Map.of("list", List.of("a")));
    assertThat(message.headers().get("b")).isEqualTo(new byte[] {1});
    assertThatThrownBy(() -> message.headers().put("x", "y"))
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @Test
  void headers_thatAreTooDeep_areRefused() {
    Object deep = "x";
    for (int i = 0; i < 31; i++) {
      deep = List.of(deep);
    }
    Object justRight = deep;
    Message.builder(new byte[0]).header("h", justRight);
    for (int i = 0; i < 5_000; i++) {
      deep = List.of(deep);
    }
    Object tooDeep = deep;

    assertThatThrownBy(() -> Message.builder(new byte[0]).header("h", tooDeep))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("header 'h': lists and maps must be at most 32 deep");
  }

  @Test
  void valuesOutOfRange_areRefusedWithRangeAndValue() {
    Message.Builder builder = Message.builder(new byte[0]);

    assertThatThrownBy(() -> builder.priority(256))
        .hasMessage("priority must be from 0 to 255, was 256");
    assertThatThrownBy(() -> builder.ttl(Duration.ofDays(50)))
        .hasMessage("ttl must be from 0 to 49 days, was PT1200H");
    assertThatThrownBy(() -> builder.header("", 1)).hasMessage("header name must not be empty");
  }

  @Test
  void toBuilder_changesNothingElse() {
    Message message =
        Message.builder(new byte[] {1})
            .header("h", 1)
            .key("k")
            .contentType("t")
            .messageId("m")
            .correlationId("c")
            .replyTo("r")
            .priority(3)
            .ttl(Duration.ofSeconds(1))
            .delay(Duration.ofSeconds(2))
            .persistent(false)
            .mandatory(false)
            .address(Address.queue("q"))
            .build();

    assertThat(message.toBuilder().build()).usingRecursiveComparison().isEqualTo(message);
    assertThat(message.toBuilder().header("x", 2).build().headers()).hasSize(2);
    assertThat(message.headers()).hasSize(1);
  }

  @Test
  void text_showsNoPayloadAndNoHeader() {
    String secret = "s3cret";
    Message message =
        Message.builder(secret.getBytes(java.nio.charset.StandardCharsets.UTF_8))
            .header("password", secret)
            .build();

    assertThat(message.toString()).doesNotContain(secret).contains("6 bytes");
  }
}
