package io.floatvalve.examples.report;

import java.util.Locale;

/** Text as HTML has it. */
final class Html {
  private Html() {}

  /** Returns a text that no page can take for anything else. */
  static String text(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;")
        .replace("'", "&#39;");
  }

  /** Returns a percentile as people write it. */
  static String percentile(double percentile) {
    if (percentile == 100) {
      return "max";
    }
    String text = String.format(Locale.ROOT, "%.5f", percentile);
    return "p" + text.replaceAll("0+$", "").replaceAll("\\.$", "");
  }

  /** Returns milliseconds with three digits that count. */
  static String millis(double nanos) {
    double millis = nanos / 1e6;
    String form = millis >= 100 ? "%,.0f" : millis >= 10 ? "%.1f" : millis >= 1 ? "%.2f" : "%.3f";
    return String.format(Locale.ROOT, form, millis);
  }
}
