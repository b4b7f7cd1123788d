package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QuotaLabTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--rounds=0",
        "--rounds=1001",
        "--only=known",
        "--admin-uri=http://localhost:8080"
      })
  void badValue_isRefusedByName(String option) {
    int exit = Main.run(new PrintWriter(out), new PrintWriter(err), "lab", "quota", option);

    assertThat(exit).isEqualTo(2);
    assertThat(err.toString())
        .contains(option.substring(0, option.indexOf('=')))
        .doesNotContain("\tat ");
  }
}
