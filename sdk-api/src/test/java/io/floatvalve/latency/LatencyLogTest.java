package io.floatvalve.latency;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LatencyLogTest {
  @TempDir private Path folder = Path.of("");

  private final LatencyRecorder recorder = new LatencyRecorder("sent-confirmed");

  private LatencySnapshot latency() {
    return LatencyRecorder.snapshot(List.of(recorder));
  }

  /** Nothing is written but by flush and close. */
  private LatencyLog.Settings byHand() {
    return LatencyLog.Settings.in(folder).withInterval(Duration.ofDays(1));
  }

  private static List<Histogram> read(Path file) throws IOException {
    List<Histogram> all = new ArrayList<>();
    try (HistogramLogReader reader = new HistogramLogReader(file.toFile())) {
      while (reader.hasNext()) {
        EncodableHistogram next = reader.nextIntervalHistogram();
        if (next != null) {
          all.add((Histogram) next);
        }
      }
    }
    return all;
  }

  @Test
  void intervals_areReadByThePublicReader_withTagTimesAndEverySampleOnce() throws IOException {
    recorder.record(9_000_000); // before the log begins: not its matter
    long began = System.currentTimeMillis();
    LatencyLog log = LatencyLog.open(byHand());
    log.watch("orders, urgent", this::latency);
    recorder.record(1_000_000);
    recorder.record(3_000_000);
    log.flush();
    log.flush(); // an empty interval: no line
    recorder.record(7_000_000);
    log.close();

    List<Histogram> read = read(log.files().get(0));

    assertThat(read).hasSize(2);
    assertThat(read).extracting(Histogram::getTag).containsOnly("orders_urgent.sent-confirmed");
    assertThat(read).extracting(Histogram::getTotalCount).containsExactly(2L, 1L);
    assertThat((double) read.get(0).getValueAtPercentile(50)).isCloseTo(1e6, within(1e4));
    assertThat((double) read.get(1).getMaxValue()).isCloseTo(7e6, within(7e4));
    assertThat(read.get(0).getStartTimeStamp()).isGreaterThanOrEqualTo(began);
    assertThat(read.get(0).getEndTimeStamp()).isLessThanOrEqualTo(read.get(1).getStartTimeStamp());
    assertThat(read.get(1).getEndTimeStamp()).isLessThan(began + 60_000);
  }

  @Test
  void closing_writesTheWholeDistribution() throws IOException {
    LatencyLog log = LatencyLog.open(byHand());
    log.watch("orders", this::latency);
    for (int i = 1; i <= 100; i++) {
      recorder.record(i * 1_000_000L);
      log.flush();
    }
    log.close();
    log.close();

    List<String> lines = Files.readAllLines(folder.resolve("orders.sent-confirmed.hgrm"));

    assertThat(lines.get(0)).contains("Value", "Percentile", "TotalCount");
    assertThat(lines).anyMatch(line -> line.matches("#.*Total count\\s*=\\s*100\\]"));
    assertThat(lines).anyMatch(line -> line.matches("\\s*50\\.\\d+ 0\\.5\\d+\\s+50\\s+2\\.00"));
  }

  @Test
  void skewAndWhatIsPending_areSaidInComments() throws IOException {
    LatencyLog log = LatencyLog.open(byHand());
    log.watch("orders", () -> LatencyRecorder.snapshot(List.of(recorder), 4_200_000_000L));
    recorder.record(-1);
    log.close();

    assertThat(Files.readAllLines(log.files().get(0)))
        .contains(
            "#[orders.sent-confirmed: negative: 1]", "#[orders: oldest unsettled, in ms: 4200]");
    assertThat(read(log.files().get(0))).isEmpty();
  }

  @Test
  void fullFile_isFollowedByTheNext_andTheOldestGo() throws IOException {
    LatencyLog log = LatencyLog.open(byHand().withMaxFileBytes(2_000).withMaxFiles(3));
    log.watch("orders", this::latency);
    for (int i = 0; i < 100; i++) {
      recorder.record(1_000_000 + i * 10_000L);
      log.flush();
    }
    log.close();

    List<Path> files = log.files();
    assertThat(files).hasSize(3);
    assertThat(files.get(2).getFileName().toString()).matches("latency-00\\d\\d\\.hlog");
    try (var all = Files.list(folder)) {
      assertThat(all.filter(each -> each.toString().endsWith(".hlog"))).hasSize(3);
    }
    int kept = 0;
    for (Path file : files) {
      assertThat(Files.size(file)).isBetween(1L, 2_000L);
      List<Histogram> read = read(file);
      assertThat(read).isNotEmpty();
      kept += read.size();
    }
    assertThat(kept).isLessThan(100).isGreaterThan(3);
    assertThat((double) read(files.get(2)).get(read(files.get(2)).size() - 1).getMaxValue())
        .as("the last interval is the last line")
        .isCloseTo(1_990_000, within(2e4));
  }

  @Test
  void anotherLogOfThatName_goesOnInANewFile() throws IOException {
    LatencyLog first = LatencyLog.open(byHand());
    first.close();
    LatencyLog second = LatencyLog.open(byHand());
    second.close();

    assertThat(second.files())
        .containsExactly(folder.resolve("latency-0001.hlog"), folder.resolve("latency-0002.hlog"));
  }

  @Test
  void sourceThatFails_losesNothing_andIsNamed() throws IOException {
    boolean[] fails = {false};
    LatencyLog log = LatencyLog.open(byHand());
    log.watch(
        "orders",
        () -> {
          if (fails[0]) {
            throw new IllegalStateException("by the test");
          }
          return latency();
        });
    recorder.record(1_000_000);
    fails[0] = true;
    assertThatThrownBy(log::flush).isInstanceOf(IOException.class);
    assertThat(log.failure()).isPresent();
    fails[0] = false;
    log.close();

    assertThat(log.failure()).isEmpty();
    assertThat(read(log.files().get(0))).extracting(Histogram::getTotalCount).containsExactly(1L);
  }

  @Test
  void interruptedCaller_doesNotEndTheLog() throws IOException {
    LatencyLog log = LatencyLog.open(byHand());
    log.watch("orders", this::latency);
    recorder.record(1_000_000);
    Thread.currentThread().interrupt();
    try {
      log.flush();
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
    recorder.record(1_000_000);
    log.close();

    assertThat(read(log.files().get(0))).hasSize(2);
  }

  @Test
  void killedProcess_leavesAllButTheLastInterval() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                Writer.class.getName(),
                folder.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    long written = 0;
    try (BufferedReader said = process.inputReader(UTF_8)) {
      for (int i = 0; i < 20; i++) {
        String line = said.readLine();
        assertThat(line).as("the process ended early").isNotNull();
        written = Long.parseLong(line);
      }
      process.destroyForcibly();
      assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    } finally {
      process.destroyForcibly();
    }

    assertThat(process.exitValue()).as("killed, not ended").isEqualTo(128 + 9);
    long read = 0;
    try (var files = Files.list(folder)) {
      for (Path file : files.sorted().toList()) {
        for (Histogram each : read(file)) {
          read += each.getTotalCount();
        }
      }
    }
    assertThat(read).as("%d were said to be written", written).isGreaterThanOrEqualTo(written);
  }

  /** Logs until it is killed, and says after each interval how many samples are written. */
  static final class Writer {
    public static void main(String[] args) throws IOException {
      LatencyRecorder recorder = new LatencyRecorder("sent-confirmed");
      LatencyLog log =
          LatencyLog.open(
              LatencyLog.Settings.in(Path.of(args[0]))
                  .withInterval(Duration.ofDays(1))
                  .withMaxFileBytes(4_096)
                  .withMaxFiles(1_000));
      log.watch("orders", () -> LatencyRecorder.snapshot(List.of(recorder)));
      for (long recorded = 0; ; ) {
        for (int i = 0; i < 1_000; i++) {
          recorder.record(recorded++ * 1_000);
        }
        log.flush();
        System.out.println(recorded);
      }
    }
  }
}
