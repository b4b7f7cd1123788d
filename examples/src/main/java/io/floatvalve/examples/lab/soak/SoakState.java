package io.floatvalve.examples.lab.soak;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.floatvalve.examples.cli.CannotRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What several runs came to together: a file, which each of them adds to. */
final class SoakState {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  private final String kind;
  private final List<Long> seeds = new ArrayList<>();
  private final Map<String, Long> totals = new LinkedHashMap<>();

  /**
   * Begins with nothing.
   *
   * @param kind what is soaked; runs of another kind are not added to it
   */
  SoakState(String kind) {
    this.kind = kind;
  }

  /**
   * Reads a file, or begins with nothing where there is none.
   *
   * @throws CannotRun if it cannot be read, or is of another kind
   */
  static SoakState read(Path file, String kind) {
    SoakState state = new SoakState(kind);
    if (!Files.exists(file)) {
      return state;
    }
    JsonNode root;
    try {
      root = JSON.readTree(file.toFile());
    } catch (IOException e) {
      throw CannotRun.badInput("--resume", file, "cannot be read: " + CannotRun.whyNoFile(e));
    }
    if (!root.path("soak").asText().equals(kind)) {
      throw CannotRun.badInput(
          "--resume", file, "is of '" + root.path("soak").asText() + "', not of '" + kind + "'");
    }
    root.path("seeds").forEach(seed -> state.seeds.add(seed.asLong()));
    root.path("totals")
        .properties()
        .forEach(each -> state.totals.put(each.getKey(), each.getValue().asLong()));
    return state;
  }

  /** Adds a run. */
  void add(long seed, Map<String, Long> figures) {
    seeds.add(seed);
    figures.forEach(
        (name, value) ->
            totals.merge(name, value, name.startsWith("longest_") ? Long::max : Long::sum));
  }

  /** Returns the seeds of all runs, in their order. */
  List<Long> seeds() {
    return List.copyOf(seeds);
  }

  /** Returns the sum of a figure; 0 if no run had it. */
  long total(String name) {
    return totals.getOrDefault(name, 0L);
  }

  /** Returns all sums, and of what is called longest the maximum. */
  Map<String, Long> totals() {
    return new LinkedHashMap<>(totals);
  }

  /** Writes it, as a whole or not at all. */
  void write(Path file) {
    ObjectNode root = JSON.createObjectNode();
    root.put("soak", kind);
    ArrayNode list = root.putArray("seeds");
    seeds.forEach(list::add);
    ObjectNode sums = root.putObject("totals");
    totals.forEach(sums::put);
    try {
      Path draft = file.resolveSibling(file.getFileName() + ".draft");
      JSON.writeValue(draft.toFile(), root);
      Files.move(draft, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw CannotRun.badInput("--resume", file, "cannot be written: " + CannotRun.whyNoFile(e));
    }
  }
}
