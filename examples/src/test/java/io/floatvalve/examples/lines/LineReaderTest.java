package io.floatvalve.examples.lines;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LineReaderTest {
  private static List<String> lines(String text, int longest) throws IOException {
    List<String> lines = new ArrayList<>();
    var in = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    try (LineReader reader = new LineReader(in, longest)) {
      for (Line line = reader.next(); line != null; line = reader.next()) {
        assertThat(line.number()).isEqualTo(lines.size() + 1);
        lines.add(line.tooLong() ? "<too long>" : new String(line.bytes(), StandardCharsets.UTF_8));
      }
    }
    return lines;
  }

  @Test
  void emptyInput_hasNoLine() throws IOException {
    assertThat(lines("", 10)).isEmpty();
  }

  @Test
  void lastLine_mayLackItsEnd() throws IOException {
    assertThat(lines("a\nb", 10)).containsExactly("a", "b");
    assertThat(lines("a\nb\n", 10)).containsExactly("a", "b");
  }

  @Test
  void emptyLines_areLines() throws IOException {
    assertThat(lines("\n\na\n", 10)).containsExactly("", "", "a");
  }

  @Test
  void carriageReturn_isPartOfTheEndAlone() throws IOException {
    assertThat(lines("a\r\nb\rc\r\n", 10)).containsExactly("a", "b\rc");
  }

  @Test
  void longLine_isMarkedAndTheNextIsWhole() throws IOException {
    assertThat(lines("12345\n123456\nab\n", 5)).containsExactly("12345", "<too long>", "ab");
    assertThat(lines("12345\r\n", 5)).containsExactly("12345");
  }

  @Test
  void lineLongerThanTheBuffer_isWhole() throws IOException {
    String large = "x".repeat(200_000);
    assertThat(lines(large + "\n" + large, 1 << 20)).containsExactly(large, large);
  }
}
