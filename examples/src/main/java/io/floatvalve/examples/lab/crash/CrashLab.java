package io.floatvalve.examples.lab.crash;

import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.examples.cli.Check;
import io.floatvalve.examples.cli.CommonOptions;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.examples.cli.PulsarOptions;
import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.examples.lab.soak.SoakLab;
import io.floatvalve.examples.lab.soak.SoakOptions;
import io.floatvalve.testkit.PulsarNode;
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
      "Killing RabbitMQ and its memory alarm need a private node: give no --uri for these. Pulsar"
          + " is always a private one."
    })
public final class CrashLab implements Callable<Integer> {
  @Option(names = "--broker", paramLabel = "B", description = "rabbit (default) or pulsar.")
  private String broker = "rabbit";

  @Option(names = "--quick", description = "Fewer messages and shorter faults: about a minute.")
  private boolean quick;

  @Mixin private SoakOptions soak = new SoakOptions();
  @Mixin private CommonOptions common = new CommonOptions();
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws IOException {
    Console console = Console.of(spec, common);
    Findings findings = new Findings("lab crash");
    if (soak.wanted()) {
      SoakLab lab = new SoakLab(soak, common, console, findings);
      return switch (broker) {
        case "rabbit" -> lab.onRabbit();
        case "pulsar" -> lab.onPulsar();
        default -> throw unknownBroker();
      };
    }
    return switch (broker) {
      case "rabbit" -> onRabbit(console, findings);
      case "pulsar" -> onPulsar(console, findings);
      default -> throw unknownBroker();
    };
  }

  private CannotRun unknownBroker() {
    return CannotRun.badInput("--broker", broker, "must be rabbit or pulsar");
  }

  private int onRabbit(Console console, Findings findings) throws IOException {
    try (RabbitAtHand rabbit = RabbitAtHand.open(common, console)) {
      if (!rabbit.plain()) {
        throw CannotRun.badInput(
            "--uri", rabbit.uri(), "the network's faults are made on the way: give amqp://");
      }
      rabbit.describeTo(findings);
      return run(new RabbitFaults(rabbit, findings, console, quick), console, findings);
    }
  }

  private int onPulsar(Console console, Findings findings) throws IOException {
    String given = common.pulsarUri();
    if (given != null) {
      throw CannotRun.badInput(
          common.givenUri() == null ? CommonOptions.PULSAR_VARIABLE : "--uri",
          given,
          "a client goes round a proxy that its broker does not know, so that the network's faults"
              + " need a private broker: name none");
    }
    try (PulsarAtHand pulsar = PulsarAtHand.open(common, new PulsarOptions(), console)) {
      pulsar.describeTo(findings);
      PulsarNode node = pulsar.node().orElseThrow();
      return run(new PulsarFaults(pulsar, node, findings, console, quick), console, findings);
    }
  }

  private int run(Faults<?> faults, Console console, Findings findings) throws IOException {
    long began = System.nanoTime();
    faults.run();
    double seconds = (System.nanoTime() - began) / 1e9;
    findings.figure("run_s", seconds);
    findings.writeTo(common.json());
    console.say("");
    console.say("What became of every message (its outcome, then what was stored)");
    console.say(faults.accounts());
    console.say("");
    console.say("Checks");
    console.say(faults.checks());
    long held = findings.checks().stream().filter(Check::ok).count();
    console.say(
        String.format("%d of %d checks held, in %.0f s", held, findings.checks().size(), seconds));
    return findings.allOk() ? CannotRun.OK : CannotRun.NOT_ALL_WELL;
  }
}
