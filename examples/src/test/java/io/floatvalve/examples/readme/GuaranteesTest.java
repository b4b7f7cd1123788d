package io.floatvalve.examples.readme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Holds docs/guarantees.md to what there is. */
class GuaranteesTest {
  private static final Path PAGE = Path.of("..", "docs", "guarantees.md");
  private static final List<String> MODULES =
      List.of("sdk-api", "sdk-testkit", "sdk-rabbit", "sdk-pulsar", "examples");
  private static final Pattern NAMED = Pattern.compile("`([A-Z]\\w*)#(\\w+)`");
  private static final Pattern PROMISE =
      Pattern.compile("^\\| (?!---|promise |law |`)(.*) \\| (.*) \\|$");

  @Test
  void everyTestThatIsNamed_exists() throws IOException {
    Set<String> missing = new TreeSet<>();
    List<MatchResult> named = NAMED.matcher(Files.readString(PAGE)).results().toList();
    for (MatchResult each : named) {
      if (sourcesOf(each.group(1)).stream().noneMatch(source -> tests(source, each.group(2)))) {
        missing.add(each.group());
      }
    }

    assertThat(named).hasSizeGreaterThan(50);
    assertThat(missing).isEmpty();
  }

  @Test
  void everyPromise_namesATest() throws IOException {
    List<String> without =
        Files.readAllLines(PAGE).stream()
            .filter(line -> PROMISE.matcher(line).matches())
            .filter(line -> !NAMED.matcher(line).find())
            .toList();

    assertThat(without).isEmpty();
  }

  private static List<String> sourcesOf(String type) throws IOException {
    List<String> sources = new ArrayList<>();
    for (String module : MODULES) {
      try (Stream<Path> files = Files.walk(Path.of("..", module, "src"))) {
        for (Path file : files.filter(path -> path.endsWith(type + ".java")).toList()) {
          sources.add(Files.readString(file));
        }
      }
    }
    return sources;
  }

  /** Says whether a source has a test of this name: the annotation, maybe others, the method. */
  private static boolean tests(String source, String method) {
    return Pattern.compile(
            "@(Test|ParameterizedTest)\\b((?!\\bvoid\\b).)*\\bvoid " + method + "\\(",
            Pattern.DOTALL)
        .matcher(source)
        .find();
  }
}
