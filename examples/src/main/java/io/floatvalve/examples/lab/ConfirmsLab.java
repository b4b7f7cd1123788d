package io.floatvalve.examples.lab;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Queues;
import io.floatvalve.examples.cli.RabbitAtHand;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** How RabbitMQ confirms: on the wire, in time, in memory, and when the connection is lost. */
@Command(
    name = "confirms",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "How RabbitMQ confirms: frames on the wire, throughput and latency by window and queue type,"
          + " large bodies, memory, fsync, and a connection cut in flight.",
      "The reference figures are of another machine and RabbitMQ 4.3: compare shapes, not numbers."
    })
public final class ConfirmsLab implements Callable<Integer> {
  @Option(names = "--quick", description = "Less of everything: well under a minute.")
  private boolean quick;

  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    Console console = Console.of(spec, common);
    Findings findings = new Findings("lab confirms");
    try (RabbitAtHand rabbit = RabbitAtHand.open(common, console)) {
      if (!rabbit.plain()) {
        throw CannotRun.badInput(
            "--uri", rabbit.uri(), "the frames are read on the way, which TLS hides: give amqp://");
      }
      rabbit.describeTo(findings);
      long began = System.nanoTime();
      try (Queues queues = new Queues(rabbit, "floatvalve.lab")) {
        run(new Lab(rabbit, queues, findings, console, quick));
      }
      findings.figure("run_s", (System.nanoTime() - began) / 1e9);
      findings.writeTo(common.json());
      long held = findings.checks().stream().filter(check -> check.ok()).count();
      console.say(
          String.format(
              "%d of %d checks held, in %.0f s",
              held, findings.checks().size(), (System.nanoTime() - began) / 1e9));
      return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
    }
  }

  private static void run(Lab lab) throws IOException {
    WindowSweep sweep = new WindowSweep(lab);
    LargeBodies large = new LargeBodies(lab);
    MemoryProbe memory = new MemoryProbe(lab);
    new WireChecks(lab).run();
    sweep.run();
    large.run();
    memory.run();
    new LossCheck(lab).run();
    new FsyncProbe(lab).run();
    lab.show("Throughput and latency of confirms, 100-byte persistent messages", sweep.table());
    lab.show("Large bodies, classic queue, window 100", large.table());
    lab.show("Heap per message in flight, without the payload", memory.table());
    lab.showChecks();
  }
}
