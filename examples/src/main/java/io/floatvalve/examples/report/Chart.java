package io.floatvalve.examples.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A chart of lines as SVG. Colours and fonts are left to the page's style sheet, so that one
 * drawing serves light and dark, screen and paper.
 */
final class Chart {
  private static final int MOST_POINTS = 400;
  private static final int MOST_DOTS = 40;
  private static final double LETTER_WIDTH = 7;
  private static final double LINE_HEIGHT = 13;

  /** How values lie on an axis. */
  enum Scale {
    /** Evenly, from 0. */
    LINEAR,
    /** By orders of magnitude. */
    LOG,
    /** Percentiles: as far again for each further nine. */
    NINES
  }

  private static final class Series {
    final String name;
    final double[] x;
    final double[] y;

    Series(String name, double[] x, double[] y) {
      this.name = name;
      this.x = x;
      this.y = y;
    }
  }

  private final String title;
  private final String xUnit;
  private final String yUnit;
  private final Scale xScale;
  private final Scale yScale;
  private final boolean joined;
  private final List<Series> series = new ArrayList<>();
  private final List<Double> marks = new ArrayList<>();
  private final List<Label> labels = new ArrayList<>();

  private record Label(double x, double y, String text) {}

  /**
   * Begins without lines.
   *
   * @param joined whether points are joined by lines
   */
  Chart(String title, String xUnit, String yUnit, Scale xScale, Scale yScale, boolean joined) {
    this.title = title;
    this.xUnit = xUnit;
    this.yUnit = yUnit;
    this.xScale = xScale;
    this.yScale = yScale;
    this.joined = joined;
  }

  /** Adds a line; what is no number, or none that the axis can show, is left out. */
  Chart line(String name, double[] x, double[] y) {
    List<double[]> kept = new ArrayList<>();
    for (int i = 0; i < x.length; i++) {
      if (Double.isFinite(x[i]) && Double.isFinite(y[i]) && (yScale != Scale.LOG || y[i] > 0)) {
        kept.add(new double[] {x[i], y[i]});
      }
    }
    if (!kept.isEmpty()) {
      List<double[]> shown = thinned(kept);
      series.add(
          new Series(
              name,
              shown.stream().mapToDouble(p -> p[0]).toArray(),
              shown.stream().mapToDouble(p -> p[1]).toArray()));
    }
    return this;
  }

  /** Keeps the highest of neighbours: a peak must not get lost. */
  private static List<double[]> thinned(List<double[]> points) {
    int each = (points.size() + MOST_POINTS - 1) / MOST_POINTS;
    if (each <= 1) {
      return points;
    }
    List<double[]> kept = new ArrayList<>();
    for (int from = 0; from < points.size(); from += each) {
      double[] highest = points.get(from);
      for (int i = from; i < Math.min(points.size(), from + each); i++) {
        highest = points.get(i)[1] > highest[1] ? points.get(i) : highest;
      }
      kept.add(highest);
    }
    return kept;
  }

  /** Marks a moment by an upright line. */
  Chart mark(double x) {
    marks.add(x);
    return this;
  }

  /** Writes beside a point. */
  Chart label(double x, double y, String text) {
    labels.add(new Label(x, y, text));
    return this;
  }

  boolean isEmpty() {
    return series.isEmpty();
  }

  /** Returns the figure: title, legend, and a drawing for wide and one for narrow pages. */
  String toHtml() {
    StringBuilder html = new StringBuilder("<figure class=\"chart\">\n<figcaption>");
    html.append(Html.text(title)).append("</figcaption>\n");
    if (series.size() > 1) {
      html.append("<ul class=\"legend\">");
      for (int i = 0; i < series.size(); i++) {
        html.append("<li><svg class=\"key\" viewBox=\"0 0 24 8\" aria-hidden=\"true\">")
            .append("<line class=\"line c")
            .append(i + 1)
            .append("\" x1=\"1\" y1=\"4\" x2=\"23\"")
            .append(" y2=\"4\"/></svg>")
            .append(Html.text(series.get(i).name))
            .append("</li>");
      }
      html.append("</ul>\n");
    }
    html.append(new Drawing("wide", 680, 300).svg());
    html.append(new Drawing("narrow", 350, 260).svg());
    return html.append("</figure>\n").toString();
  }

