package io.floatvalve.examples.lab.crash;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.Check;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.RabbitAtHand;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Has the broker and the network fail under load, and accounts for every message. */
@Command(
    name = "crash",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Has the broker and the network fail under load, and accounts for every message: its outcome,"
          + " whether it is in the queue, and how long the outcome took.",
      "Killing the broker and its memory alarm need a private node: give no --uri for these."
    })
public final class CrashLab implements Callable<Integer> {
  @Option(names = "--broker", paramLabel = "B", description = "rabbit (the only one as yet).")
  private String broker = "rabbit";

  @Option(names = "--quick", description = "Fewer messages and shorter faults: about a minute.")
  private boolean quick;

  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    if (!broker.equals("rabbit")) {
      throw CannotRun.badInput("--broker", broker, "must be rabbit; others are not there yet");
    }
    Console console = Console.of(spec, common);
    Findings findings = new Findings("lab crash");
    try (RabbitAtHand rabbit = RabbitAtHand.open(common, console)) {
      if (!rabbit.plain()) {
        throw CannotRun.badInput(
            "--uri", rabbit.uri(), "the network's faults are made on the way: give amqp://");
      }
      rabbit.describeTo(findings);
      long began = System.nanoTime();
      Faults faults = new Faults(rabbit, findings, console, quick);
      faults.run();
      double seconds = (System.nanoTime() - began) / 1e9;
      findings.figure("run_s", seconds);
      findings.writeTo(common.json());
      console.say("");
      console.say("What became of every message (its outcome, then what lies in the queue)");
      console.say(faults.accounts());
      console.say("");
      console.say("Checks");
      console.say(faults.checks());
      long held = findings.checks().stream().filter(Check::ok).count();
      console.say(
          String.format(
              "%d of %d checks held, in %.0f s", held, findings.checks().size(), seconds));
      return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
    }
  }
}
