package io.floatvalve.examples.publish;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Latencies;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.examples.lines.Fate;
import io.floatvalve.examples.lines.ResultsFile;
import io.floatvalve.examples.lines.ResultsFile.Run;
import io.floatvalve.examples.lines.Tally;
import io.floatvalve.latency.LatencySnapshot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Says what became of the lines, and how to finish the rest. */
final class PublishReport {
  private final Console console;
  private final Findings findings;
  private final CommonOptions common;

  PublishReport(Console console, Findings findings, CommonOptions common) {
    this.console = console;
    this.findings = findings;
    this.common = common;
  }

  /** Shows how many lines came to each fate, and how long it took. */
  void outcomes(Tally tally, LatencySnapshot latency, double seconds, Path results) {
    Table table = new Table("fate", "lines");
    for (Fate fate : Fate.values()) {
      long count = tally.count(fate);
      if (count > 0 || (fate != Fate.UNTRIED && fate != Fate.UNFIT)) {
        table.row(fate, count);
      }
      findings.figure("lines_" + fate.name().toLowerCase(Locale.ROOT), count);
    }
    table.row("total", tally.total());
    console.say("");
    console.say(table);
    console.say("");
    console.say(Latencies.table(latency));
    console.say("");
    console.say("outcome of every line: " + results);
    findings.figure("lines_total", tally.total());
    findings.figure("run_s", seconds);
    Latencies.figures(latency, findings);
    Latencies.writeTo(common.out(), latency);
  }

  /** Reads the results back from the disk, and checks that they account for every line read. */
  void accounts(Path results, Tally tally, long linesRead) throws IOException {
    Tally kept = ResultsFile.read(results).fates().tally();
    long untried = tally.count(Fate.UNTRIED);
    long accounted = kept.total() - kept.count(Fate.UNTRIED) + untried;
    boolean same = true;
    for (Fate fate : Fate.values()) {
      same &= fate == Fate.UNTRIED || kept.count(fate) == tally.count(fate);
    }
    findings.check(
        "every-line",
        "the results on disk hold one fate for each line read, of " + counted(linesRead),
        counted(accounted) + ", " + (same ? "the same" : "other") + " fates as were counted",
        same && accounted == linesRead);
  }

  /** Says how to finish what was not confirmed: the very commands. */
  void rest(Run run, Path results, Tally tally, Map<Leftovers.Kind, Path> files, boolean readAll) {
    if (tally.allConfirmed() && readAll) {
      console.say("every line is confirmed");
      return;
    }
    console.say("");
    if (!readAll) {
      console.say("Stopped before the end of the input; what was not read was not published.");
    }
    boolean again = !run.from().equals("-");
    long safe = tally.count(Fate.NOT_SENT) + tally.count(Fate.UNTRIED);
    if (safe > 0 || (!readAll && again)) {
      console.say(counted(safe) + " never left this process; publishing again is safe:");
      command(run, results, files.get(Leftovers.Kind.NOT_SENT), again, "");
    }
    long doubtful = tally.count(Fate.UNKNOWN) + tally.count(Fate.NACKED);
    if (doubtful > 0) {
      console.say(
          counted(doubtful)
              + " may be stored already (UNKNOWN, NACKED); publishing again may store twice:");
      command(
          run,
          results,
          files.get(Leftovers.Kind.MAY_DUPLICATE),
          again,
          " --repeat not-sent,unknown,nacked");
    }
    long returned = tally.count(Fate.RETURNED);
    if (returned > 0) {
      console.say(counted(returned) + " reached no queue; create the queue or its binding, then:");
      command(run, results, files.get(Leftovers.Kind.FUTILE), again, " --repeat not-sent,returned");
    }
    long unfit = tally.count(Fate.UNFIT);
    if (unfit > 0) {
      console.say(counted(unfit) + " cannot be sent unchanged; the results say why");
    }
    if (!files.isEmpty()) {
      console.say("the lines themselves: " + String.join(", ", names(files)));
    }
  }

  /** Returns how many lines these are, as people write it. */
  static String counted(long lines) {
    return lines == 1 ? "1 line" : String.format("%,d lines", lines);
  }

  private void command(Run run, Path results, @Nullable Path lines, boolean again, String repeat) {
    String launcher = System.getProperty("floatvalve.launcher", "examples/floatvalve");
    String given = common.givenUri();
    boolean secret = given != null && !CannotRun.masked(given).equals(given);
    String uri = given == null || secret ? "" : " --uri " + quoted(given);
    String what =
        again
            ? " publish --resume " + quoted(results.toString()) + repeat
            : " publish --to "
                + quoted(run.to())
                + " --from "
                + quoted(String.valueOf(lines))
                + " --format "
                + run.format().name().toLowerCase(Locale.ROOT)
                + (run.broker().equals("pulsar") ? " --broker pulsar" : "");
    console.say("  " + launcher + what + uri);
    if (secret) {
      console.say(
          "  (with the same --uri, or "
              + CommonOptions.RABBIT_VARIABLE
              + " set to it: it holds a secret)");
    }
  }

  private static Iterable<String> names(Map<Leftovers.Kind, Path> files) {
    return files.values().stream().map(Path::toString).toList();
  }

  /** Returns the word as a shell reads it back. */
  static String quoted(String word) {
    return word.matches("[A-Za-z0-9_./:@%+=,-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
  }
}
