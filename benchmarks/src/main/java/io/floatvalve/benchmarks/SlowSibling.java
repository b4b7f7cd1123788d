package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.model.Ordering;
import java.time.Duration;

/** Two consumers of one subscription, one of them slow: does it keep what the other could do? */
final class SlowSibling implements ConsumeLoad.Part {
  private static final Duration LIMIT = Duration.ofMinutes(3);
  static final int COUNT = 2_000;
  private static final int SLOW_MILLIS = 50;

  private final int largest;

  SlowSibling(int batch) {
    largest = batch;
  }

  @Override
  public void run(PulsarRig rig, Scale scale) throws Exception {
    for (int workers : new int[] {1, 16}) {
      for (int batch : new int[] {1, largest}) {
        String name =
            "2: slow sibling, "
                + workers
                + (workers == 1 ? " worker, " : " workers, ")
                + (batch == 1 ? "single" : "batches of " + batch);
        if (!scale.wants(name)) {
          continue;
        }
        Figures figures = new Figures(name);
        for (int i = 0; i < scale.pairs(); i++) {
          for (Side side : scale.sides(i)) {
            String topic = rig.backlog(1, COUNT, 100, batch);
            run(topic, side, workers, figures, (whose, plan) -> rig.open(whose, false, plan));
          }
        }
        figures.print();
      }
    }
  }

  /** Has two consumers take a backlog of {@link #COUNT}, one of them slow. */
  static void run(String topic, Side side, int workers, Figures figures, Contestant.Opener opener)
      throws Exception {
    Progress all = new Progress(COUNT);
    Progress bySlow = new Progress(COUNT);
    var slow =
        new Contestant.Plan(
            topic,
            Ordering.NONE,
            workers,
            () -> {
              Thread.sleep(SLOW_MILLIS);
              bySlow.mark();
              all.mark();
            });
    var fast = new Contestant.Plan(topic, Ordering.NONE, workers, () -> all.mark());
    try (Contestant first = opener.open(side, slow);
        Contestant second = opener.open(side, fast);
        Watcher held = new Watcher(first::waiting)) {
      long start = System.nanoTime();
      first.start();
      second.start();
      all.await(LIMIT);
      figures.add("s to all done", side, (all.lastNanos() - start) / 1e9);
      figures.add("most held by slow", side, (double) held.most());
      figures.add("done by slow", side, bySlow.handled());
    }
  }
}
