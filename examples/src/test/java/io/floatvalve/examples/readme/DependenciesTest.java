package io.floatvalve.examples.readme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Holds {@code docs/dependencies.md} to the bills of materials that the build has made of the
 * modules, and these to licences that are fit for what is published under Apache-2.0.
 */
final class DependenciesTest {
  private static final Path PAGE = Path.of("..", "docs", "dependencies.md");

  /** Permissive ones, and copyleft that ends at the library's own files. */
  private static final Set<String> FIT =
      Set.of(
          "Apache-2.0",
          "BSD-2-Clause",
          "BSD-3-Clause",
          "Bouncy Castle Licence",
          "CC0-1.0",
          "EPL-2.0",
          "MIT",
          "MIT-0",
          "MPL-2.0");

  @ParameterizedTest
  @ValueSource(strings = {"sdk-api", "sdk-rabbit", "sdk-pulsar"})
  void thePage_namesWhatAModuleBringsAlong_withItsLicences(String module) throws IOException {
    List<String> rows = new ArrayList<>();
    for (JsonNode each : components(module)) {
      rows.add(
          "| %s:%s%s | %s | %s |"
              .formatted(
                  each.path("group").asText(),
                  each.path("name").asText(),
                  each.path("scope").asText().equals("optional") ? " (optional)" : "",
                  each.path("version").asText(),
                  String.join(", ", licences(each))));
    }

    assertThat(rows).isNotEmpty();
    assertThat(rowsOfThePage(module))
        .as("the rows of docs/dependencies.md must be:%n%s%n", String.join("\n", rows))
        .containsExactlyInAnyOrderElementsOf(rows);
  }

  /** Of several licences one may be chosen: one that fits is enough. */
  @ParameterizedTest
  @ValueSource(strings = {"sdk-api", "sdk-rabbit", "sdk-pulsar"})
  void licences_fitToOurs(String module) throws IOException {
    for (JsonNode each : components(module)) {
      assertThat(licences(each)).as(each.path("name").asText()).containsAnyElementsOf(FIT);
    }
  }

  private static List<JsonNode> components(String module) throws IOException {
    Path bill = Path.of("..", module, "target", "bom.json");
    assumeThat(bill).as("made by mvn prepare-package, and what comes after it").exists();
    List<JsonNode> components = new ArrayList<>();
    for (JsonNode each : new ObjectMapper().readTree(bill.toFile()).path("components")) {
      if (!each.path("group").asText().equals("io.floatvalve")) {
        components.add(each);
      }
    }
    return components;
  }

  private static Set<String> licences(JsonNode component) {
    Set<String> licences = new TreeSet<>();
    for (JsonNode each : component.path("licenses")) {
      JsonNode licence = each.path("license");
      String id = licence.path("id").asText(licence.path("name").asText());
      licences.add(id.isEmpty() ? each.path("expression").asText() : id);
    }
    return licences;
  }

  private static List<String> rowsOfThePage(String module) throws IOException {
    List<String> rows = new ArrayList<>();
    String now = "";
    for (String line : Files.readAllLines(PAGE)) {
      if (line.startsWith("## ")) {
        now = line.substring("## ".length());
      } else if (now.equals(module) && line.startsWith("| ") && line.contains(":")) {
        rows.add(line);
      }
    }
    return rows;
  }
}
