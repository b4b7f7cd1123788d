package io.floatvalve.examples.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.floatvalve.latency.LatencyLog;
import io.floatvalve.latency.LatencyRecorder;
import io.floatvalve.latency.LatencySnapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/** Makes the folder of a run that never was: a minute with a stall in it. */
final class SampleRun {
  static final int SECONDS = 60;
  static final int RATE = 1_000;

  private static final ObjectMapper JSON = new ObjectMapper();

  private SampleRun() {}

  /** Makes one in a folder, to be looked at. */
  public static void main(String[] args) throws IOException {
    write(Path.of(args[0]), Integer.parseInt(args[1]));
    System.out.println(ReportPage.write(Path.of(args[0])));
  }

  static void write(Path folder, int loads) throws IOException {
    Files.createDirectories(folder);
    ObjectNode root = JSON.createObjectNode();
    root.put("command", "perf").put("began", "2026-11-30T12:00:00.123Z");
    root.putObject("broker")
        .put("kind", "pulsar")
        .put("version", "Pulsar 4.2.4")
        .put("how", "none");
    root.putArray("checks").addObject().put("id", "a").put("ok", true);
    ArrayNode all = root.putArray("loads");
    for (int i = 0; i < loads; i++) {
      String name = loads == 1 ? "." : "load-" + (i + 1);
      load(all.addObject(), folder.resolve(name), name, i);
    }
    Files.writeString(folder.resolve(RunFile.NAME), JSON.writeValueAsString(root));
  }

  private static void load(ObjectNode load, Path folder, String name, int index)
      throws IOException {
    Random random = new Random(7);
    LatencyRecorder due = new LatencyRecorder("due-handled");
    LatencyRecorder confirmed = new LatencyRecorder("due-confirmed");
    LatencyRecorder sent = new LatencyRecorder("sent-confirmed");
    LatencyLog log =
        LatencyLog.open(LatencyLog.Settings.in(folder).withInterval(Duration.ofDays(1)));
    log.watch("perf", () -> LatencyRecorder.snapshot(List.of(sent, confirmed, due)));
    load.put("name", (index + 1) * 1_000 + "/s").put("folder", name);
    ObjectNode settings = load.putObject("settings");
    settings.put("rate_msgs_per_s", RATE).put("window", "adaptive").put("size_bytes", 100);
    settings.put("producers", 1).put("consumers", 1);
    ArrayNode samples = load.putArray("samples");
    LatencySnapshot before = LatencySnapshot.empty();
    for (int second = 1; second <= SECONDS; second++) {
      for (int i = 0; i < RATE; i++) {
        long service = (long) ((1 + index) * 400_000 * Math.exp(random.nextGaussian() / 2));
        long stall = second == 30 ? 1_000_000_000L - i * 1_000_000L : 0;
        sent.record(service);
        confirmed.record(service + stall);
        due.record(service + stall + (long) (200_000 * Math.exp(random.nextGaussian())));
      }
      LatencySnapshot now = LatencyRecorder.snapshot(List.of(due));
      LatencySnapshot.Stage interval = now.since(before).stage("due-handled").orElseThrow();
      before = now;
      samples
          .addObject()
          .put("t_s", (double) second)
          .put("confirmed_msgs_per_s", second == 30 ? 12 : second == 31 ? 1_985 : RATE)
          .put("handled_msgs_per_s", second == 30 ? 10 : second == 31 ? 1_980 : RATE)
          .put("window_msgs", Math.min(200, 50 + 10 * second))
          .put("in_flight_msgs", 3 + random.nextInt(20))
          .put("queued_msgs", second == 30 ? 500 : 0)
          .put("permits_msgs", second < 5 ? 16 : 64)
          .put("waiting_msgs", random.nextInt(12))
          .put("due_handled_p50_us", interval.nanosAt(50) / 1e3)
          .put("due_handled_p99_us", interval.nanosAt(99) / 1e3)
          .put("due_handled_max_us", interval.maxNanos() / 1e3);
      log.flush();
    }
    log.close();
    load.putArray("events")
        .addObject()
        .put("t_s", 29.2)
        .put("who", "publisher to topic 'perf-1'")
        .put("what", "connection lost: <img onerror='x'>");
    ObjectNode figures = load.putObject("figures");
    LatencySnapshot.Stage whole = before.stage("due-handled").orElseThrow();
    figures.put("run_s", 60.0).put("throughput_msgs_per_s", (index + 1) * 990.0);
    figures.put("handled_msgs_per_s", (index + 1) * 990.0);
    figures.put("confirmed_msgs", 59_990).put("returned_msgs", 0).put("nacked_msgs", 7);
    figures.put("unknown_msgs", 3).put("not_sent_msgs", 0).put("due_and_not_published_msgs", 0);
    figures.put("due_handled_p50_us", whole.nanosAt(50) / 1e3);
    figures.put("due_handled_p99_us", whole.nanosAt(99) / 1e3);
    figures.put("due_handled_p99_9_us", whole.nanosAt(99.9) / 1e3);
    figures.put("due_handled_max_us", whole.maxNanos() / 1e3);
  }
}
