package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.RabbitNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExplainLabTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  @TempDir private Path folder = Path.of("");

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @ParameterizedTest
  @CsvSource({"--broker, kafka", "--rounds, 0"})
  void badValue_isRefusedByName(String option, String value) {
    int exit = run("lab", "explain", option + "=" + value);

    assertThat(exit).isEqualTo(2);
    assertThat(err.toString()).contains(option, value).doesNotContain("\tat ");
  }

  /**
   * Those scenes that wait for no speed: what is forgotten or never settled stays so, however slow
   * the machine is.
   */
  @Test
  @NeedsRabbit
  void whatIsNeverSettled_isNamed() {
    Path json = folder.resolve("found.json");

    names(json, "--uri=" + RabbitNode.shared().uri());
  }

  @Test
  @NeedsPulsar
  void whatIsNeverSettled_isNamedOnPulsarToo() {
    PulsarNode node = PulsarNode.shared();

    names(
        folder.resolve("found.json"),
        "--broker=pulsar",
        "--uri=" + node.serviceUrl(),
        "--admin-uri=" + node.adminUrl());
  }

  private void names(Path json, String... where) {
    List<String> line = new ArrayList<>(List.of("lab", "explain", "--quick", "--within=40"));
    line.add("--only=settlement-forgotten,blocked-on-unacked,idle");
    line.add("--json=" + json);
    line.addAll(List.of(where));
    int exit = run(line.toArray(String[]::new));

    assertThat(exit).describedAs("%s%s", out, err).isZero();
    assertThat(json).content().contains("\"A5\"", "\"A10\"", "\"A11\"", "\"A12\"");
  }
}
