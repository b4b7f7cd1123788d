package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.NeedsRabbit;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TourTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  @TempDir private Path folder = Path.of("");

  @Test
  @NeedsRabbit
  @NeedsPulsar
  void everyLine_isAccountedForFromTheFileToTheHandler() throws IOException {
    Path file = folder.resolve("lines.txt");
    Files.write(file, IntStream.rangeClosed(1, 100).mapToObj(i -> "line " + i).toList());
    Path json = folder.resolve("found.json");

    int exit =
        Main.run(
            new PrintWriter(out),
            new PrintWriter(err),
            "tour",
            "--from",
            file.toString(),
            "--out",
            folder.toString(),
            "--json",
            json.toString());

    assertThat(exit).describedAs("%s%s", out, err).isZero();
    assertThat(json)
        .content()
        .contains("\"end-to-end\"", "\"forwarded\"", "\"handled\"", "\"lines_total\" : 100")
        .doesNotContain("\"ok\" : false", "\"lines_handled\" : 0");
  }
}
