package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Side;
import java.util.Map;

/** Runs of both sides in turn, and with each pair one more of the plain client: the control. */
final class Race {
  private Race() {}

  /** One run of a side, from its backlog to its end. */
  interface Runner {
    /** Returns its figures by name. */
    Map<String, Double> run(Side side) throws Exception;
  }

  /** Runs it, and notes the figures of the runs that count. */
  static void run(Scale scale, Figures figures, Runner runner) throws Exception {
    for (int i = -scale.warmup(); i < scale.pairs(); i++) {
      // Each second round goes the other way round: whatever drifts meets both alike.
      Side first = (i & 1) != 0 ? Side.FLOATVALVE : Side.PLAIN;
      Side second = first == Side.PLAIN ? Side.FLOATVALVE : Side.PLAIN;
      var a = runner.run(first);
      var b = runner.run(second);
      var control = runner.run(Side.PLAIN);
      if (i >= 0) {
        a.forEach((name, value) -> figures.add(name, first, value));
        b.forEach((name, value) -> figures.add(name, second, value));
        control.forEach(figures::addControl);
      }
    }
  }
}