  /** One drawing, of one size. */
  private final class Drawing {
    private final String kind;
    private final int width;
    private final int height;
    private final double left = 54;
    private final double right;
    private final double top = 22;
    private final double bottom;
    private final double leastX;
    private final double mostX;
    private final double leastY;
    private final double mostY;

    private Drawing(String kind, int width, int height) {
      this.kind = kind;
      this.width = width;
      this.height = height;
      this.right = width - 16;
      this.bottom = height - 38;
      double lowX = Double.MAX_VALUE;
      double highX = -Double.MAX_VALUE;
      double lowY = Double.MAX_VALUE;
      double highY = -Double.MAX_VALUE;
      for (Series each : series) {
        for (int i = 0; i < each.x.length; i++) {
          lowX = Math.min(lowX, at(xScale, each.x[i]));
          highX = Math.max(highX, at(xScale, each.x[i]));
          lowY = Math.min(lowY, at(yScale, each.y[i]));
          highY = Math.max(highY, at(yScale, each.y[i]));
        }
      }
      leastX = xScale == Scale.LOG ? lowX - 0.05 : Math.min(0, lowX);
      mostX = Math.max(leastX + 1e-9, labels.isEmpty() ? highX : highX * 1.12);
      if (yScale == Scale.LOG) {
        leastY = roundLog(lowY, false);
        mostY = Math.max(leastY + 1, roundLog(highY, true));
      } else {
        leastY = 0;
        double step = step(Math.max(highY, 1e-9), 5);
        mostY = Math.ceil(highY / step + 1e-9) * step;
      }
    }

    private double x(double value) {
      return left + (at(xScale, value) - leastX) / (mostX - leastX) * (right - left);
    }

    private double y(double value) {
      return bottom - (at(yScale, value) - leastY) / (mostY - leastY) * (bottom - top);
    }

    private String svg() {
      StringBuilder svg = new StringBuilder();
      svg.append(
          String.format(
              Locale.ROOT,
              "<svg class=\"drawing %s\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">%n",
              kind,
              width,
              height,
              Html.text(title)));
      grid(svg);
      for (double each : marks) {
        if (at(xScale, each) >= leastX && at(xScale, each) <= mostX) {
          svg.append(
              String.format(
                  Locale.ROOT,
                  "<line class=\"mark\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>%n",
                  x(each),
                  top,
                  x(each),
                  bottom));
        }
      }
      for (int i = 0; i < series.size(); i++) {
        draw(svg, series.get(i), i + 1);
      }
      write(svg);
      return svg.append("</svg>\n").toString();
    }

    /** Writes the labels that have room: the table beside the chart has them all. */
    private void write(StringBuilder svg) {
      List<double[]> taken = new ArrayList<>();
      for (Label each : labels) {
        double length = each.text().length() * LETTER_WIDTH;
        boolean leftOf = x(each.x()) + 8 + length > right;
        double from = leftOf ? x(each.x()) - 8 - length : x(each.x()) + 8;
        double at = y(each.y()) - 6;
        boolean free =
            taken.stream()
                .noneMatch(
                    t -> from < t[1] && from + length > t[0] && Math.abs(at - t[2]) < LINE_HEIGHT);
        if (free && from >= 0) {
          taken.add(new double[] {from, from + length, at});
          svg.append(
              String.format(
                  Locale.ROOT,
                  "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n",
                  x(each.x()) + (leftOf ? -8 : 8),
                  at,
                  leftOf ? "end" : "start",
                  Html.text(each.text())));
        }
      }
    }

