package io.floatvalve.examples.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a run of a command found: checks and figures, in the order they were added. */
public final class Findings {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  private final String command;
  private final List<Check> checks = new ArrayList<>();
  private final Map<String, Number> figures = new LinkedHashMap<>();
  private final Map<String, String> notes = new LinkedHashMap<>();
  private String kind = "none";
  private String version = "";
  private String how = "";

  /**
   * Begins with nothing found.
   *
   * @param command such as {@code lab confirms}
   */
  public Findings(String command) {
    this.command = command;
  }

  /** Says which broker it is about. */
  public void broker(String kind, String version, String how) {
    this.kind = kind;
    this.version = version;
    this.how = how;
  }

  /** Adds a check. */
  public void check(Check check) {
    checks.add(check);
  }

  /** Adds a check. */
  public void check(String id, String expected, String observed, boolean ok) {
    check(new Check(id, expected, observed, ok));
  }

  /**
   * Adds a figure.
   *
   * @param name ends with its unit, such as {@code throughput_msgs_per_s}
   */
  public void figure(String name, Number value) {
    figures.put(name, value);
  }

  /** Adds something that is no number, such as why a figure is missing. */
  public void note(String name, String text) {
    notes.put(name, text);
  }

  /** Returns the checks so far. */
  public List<Check> checks() {
    return List.copyOf(checks);
  }

  /** Returns whether every check held. */
  public boolean allOk() {
    return checks.stream().allMatch(Check::ok);
  }

  /** Returns the JSON form. */
  public String toJson() {
    ObjectNode root = JSON.createObjectNode();
    root.put("command", command);
    root.putObject("broker").put("kind", kind).put("version", version).put("how", how);
    ArrayNode list = root.putArray("checks");
    for (Check each : checks) {
      list.addObject()
          .put("id", each.id())
          .put("expected", each.expected())
          .put("observed", each.observed())
          .put("ok", each.ok());
    }
    ObjectNode numbers = root.putObject("figures");
    figures.forEach((name, value) -> numbers.set(name, JSON.valueToTree(value)));
    if (!notes.isEmpty()) {
      ObjectNode words = root.putObject("notes");
      notes.forEach(words::put);
    }
    try {
      return JSON.writeValueAsString(root) + "\n";
    } catch (IOException e) {
      throw new IllegalStateException("a tree of numbers and words can always be written", e);
    }
  }

  /** Writes the JSON form to a file, if there is one. */
  public void writeTo(@Nullable Path file) {
    if (file == null) {
      return;
    }
    try {
      Files.writeString(file, toJson());
    } catch (IOException e) {
      throw CannotRun.badInput("--json", file, "cannot be written: " + CannotRun.whyNoFile(e));
    }
  }
}
