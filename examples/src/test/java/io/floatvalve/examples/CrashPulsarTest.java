package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.NeedsPulsar;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CrashPulsarTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  @TempDir private Path folder = Path.of("");

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @Test
  @NeedsPulsar(ownProcess = true)
  void everyMessageIsAccountedFor_whateverHappens() {
    Path json = folder.resolve("found.json");

    int exit = run("lab", "crash", "--broker", "pulsar", "--quick", "--json", json.toString());

    assertThat(exit).describedAs("%s%s", out, err).isZero();
    assertThat(json)
        .content()
        .contains("\"kill\"", "\"cut\"", "\"stall\"", "\"close\"", "\"unloaded\"")
        .contains("\"stall_to_broker_published_msgs\"", "\"close_took_ms\"")
        .doesNotContain("\"ok\" : false");
  }

  @Test
  void brokerThatWasGiven_isRefused_becauseOfTheProxy() {
    assertThat(run("lab", "crash", "--broker", "pulsar", "--uri", "pulsar://localhost"))
        .isEqualTo(2);
    assertThat(err.toString()).contains("--uri").contains("proxy");
  }

  @Test
  void unknownBroker_isNamed() {
    assertThat(run("lab", "crash", "--broker", "kafka")).isEqualTo(2);
    assertThat(err.toString()).contains("--broker").contains("kafka");
  }
}
