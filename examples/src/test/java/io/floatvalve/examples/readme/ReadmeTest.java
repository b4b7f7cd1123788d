package io.floatvalve.examples.readme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReadmeTest {
  private static final Path SOURCES = Path.of("src/main/java/io/floatvalve/examples/readme");

  @ParameterizedTest
  @CsvSource({
    "README.md,            ReadmeExample.java,  publish",
    "README.md,            ConsumeExample.java, consume",
    "docs/flow-control.md, ConsumeExample.java, consume",
    "docs/flow-control.md, ConsumeExample.java, permits",
    "docs/flow-control.md, ConsumeExample.java, status",
    "docs/flow-control.md, ConsumeExample.java, drain",
    "docs/ordering.md,     ConsumeExample.java, order",
    "docs/flow-control.md, RabbitConsumeExample.java, consume",
    "docs/flow-control.md, RabbitConsumeExample.java, topology",
    "docs/flow-control.md, RabbitConsumeExample.java, stream",
    "docs/retries.md,      RabbitConsumeExample.java, retries",
    "docs/latency.md,      LatencyExample.java, interval",
    "docs/latency.md,      LatencyExample.java, log",
    "docs/operations.md,   OperationsExample.java, metrics",
    "docs/operations.md,   OperationsExample.java, health",
    "docs/operations.md,   OperationsExample.java, tracing",
    "docs/operations.md,   OperationsExample.java, views",
    "docs/explain.md,      ExplainExample.java, explain",
    "docs/quotas.md,       QuotaExample.java, policy",
    "docs/quotas.md,       QuotaExample.java, peak",
    "docs/quotas.md,       QuotaExample.java, events",
  })
  void document_showsTheCodeThatIsCompiled(String document, String source, String tag)
      throws IOException {
    List<String> lines = Files.readAllLines(SOURCES.resolve(source));
    List<String> marked =
        lines.subList(lines.indexOf("    // tag::" + tag) + 1, lines.indexOf("    // end::" + tag));
    String code = String.join("\n", marked).stripIndent().strip();

    assertThat(code).isNotEmpty();
    assertThat(Files.readString(Path.of("..", document))).contains("```java\n" + code + "\n```");
  }
}
