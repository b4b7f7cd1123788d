package io.floatvalve.examples.lines;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.floatvalve.examples.lines.LineFormat.BadLine;
import io.floatvalve.model.Message;
import io.floatvalve.testkit.Seeds;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Lines that are nearly a message, or nothing at all: read truly, or refused with a reason. */
final class RandomLinesTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String[] LINES = {
    "{\"payload\":\"gr\u00FC\u00DF \uD83D\uDE00\",\"key\":\"k\",\"headers\":{\"s\":\"x\",\"n\":7,\"l\":[1,{\"m\":true}]}}",
    "{\"payload\":{\"a\":[1,2.50,null]},\"messageId\":\"id\",\"priority\":3,\"ttlMillis\":1000}",
    "{\"payloadBase64\":\"AP8=\",\"persistent\":false,\"mandatory\":false,\"contentType\":\"t\"}",
    "{\"payload\":\"\\ud83d\\ude00\",\"headers\":{\"h\":\"\\ud83d\"}}",
  };
  private static final String[] PIECES = {
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\\",
    "\\u",
    "\\ud83d",
    "null",
    "1e999999999",
    "-1e-999999999",
    "99999999999999999999",
    "NaN",
    "\0",
    "\uFEFF",
    "\"payload\":",
    "\"headers\":{\"\":1}",
    "true",
    "é"
  };

  static LongStream seeds() {
    return Seeds.of(4);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  @Timeout(600)
  void whateverALineIs_itIsAMessageOrABadLine(long seed) throws IOException {
    Random random = new Random(seed);
    int good = 0;
    int bad = 0;
    for (int i = 0; i < 1_500; i++) {
      byte[] line = line(random);
      try {
        Message message = LineFormat.NDJSON.message(line);
        good++;
        JsonNode payload = JSON.readTree(line).get("payload");
        if (payload != null && payload.isTextual()) {
          assertThat(new String(message.payload(), StandardCharsets.UTF_8))
              .isEqualTo(payload.textValue());
        }
      } catch (BadLine e) {
        bad++;
        assertThat(e.getMessage()).isNotBlank();
      }
    }
    assertThat(good).isGreaterThan(100);
    assertThat(bad).isGreaterThan(100);
  }

  @Test
  @Timeout(20)
  void nestedWithoutEnd_isABadLine() {
    for (String piece : new String[] {"[", "{\"a\":", "{\"payload\":", "{\"headers\":{\"h\":"}) {
      byte[] line = piece.repeat(300_000).getBytes(StandardCharsets.UTF_8);

      assertThat(isBad(line)).as(piece).isTrue();
      assertThat(
              isBad(
                  ("{\"payload\":\"\",\"headers\":{\"h\":"
                          + "[".repeat(900)
                          + "]".repeat(900)
                          + "}}")
                      .getBytes(StandardCharsets.UTF_8)))
          .isTrue();
    }
  }

  private static boolean isBad(byte[] line) {
    try {
      LineFormat.NDJSON.message(line);
      return false;
    } catch (BadLine e) {
      return true;
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whateverAFileHolds_itsLinesAreWhatSplittingGives(long seed) throws IOException {
    Random random = new Random(seed);
    for (int i = 0; i < 60; i++) {
      byte[] file = new byte[random.nextInt(random.nextInt(10) == 0 ? 200_000 : 300)];
      for (int n = 0; n < file.length; n++) {
        file[n] =
            switch (random.nextInt(12)) {
              case 0 -> (byte) '\n';
              case 1 -> (byte) '\r';
              default -> (byte) random.nextInt();
            };
      }
      int longest = 1 + random.nextInt(20);

      List<byte[]> expected = split(file);
      try (LineReader reader = new LineReader(inPieces(file, random), longest)) {
        for (int n = 0; n < expected.size(); n++) {
          byte[] whole = expected.get(n);
          Line line = requireNonNull(reader.next());
          assertThat(line.number()).isEqualTo(n + 1);
          assertThat(line.tooLong()).isEqualTo(whole.length > longest);
          if (line.tooLong()) {
            assertThat(Arrays.copyOf(line.bytes(), longest))
                .isEqualTo(Arrays.copyOf(whole, longest));
          } else {
            assertThat(line.bytes()).isEqualTo(whole);
          }
        }
        assertThat(reader.next()).isNull();
      }
    }
  }

  private static List<byte[]> split(byte[] file) {
    List<byte[]> lines = new ArrayList<>();
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    boolean open = false;
    for (byte each : file) {
      open = true;
      if (each == '\n') {
        lines.add(withoutCr(line.toByteArray()));
        line.reset();
        open = false;
      } else {
        line.write(each);
      }
    }
    if (open) {
      lines.add(withoutCr(line.toByteArray()));
    }
    return lines;
  }

  private static byte[] withoutCr(byte[] line) {
    boolean cr = line.length > 0 && line[line.length - 1] == '\r';
    return cr ? Arrays.copyOf(line, line.length - 1) : line;
  }

  /** Gives a file away in pieces of any size. */
  private static InputStream inPieces(byte[] file, Random random) {
    return new ByteArrayInputStream(file) {
      @Override
      public int read(byte @Nullable [] into, int off, int len) {
        return super.read(into, off, Math.min(len, 1 + random.nextInt(50_000)));
      }
    };
  }

  private static byte[] line(Random random) {
    StringBuilder text = new StringBuilder(LINES[random.nextInt(LINES.length)]);
    for (int n = random.nextInt(3); n > 0; n--) {
      int at = random.nextInt(text.length());
      switch (random.nextInt(4)) {
        case 0 -> text.setLength(at + 1);
        case 1 -> text.deleteCharAt(at).append(' ');
        case 2 -> text.insert(at, PIECES[random.nextInt(PIECES.length)]);
        default -> text.setCharAt(at, (char) random.nextInt(256));
      }
    }
    byte[] line = text.toString().getBytes(StandardCharsets.UTF_8);
    if (random.nextInt(4) == 0) {
      line[random.nextInt(line.length)] = (byte) random.nextInt();
    }
    if (random.nextInt(50) == 0) {
      random.nextBytes(line);
    }
    return line;
  }
}
