package io.floatvalve.examples;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.consume.ConsumeCommand;
import io.floatvalve.examples.lab.LabCommand;
import io.floatvalve.examples.perf.PerfCommand;
import io.floatvalve.examples.publish.PublishCommand;
import io.floatvalve.examples.report.ReportCommand;
import io.floatvalve.examples.tour.TourCommand;
import io.floatvalve.model.MessagingException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line. */
@Command(
    name = "floatvalve",
    mixinStandardHelpOptions = true,
    description = "Shows what happens to every message, on a broker of its own or on yours.",
    subcommands = {
      TourCommand.class,
      PublishCommand.class,
      ConsumeCommand.class,
      PerfCommand.class,
      ReportCommand.class,
      LabCommand.class
    })
public final class Main {
  /** Runs a command and ends the process with its exit code. */
  public static void main(String[] args) {
    boolean verbose = Arrays.asList(args).contains("--verbose");
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", verbose ? "info" : "off");
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(out, err, args));
  }

  /** Runs a command and returns its exit code. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    boolean verbose = Arrays.asList(args).contains("--verbose");
    CommandLine line = new CommandLine(new Main());
    line.setOut(out);
    line.setErr(err);
    setVersion(line, "floatvalve " + version());
    line.setCaseInsensitiveEnumValuesAllowed(true);
    line.setOverwrittenOptionsAllowed(false);
    line.setParameterExceptionHandler(
        (wrong, given) -> {
          err.println("floatvalve: " + CannotRun.masked(String.valueOf(wrong.getMessage())));
          err.println(
              "Try: " + wrong.getCommandLine().getCommandSpec().qualifiedName() + " --help");
          err.flush();
          return CannotRun.BAD_INPUT;
        });
    line.setExecutionExceptionHandler((error, command, parsed) -> failed(error, verbose, err));
    if (args.length == 0) {
      line.usage(out);
      return CannotRun.BAD_INPUT;
    }
    return line.execute(args);
  }

  private static void setVersion(CommandLine line, String version) {
    line.getCommandSpec().version(version);
    line.getSubcommands().values().forEach(each -> setVersion(each, version));
  }

  /** Returns what the manifest of the jar says; there is none where classes lie in folders. */
  private static String version() {
    String version = Main.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  private static int failed(Exception error, boolean verbose, PrintWriter err) {
    int code;
    if (error instanceof CannotRun cannot) {
      code = cannot.exitCode();
      err.println("floatvalve: " + cannot.getMessage());
    } else if (error instanceof MessagingException opening) {
      code =
          switch (opening.kind()) {
            case UNREACHABLE, REFUSED -> CannotRun.UNREACHABLE;
            case NOT_FOUND, CONFLICT, INVALID, CLOSED -> CannotRun.BAD_INPUT;
          };
      err.println("floatvalve: " + CannotRun.inWords(opening));
    } else {
      code = CannotRun.NOT_ALL_WELL;
      err.println(
          "floatvalve: unexpected "
              + error.getClass().getSimpleName()
              + ": "
              + CannotRun.inWords(error)
              + (verbose ? "" : " (--verbose shows where)"));
    }
    if (verbose) {
      err.println(CannotRun.masked(trace(error)));
    }
    err.flush();
    return code;
  }

  private static String trace(Exception error) {
    java.io.StringWriter text = new java.io.StringWriter();
    error.printStackTrace(new PrintWriter(text));
    return text.toString();
  }
}
