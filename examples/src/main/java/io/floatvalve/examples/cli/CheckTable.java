package io.floatvalve.examples.cli;

/** The checks of experiments: for the findings, and as a table for people. */
public final class CheckTable {
  private final Findings findings;
  private final StringBuilder failed = new StringBuilder();
  private final Table table = new Table("check", "experiment", "reference", "here", "ok");

  /** Begins with none. */
  public CheckTable(Findings findings) {
    this.findings = findings;
  }

  /** Adds a check. */
  public void check(
      String id, String experiment, String reference, String expected, String here, boolean ok) {
    findings.check(id, expected, here, ok);
    table.row(id, experiment, reference, here, ok ? "yes" : "NO");
    if (!ok) {
      failed.append("NO: ").append(id).append(" should be: ").append(expected).append('\n');
    }
  }

  /** Adds to the table something that could not be tried, and why; it is no check. */
  public void note(String id, String experiment, String why) {
    findings.note(id, why);
    table.row(id, experiment, "", "not tried: " + why, "-");
  }

  @Override
  public String toString() {
    return table.toString() + failed;
  }
}
