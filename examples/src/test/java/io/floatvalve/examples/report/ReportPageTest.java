package io.floatvalve.examples.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.examples.cli.CannotRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportPageTest {
  @TempDir private Path folder = Path.of("");

  private String page(int loads) throws IOException {
    SampleRun.write(folder, loads);
    return Files.readString(ReportPage.write(folder));
  }

  @Test
  void figuresOfThePage_areThoseOfTheLog_andOfTheRunFile() throws IOException {
    String page = page(1);
    Map<String, Histogram> totals = new ReadBack(folder).totals();
    Histogram whole = Objects.requireNonNull(totals.get("perf.due-handled"));
    double p99 = RunFile.read(folder).at("/loads/0/figures/due_handled_p99_us").asDouble();

    assertThat(whole.getTotalCount()).isEqualTo(SampleRun.SECONDS * SampleRun.RATE);
    assertThat(whole.getValueAtPercentile(99) / 1e3).isEqualTo(p99);
    assertThat(page)
        .contains(
            "<td>due until handled, end to end<td>60,000<td>"
                + Html.millis((double) whole.getValueAtPercentile(50)))
        .contains("<b>" + Html.millis(p99 * 1e3) + "</b> p99 ms end to end");
  }

  @Test
  void page_needsNothingFromOutside_andRunsNothing() throws IOException {
    String page = page(3);

    assertThat(page)
        .doesNotContain("http")
        .doesNotContain("<script")
        .doesNotContain("<link")
        .doesNotContain("@import")
        .doesNotContain("url(")
        .doesNotContain("src=")
        .contains("prefers-color-scheme: dark")
        .contains("@media print")
        .contains("name=\"viewport\"");
  }

  @Test
  void everyChart_hasLinesWithinItsDrawing() throws IOException {
    String page = page(1);

    Matcher drawing =
        Pattern.compile("<svg class=\"drawing.*?</svg>", Pattern.DOTALL).matcher(page);
    int drawings = 0;
    while (drawing.find()) {
      drawings++;
      String svg = drawing.group();
      assertThat(svg).contains("<polyline").doesNotContain("NaN").doesNotContain("Infinity");
      Matcher box = Pattern.compile("viewBox=\"0 0 (\\d+) (\\d+)\"").matcher(svg);
      assertThat(box.find()).isTrue();
      Matcher points = Pattern.compile("points=\"([^\"]*)\"").matcher(svg);
      while (points.find()) {
        for (String point : points.group(1).strip().split(" ", -1)) {
          String[] xy = point.split(",", -1);
          assertThat(Double.parseDouble(xy[0])).isBetween(0.0, Double.valueOf(box.group(1)));
          assertThat(Double.parseDouble(xy[1])).isBetween(0.0, Double.valueOf(box.group(2)));
        }
      }
    }
    assertThat(drawings).as("five charts, wide and narrow").isEqualTo(10);
  }

  @Test
  void sweep_hasOneTableAndTheKnee() throws IOException {
    String page = page(3);

    assertThat(page).contains("Latency over throughput: the knee", "<th>behind");
    assertThat(page.split("<circle class=\"dot c1\" cx=\"[0-9.]+\" cy=\"[0-9.]+\" r=\"4\"", -1))
        .as("a point for each load, in both drawings")
        .hasSize(1 + 2 * 3);
  }

  @Test
  void textOfEvents_cannotBecomeMarkup() throws IOException {
    assertThat(page(1)).contains("&lt;img onerror=&#39;x&#39;&gt;").doesNotContain("<img");
  }

  @Test
  void folderWithoutARun_isRefusedInASentence() throws IOException {
    assertThatThrownBy(() -> ReportPage.write(folder))
        .isInstanceOf(CannotRun.class)
        .hasMessageContaining("there is no such file");
    Files.writeString(folder.resolve(RunFile.NAME), "{");
    assertThatThrownBy(() -> ReportPage.write(folder))
        .isInstanceOf(CannotRun.class)
        .hasMessageContaining("is no JSON");
    Files.writeString(folder.resolve(RunFile.NAME), "{}");
    assertThatThrownBy(() -> ReportPage.write(folder))
        .isInstanceOf(CannotRun.class)
        .hasMessageContaining("not of a load run");
  }
}
