package io.floatvalve.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PulsarInstallTest {
  private static final String LIST = "repository/a/a.jar:repository/b/b.jar\n";

  @TempDir Path folder;

  @Test
  void jars_areFoundInTheRepositoryThatTheBuildUses() throws IOException {
    Path repository = repositoryWith("a/a.jar", "b/b.jar");

    PulsarInstall.Found found =
        PulsarInstall.find(
            LIST,
            Map.of(),
            Map.of("localRepository", repository.toString(), "user.home", "/")::get);

    assertThat(found.install().orElseThrow().jars())
        .containsExactly(repository.resolve("a/a.jar"), repository.resolve("b/b.jar"));
  }

  @Test
  void missingJars_areCountedAndTheWayToGetThemIsTold() throws IOException {
    Path repository = repositoryWith("a/a.jar");

    PulsarInstall.Found found =
        PulsarInstall.find(
            LIST, Map.of(PulsarInstall.JARS, repository.toString()), Map.of("user.home", "/")::get);

    assertThat(found.install()).isEmpty();
    assertThat(found.whyMissing())
        .contains("1 of 2 jars", repository.toString(), "dependency:get", "FLOATVALVE_PULSAR ");
  }

  private Path repositoryWith(String... jars) throws IOException {
    for (String jar : jars) {
      Path file = folder.resolve(jar);
      Files.createDirectories(folder.resolve(jar.substring(0, 1)));
      Files.createFile(file);
    }
    return folder;
  }
}
