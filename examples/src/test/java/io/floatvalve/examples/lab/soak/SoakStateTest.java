package io.floatvalve.examples.lab.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.examples.cli.CannotRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SoakStateTest {
  @TempDir private Path folder = Path.of("");

  @Test
  void runs_addUp_fromFileToFile() {
    Path file = folder.resolve("state.json");
    SoakState first = SoakState.read(file, "rabbit");
    first.add(7, Map.of("published_msgs", 10L, "longest_outcome_ms", 30L));
    first.write(file);

    SoakState second = SoakState.read(file, "rabbit");
    second.add(8, Map.of("published_msgs", 5L, "longest_outcome_ms", 20L, "faults_kill", 1L));
    second.write(file);

    SoakState all = SoakState.read(file, "rabbit");
    assertThat(all.seeds()).containsExactly(7L, 8L);
    assertThat(all.totals())
        .containsOnly(
            Map.entry("published_msgs", 15L),
            Map.entry("longest_outcome_ms", 30L),
            Map.entry("faults_kill", 1L));
    assertThat(all.total("nothing")).isZero();
  }

  @Test
  void fileOfAnotherSoak_isRefused() {
    Path file = folder.resolve("state.json");
    new SoakState("rabbit").write(file);

    assertThatThrownBy(() -> SoakState.read(file, "pulsar"))
        .isInstanceOf(CannotRun.class)
        .hasMessageContaining("'rabbit'");
  }

  @Test
  void fileThatIsNone_isRefused() throws Exception {
    Path file = folder.resolve("state.json");
    Files.writeString(file, "no json");

    assertThatThrownBy(() -> SoakState.read(file, "pulsar"))
        .isInstanceOf(CannotRun.class)
        .hasMessageContaining("--resume");
  }
}
