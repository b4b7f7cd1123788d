package io.floatvalve.examples.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.report.Chart.Scale;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.StreamSupport;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * One page on one run: percentiles from its logs, read as anybody's tools read them, and the course
 * of things from its {@link RunFile}. Needs nothing from outside.
 */
public final class ReportPage {
  /** Its name in the run's folder. */
  public static final String NAME = "report.html";

  private static final double NANOS_PER_MILLI = 1e6;
  private static final List<String> CURVES =
      List.of("due-handled", "due-confirmed", "sent-confirmed");
  private static final Map<String, String> STAGES = stages();
  private static final List<String> OUTCOMES =
      List.of("confirmed", "returned", "nacked", "unknown", "not_sent");

  private final Path folder;
  private final JsonNode run;
  private final StringBuilder html = new StringBuilder();

  private ReportPage(Path folder) {
    this.folder = folder;
    this.run = RunFile.read(folder);
  }

  private static Map<String, String> stages() {
    Map<String, String> names = new LinkedHashMap<>();
    names.put("queued-sent", "waited to be sent");
    names.put("sent-confirmed", "sent until confirmed");
    names.put("sent-returned", "sent until returned");
    names.put("sent-nacked", "sent until nacked");
    names.put("sent-unknown", "sent until given up");
    names.put("due-confirmed", "due until confirmed");
    names.put("due-returned", "due until returned");
    names.put("due-nacked", "due until nacked");
    names.put("due-unknown", "due until given up");
    names.put("due-notsent", "due until not sent");
    names.put("published-arrived", "published until received, by two clocks");
    names.put("stored-arrived", "stored until received, by two clocks");
    names.put("arrived-started", "received until handled");
    names.put("started-handled", "in the handler");
    names.put("handled-settled", "handled until settled");
    names.put("published-handled", "published until handled, by two clocks");
    names.put("due-handled", "due until handled, end to end");
    return names;
  }

  /** Makes the page of a run's folder; returns the file. */
  public static Path write(Path folder) throws IOException {
    String page = new ReportPage(folder).page();
    Path file = folder.resolve(NAME);
    try {
      Files.writeString(file, page);
    } catch (IOException e) {
      throw CannotRun.badInput("DIR", folder, "cannot be written: " + CannotRun.whyNoFile(e));
    }
    return file;
  }

  private String page() throws IOException {
    JsonNode broker = run.path("broker");
    String title =
        broker.path("version").asText("") + ", " + run.path("command").asText("").strip();
    html.append("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .append("<meta name=\"color-scheme\" content=\"light dark\">\n<title>")
        .append(Html.text(title))
        .append("</title>\n<style>\n")
        .append(style())
        .append("</style>\n</head>\n<body>\n<header>\n<h1>")
        .append(Html.text(title))
        .append("</h1>\n<p>")
        .append(Html.text(broker.path("how").asText("")))
        .append(", ")
        .append(Html.text(run.path("began").asText("").replaceAll("\\.\\d+Z$", "Z")))
        .append("</p>\n</header>\n<main>\n");
    JsonNode loads = run.path("loads");
    checks();
    if (loads.size() > 1) {
      sweep(loads);
    }
    for (JsonNode load : loads) {
      load(load, loads.size() > 1);
    }
    html.append("</main>\n<footer>Latencies are of every message, in milliseconds, to within 1 %. ")
        .append("Those that begin with <i>due</i> count from when a message should have been sent ")
        .append("by the rate, so that a stall shows in full.</footer>\n</body>\n</html>\n");
    return html.toString();
  }

