package io.floatvalve.explain;

import java.time.Duration;
import java.util.Locale;

/** Puts numbers in words, the same way everywhere. */
final class Words {
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final long KIB = 1 << 10;
  private static final long MIB = 1 << 20;

  private Words() {}

  /** Returns a time with three digits at most: 0.08 ms, 12 ms, 3.2 s, 5 min. */
  static String time(Duration time) {
    double nanos = time.toNanos();
    if (nanos < NANOS_PER_MILLI) {
      return String.format(Locale.ROOT, "%.2f ms", nanos / NANOS_PER_MILLI);
    }
    if (nanos < NANOS_PER_SECOND) {
      return String.format(
          Locale.ROOT,
          nanos < 10 * NANOS_PER_MILLI ? "%.1f ms" : "%.0f ms",
          nanos / NANOS_PER_MILLI);
    }
    double seconds = nanos / NANOS_PER_SECOND;
    if (seconds < 120) {
      return String.format(Locale.ROOT, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    }
    return seconds < 7200
        ? String.format(Locale.ROOT, "%.0f min", seconds / 60)
        : String.format(Locale.ROOT, "%.0f h", seconds / 3600);
  }

  static String orNever(Duration time) {
    return time.isZero() ? "never" : time(time);
  }

  static String orUnknown(Duration time) {
    return time.isZero() ? "an unknown time" : time(time);
  }

  static String bytes(long bytes) {
    return bytes < KIB
        ? bytes + " B"
        : bytes < MIB
            ? String.format(Locale.ROOT, "%.0f KiB", bytes / (double) KIB)
            : String.format(Locale.ROOT, "%.1f MiB", bytes / (double) MIB);
  }

  static String percent(double share) {
    return String.format(Locale.ROOT, "%.0f %%", 100 * share);
  }

  static String rate(double perSecond) {
    return String.format(Locale.ROOT, perSecond < 10 ? "%.1f" : "%.0f", perSecond);
  }
}
