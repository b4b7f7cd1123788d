package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.model.Ordering;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Many consumers in one process: threads, and heap for each that is idle. */
final class ManyConsumers implements ConsumeLoad.Part {
  private static final Duration LIMIT = Duration.ofMinutes(1);
  private static final int FEW = 10;
  private static final int TOPICS = 20;
  private static final int MESSAGES = 500; // a topic: each of its consumers gets some

  private final int many;

  ManyConsumers(int many) {
    this.many = many;
  }

  @Override
  public void run(PulsarRig rig, Scale scale) throws Exception {
    Figures figures = new Figures("6: " + many + " consumers");
    for (Side side : Side.values()) {
      crowd(rig, side, figures);
    }
    figures.print();
  }

  private void crowd(PulsarRig rig, Side side, Figures figures) throws Exception {
    List<Contestant> open = new ArrayList<>();
    AtomicInteger handled = new AtomicInteger();
    List<String> topics = new ArrayList<>();
    for (int i = 0; i < TOPICS; i++) {
      topics.add(rig.topic(1));
    }
    try {
      for (int i = 0; i < FEW; i++) {
        open.add(open(rig, side, topics.get(open.size() % TOPICS), handled));
      }
      long heap = usedHeap();
      int threads = threads();
      long start = System.nanoTime();
      while (open.size() < many + FEW) {
        open.add(open(rig, side, topics.get(open.size() % TOPICS), handled));
      }
      figures.add("ms to open one", side, (System.nanoTime() - start) / 1e6 / many);
      figures.add("KB heap each, unused", side, (usedHeap() - heap) / 1e3 / many);
      figures.add("threads of " + FEW, side, threads);
      figures.add("threads of " + (many + FEW), side, threads());
      for (String each : topics) {
        rig.feed(each, MESSAGES, 100, 1);
      }
      long deadline = System.nanoTime() + LIMIT.toNanos();
      boolean works = side == Side.FLOATVALVE; // the plain side would need a thread each
      while (works && handled.get() < TOPICS * MESSAGES && System.nanoTime() - deadline < 0) {
        Thread.sleep(10);
      }
      if (works && handled.get() < TOPICS * MESSAGES) {
        throw new IllegalStateException("only " + handled + " were handled");
      }
      figures.add("threads after messages", side, threads());
      Thread.sleep(TimeUnit.SECONDS.toMillis(1));
      figures.add("KB heap each, used", side, (usedHeap() - heap) / 1e3 / many);
    } finally {
      open.forEach(Contestant::close);
    }
  }

  private static Contestant open(PulsarRig rig, Side side, String topic, AtomicInteger handled)
      throws Exception {
    var plan = new Contestant.Plan(topic, Ordering.NONE, 1, handled::incrementAndGet);
    Contestant contestant = rig.open(side, false, plan);
    if (side == Side.FLOATVALVE) {
      contestant.start();
    }
    return contestant;
  }

  private static int threads() {
    return ManagementFactory.getThreadMXBean().getThreadCount();
  }

  private static long usedHeap() throws InterruptedException {
    for (int i = 0; i < 3; i++) {
      System.gc();
      Thread.sleep(100);
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
