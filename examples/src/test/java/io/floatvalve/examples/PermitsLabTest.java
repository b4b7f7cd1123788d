package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PermitsLabTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  @TempDir private Path folder = Path.of("");

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @ParameterizedTest
  @CsvSource({
    "kafka,  --quick,     true",
    "rabbit, --only,      everything",
    "rabbit, --admin-uri, http://localhost:8080",
    "rabbit, --uri,       pulsar://localhost",
  })
  void badValue_isRefusedByName(String broker, String option, String value) {
    int exit = run("lab", "permits", "--broker", broker, option + "=" + value);

    assertThat(exit).isEqualTo(2);
    assertThat(err.toString())
        .contains(broker.equals("kafka") ? "--broker" : option)
        .doesNotContain("\tat ");
  }

  /** Those experiments whose checks depend on no speed. */
  @Test
  @NeedsRabbit
  void onRabbit_orderAndRedelivery_areAsTheyShouldBe() {
    Path json = folder.resolve("found.json");

    int exit =
        run(
            "lab",
            "permits",
            "--broker",
            "rabbit",
            "--quick",
            "--only",
            "order,redelivery",
            "--uri",
            RabbitNode.shared().uri(),
            "--json",
            json.toString());

    assertThat(exit).describedAs("%s%s", out, err).isZero();
    assertThat(json)
        .content()
        .contains("\"A7-by-key\"", "\"A7-total\"", "\"A8\"", "\"kind\" : \"rabbitmq\"")
        .doesNotContain("\"ok\" : false");
    assertThat(out.toString()).contains("3 of 3 checks held");
  }
}
