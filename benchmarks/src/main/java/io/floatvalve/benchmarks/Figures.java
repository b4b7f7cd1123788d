package io.floatvalve.benchmarks;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** Figures of both sides for one case, run by run, and the rows that they make. */
final class Figures {
  private static final PrintStream OUT = System.out;

  private final String of;
  private final Map<String, Map<String, List<Double>>> byName = new LinkedHashMap<>();

  Figures(String of) {
    this.of = of;
  }

  /** Returns the name of the case. */
  String of() {
    return of;
  }

  static void heading() {
    OUT.printf(
        "%-42s %-20s %-24s %-24s %s%n",
        "case", "figure", "plain client", "floatvalve", "ratio pair by pair");
  }

  /** Notes a figure of one run. */
  void add(String name, Contestant.Side side, double value) {
    add(name, side.name(), value);
  }

  /** Notes a figure of the plain client's second run, the control. */
  void addControl(String name, double value) {
    add(name, "CONTROL", value);
  }

  private void add(String name, String side, double value) {
    byName
        .computeIfAbsent(name, n -> new LinkedHashMap<>())
        .computeIfAbsent(side, s -> new ArrayList<>())
        .add(value);
  }

  /** Prints a row a figure: median, least and most; each with its control where there is one. */
  void print() {
    byName.forEach(
        (name, sides) -> {
          List<Double> plain = sides.getOrDefault("PLAIN", List.of());
          List<Double> ours = sides.getOrDefault("FLOATVALVE", List.of());
          List<Double> control = sides.getOrDefault("CONTROL", List.of());
          row(name, text(plain), text(ours), ratio(plain, ours));
          if (!control.isEmpty()) {
            row("  A/A " + name, text(plain), text(control), ratio(plain, control));
          }
        });
    OUT.flush();
  }

  private void row(String name, String plain, String ours, String ratio) {
    OUT.printf("%-42s %-20s %-24s %-24s %s%n", of, name, plain, ours, ratio);
  }

  /** Returns the ratio of ours to theirs: its median, least and most; nothing if it has none. */
  static String ratio(List<Double> plain, List<Double> ours) {
    double[] ratios = ratios(plain, ours);
    return ratios.length == 0
        ? ""
        : String.format(
            Locale.ROOT,
            "%.2f [%.2f..%.2f]",
            ratios[ratios.length / 2],
            ratios[0],
            ratios[ratios.length - 1]);
  }

  /** Returns the ratios of ours to theirs pair by pair, sorted; none if they are no pairs. */
  private static double[] ratios(List<Double> plain, List<Double> ours) {
    if (plain.size() != ours.size() || plain.contains(0.0)) {
      return new double[0];
    }
    double[] ratios = new double[plain.size()];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = ours.get(i) / plain.get(i);
    }
    Arrays.sort(ratios);
    return ratios;
  }

  /** Returns the runs of a side. */
  private List<Double> of(String name, Contestant.Side side) {
    return byName.getOrDefault(name, Map.of()).getOrDefault(side.name(), List.of());
  }

  /** Returns the median of the ratios pair by pair of ours to theirs, or NaN. */
  double medianRatio(String name) {
    double[] ratios = ratios(of(name, Contestant.Side.PLAIN), of(name, Contestant.Side.FLOATVALVE));
    return ratios.length == 0 ? Double.NaN : ratios[ratios.length / 2];
  }

  /** Returns the median of a figure of a side, or NaN. */
  double median(String name, Contestant.Side side) {
    List<Double> runs = of(name, side);
    return runs.isEmpty() ? Double.NaN : median(runs, run -> run);
  }

  /** Returns the most that a side had in any run, or NaN. */
  double most(String name, Contestant.Side side) {
    return of(name, side).stream().mapToDouble(run -> run).max().orElse(Double.NaN);
  }

  /** Prints whether something is as large as is wanted; what was not measured is not. */
  void wantAtLeast(String what, double value, double least) {
    want(what, value, "at least " + number(least), value >= least);
  }

  /** Prints whether something is as small as is wanted; what was not measured is not. */
  void wantAtMost(String what, double value, double most) {
    want(what, value, "at most " + number(most), value <= most);
  }

  private void want(String what, double value, String wanted, boolean held) {
    OUT.printf(
        "%-42s %s: %s, wanted %s: %s%n", of, what, number(value), wanted, held ? "yes" : "NO");
    OUT.flush();
  }

  /** Returns the median of a figure of some runs. */
  static <R> double median(List<R> runs, ToDoubleFunction<R> figure) {
    double[] values = runs.stream().mapToDouble(figure).sorted().toArray();
    return values[values.length / 2];
  }

  private static String text(List<Double> values) {
    if (values.isEmpty()) {
      return "-";
    }
    double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    String middle = number(sorted[sorted.length / 2]);
    return sorted.length == 1
        ? middle
        : middle + " [" + number(sorted[0]) + ".." + number(sorted[sorted.length - 1]) + "]";
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, Math.abs(value) < 100 ? "%.2f" : "%.0f", value);
  }
}
