package io.floatvalve.examples.perf;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.report.RunFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;

/** Writes a run's {@link RunFile}. */
public final class RunWriter {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  private RunWriter() {}

  /** Writes it. */
  public static void write(
      Path folder, Findings findings, Instant began, List<LoadResult> results) {
    try {
      Files.createDirectories(folder);
      ObjectNode root = (ObjectNode) JSON.readTree(findings.toJson());
      root.put("began", began.toString());
      ArrayNode loads = root.putArray("loads");
      for (LoadResult each : results) {
        ObjectNode load = loads.addObject();
        load.put("name", each.load().name());
        Path log = each.folder();
        load.put("folder", log == null ? "" : folder.relativize(log).toString());
        ObjectNode settings = load.putObject("settings");
        if (each.load().rate() != null) {
          settings.put("rate_msgs_per_s", each.load().rate());
        }
        settings
            .put("window", each.load().windowName())
            .put("size_bytes", each.load().size())
            .put("producers", each.load().producers())
            .put("consumers", each.load().consumers())
            .put("time_s", each.load().time().toMillis() / 1e3)
            .put("interval_s", each.load().interval().toMillis() / 1e3);
        load.set("figures", JSON.valueToTree(each.figures()));
        load.set("samples", JSON.valueToTree(each.samples()));
        load.set("events", JSON.valueToTree(each.events()));
      }
      Files.writeString(folder.resolve(RunFile.NAME), JSON.writeValueAsString(root) + "\n");
    } catch (IOException e) {
      throw CannotRun.badInput("--out", folder, "cannot be written: " + CannotRun.whyNoFile(e));
    }
  }
}
