package io.floatvalve.examples.report;

import io.floatvalve.examples.cli.Findings;
import io.floatvalve.latency.LatencySnapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;

/** The logs of a folder, read as anybody's tools would. */
public final class ReadBack {
  private static final double[] COMPARED = {50, 90, 99, 99.9, 100};

  private final Path folder;

  /** Reads this folder. */
  public ReadBack(Path folder) {
    this.folder = folder;
  }

  /** Returns the whole of each tag, all intervals together; values are nanoseconds. */
  public Map<String, Histogram> totals() throws IOException {
    Map<String, Histogram> totals = new TreeMap<>();
    List<Path> logs;
    try (Stream<Path> files = Files.list(folder)) {
      logs = files.filter(each -> each.toString().endsWith(".hlog")).sorted().toList();
    }
    for (Path log : logs) {
      try (HistogramLogReader reader = new HistogramLogReader(log.toFile())) {
        while (reader.hasNext()) {
          EncodableHistogram next = reader.nextIntervalHistogram();
          if (next instanceof Histogram interval) {
            String tag = interval.getTag() == null ? "all" : interval.getTag();
            Histogram total = totals.get(tag);
            if (total == null) {
              totals.put(tag, interval.copy());
              totals.get(tag).setAutoResize(true);
            } else {
              total.add(interval);
            }
          }
        }
      }
    }
    return totals;
  }

  /** Holds the logs to what was measured. */
  public void check(Findings findings, String prefix, LatencySnapshot measured) throws IOException {
    Map<String, Histogram> read = totals();
    StringBuilder wrong = new StringBuilder();
    measured
        .stages()
        .forEach(
            (name, stage) -> {
              Histogram found = read.get("perf." + name);
              if (stage.count() > 0 && (found == null || !same(stage, found))) {
                wrong.append(name).append(' ');
              }
            });
    findings.check(
        prefix + "hlog",
        "the log, read by HdrHistogram's reader, says what was measured",
        wrong.isEmpty() ? measured.stages().size() + " stages agree" : "not so: " + wrong,
        wrong.isEmpty());
  }

  private static boolean same(LatencySnapshot.Stage stage, Histogram read) {
    boolean same = stage.count() == read.getTotalCount();
    for (double p : COMPARED) {
      same &= read.valuesAreEquivalent(stage.nanosAt(p), read.getValueAtPercentile(p));
    }
    return same;
  }
}
