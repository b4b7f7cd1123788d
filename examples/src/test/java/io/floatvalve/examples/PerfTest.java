package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.floatvalve.examples.report.ReadBack;
import io.floatvalve.testkit.NeedsRabbit;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PerfTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  @TempDir private Path folder = Path.of("");

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @ParameterizedTest
  @CsvSource({
    "--rate,       0",
    "--rate,       fast",
    "--rate,       NaN",
    "--confirm,    0",
    "--confirm,    many",
    "--size,       15",
    "--producers,  0",
    "--consumers,  -1",
    "--time,       5",
    "--interval,   1ms",
    "--queue-type, odd",
    "--metrics-port, -1",
    "--metrics-port, 65536",
    "--json,       /nonexistent/x.json",
  })
  void badValue_isRefusedByNameAndValue(String option, String value) {
    int exit = run("perf", "--broker", "rabbit", option, value);

    assertThat(exit).isEqualTo(2);
    assertThat(err.toString()).contains(option).contains(value).doesNotContain("\tat ");
  }

  @Test
  void brokerThatIsNone_isRefused() {
    assertThat(run("perf", "--broker", "kafka")).isEqualTo(2);
    assertThat(err.toString()).contains("--broker 'kafka'");
  }

  @Test
  void folderThatIsNone_isRefused() {
    assertThat(run("report", folder.resolve("none").toString())).isEqualTo(2);
    assertThat(err.toString()).contains("there is no such folder");
  }

  /**
   * The figures of the page, of the JSON, and of the log read by the public reader are the same.
   */
  @Test
  @NeedsRabbit
  void run_leavesLogJsonAndPage_thatSayTheSame() throws IOException {
    Path run = folder.resolve("run");
    Path json = folder.resolve("out.json");
    int exit =
        run(
            "perf",
            "--broker=rabbit",
            "--rate=200",
            "--time=2s",
            "--warm-up=0s",
            "--interval=500ms",
            "--out=" + run,
            "--json=" + json);

    assertThat(exit).as("%s%s", out, err).isZero();
    JsonNode said = new ObjectMapper().readTree(Files.readString(json));
    assertThat(said.path("checks")).isNotEmpty().allMatch(check -> check.path("ok").asBoolean());
    Map<String, Histogram> log = new ReadBack(run).totals();
    for (String stage : new String[] {"due-confirmed", "sent-confirmed", "due-handled"}) {
      Histogram whole = Objects.requireNonNull(log.get("perf." + stage), stage);
      String name = stage.replace('-', '_');
      assertThat(whole.getTotalCount()).isEqualTo(said.at("/figures/" + name + "_count").asLong());
      for (String[] each : new String[][] {{"50", "p50"}, {"99", "p99"}, {"100", "max"}}) {
        assertThat(whole.getValueAtPercentile(Double.parseDouble(each[0])) / 1e3)
            .as("%s %s", stage, each[1])
            .isEqualTo(said.at("/figures/" + name + "_" + each[1] + "_us").asDouble());
      }
    }
    String again = Files.readString(run.resolve("report.html"));
    Files.delete(run.resolve("report.html"));
    assertThat(run("report", run.toString())).isZero();
    assertThat(Files.readString(run.resolve("report.html"))).isEqualTo(again);
    assertThat(err.toString()).contains("confirmed", "end to end p50");
  }

  @Test
  @NeedsRabbit
  void severalWindows_endInOneTable() {
    int exit =
        run(
            "perf",
            "--broker=rabbit",
            "--confirm=1,100",
            "--consumers=0",
            "--rate=100",
            "--time=1s",
            "--warm-up=0s",
            "--interval=500ms",
            "--out=" + folder.resolve("run"));

    assertThat(exit).as("%s%s", out, err).isZero();
    assertThat(out.toString()).contains("window 1 ", "window 100", "confirm p50 ms");
    assertThat(folder.resolve("run/load-2/latency-0001.hlog")).exists();
  }
}
