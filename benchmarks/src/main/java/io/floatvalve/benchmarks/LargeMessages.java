package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.model.Ordering;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Large messages and a slow handler in a JVM of 256 MB: how much waits there. */
final class LargeMessages implements ConsumeLoad.Part {
  static final int SIZE = 1 << 20;
  private static final int COUNT = 500;
  private static final int HANDLER_MILLIS = 200;
  private static final int SECONDS = 10;
  private static final int PATIENCE_SECONDS = 60;

  @Override
  public void run(PulsarRig rig, Scale scale) throws Exception {
    for (int partitions : new int[] {1, 4}) {
      for (int workers : new int[] {1, 16}) {
        String name =
            "4: 1 MB, "
                + partitions
                + " part., "
                + workers
                + (workers == 1 ? " worker" : " workers");
        if (!scale.wants(name)) {
          continue;
        }
        Figures figures = new Figures(name);
        for (int i = 0; i < scale.pairs(); i++) {
          for (Side side : scale.sides(i)) {
            String topic = rig.backlog(partitions, COUNT, SIZE, 1);
            child(rig.node.serviceUrl(), side, topic, workers, figures);
            rig.delete(topic);
          }
        }
        figures.print();
      }
    }
  }

  /** Consumes in a JVM of its own, with little heap. */
  static void child(String url, Side side, String topic, int workers, Figures figures)
      throws Exception {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
            "-cp",
            System.getProperty("java.class.path"),
            Child.class.getName(),
            url,
            side.name(),
            topic,
            Integer.toString(workers));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try {
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        figures.add("hung", side, 1);
        return;
      }
      String line = said(process);
      if (line == null) {
        figures.add("died", side, 1);
        return;
      }
      for (String each : line.split(";", -1)) {
        String[] pair = each.split("=", 2);
        figures.add(pair[0], side, Double.parseDouble(pair[1]));
      }
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  private static @Nullable String said(Process process) throws IOException {
    try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
      return lines.readLine();
    }
  }

  /** The JVM with little heap. */
  static final class Child {
    private Child() {}

    public static void main(String[] args) throws Exception {
      String url = args[0];
      Side side = Side.valueOf(args[1]);
      AtomicInteger handled = new AtomicInteger();
      var plan =
          new Contestant.Plan(
              args[2],
              Ordering.NONE,
              Integer.parseInt(args[3]),
              () -> {
                Thread.sleep(HANDLER_MILLIS);
                handled.incrementAndGet();
              });
      Contestant contestant =
          url.startsWith("amqp")
              ? RabbitRig.open(url, side, plan)
              : PulsarRig.open(url, side, plan);
      var heap = ManagementFactory.getMemoryMXBean();
      try (Watcher queued = new Watcher(() -> queued(contestant));
          Watcher used = new Watcher(() -> heap.getHeapMemoryUsage().getUsed())) {
        contestant.start();
        Thread.sleep(TimeUnit.SECONDS.toMillis(SECONDS));
        System.out.println(
            "most MB queued="
                + queued.most() / 1e6
                + ";disconnected="
                + (contestant.wasDisconnected() ? 1 : 0)
                + ";handled in "
                + SECONDS
                + " s="
                + handled
                + ";most MB heap="
                + used.most() / 1e6);
      }
      Runtime.getRuntime().halt(0); // a client out of memory does not close
    }

    private static long queued(Contestant contestant) {
      long bytes = contestant.waitingBytes();
      return bytes < 0 ? (long) contestant.waiting() * SIZE : bytes;
    }
  }
}