    private void draw(StringBuilder svg, Series of, int number) {
      if (joined && of.x.length > 1) {
        svg.append("<polyline class=\"line c").append(number).append("\" points=\"");
        for (int i = 0; i < of.x.length; i++) {
          svg.append(String.format(Locale.ROOT, "%.1f,%.1f ", x(of.x[i]), y(of.y[i])));
        }
        svg.append("\"/>\n");
      }
      if (!joined || !labels.isEmpty() || of.x.length <= MOST_DOTS) {
        for (int i = 0; i < of.x.length; i++) {
          svg.append(
              String.format(
                  Locale.ROOT,
                  "<circle class=\"dot c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>%n",
                  number,
                  x(of.x[i]),
                  y(of.y[i]),
                  labels.isEmpty() ? "1.8" : "4"));
        }
      }
    }

    private void grid(StringBuilder svg) {
      for (double each : ticks(yScale, leastY, mostY, 5)) {
        svg.append(
            String.format(
                Locale.ROOT,
                "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                    + "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>%n",
                left,
                y(each),
                right,
                y(each),
                left - 7,
                y(each) + 4,
                number(each)));
      }
      for (double each : ticks(xScale, leastX, mostX, width < 400 ? 5 : 8)) {
        svg.append(
            String.format(
                Locale.ROOT,
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>%n",
                x(each),
                bottom + 16,
                xScale == Scale.NINES ? Html.percentile(each) : number(each)));
      }
      svg.append(
          String.format(
              Locale.ROOT,
              "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                  + "<text class=\"unit\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>"
                  + "<text class=\"unit\" x=\"%.1f\" y=\"12\" text-anchor=\"start\">%s</text>%n",
              left,
              bottom,
              right,
              bottom,
              right,
              bottom + 32,
              Html.text(xUnit),
              6.0,
              Html.text(yUnit)));
    }
  }

  private static double at(Scale scale, double value) {
    return switch (scale) {
      case LINEAR -> value;
      case LOG -> Math.log10(Math.max(value, 1e-9));
      case NINES -> -Math.log10(1 - Math.min(value, 99.99999) / 100);
    };
  }

  /** Returns the next logarithm of 1, 2 or 5 times a power of ten. */
  private static double roundLog(double log, boolean up) {
    double decade = Math.floor(log + 1e-9);
    double rounded = up ? decade + 1 : decade;
    for (int digit : new int[] {1, 2, 5}) {
      double at = decade + Math.log10(digit);
      if (up ? at >= log - 1e-9 && at < rounded : at <= log + 1e-9) {
        rounded = at;
      }
    }
    return rounded;
  }

  private static List<Double> ticks(Scale scale, double least, double most, int about) {
    List<Double> ticks = new ArrayList<>();
    switch (scale) {
      case LINEAR -> {
        double step = step(most - least, about);
        for (double at = Math.ceil(least / step) * step; at <= most + step * 1e-6; at += step) {
          ticks.add(at);
        }
      }
      case LOG -> {
        boolean fine = most - least <= 2;
        for (int decade = (int) Math.floor(least); decade <= most; decade++) {
          for (int digit : fine ? new int[] {1, 2, 5} : new int[] {1}) {
            double at = digit * Math.pow(10, decade);
            if (Math.log10(at) >= least - 1e-9 && Math.log10(at) <= most + 1e-9) {
              ticks.add(at);
            }
          }
        }
      }
      case NINES -> {
        ticks.add(0.0);
        if (most < 1) {
          ticks.add(50.0);
        }
        for (int nines = 1; nines <= most + 1e-9; nines++) {
          ticks.add(100 - 100 * Math.pow(10, -nines));
        }
      }
    }
    return ticks;
  }

  private static double step(double range, int about) {
    double rough = Math.max(range, 1e-9) / about;
    double power = Math.pow(10, Math.floor(Math.log10(rough)));
    double digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  }

  /** Returns a number as short as an axis needs it. */
  static String number(double value) {
    double size = Math.abs(value);
    if (size >= 1e6) {
      return trimmed(value / 1e6) + "M";
    }
    return size >= 1e4 ? trimmed(value / 1e3) + "k" : trimmed(value);
  }

  private static String trimmed(double value) {
    String text =
        String.format(Locale.ROOT, Math.abs(value) >= 1 || value == 0 ? "%,.2f" : "%.4f", value);
    return text.replaceAll("0+$", "").replaceAll("\\.$", "");
  }
}