  private static String style() throws IOException {
    try (InputStream in = ReportPage.class.getResourceAsStream("report.css")) {
      return new String(
          Objects.requireNonNull(in, "report.css").readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private void checks() {
    List<JsonNode> failed =
        StreamSupport.stream(run.path("checks").spliterator(), false)
            .filter(check -> !check.path("ok").asBoolean())
            .toList();
    int all = run.path("checks").size();
    if (failed.isEmpty()) {
      html.append("<p class=\"good\">✓ ").append(all).append(" of ").append(all);
      html.append(" checks hold.</p>\n");
      return;
    }
    html.append("<section class=\"bad\"><h2>✗ ").append(failed.size()).append(" of ").append(all);
    html.append(" checks do not hold</h2>\n<ul>\n");
    for (JsonNode check : failed) {
      html.append("<li><b>")
          .append(Html.text(check.path("id").asText()))
          .append("</b>: ")
          .append(Html.text(check.path("expected").asText()))
          .append(". Seen: ")
          .append(Html.text(check.path("observed").asText()))
          .append("</li>\n");
    }
    html.append("</ul></section>\n");
  }

  // ---------------------------------------------------------------------------------- all loads

  private void sweep(JsonNode loads) {
    boolean handles = loads.get(0).path("figures").has("due_handled_p99_us");
    String figure = handles ? "due_handled_" : "due_confirmed_";
    html.append("<section>\n<h2>All loads</h2>\n");
    double[] throughput = new double[loads.size()];
    double[] p50 = new double[loads.size()];
    double[] p99 = new double[loads.size()];
    Chart knee =
        new Chart(
            "Latency over throughput: the knee",
            "messages a second",
            "ms",
            Scale.LINEAR,
            Scale.LOG,
            allHave(loads, "window") || allHave(loads, "rate_msgs_per_s"));
    for (int i = 0; i < loads.size(); i++) {
      JsonNode figures = loads.get(i).path("figures");
      throughput[i] = figures.path("throughput_msgs_per_s").asDouble();
      p50[i] = figures.path(figure + "p50_us").asDouble() / 1e3;
      p99[i] = figures.path(figure + "p99_us").asDouble() / 1e3;
      knee.label(throughput[i], p99[i], loads.get(i).path("name").asText());
    }
    knee.line("p99 " + (handles ? "end to end" : "until confirmed"), throughput, p99);
    knee.line("p50", throughput, p50);
    html.append(knee.toHtml());
    html.append("<div class=\"scroll\"><table>\n<tr><th>load<th>confirmed/s<th>p50<th>p99<th>p99.9")
        .append("<th>max<th>behind</tr>\n");
    for (JsonNode load : loads) {
      JsonNode figures = load.path("figures");
      html.append("<tr><td>")
          .append(Html.text(load.path("name").asText()))
          .append("<td>")
          .append(count(figures.path("throughput_msgs_per_s").asDouble()));
      for (String each : List.of("p50_us", "p99_us", "p99_9_us", "max_us")) {
        html.append("<td>").append(Html.millis(figures.path(figure + each).asDouble() * 1e3));
      }
      html.append("<td>")
          .append(count(figures.path("due_and_not_published_msgs").asDouble()))
          .append("</tr>\n");
    }
    html.append("</table></div>\n<p class=\"note\">Latency ")
        .append(handles ? "end to end" : "until confirmed")
        .append(" in ms. Behind: messages that were due and had not been published when the time")
        .append(" was over; where there are many, the rate could not be kept.</p>\n</section>\n");
  }

  private static boolean allHave(JsonNode loads, String setting) {
    JsonNode first = loads.get(0).path("settings").path(setting);
    return StreamSupport.stream(loads.spliterator(), false)
        .allMatch(load -> load.path("settings").path(setting).equals(first));
  }

  // ----------------------------------------------------------------------------------- one load

  private void load(JsonNode load, boolean oneOfMany) throws IOException {
    String name = load.path("name").asText();
    html.append("<section>\n<h2>")
        .append(Html.text(oneOfMany ? name : "What was seen"))
        .append("</h2>\n");
    tiles(load);
    Map<String, Histogram> totals = totals(load);
    percentileCurve(totals);
    latencyOverTime(load);
    overTime(
        load,
        "Throughput",
        "messages a second",
        "confirmed_msgs_per_s",
        "confirmed",
        "handled_msgs_per_s",
        "handled");
    overTime(
        load,
        "Window of the publishers",
        "messages",
        "window_msgs",
        "window",
        "in_flight_msgs",
        "in flight",
        "queued_msgs",
        "waiting to be sent");
    if (load.path("samples").path(0).has("permits_msgs")) {
      overTime(
          load,
          "Permits of the consumers",
          "messages",
          "permits_msgs",
          "permits",
          "waiting_msgs",
          "waiting for a handler");
    }
    outcomes(load.path("figures"));
    sizing(load.path("figures"));
    stageTable(totals);
    events(load);
    html.append("</section>\n");
  }

  private Map<String, Histogram> totals(JsonNode load) throws IOException {
    Path log = folder.resolve(load.path("folder").asText("")).normalize();
    if (!log.startsWith(folder.normalize()) || !Files.isDirectory(log)) {
      return Map.of();
    }
    Map<String, Histogram> read = new ReadBack(log).totals();
    Map<String, Histogram> ordered = new LinkedHashMap<>();
    STAGES.keySet().forEach(stage -> move(read, ordered, "perf." + stage, stage));
    ordered.putAll(read);
    return ordered;
  }

  private static void move(
      Map<String, Histogram> from, Map<String, Histogram> to, String tag, String name) {
    Histogram found = from.remove(tag);
    if (found != null) {
      to.put(name, found);
    }
  }

  private void tiles(JsonNode load) {
    JsonNode figures = load.path("figures");
    JsonNode settings = load.path("settings");
    html.append("<p class=\"note\">")
        .append(
            settings.has("rate_msgs_per_s")
                ? count(settings.path("rate_msgs_per_s").asDouble()) + " messages a second"
                : "as many messages as there was room for")
        .append(" of ")
        .append(count(settings.path("size_bytes").asDouble()))
        .append(" bytes, window ")
        .append(Html.text(settings.path("window").asText()))
        .append(", ")
        .append(settings.path("producers").asInt())
        .append(settings.path("producers").asInt() == 1 ? " producer, " : " producers, ")
        .append(settings.path("consumers").asInt())
        .append(settings.path("consumers").asInt() == 1 ? " consumer, " : " consumers, ")
        .append(String.format(Locale.ROOT, "%.0f s", figures.path("run_s").asDouble()))
        .append("</p>\n<ul class=\"tiles\">\n");
    tile(count(figures.path("throughput_msgs_per_s").asDouble()), "confirmed a second");
    if (figures.has("handled_msgs_per_s")) {
      tile(count(figures.path("handled_msgs_per_s").asDouble()), "handled a second");
    }
    String main = figures.has("due_handled_p99_us") ? "due_handled_" : "due_confirmed_";
    String what = figures.has("due_handled_p99_us") ? " ms end to end" : " ms until confirmed";
    if (figures.has(main + "p99_us")) {
      tile(Html.millis(figures.path(main + "p50_us").asDouble() * 1e3), "p50" + what);
      tile(Html.millis(figures.path(main + "p99_us").asDouble() * 1e3), "p99" + what);
      tile(Html.millis(figures.path(main + "max_us").asDouble() * 1e3), "max" + what);
    }
    double behind = figures.path("due_and_not_published_msgs").asDouble();
    if (behind > 1) {
      tile(count(behind), "due, not published: the rate was not kept");
    }
    html.append("</ul>\n");
  }

  private void tile(String number, String what) {
    html.append("<li><b>").append(number).append("</b> ").append(Html.text(what)).append("</li>\n");
  }

  private void percentileCurve(Map<String, Histogram> totals) {
    Chart chart =
        new Chart("Latency by percentile", "percentile", "ms", Scale.NINES, Scale.LOG, true);
    for (String stage : CURVES) {
      Histogram histogram = totals.get(stage);
      if (histogram != null && histogram.getTotalCount() > 0) {
        List<double[]> points = new ArrayList<>();
        points.add(new double[] {0, histogram.getValueAtPercentile(0) / NANOS_PER_MILLI});
        double last = 100 - 100.0 / histogram.getTotalCount(); // beyond it there is one sample
        for (HistogramIterationValue each : histogram.percentiles(10)) {
          double percentile = Math.min(each.getPercentileLevelIteratedTo(), last);
          points.add(new double[] {percentile, each.getValueIteratedTo() / NANOS_PER_MILLI});
        }
        chart.line(
            STAGES.getOrDefault(stage, stage),
            points.stream().mapToDouble(p -> p[0]).toArray(),
            points.stream().mapToDouble(p -> p[1]).toArray());
      }
    }
    show(chart);
  }

  private void latencyOverTime(JsonNode load) {
    boolean handled =
        StreamSupport.stream(load.path("samples").spliterator(), false)
            .anyMatch(sample -> sample.has("due_handled_p99_us"));
    String stage = handled ? "due_handled_" : "due_confirmed_";
    Chart chart =
        new Chart(
            "Latency over time, " + (handled ? "end to end" : "until confirmed"),
            "s",
            "ms",
            Scale.LINEAR,
            Scale.LOG,
            true);
    chart.line("max", times(load), column(load, stage + "max_us", 1e-3));
    chart.line("p99", times(load), column(load, stage + "p99_us", 1e-3));
    chart.line("p50", times(load), column(load, stage + "p50_us", 1e-3));
    load.path("events").forEach(event -> chart.mark(event.path("t_s").asDouble()));
    show(chart);
  }

  private void overTime(JsonNode load, String title, String unit, String... columns) {
    Chart chart = new Chart(title, "s", unit, Scale.LINEAR, Scale.LINEAR, true);
    for (int i = 0; i < columns.length; i += 2) {
      double[] values = column(load, columns[i], 1);
      boolean all = i == 0;
      for (double each : values) {
        all |= each > 0;
      }
      if (all) {
        chart.line(columns[i + 1], times(load), values);
      }
    }
    load.path("events").forEach(event -> chart.mark(event.path("t_s").asDouble()));
    show(chart);
  }

  private void show(Chart chart) {
    if (!chart.isEmpty()) {
      html.append(chart.toHtml());
    }
  }

  private static double[] times(JsonNode load) {
    return column(load, "t_s", 1);
  }

  private static double[] column(JsonNode load, String name, double factor) {
    return StreamSupport.stream(load.path("samples").spliterator(), false)
        .mapToDouble(
            sample -> sample.has(name) ? sample.path(name).asDouble() * factor : Double.NaN)
        .toArray();
  }

  private void outcomes(JsonNode figures) {
    double sum = 0;
    for (String each : OUTCOMES) {
      sum += figures.path(each + "_msgs").asDouble();
    }
    html.append("<figure class=\"outcomes\">\n<figcaption>Outcomes</figcaption>\n<dl>\n");
    for (String each : OUTCOMES) {
      double count = figures.path(each + "_msgs").asDouble();
      double share = sum == 0 ? 0 : 100 * count / sum;
      html.append("<dt>")
          .append(each.replace('_', ' '))
          .append("</dt><dd><span class=\"bar ")
          .append(each)
          .append(
              String.format(
                  Locale.ROOT,
                  "\" style=\"width:%.2f%%\"></span>",
                  count > 0 ? Math.max(0.5, share) : 0))
          .append("<span class=\"n\">")
          .append(count(count))
          .append("</span></dd>\n");
    }
    html.append("</dl>\n</figure>\n");
  }

  /** What quotas such a load needs: by its busiest second, which an average hides. */
  private void sizing(JsonNode figures) {
    long busiest = figures.path("busiest_second_msgs").asLong();
    double average = figures.path("throughput_msgs_per_s").asDouble();
    if (busiest == 0 || average == 0) {
      return;
    }
    html.append("<figure>\n<figcaption>Quotas that this load needs</figcaption>\n<p>Its busiest ")
        .append("second had ")
        .append(count((double) busiest))
        .append(
            String.format(
                Locale.ROOT, " messages, %.1f times the average. With a tenth", busiest / average))
        .append(" to spare:</p>\n<div class=\"scroll\"><table>\n<tr><th>queues or subscriptions ")
        .append("that each message goes to<th>published a second<th>consumed a second</tr>\n");
    for (int fanOut : new int[] {1, 2, 5, 10}) {
      html.append("<tr><td>")
          .append(fanOut)
          .append("<td>")
          .append(count((double) Sizing.quota(busiest, 1)))
          .append("<td>")
          .append(count((double) Sizing.quota(busiest, fanOut)))
          .append("</tr>\n");
    }
    html.append("</table></div>\n</figure>\n");
  }

  private void stageTable(Map<String, Histogram> totals) {
    if (totals.isEmpty()) {
      return;
    }
    html.append("<figure>\n<figcaption>Every stage, in ms</figcaption>\n<div class=\"scroll\">")
        .append("<table class=\"stages\">\n<tr><th>stage<th>messages<th>p50<th>p90<th>p99<th>p99.9")
        .append("<th>max</tr>\n");
    totals.forEach(
        (stage, histogram) -> {
          html.append("<tr><td>")
              .append(Html.text(STAGES.getOrDefault(stage, stage)))
              .append("<td>")
              .append(count((double) histogram.getTotalCount()));
          for (double p : new double[] {50, 90, 99, 99.9}) {
            html.append("<td>").append(Html.millis((double) histogram.getValueAtPercentile(p)));
          }
          html.append("<td>")
              .append(Html.millis((double) histogram.getMaxValue()))
              .append("</tr>\n");
        });
    html.append("</table></div>\n</figure>\n");
  }

  private void events(JsonNode load) {
    if (load.path("events").isEmpty()) {
      return;
    }
    html.append("<figure>\n<figcaption>Events</figcaption>\n<div class=\"scroll\">")
        .append("<table class=\"events\">\n<tr><th>s<th>what<th>at</tr>\n");
    for (JsonNode event : load.path("events")) {
      html.append("<tr><td>")
          .append(String.format(Locale.ROOT, "%.1f", event.path("t_s").asDouble()))
          .append("<td>")
          .append(Html.text(event.path("what").asText()))
          .append("<td>")
          .append(Html.text(event.path("who").asText()))
          .append("</tr>\n");
    }
    html.append("</table></div>\n</figure>\n");
  }

  private static String count(double number) {
    return String.format(Locale.ROOT, "%,.0f", number);
  }
}
