package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.NeedsRabbit;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The short form; what it prints when it fails names the seed. */
class SoakTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  @TempDir private Path folder = Path.of("");

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  private void soak(String broker, String... more) {
    Path json = folder.resolve("found.json");
    List<String> line = new ArrayList<>(List.of("lab", "crash", "--soak", "--broker", broker));
    line.addAll(List.of("--seconds", "5", "--every", "0.5", "--json", json.toString()));
    line.addAll(List.of(more));

    int exit = run(line.toArray(new String[0]));

    assertThat(exit).describedAs("%s%s", out, err).isZero();
    assertThat(out.toString()).contains("seed: ").contains("held: ");
    assertThat(json)
        .content()
        .contains("\"soak-" + broker + "\"", "\"soak-" + broker + "-key-order\"", "\"seeds\"")
        .contains("\"published_msgs\"", "\"violations\" : 0")
        .doesNotContain("\"ok\" : false");
  }

  @Test
  @NeedsRabbit(ownProcess = true)
  void rabbit_keepsEveryLaw() {
    soak("rabbit", "--faults", "kill,cut,stall,channel,client-kill,throw");
  }

  @Test
  @NeedsPulsar(ownProcess = true)
  void pulsar_keepsEveryLaw() {
    soak("pulsar", "--faults", "cut,unload,client-kill,throw");
  }

  @Test
  void optionsOfASoak_withoutOne_areRefused() {
    assertThat(run("lab", "crash", "--messages", "5")).isEqualTo(2);
    assertThat(err.toString()).contains("--soak");
  }

  @Test
  void valuesOutOfRange_areNamed() {
    assertThat(run("lab", "crash", "--soak", "--nodes", "2")).isEqualTo(2);
    assertThat(err.toString()).contains("--nodes").contains("'2'");
  }
}
