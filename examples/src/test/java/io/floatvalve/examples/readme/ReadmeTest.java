package io.floatvalve.examples.readme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReadmeTest {
  @Test
  void readme_showsTheCodeThatIsCompiled() throws IOException {
    Path source = Path.of("src/main/java/io/floatvalve/examples/readme/ReadmeExample.java");
    List<String> lines = Files.readAllLines(source);
    List<String> marked =
        lines.subList(
            lines.indexOf("    // tag::publish") + 1, lines.indexOf("    // end::publish"));
    String code = String.join("\n", marked).stripIndent().strip();

    String readme = Files.readString(Path.of("../README.md"));

    assertThat(code).contains("outcome.verdict()");
    assertThat(readme).contains("```java\n" + code + "\n```");
  }
}
