package io.floatvalve.examples.lab;

import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How often the broker asks the disk to keep what it wrote, as the system sees it. */
final class FsyncProbe {
  private static final Pattern ROW =
      Pattern.compile(
          "^\\s*[\\d.]+\\s+[\\d.]+\\s+\\d+\\s+(\\d+)\\s+(?:\\d+\\s+)?(fsync|fdatasync)\\s*$");
  private static final String EXPERIMENT = "fsync while persistent messages are confirmed";

  private final Lab lab;

  FsyncProbe(Lab lab) {
    this.lab = lab;
  }

  void run() throws IOException {
    lab.doing("C8: fsync, by strace");
    var node = lab.rabbit().node();
    if (node.isEmpty()) {
      lab.note("C8-fsync", EXPERIMENT, "the broker was given; its process is not ours to look at");
      return;
    }
    int messages = lab.amount(2_000, 500);
    StringBuilder seen = new StringBuilder();
    long syncs = 0;
    for (String type : List.of("classic", "quorum")) {
      Traced traced = traced(node.get(), type, messages);
      if (!traced.why().isEmpty()) {
        lab.note("C8-fsync", EXPERIMENT, traced.why());
        return;
      }
      seen.append(seen.isEmpty() ? "" : "; ")
          .append(type)
          .append(": ")
          .append(traced.calls().isEmpty() ? "none" : traced.calls());
      long sum = traced.calls().values().stream().mapToLong(Long::longValue).sum();
      syncs += sum;
      lab.findings().figure(type + "_fsync_calls_per_" + messages + "_messages", sum);
    }
    lab.check(
        "C8-fsync",
        EXPERIMENT + ", " + messages + " by queue type",
        "left unverified",
        "some fsync or fdatasync",
        seen.toString(),
        syncs > 0);
  }

  /**
   * What strace saw.
   *
   * @param calls by name
   * @param why it saw nothing; empty if it did
   */
  private record Traced(Map<String, Long> calls, String why) {}

  private Traced traced(RabbitNode node, String type, int messages) throws IOException {
    Path counts = Files.createTempFile("floatvalve-strace", ".txt");
    Path log = Files.createTempFile("floatvalve-strace", ".log");
    List<String> command =
        new ArrayList<>(
            List.of("strace", "-c", "-f", "-e", "trace=fsync,fdatasync", "-o", counts.toString()));
    for (Long pid : node.pids()) {
      command.add("-p");
      command.add(pid.toString());
    }
    Process strace;
    try {
      strace =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
    } catch (IOException e) {
      return new Traced(Map.of(), "strace is not installed");
    }
    try {
      if (!attached(strace, log)) {
        return new Traced(
            Map.of(),
            "strace could not attach: "
                + Files.readString(log).strip().lines().findFirst().orElse("no word"));
      }
      publish(type, messages);
    } finally {
      end(strace);
    }
    Map<String, Long> calls = new java.util.TreeMap<>();
    for (String line : Files.readAllLines(counts)) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        calls.merge(row.group(2), Long.parseLong(row.group(1)), Long::sum);
      }
    }
    Files.delete(counts);
    Files.delete(log);
    return new Traced(calls, "");
  }

  private static boolean attached(Process strace, Path log) throws IOException {
    try {
      for (int i = 0; i < 100; i++) {
        if (strace.waitFor(50, TimeUnit.MILLISECONDS)) {
          return false;
        }
        if (Files.readString(log).contains(" attached")) {
          return true;
        }
      }
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static void end(Process strace) throws IOException {
    try {
      // SIGINT: strace then lets go and writes its counts; SIGTERM would do as well
      new ProcessBuilder("kill", "-INT", String.valueOf(strace.pid())).start().waitFor();
      if (!strace.waitFor(10, TimeUnit.SECONDS)) {
        strace.destroyForcibly();
      }
    } catch (InterruptedException e) {
      strace.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private void publish(String type, int messages) throws IOException {
    String queue = lab.queues().make("fsync-" + type, type, Map.of());
    try (var messaging = lab.messaging();
        Publisher publisher =
            messaging.publisher(PublisherSettings.to(Address.queue(queue)).withMaxInFlight(100))) {
      for (int i = 0; i < messages; i++) {
        var unused = publisher.publish(Message.of(new byte[100]));
      }
      Lab.drain(publisher);
    } finally {
      lab.queues().delete(queue);
    }
  }
}
