package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.model.Ordering;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A fast consumer turns slow in the middle of a backlog, while a fast one joins. */
final class TurningSlow implements ConsumeLoad.Part {
  private static final Duration LIMIT = Duration.ofMinutes(3);
  private static final int COUNT = 15_000;
  private static final int TURN = 5_000;
  private static final int SLOW_MILLIS = 20;

  private final int largest;

  TurningSlow(int batch) {
    largest = batch;
  }

  @Override
  public void run(PulsarRig rig, Scale scale) throws Exception {
    for (int workers : new int[] {1, 16}) {
      for (int batch : new int[] {1, largest}) {
        String name =
            "3: turning slow, "
                + workers
                + (workers == 1 ? " worker, " : " workers, ")
                + (batch == 1 ? "single" : "batches of " + batch);
        if (!scale.wants(name)) {
          continue;
        }
        Figures figures = new Figures(name);
        for (int i = 0; i < scale.pairs(); i++) {
          for (Side side : scale.sides(i)) {
            double alone = alone(rig, side, workers, batch);
            double joined = joined(rig, side, workers, batch, figures);
            figures.add("s sibling alone", side, alone);
            figures.add("s from the turn", side, joined);
            figures.add("s beyond alone", side, joined - alone);
          }
        }
        figures.print();
      }
    }
  }

  /** Returns how long the sibling needs for what is left at the turn. */
  private static double alone(PulsarRig rig, Side side, int workers, int batch) throws Exception {
    String topic = rig.backlog(1, COUNT - TURN, 100, batch);
    Progress all = new Progress(COUNT - TURN);
    var plan = new Contestant.Plan(topic, Ordering.NONE, workers, () -> all.mark());
    try (Contestant sibling = rig.open(side, false, plan)) {
      long start = System.nanoTime();
      sibling.start();
      all.await(LIMIT);
      return (all.lastNanos() - start) / 1e9;
    }
  }

  private static double joined(PulsarRig rig, Side side, int workers, int batch, Figures figures)
      throws Exception {
    String topic = rig.backlog(1, COUNT, 100, batch);
    Progress all = new Progress(COUNT);
    Progress bySlow = new Progress(COUNT);
    CountDownLatch turned = new CountDownLatch(1);
    var turning =
        new Contestant.Plan(
            topic,
            Ordering.NONE,
            workers,
            () -> {
              if (all.handled() >= TURN) {
                turned.countDown();
                Thread.sleep(SLOW_MILLIS);
                bySlow.mark();
              }
              all.mark();
            });
    var joining = new Contestant.Plan(topic, Ordering.NONE, workers, () -> all.mark());
    try (Contestant first = rig.open(side, false, turning);
        Contestant second = rig.open(side, false, joining)) {
      first.start();
      if (!turned.await(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        throw new IllegalStateException("it never turned, at " + all.handled());
      }
      long turn = System.nanoTime();
      int waiting = first.waiting();
      second.start();
      all.await(LIMIT);
      figures.add("held at the turn", side, waiting);
      figures.add("done by slow", side, bySlow.handled());
      return (all.lastNanos() - turn) / 1e9;
    }
  }
}
