package io.floatvalve.examples.lines;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.examples.lines.LineFormat.BadLine;
import io.floatvalve.model.Message;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LineFormatTest {
  private static Message ndjson(String line) throws BadLine {
    return LineFormat.NDJSON.message(line.getBytes(StandardCharsets.UTF_8));
  }

  private static String payload(Message message) {
    return new String(message.payload(), StandardCharsets.UTF_8);
  }

  @Test
  void text_isThePayloadAsItIs() throws BadLine {
    byte[] line = {0, (byte) 0xFF, 'a'};
    assertThat(LineFormat.TEXT.message(line).payload()).isEqualTo(line);
  }

  @Test
  void object_givesPayloadKeyHeadersAndProperties() throws BadLine {
    Message message =
        ndjson(
            "{\"payload\":\"grüß\",\"key\":\"k\",\"headers\":{\"s\":\"x\",\"n\":7,\"d\":1.5,"
                + "\"b\":true,\"l\":[1,\"a\"],\"m\":{\"i\":2}},\"messageId\":\"id\",\"priority\":3,"
                + "\"ttlMillis\":1000,\"persistent\":false,\"mandatory\":false,"
                + "\"contentType\":\"text/plain\",\"correlationId\":\"c\"}");

    assertThat(payload(message)).isEqualTo("grüß");
    assertThat(message.key()).isEqualTo("k");
    assertThat(message.headers())
        .containsExactly(
            Map.entry("s", "x"),
            Map.entry("n", 7L),
            Map.entry("d", 1.5),
            Map.entry("b", true),
            Map.entry("l", List.of(1L, "a")),
            Map.entry("m", Map.of("i", 2L)));
    assertThat(message.messageId()).isEqualTo("id");
    assertThat(message.correlationId()).isEqualTo("c");
    assertThat(message.contentType()).isEqualTo("text/plain");
    assertThat(message.priority()).isEqualTo(3);
    assertThat(message.ttl()).isEqualTo(Duration.ofSeconds(1));
    assertThat(message.persistent()).isFalse();
    assertThat(message.mandatory()).isFalse();
  }

  @Test
  void payloadThatIsNoString_isJson() throws BadLine {
    Message message = ndjson("{\"payload\":{\"a\":[1,2]}}");
    assertThat(payload(message)).isEqualTo("{\"a\":[1,2]}");
    assertThat(message.contentType()).isEqualTo("application/json");
  }

  @Test
  void base64_isDecoded() throws BadLine {
    assertThat(ndjson("{\"payloadBase64\":\"AP8=\"}").payload()).isEqualTo(new byte[] {0, -1});
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "~~                                          | no JSON object",
        "nonsense                                    | no JSON",
        "[1]                                         | no JSON object",
        "{\"payload\":\"a\"} trailing                | no JSON",
        "{}                                          | needs one of 'payload' and 'payloadBase64'",
        "{\"payload\":\"a\",\"payloadBase64\":\"\"}  | needs one of",
        "{\"payloadBase64\":\"%\"}                   | payloadBase64",
        "{\"payload\":\"a\",\"kye\":\"k\"}           | unknown field 'kye'",
        "{\"payload\":\"a\",\"key\":7}               | key: must be a string, was 7",
        "{\"payload\":\"a\",\"priority\":256}        | was 256",
        "{\"payload\":\"a\",\"priority\":1.5}        | priority: must be a whole number",
        "{\"payload\":\"a\",\"headers\":[]}          | headers: must be an object",
        "{\"payload\":\"a\",\"headers\":{\"h\":null}} | 'h' has a value that cannot be sent",
        "{\"payload\":\"a\",\"persistent\":1}        | persistent: must be true or false",
      })
  void badLine_saysWhatIsWrong(String line, String why) {
    assertThatThrownBy(() -> ndjson(line)).isInstanceOf(BadLine.class).hasMessageContaining(why);
  }

  @ParameterizedTest
  @CsvSource({"a.ndjson, NDJSON", "a.JSONL, NDJSON", "a.txt, TEXT", "-, TEXT"})
  void format_followsTheName(String name, LineFormat format) {
    assertThat(LineFormat.of(name)).isEqualTo(format);
  }
}
