package io.floatvalve.examples.lab.explain;

import io.floatvalve.examples.cli.Experiments;
import io.floatvalve.explain.Explanation;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Looks at explanations while a scene is on, and keeps the first finding. */
final class Watch {
  private static final Duration EVERY = Duration.ofMillis(100);

  private final Duration calm;
  private final Duration within;
  private String early = "";
  private String first = "";
  private double seconds;
  private String text = "";
  private final List<Long> lookNanos = new ArrayList<>();

  /**
   * Begins to watch.
   *
   * @param calm how long a scene without a fault is watched
   * @param within how soon after onset a finding must be there
   */
  Watch(Duration calm, Duration within) {
    this.calm = calm;
    this.within = within;
  }

  /** Watches for some time in which nothing is wrong; what is found is a false alarm. */
  void calmly(Duration time, Supplier<Explanation> explain) throws IOException {
    long end = System.nanoTime() + time.toNanos();
    while (System.nanoTime() - end < 0) {
      Explanation now = look(explain);
      if (!now.isHealthy() && early.isEmpty()) {
        early = now.findings().get(0).name();
        text = now.text();
      }
      Experiments.pause(EVERY);
    }
  }

  /** Watches a scene without a fault for as long as such scenes are watched. */
  void calmly(Supplier<Explanation> explain) throws IOException {
    calmly(calm, explain);
  }

  /** The fault begins now: watches until something is found, or it is too late. */
  void fromOnset(Supplier<Explanation> explain) throws IOException {
    long onset = System.nanoTime();
    while (System.nanoTime() - onset < within.toNanos()) {
      Explanation now = look(explain);
      if (!now.isHealthy()) {
        first = now.findings().get(0).name();
        seconds = (System.nanoTime() - onset) / 1e9;
        text = now.text();
        return;
      }
      Experiments.pause(EVERY);
    }
    seconds = within.toNanos() / 1e9;
    text = look(explain).text();
  }

  /** The scene could not be staged: then it found what is no finding. */
  void failed(Exception why) {
    first = "not staged";
    text = why.toString();
  }

  private Explanation look(Supplier<Explanation> explain) {
    long began = System.nanoTime();
    Explanation now = explain.get();
    lookNanos.add(System.nanoTime() - began);
    return now;
  }

  /** Returns the finding that came first, before the onset too; empty if there was none. */
  String first() {
    return early.isEmpty() ? first : early;
  }

  /** Returns whether something was found before anything was wrong. */
  boolean isFalseAlarm() {
    return !early.isEmpty();
  }

  /** Returns how often an explanation was looked at. */
  int looks() {
    return lookNanos.size();
  }

  double seconds() {
    return seconds;
  }

  String text() {
    return text;
  }

  /** Returns how long each look took; the first ones of a process are slow. */
  List<Long> lookNanos() {
    return lookNanos;
  }
}
