package io.floatvalve.examples.cli;

import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** Where a command speaks: results to stdout, progress to stderr. Thread-safe. */
public final class Console {
  private final PrintWriter out;
  private final PrintWriter err;
  private final boolean quiet;

  /** Speaks to these. */
  public Console(PrintWriter out, PrintWriter err, boolean quiet) {
    this.out = out;
    this.err = err;
    this.quiet = quiet;
  }

  /** Speaks to where the command line does. */
  public static Console of(CommandSpec spec, CommonOptions options) {
    CommandLine line = spec.commandLine();
    return new Console(line.getOut(), line.getErr(), options.quiet());
  }

  /** Writes a result, without the secrets of URIs in it. */
  public void say(Object text) {
    out.println(CannotRun.masked(String.valueOf(text)).stripTrailing());
    out.flush();
  }

  /** Writes progress, unless it is unwanted. */
  public void progress(String text) {
    if (!quiet) {
      warn(text);
    }
  }

  /** Writes what must be seen, even if progress is unwanted. */
  public void warn(String text) {
    err.println(CannotRun.masked(text));
    err.flush();
  }
}
