package io.floatvalve.benchmarks;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.pulsar.client.api.PulsarClientException;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Consumes the same backlogs from Pulsar by the plain client and by Floatvalve, in turn, in one
 * process, and prints what each cost.
 *
 * <p>The plain client has a receive queue of 1000 and a loop. Every run has a topic of its own; its
 * backlog is there before. Part 1 is a race and has a control, the plain client against itself: its
 * spread is the noise of the machine. In the other parts Floatvalve is held to figures that stand
 * by themselves, and the plain client, which takes up to a minute there, may run less often.
 */
@CommandLine.Command(
    name = "consume-load",
    mixinStandardHelpOptions = true,
    description = {
      "1  no-op handler: throughput",
      "2  2,000 waiting, one slow consumer and one fast",
      "3  fast turning slow while a sibling joins",
      "4  1 MB messages in 256 MB of heap",
      "5  a handler that is stuck; a window growing back",
      "6  many consumers: threads and memory"
    })
public final class ConsumeLoad implements Callable<Integer> {
  /** One part: some cases, each with its figures. */
  interface Part {
    void run(PulsarRig rig, Scale scale) throws Exception;
  }

  @Option(names = "--only", split = ",", defaultValue = "1,2,3,4,5,6", description = "parts")
  private List<Integer> only = List.of();

  @Mixin private Scale scale = new Scale();

  @Option(names = "--batch", defaultValue = "10", description = "messages a batch, in parts 2, 3")
  private int batch;

  @Option(names = "--consumers", defaultValue = "1000", description = "how many, in part 6")
  private int consumers;

  /** Runs it. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new ConsumeLoad()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Figures.heading();
    for (int each : only) {
      Part part =
          switch (each) {
            case 1 -> new Throughput();
            case 2 -> new SlowSibling(batch);
            case 3 -> new TurningSlow(batch);
            case 4 -> new LargeMessages();
            case 5 -> new StuckHandler();
            case 6 -> new ManyConsumers(consumers);
            default -> throw new IllegalArgumentException("parts are 1 to 6, not " + each);
          };
      run(part);
    }
    return 0;
  }

  /** Runs a part on a broker of its own, whose data then go. */
  private void run(Part part) throws Exception {
    Instant start = Instant.now();
    try (PulsarRig rig = new PulsarRig()) {
      part.run(rig, scale);
    } catch (PulsarClientException e) {
      throw new IllegalStateException("the plain client failed", e);
    }
    System.out.println("(" + Duration.between(start, Instant.now()).toSeconds() + " s)");
  }
}
