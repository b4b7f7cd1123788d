package io.floatvalve.benchmarks;

import io.floatvalve.benchmarks.Contestant.Plan;
import io.floatvalve.benchmarks.Contestant.Side;
import io.floatvalve.benchmarks.PlainRabbit.Way;
import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Ordering;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Consumes the same backlogs from RabbitMQ by hand-written consumers over amqp-client and by
 * Floatvalve, in turn, in one process, and prints what each cost.
 *
 * <p>Every run has a queue of its own; its backlog is there before. Parts 1 to 3 are races and have
 * a control, the plain client against itself: its spread is the noise of the machine. In the others
 * Floatvalve is held to figures that stand by themselves.
 */
@CommandLine.Command(
    name = "rabbit-consume-load",
    mixinStandardHelpOptions = true,
    description = {
      "1  a handler of 1 ms, 16 workers: against fixed prefetches, with what is held",
      "2  no-op handler: against a prefetch of 1000 that acknowledges 250 at once",
      "3  no-op handler: the broker's CPU, against acknowledging each",
      "4  2,000 waiting, one slow consumer and one fast",
      "5  1 MB messages in 256 MB of heap"
    })
public final class RabbitConsumeLoad implements Callable<Integer> {
  private static final Duration LIMIT = Duration.ofMinutes(1);
  private static final int WORKERS = 16; // the default
  private static final int SIZE = 100;

  private static final int[] PREFETCHES = {16, 32, 100, 250, 1000};
  private static final int CONTROL = 250;
  private static final int SLOW_COUNT = 40_000;
  private static final double SLOW_LEAST = 0.88;
  private static final int MOST_HELD_BY_WORKER = 6;

  private static final Way BATCHED = new Way(1000, 250, false);
  private static final int NO_OP_COUNT = 100_000;
  private static final double NO_OP_LEAST = 0.95;

  private static final Way EACH = new Way(1000, 1, false);
  private static final int EACH_COUNT = 60_000;
  private static final double BROKER_MOST = 0.75;

  private static final double SIBLING_MOST_SECONDS = 1.5;

  private static final int LARGE_COUNT = 300;
  private static final int LARGE_RUNS = 3;

  @Option(names = "--only", split = ",", defaultValue = "1,2,3,4,5", description = "parts")
  private List<Integer> only = List.of();

  @Option(names = "--queues", split = ",", defaultValue = "classic,quorum")
  private List<String> queues = List.of();

  @Mixin private Scale scale = new Scale();

  /** Runs it. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new RabbitConsumeLoad()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    for (int each : only) {
      if (each < 1 || each > 5) {
        throw new IllegalArgumentException("parts are 1 to 5, not " + each);
      }
    }
    try (RabbitRig rig = new RabbitRig()) {
      System.out.println("RabbitMQ " + rig.node.version() + ", a node of its own");
      Figures.heading();
      for (int each : only) {
        Instant start = Instant.now();
        for (String type : queues) {
          switch (each) {
            case 1 -> prefetches(rig, type);
            case 2 -> noOp(rig, type);
            case 3 -> brokerCpu(rig, type);
            case 4 -> sibling(rig, type);
            default -> large(rig, type);
          }
        }
        System.out.println("(" + Duration.between(start, Instant.now()).toSeconds() + " s)");
      }
    }
    return 0;
  }

  /** Opens one of the consumers that are compared. */
  private interface Opening {
    Contestant open(Plan plan) throws Exception;
  }

  /** Takes a backlog and returns what it cost. */
  private static Map<String, Double> run(
      RabbitRig rig, String type, int count, int millis, Opening opening) throws Exception {
    String queue = rig.backlog(type, count, SIZE);
    Progress progress = new Progress(count);
    var plan =
        new Plan(
            queue,
            Ordering.NONE,
            WORKERS,
            () -> {
              if (millis > 0) {
                Thread.sleep(millis);
              }
              progress.mark();
            });
    Map<String, Double> figures = new LinkedHashMap<>();
    long brokerBefore;
    try (Contestant contestant = opening.open(plan)) {
      Meter meter = new Meter();
      brokerBefore = rig.cpuNanos();
      contestant.start();
      progress.await(LIMIT);
      figures.put("CPU us/msg", meter.cpuMicros(count));
      figures.put("B/msg", meter.allocated(count));
      figures.put("msg/s", progress.steadyRate());
      figures.put("msg/s from the first", progress.rate());
    }
    // Closed, so that all is acknowledged.
    figures.put("broker CPU us/msg", (rig.cpuNanos() - brokerBefore) / 1e3 / count);
    rig.delete(queue);
    return figures;
  }

  // ------------------------------------------------------------------------------- 1: prefetches

