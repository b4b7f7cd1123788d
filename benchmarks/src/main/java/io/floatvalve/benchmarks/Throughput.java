package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Ordering;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A handler that does nothing: how fast messages come through. The plain client's queue of 1000 is
 * for each partition; Floatvalve's permits are for all together, so there may be as many.
 */
final class Throughput implements ConsumeLoad.Part {
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final int WORKERS = 16; // the default; the plain side has one loop

  @Override
  public void run(PulsarRig rig, Scale scale) throws Exception {
    for (int roundTrip : new int[] {0, 20}) {
      for (int partitions : new int[] {1, 4}) {
        for (boolean batched : new boolean[] {true, false}) {
          String name =
              "1: "
                  + (batched ? "100 B batched" : "1 KB single")
                  + ", "
                  + partitions
                  + " part., RTT "
                  + roundTrip
                  + " ms";
          if (scale.wants(name)) {
            race(rig, scale, name, roundTrip, partitions, batched);
          }
        }
      }
    }
  }

  private static void race(
      PulsarRig rig, Scale scale, String name, int roundTrip, int partitions, boolean batched)
      throws Exception {
    int count = scale.of(batched ? 600_000 : 60_000);
    Figures figures = new Figures(name);
    rig.roundTrip(Duration.ofMillis(roundTrip));
    Race.run(scale, figures, side -> run(rig, side, roundTrip, partitions, batched, count));
    figures.print();
  }

  private static Map<String, Double> run(
      PulsarRig rig, Side side, int roundTrip, int partitions, boolean batched, int count)
      throws Exception {
    String topic = rig.backlog(partitions, count, batched ? 100 : 1_000, batched ? 1_000 : 1);
    Progress progress = new Progress(count);
    var plan =
        new Contestant.Plan(
            topic, Ordering.NONE, side == Side.PLAIN ? 1 : WORKERS, () -> progress.mark());
    PermitPolicy permits = PermitPolicy.adaptive().withBounds(2, partitions * PlainPulsar.QUEUE);
    try (Contestant contestant = rig.open(side, roundTrip > 0, plan, permits)) {
      Meter meter = new Meter();
      contestant.start();
      progress.await(LIMIT);
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put("msg/s", progress.steadyRate());
      figures.put("msg/s from the first", progress.rate());
      figures.put("CPU us/msg", meter.cpuMicros(count));
      figures.put("B/msg", meter.allocated(count));
      return figures;
    }
  }
}
