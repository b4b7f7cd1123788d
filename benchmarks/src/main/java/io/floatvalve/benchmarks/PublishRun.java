package io.floatvalve.benchmarks;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * What one run of publishing measured.
 *
 * @param rate messages a second
 * @param cpuMicros of this process, a message
 * @param allocated bytes, a message
 */
record PublishRun(double rate, double cpuMicros, double allocated) {
  /** Publishes so many messages, and returns when all are answered. */
  interface Load {
    void publish(int count) throws Exception;
  }

  /** Runs it once. */
  static PublishRun of(Load load, int count) throws Exception {
    Meter meter = new Meter();
    load.publish(count);
    double seconds = meter.seconds();
    return new PublishRun(count / seconds, meter.cpuMicros(count), meter.allocated(count));
  }

  /** Prints a figure of runs in pairs: both medians, and the ratio pair by pair. */
  static void row(
      String label, List<PublishRun> a, List<PublishRun> b, ToDoubleFunction<PublishRun> figure) {
    System.out.printf(
        Locale.ROOT,
        "%s %14.1f %15.1f     %s%n",
        label,
        Figures.median(a, figure),
        Figures.median(b, figure),
        Figures.ratio(
            a.stream().mapToDouble(figure).boxed().toList(),
            b.stream().mapToDouble(figure).boxed().toList()));
  }
}
