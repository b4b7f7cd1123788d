package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.model.Ordering;
import java.time.Duration;

/** A handler that does nothing: how fast messages come through. */
final class Throughput implements ConsumeLoad.Part {
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final int WORKERS = 16; // the default; the plain side has one loop

  private final String cases;

  Throughput(String cases) {
    this.cases = cases;
  }

  /** What one run measured. */
  private record Run(double rate, double withStart, double cpuMicros, double allocated) {}

  @Override
  public void run(PulsarRig rig, ConsumeLoad.Scale scale) throws Exception {
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
          if (name.contains(cases)) {
            race(rig, scale, name, roundTrip, partitions, batched);
          }
        }
      }
    }
  }

  private static void race(
      PulsarRig rig,
      ConsumeLoad.Scale scale,
      String name,
      int roundTrip,
      int partitions,
      boolean batched)
      throws Exception {
    int count = (int) (scale.share() * (batched ? 600_000 : 60_000));
    Figures figures = new Figures(name);
    rig.roundTrip(Duration.ofMillis(roundTrip));
    for (int i = -scale.warmup(); i < scale.pairs(); i++) {
      // Each second round goes the other way round: whatever drifts meets both alike.
      boolean turned = (i & 1) != 0;
      Run a =
          run(rig, turned ? Side.FLOATVALVE : Side.PLAIN, roundTrip, partitions, batched, count);
      Run b =
          run(rig, turned ? Side.PLAIN : Side.FLOATVALVE, roundTrip, partitions, batched, count);
      Run control = run(rig, Side.PLAIN, roundTrip, partitions, batched, count);
      if (i >= 0) {
        add(figures, Side.PLAIN, turned ? b : a);
        add(figures, Side.FLOATVALVE, turned ? a : b);
        figures.addControl("msg/s", control.rate);
        figures.addControl("CPU us/msg", control.cpuMicros);
      }
    }
    figures.print();
  }

  private static void add(Figures figures, Side side, Run run) {
    figures.add("msg/s", side, run.rate);
    figures.add("msg/s from the first", side, run.withStart);
    figures.add("CPU us/msg", side, run.cpuMicros);
    figures.add("B/msg", side, run.allocated);
  }

  private static Run run(
      PulsarRig rig, Side side, int roundTrip, int partitions, boolean batched, int count)
      throws Exception {
    String topic = rig.backlog(partitions, count, batched ? 100 : 1_000, batched ? 1_000 : 1);
    Progress progress = new Progress(count);
    var plan =
        new Contestant.Plan(
            topic, Ordering.NONE, side == Side.PLAIN ? 1 : WORKERS, () -> progress.mark());
    try (Contestant contestant = rig.open(side, roundTrip > 0, plan)) {
      Meter meter = new Meter();
      contestant.start();
      progress.await(LIMIT);
      return new Run(
          progress.steadyRate(), progress.rate(), meter.cpuMicros(count), meter.allocated(count));
    }
  }
}
