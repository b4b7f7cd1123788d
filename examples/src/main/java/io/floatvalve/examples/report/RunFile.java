package io.floatvalve.examples.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.floatvalve.examples.cli.CannotRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The file {@code run.json} of a run's folder: what {@code --json} writes, and the course of each
 * load beside it.
 */
public final class RunFile {
  /** Its name. */
  public static final String NAME = "run.json";

  private RunFile() {}

  /**
   * Reads it.
   *
   * @throws CannotRun if it is missing, or nothing of ours
   */
  static JsonNode read(Path folder) {
    Path file = folder.resolve(NAME);
    try {
      JsonNode root = new ObjectMapper().readTree(Files.readString(file));
      if (root == null || !root.path("loads").isArray() || root.path("loads").isEmpty()) {
        throw CannotRun.badInput("DIR", folder, NAME + " in it is not of a load run");
      }
      return root;
    } catch (JsonProcessingException e) {
      throw CannotRun.badInput(
          "DIR", folder, NAME + " in it is no JSON: " + e.getOriginalMessage());
    } catch (IOException e) {
      throw CannotRun.badInput("DIR", folder, "no " + NAME + " in it: " + CannotRun.whyNoFile(e));
    }
  }
}
