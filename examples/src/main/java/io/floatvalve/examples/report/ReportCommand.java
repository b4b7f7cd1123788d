package io.floatvalve.examples.report;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Makes the page of a run. */
@Command(
    name = "report",
    mixinStandardHelpOptions = true,
    description =
        "Makes one HTML page with charts of a run's folder, as perf --out left it. The page needs"
            + " nothing else: it can be sent, printed, and read on a phone.")
public final class ReportCommand implements Callable<Integer> {
  @Parameters(paramLabel = "DIR", description = "The folder of a run.")
  private Path folder = Path.of("");

  @Option(names = "--verbose", description = "Stack traces on stderr.")
  private boolean verbose;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    if (!Files.isDirectory(folder)) {
      throw CannotRun.badInput("DIR", folder, "there is no such folder");
    }
    Console console =
        new Console(spec.commandLine().getOut(), spec.commandLine().getErr(), !verbose);
    console.say(ReportPage.write(folder));
    return CannotRun.OK;
  }
}
