package io.floatvalve.examples.cli;

import java.util.ArrayList;
import java.util.List;

/** A table of text: numbers to the right, words to the left, no wider than needed. */
public final class Table {
  private final List<List<String>> rows = new ArrayList<>();

  /** Begins with the names of the columns. */
  public Table(String... columns) {
    rows.add(List.of(columns));
  }

  /**
   * Adds a row.
   *
   * @param cells one for each column
   */
  public Table row(Object... cells) {
    List<String> row = new ArrayList<>();
    for (Object cell : cells) {
      row.add(text(cell));
    }
    if (row.size() != rows.get(0).size()) {
      throw new IllegalArgumentException(
          "a row must have " + rows.get(0).size() + " cells, has " + row.size());
    }
    rows.add(row);
    return this;
  }

  private static String text(Object cell) {
    if (cell instanceof Long || cell instanceof Integer) {
      return String.format("%,d", ((Number) cell).longValue());
    }
    if (cell instanceof Double d) {
      return d >= 100 ? String.format("%,.0f", d) : String.format("%.2f", d);
    }
    return String.valueOf(cell);
  }

  @Override
  public String toString() {
    int columns = rows.get(0).size();
    int[] widths = new int[columns];
    boolean[] numeric = new boolean[columns];
    for (int c = 0; c < columns; c++) {
      numeric[c] = rows.size() > 1;
      for (int r = 0; r < rows.size(); r++) {
        String cell = rows.get(r).get(c);
        widths[c] = Math.max(widths[c], cell.codePointCount(0, cell.length()));
        numeric[c] &= r == 0 || cell.isEmpty() || cell.matches("[-+]?[0-9][0-9,.]*( ?%)?|-");
      }
    }
    StringBuilder text = new StringBuilder();
    for (int r = 0; r < rows.size(); r++) {
      line(text, rows.get(r), widths, numeric);
      if (r == 0) {
        List<String> rule = new ArrayList<>();
        for (int width : widths) {
          rule.add("-".repeat(width));
        }
        line(text, rule, widths, numeric);
      }
    }
    return text.toString();
  }

  private static void line(StringBuilder to, List<String> cells, int[] widths, boolean[] numeric) {
    StringBuilder line = new StringBuilder();
    for (int c = 0; c < widths.length; c++) {
      String cell = cells.get(c);
      String pad = " ".repeat(widths[c] - cell.codePointCount(0, cell.length()));
      line.append(c == 0 ? "" : "  ").append(numeric[c] ? pad + cell : cell + pad);
    }
    to.append(line.toString().stripTrailing()).append('\n');
  }
}
