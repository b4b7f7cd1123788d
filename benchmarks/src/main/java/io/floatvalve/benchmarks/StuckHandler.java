package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.model.Ordering;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A handler that is stuck for seconds, or slow for a while: how soon full speed is back. */
final class StuckHandler implements ConsumeLoad.Part {
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final int WORKERS = 4;
  private static final int STUCK_SECONDS = 5;
  private static final int SLOW_SECONDS = 2;
  private static final int SLOW_MILLIS = 50;
  private static final int FAST_COUNT = 60_000;

  @Override
  public void run(PulsarRig rig, Scale scale) throws Exception {
    for (int roundTrip : new int[] {0, 20}) {
      for (Ordering ordering : Ordering.values()) {
        String after = ordering.name().toLowerCase(java.util.Locale.ROOT) + ", RTT " + roundTrip;
        rig.roundTrip(Duration.ofMillis(roundTrip));
        for (int millis : new int[] {0, 1}) {
          Figures stuck = new Figures("5: stuck, " + millis + " ms, " + after);
          if (scale.wants(stuck.of())) {
            for (int i = 0; i < scale.pairs(); i++) {
              for (Side side : scale.sides(i)) {
                stuck(rig, side, roundTrip > 0, ordering, millis, stuck);
              }
            }
            stuck.print();
          }
        }
        Figures slow = new Figures("5: slow for a while, " + after);
        if (scale.wants(slow.of())) {
          for (int i = 0; i < scale.pairs(); i++) {
            for (Side side : scale.sides(i)) {
              slow(rig, side, roundTrip > 0, ordering, slow);
            }
          }
          slow.print();
        }
      }
    }
  }

  private static void stuck(
      PulsarRig rig, Side side, boolean away, Ordering ordering, int millis, Figures figures)
      throws Exception {
    int count = millis == 0 ? FAST_COUNT : ordering == Ordering.NONE ? 6_000 : 2_000;
    String topic = rig.backlog(1, count, 100, 1);
    Progress progress = new Progress(count);
    CountDownLatch caught = new CountDownLatch(1);
    CountDownLatch freed = new CountDownLatch(1);
    var plan =
        new Contestant.Plan(
            topic,
            ordering,
            WORKERS,
            () -> {
              if (millis > 0) {
                Thread.sleep(millis);
              }
              if (progress.handled() >= count / 2) {
                caught.countDown();
                freed.await();
              }
              progress.markTime();
            });
    try (Contestant contestant = rig.open(side, away, plan)) {
      contestant.start();
      if (!caught.await(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        throw new IllegalStateException("never got half way: " + progress.handled());
      }
      long stuck = System.nanoTime();
      int permits = contestant.permits();
      Thread.sleep(TimeUnit.SECONDS.toMillis(STUCK_SECONDS));
      int during = contestant.permits();
      long free = System.nanoTime();
      freed.countDown();
      progress.await(LIMIT);
      int usual = progress.usual(stuck);
      figures.add("ms to full rate", side, progress.millisToFull(free, usual));
      figures.add("msg/s before", side, usual * 20.0);
      figures.add("permits before", side, permits);
      figures.add("permits stuck", side, during);
    }
  }

  private static void slow(
      PulsarRig rig, Side side, boolean away, Ordering ordering, Figures figures) throws Exception {
    String topic = rig.backlog(1, FAST_COUNT, 100, 1);
    Progress progress = new Progress(FAST_COUNT);
    AtomicLong slowFrom = new AtomicLong();
    var plan =
        new Contestant.Plan(
            topic,
            ordering,
            WORKERS,
            () -> {
              long from = slowFrom.get();
              if (from == 0 && progress.handled() >= FAST_COUNT / 2) {
                slowFrom.compareAndSet(0, System.nanoTime());
                from = slowFrom.get();
              }
              if (from != 0 && System.nanoTime() - from < SLOW_SECONDS * 1_000_000_000L) {
                Thread.sleep(SLOW_MILLIS);
              }
              progress.markTime();
            });
    try (Contestant contestant = rig.open(side, away, plan)) {
      contestant.start();
      Thread.sleep(1); // the first message brings the permits
      while (slowFrom.get() == 0) {
        Thread.sleep(1);
      }
      int before = contestant.permits();
      long fastAgain = slowFrom.get() + SLOW_SECONDS * 1_000_000_000L;
      while (System.nanoTime() - fastAgain < 0) {
        Thread.sleep(1);
      }
      int shrunk = contestant.permits();
      progress.await(LIMIT);
      int usual = progress.usual(slowFrom.get());
      figures.add("ms to full rate", side, progress.millisToFull(fastAgain, usual));
      figures.add("msg/s before", side, usual * 20.0);
      figures.add("permits before", side, before);
      figures.add("permits slow", side, shrunk);
      figures.add("permits at the end", side, contestant.permits());
    }
  }
}
