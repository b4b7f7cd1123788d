package io.floatvalve.examples.cli;

import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.latency.LatencySnapshot.Stage;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Shows latencies: as a table, as figures, as files. */
public final class Latencies {
  private static final double NANOS_PER_MILLI = 1e6;

  private Latencies() {}

  /** Returns a table of all stages that have samples, in milliseconds. */
  public static Table table(LatencySnapshot latency) {
    Table table = new Table("latency in ms", "messages", "p50", "p90", "p99", "p99.9", "max");
    new TreeMap<>(latency.stages())
        .forEach(
            (name, stage) ->
                table.row(
                    name,
                    stage.count(),
                    millis(stage, 50),
                    millis(stage, 90),
                    millis(stage, 99),
                    millis(stage, 99.9),
                    stage.maxNanos() / NANOS_PER_MILLI));
    return table;
  }

  private static double millis(Stage stage, double percentile) {
    return stage.nanosAt(percentile) / NANOS_PER_MILLI;
  }

  /** Adds the percentiles of all stages to the figures. */
  public static void figures(LatencySnapshot latency, Findings findings) {
    new TreeMap<>(latency.stages())
        .forEach(
            (name, stage) -> {
              String prefix = name.replace('-', '_').replace('.', '_');
              findings.figure(prefix + "_p50_us", stage.nanosAt(50) / 1_000);
              findings.figure(prefix + "_p99_us", stage.nanosAt(99) / 1_000);
              findings.figure(prefix + "_max_us", stage.maxNanos() / 1_000);
            });
  }

  /** Writes each stage's distribution as {@code .hgrm}, in milliseconds, if there is a folder. */
  public static void writeTo(@Nullable Path folder, LatencySnapshot latency) {
    if (folder == null) {
      return;
    }
    try {
      Files.createDirectories(folder);
      for (var stage : latency.stages().entrySet()) {
        Path file = folder.resolve(stage.getKey() + ".hgrm");
        try (PrintStream to = new PrintStream(file.toFile(), StandardCharsets.UTF_8)) {
          stage.getValue().histogram().outputPercentileDistribution(to, NANOS_PER_MILLI);
        } catch (FileNotFoundException e) {
          throw new IOException("cannot write " + file, e);
        }
      }
    } catch (IOException e) {
      throw CannotRun.badInput("--out", folder, "cannot be written: " + CannotRun.whyNoFile(e));
    }
  }
}