  private void prefetches(RabbitRig rig, String type) throws Exception {
    Figures figures = new Figures("1: 1 ms, 16 workers, " + type);
    if (!scale.wants(figures.of())) {
      return;
    }
    int count = scale.of(SLOW_COUNT);
    List<Integer> order = new ArrayList<>();
    for (int prefetch : PREFETCHES) {
      order.add(prefetch);
    }
    order.add(0); // ours
    order.add(-CONTROL);
    for (int i = -scale.warmup(); i < scale.pairs(); i++) {
      // Each second round goes the other way round: whatever drifts meets all alike.
      Collections.reverse(order);
      for (int prefetch : order) {
        List<Contestant> open = new ArrayList<>();
        int fixed = Math.abs(prefetch);
        Opening opening =
            plan -> {
              open.add(
                  prefetch == 0
                      ? rig.ours(plan)
                      : rig.plain(plan, new Way(fixed, Math.max(1, fixed / 4), true)));
              return open.get(0);
            };
        Map<String, Double> run;
        long most;
        try (Watcher held = new Watcher(() -> open.isEmpty() ? 0 : open.get(0).held())) {
          run = run(rig, type, count, 1, opening);
          most = held.most();
        }
        if (i >= 0) {
          note(figures, prefetch, run, most);
        }
      }
    }
    figures.print();
    int best = PREFETCHES[0];
    for (int prefetch : PREFETCHES) {
      if (figures.median(rate(prefetch), Side.PLAIN) > figures.median(rate(best), Side.PLAIN)) {
        best = prefetch;
      }
    }
    figures.wantAtLeast(
        "msg/s over the best, prefetch " + best, figures.medianRatio(rate(best)), SLOW_LEAST);
    figures.wantAtMost(
        "most held in any run",
        figures.most("most held", Side.FLOATVALVE),
        MOST_HELD_BY_WORKER * WORKERS);
  }

  private static String rate(int prefetch) {
    return "msg/s, prefetch " + prefetch;
  }

  private static void note(Figures figures, int prefetch, Map<String, Double> run, long most) {
    double rate = run.getOrDefault("msg/s", Double.NaN);
    double whole = run.getOrDefault("msg/s from the first", Double.NaN);
    if (prefetch > 0) {
      figures.add(rate(prefetch), Side.PLAIN, rate);
      figures.add("  from the first, " + prefetch, Side.PLAIN, whole);
    } else if (prefetch < 0) {
      figures.addControl(rate(CONTROL), rate);
    } else {
      for (int each : PREFETCHES) {
        figures.add(rate(each), Side.FLOATVALVE, rate);
        figures.add("  from the first, " + each, Side.FLOATVALVE, whole);
      }
      figures.add("most held", Side.FLOATVALVE, (double) most);
    }
  }

  // ------------------------------------------------------------------------------ 2, 3: the races

  private void noOp(RabbitRig rig, String type) throws Exception {
    Figures figures = new Figures("2: no-op, against 250 at once, " + type);
    race(rig, type, scale.of(NO_OP_COUNT), BATCHED, figures);
    figures.wantAtLeast("msg/s", figures.medianRatio("msg/s"), NO_OP_LEAST);
  }

  private void brokerCpu(RabbitRig rig, String type) throws Exception {
    Figures figures = new Figures("3: no-op, against each by itself, " + type);
    race(rig, type, scale.of(EACH_COUNT), EACH, figures);
    figures.wantAtMost("broker CPU", figures.medianRatio("broker CPU us/msg"), BROKER_MOST);
  }

  private void race(RabbitRig rig, String type, int count, Way way, Figures figures)
      throws Exception {
    if (!scale.wants(figures.of())) {
      return;
    }
    Race.run(
        scale,
        figures,
        side ->
            run(
                rig,
                type,
                count,
                0,
                plan -> side == Side.PLAIN ? rig.plain(plan, way) : rig.ours(plan)));
    figures.print();
  }

  // ---------------------------------------------------------------------------- 4: a slow sibling

  private void sibling(RabbitRig rig, String type) throws Exception {
    for (int workers : new int[] {1, WORKERS}) {
      Figures figures =
          new Figures(
              "4: slow sibling, " + workers + (workers == 1 ? " worker, " : " workers, ") + type);
      if (!scale.wants(figures.of())) {
        continue;
      }
      for (int i = 0; i < scale.pairs(); i++) {
        for (Side side : scale.sides(i)) {
          String queue = rig.backlog(type, SlowSibling.COUNT, SIZE);
          SlowSibling.run(
              queue,
              side,
              workers,
              figures,
              (whose, plan) ->
                  whose == Side.PLAIN ? rig.plain(plan, RabbitRig.USUAL) : rig.ours(plan));
          rig.delete(queue);
        }
      }
      figures.print();
      figures.wantAtMost(
          "s to all done", figures.median("s to all done", Side.FLOATVALVE), SIBLING_MOST_SECONDS);
    }
  }

  // --------------------------------------------------------------------------- 5: large messages

  private void large(RabbitRig rig, String type) throws Exception {
    for (int workers : new int[] {1, WORKERS}) {
      Figures figures =
          new Figures("5: 1 MB, " + workers + (workers == 1 ? " worker, " : " workers, ") + type);
      if (!scale.wants(figures.of())) {
        continue;
      }
      for (int i = 0; i < Math.min(LARGE_RUNS, scale.pairs()); i++) {
        for (Side side : scale.sides(i)) {
          String queue = rig.backlog(type, scale.of(LARGE_COUNT), LargeMessages.SIZE);
          LargeMessages.child(rig.node.uri(), side, queue, workers, figures);
          rig.delete(queue);
        }
      }
      figures.print();
      figures.wantAtMost(
          "most MB queued in any run",
          figures.most("most MB queued", Side.FLOATVALVE),
          PermitPolicy.adaptive().maxBytes() / 1e6);
      figures.wantAtMost("disconnected", figures.most("disconnected", Side.FLOATVALVE), 0);
    }
  }
}
