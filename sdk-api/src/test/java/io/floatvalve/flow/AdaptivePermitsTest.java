package io.floatvalve.flow;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.flow.PermitLaw.Seen;
import java.util.ArrayDeque;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class AdaptivePermitsTest {
  private static final long TICK = 50_000_000L;

  private static AdaptivePermits law(int workers) {
    return begun(PermitPolicy.adaptive(), workers);
  }

  /** One whose handlers found nothing at the beginning of time. */
  private static AdaptivePermits begun(PermitPolicy policy, int workers) {
    AdaptivePermits law = new AdaptivePermits(policy, workers);
    law.ranEmpty(0, 0, 0, 0, 0);
    return law;
  }

  /** Handlers were hardly at work, and everything is settled. */
  private static int ranEmpty(AdaptivePermits law, long nanos, long taken, double handlerNanos) {
    return law.ranEmpty(nanos, taken, 0, 0, handlerNanos);
  }

  private static Seen seen(long nanos, long taken, int least, boolean empty, long bytes) {
    return new Seen(nanos, taken, 0, least, empty, bytes);
  }

  @Test
  void start_isFour_withinTheBounds() {
    assertThat(law(1).permits()).isEqualTo(4);
    assertThat(PermitPolicy.adaptive().withBounds(10, 20).law(1).permits()).isEqualTo(10);
    assertThat(PermitPolicy.adaptive().withBounds(1, 3).law(1).permits()).isEqualTo(3);
  }

  @Test
  void runningEmpty_beforeAllPermitsWereUsed_growsNothing() {
    AdaptivePermits law = law(1);

    assertThat(ranEmpty(law, 0, 3, 1_000)).isEqualTo(4);
  }

  @Test
  void runningEmpty_growsToWhatHandlersDoAhead_atMostSixteenfold() {
    assertThat(ranEmpty(law(1), TICK, 4, 50_000)).isEqualTo(64);
    assertThat(ranEmpty(law(1), TICK, 4, 1_000)).isEqualTo(64);
    assertThat(ranEmpty(law(10), TICK, 4, 2_000_000)).isEqualTo(20); // which is free
    assertThat(ranEmpty(law(1), TICK, 15, 5_000_000)).isEqualTo(4); // tells no rate yet
    assertThat(ranEmpty(law(1), TICK, 16, 5_000_000)).isEqualTo(8); // on trial
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, Double.NaN})
  void handlerTimeThatIsNotKnown_doubles(double handlerNanos) {
    AdaptivePermits law = law(1);

    assertThat(ranEmpty(law, 0, 4, handlerNanos)).isEqualTo(8);
    assertThat(ranEmpty(law, 1, 12, handlerNanos)).isEqualTo(16);
  }

  @Test
  void trickle_growsNothing() {
    AdaptivePermits law = law(1);

    for (int i = 0; i < 1_000; i++) {
      ranEmpty(law, i * 1_000_000_000L, i, 1_000);
    }

    assertThat(law.permits()).isLessThanOrEqualTo(8);
  }

  @Test
  void smallBursts_farApart_growNothing() {
    AdaptivePermits law = law(1);
    ranEmpty(law, 0, 0, 1_000);

    for (int i = 1; i < 100; i++) {
      ranEmpty(law, i * 2_000_000_000L, i * 4L, 1_000);
    }

    assertThat(law.permits()).isEqualTo(4);
  }

  @Test
  void slowHandlers_areNeverGivenMoreThanHalfASecondOfWork() {
    AdaptivePermits law = law(1);
    long taken = 0;

    for (int i = 1; i < 100; i++) {
      taken += law.permits();
      ranEmpty(law, i * 2 * TICK, taken, 50_000_000);
    }

    assertThat(law.permits()).isEqualTo(10);
  }

  @Test
  void queueThatStands_shrinksByTheSurplus() {
    AdaptivePermits law = grown();
    law.tick(seen(0, 10_000, -1, false, 0));

    law.tick(seen(TICK, 10_010, 900, false, 0)); // 200/s: 10 in 50 ms

    assertThat(law.permits()).isEqualTo(1_000 - 890);
  }

  @Test
  void queueThatRanEmptyOnce_doesNotShrink() {
    AdaptivePermits law = grown();
    law.tick(seen(0, 10_000, -1, false, 0));

    law.tick(seen(TICK, 10_010, 900, true, 0));

    assertThat(law.permits()).isEqualTo(1_000);
  }

  @Test
  void noProgress_isNoEvidence() {
    AdaptivePermits law = grown();
    law.tick(seen(0, 10_000, -1, false, 0));

    for (int i = 1; i < 100; i++) {
      law.tick(seen(i * TICK, 10_000, 990, false, 0));
    }

    assertThat(law.permits()).isEqualTo(1_000);
  }

  @Test
  void clockThatStands_changesNothing() {
    AdaptivePermits law = grown();
    law.tick(seen(5, 10_000, -1, false, 0));

    law.tick(seen(5, 20_000, 990, false, 0));
    law.tick(seen(4, 30_000, 990, false, 0));

    assertThat(law.permits()).isEqualTo(1_000);
  }

  @Test
  void batchThatOvershoots_fallsToTheLeast_andNotBelow() {
    AdaptivePermits law = law(1);
    law.tick(seen(0, 0, -1, false, 0));

    law.tick(seen(TICK, 1, 99, false, 0));

    assertThat(law.permits()).isEqualTo(2);
  }

  @Test
  void bytes_capByTheLargestOfLate_andOverTheBudgetOnlyTheLeastIsLeft() {
    AdaptivePermits law = begun(PermitPolicy.adaptive().withMaxBytes(1_000_000), 1);
    law.taken(100_000);

    ranEmpty(law, TICK, 4, 1_000);
    assertThat(law.permits()).isEqualTo(10);

    law.tick(seen(0, 10, -1, true, 1_000_001));
    assertThat(law.permits()).isEqualTo(2);
  }

  @Test
  void messageLargerThanTheBudget_leavesTheLeast() {
    AdaptivePermits law = new AdaptivePermits(PermitPolicy.adaptive().withMaxBytes(10), 1);
    law.taken(1_000);

    law.tick(seen(0, 0, -1, false, 0));
    law.tick(seen(TICK, 1, -1, true, 0));

    assertThat(law.permits()).isEqualTo(2);
  }

  @Test
  void emptyPayloads_areNoDivisionByZero() {
    AdaptivePermits law = law(1);
    law.taken(0);

    ranEmpty(law, TICK, 4, 1_000);

    assertThat(law.permits()).isEqualTo(64);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void whateverIsSeen_staysWithinTheBounds(long seed) {
    Random random = new Random(seed);
    PermitPolicy policy = PermitPolicy.adaptive().withBounds(3, 500).withMaxBytes(100_000);
    AdaptivePermits law = new AdaptivePermits(policy, 1 + random.nextInt(50));
    long nanos = 0;
    long taken = 0;

    for (int i = 0; i < 20_000; i++) {
      nanos += random.nextInt(100_000_000) - 1_000_000;
      taken += random.nextInt(1_000);
      switch (random.nextInt(5)) {
        case 0 -> law.taken(random.nextInt(200_000));
        case 1 ->
            ranEmpty(
                law, nanos, taken, random.nextInt(10) == 0 ? Double.NaN : random.nextGaussian());
        case 2 ->
            law.tick(
                seen(
                    nanos,
                    taken,
                    random.nextInt(2_000) - 1,
                    random.nextBoolean(),
                    random.nextInt(200_000)));
        case 3 -> law.turnedSlow();
        default -> law.stuck();
      }
      assertThat(law.permits()).isBetween(3, 500);
    }
  }

  @Test
  void beforeTheFirstEnd_notMoreThanThereAreHandlersWithoutAMessage() {
    AdaptivePermits law = law(16);

    assertThat(law.ranEmpty(0, 4, 4, 0, 0)).isEqualTo(8);
    assertThat(law.ranEmpty(1, 12, 12, 0, 0)).isEqualTo(8);
  }

  @Test
  void handlersThatHardlyWait_areNotGivenMore() {
    AdaptivePermits law = law(16); // at 50 ms, 4 permits are a fortieth of half a second of work
    law.ranEmpty(0, 0, 0, 0, 50_000_000);

    assertThat(law.ranEmpty(100_000_000, 32, 8, 16 * 98_000_000L, 50_000_000)).isEqualTo(4);
    assertThat(law.ranEmpty(200_000_000, 64, 8, 16 * (98 + 90) * 1_000_000L, 50_000_000))
        .isEqualTo(8);
  }

  @Test
  void lessThanTwiceTheHandlersTime_isNoEvidence() {
    AdaptivePermits law = law(16); // those that began at once end at once, and wait at once

    assertThat(law.ranEmpty(99_000_000, 32, 8, 0, 50_000_000)).isEqualTo(4);
    assertThat(law.ranEmpty(100_000_000, 32, 8, 0, 50_000_000)).isEqualTo(8);
  }

  @Test
  void stuckHandlers_getBackWhatTheyHad_withTheFirstMessage() {
    AdaptivePermits law = grown();
    long taken = 100_000;
    law.tick(seen(0, taken, -1, false, 0));
    assertThat(law.stuck()).isEqualTo(2);
    assertThat(ranEmpty(law, 1, taken, 100)).isEqualTo(2);

    assertThat(ranEmpty(law, 2, taken + 1, 100)).isEqualTo(1_000);
  }

  @Test
  void stuckHandlers_toldOfAgain_getBackWhatTheyHad() {
    AdaptivePermits law = grown();
    long taken = 100_000;
    law.tick(seen(0, taken, -1, false, 0));
    law.stuck();
    law.tick(seen(TICK, taken, -1, false, 0));

    assertThat(law.stuck()).isEqualTo(2);
    assertThat(ranEmpty(law, 2 * TICK, taken + 1, 100)).isEqualTo(1_000);
  }

  @Test
  void handlersThatAreStuckAgain_startFromTheLeast() {
    AdaptivePermits law = grown();
    long taken = 100_000;
    law.tick(seen(0, taken, -1, false, 0));
    law.stuck();
    ranEmpty(law, TICK, taken + 1, 100);
    law.stuck();

    assertThat(ranEmpty(law, 2 * TICK, taken + 3, 100)).isEqualTo(32);
  }

  @Test
  void handlersThatTurnedSlow_getNothingBack() {
    AdaptivePermits law = grown();
    law.turnedSlow();

    assertThat(ranEmpty(law, 6 * TICK, 100_000, 1_000_000_000)).isEqualTo(4);
  }

  private static AdaptivePermits grown() {
    AdaptivePermits law = law(16);
    long taken = 0;
    for (int i = 0; i < 10; i++) {
      taken += law.permits();
      ranEmpty(law, (i + 1) * 1_000L, taken, 100);
    }
    assertThat(law.permits()).isEqualTo(1_000);
    return law;
  }

  // In virtual time: a broker at a distance, one consumer, handlers of a given speed.

  @ParameterizedTest
  @CsvSource({
    // workers, handler µs, round trip ms, share of the speed without any limit
    "1, 10, 0, 0.95",
    "1, 20, 1, 0.95",
    "1, 50, 20, 0.90",
    "16, 1000, 1, 0.95",
    "16, 1000, 20, 0.90",
    "1, 50000, 1, 0.95",
    "1, 50000, 20, 0.95",
  })
  void simulation_handlersDoNotWaitForTheNetwork(
      int workers, long handlerMicros, long roundTripMillis, double share) {
    Simulation simulation = new Simulation(workers, roundTripMillis * 1_000_000);
    simulation.handlerNanos = handlerMicros * 1_000;
    simulation.run(1_000_000_000L); // to find its size

    long before = simulation.done;
    simulation.run(10_000_000_000L);

    double best = workers * 10e9 / simulation.handlerNanos;
    assertThat((simulation.done - before) / best).isGreaterThan(share);
  }

  @Test
  void simulation_slowHandlerHoldsFew() {
    Simulation simulation = new Simulation(1, 1_000_000);
    simulation.handlerNanos = 50_000_000;

    simulation.run(20_000_000_000L);

    assertThat(simulation.mostQueued).isLessThanOrEqualTo(8);
  }

  @ParameterizedTest
  @CsvSource({"1", "20"})
  void simulation_manySlowHandlersHoldFew_andLoseLittle(long roundTripMillis) {
    Simulation simulation = new Simulation(16, roundTripMillis * 1_000_000);
    simulation.handlerNanos = 50_000_000;

    simulation.run(20_000_000_000L);

    assertThat(simulation.mostQueued).isLessThanOrEqualTo(8);
    assertThat(simulation.done / (16 * 20 / 0.05)).isGreaterThan(0.9);
  }

  @Test
  void simulation_fastThatTurnsSlow_lets_go_andGrowsBackWithinASecond() {
    Simulation simulation = new Simulation(1, 1_000_000);
    simulation.handlerNanos = 10_000;
    simulation.run(1_000_000_000L);
    assertThat(simulation.law.permits()).isGreaterThan(64);

    simulation.handlerNanos = 20_000_000;
    simulation.run(3_000_000_000L);
    assertThat(simulation.law.permits()).isLessThanOrEqualTo(16);

    simulation.handlerNanos = 10_000;
    simulation.run(1_000_000_000L);
    long before = simulation.done;
    simulation.run(1_000_000_000L);
    assertThat(simulation.done - before).isGreaterThan(95_000);
  }

  @Test
  void simulation_stuckForFiveSeconds_fullSpeedWithinATenthAfter() {
    Simulation simulation = new Simulation(1, 1_000_000);
    simulation.handlerNanos = 10_000;
    simulation.run(1_000_000_000L);
    simulation.stall(5_000_000_000L);

    simulation.run(5_100_000_000L);
    long before = simulation.done;
    simulation.run(1_000_000_000L);

    assertThat(simulation.done - before).isGreaterThan(95_000);
  }

  @Test
  void simulation_brokerThatCanDoNoMore_isNotAskedForMore() {
    Simulation simulation = new Simulation(16, 1_000_000);
    simulation.handlerNanos = 1_000_000;
    simulation.brokerNanos = 80_000; // 12,500/s, where handlers could do 16,000/s

    simulation.run(20_000_000_000L);

    assertThat(simulation.mostPermits).isEqualTo(128); // tried once
    assertThat(simulation.law.permits()).isEqualTo(64); // 4 ms of work
    assertThat(simulation.done).isGreaterThan(20 * 11_500);
  }

  @Test
  void simulation_linkThatChangesTwiceASecond_isNoProof() {
    Simulation simulation = new Simulation(16, 1_000_000);
    simulation.handlerNanos = 1_000_000;
    simulation.brokerNanos = 80_000;
    simulation.hearsEvery(500_000_000);

    simulation.run(20_000_000_000L);

    assertThat(simulation.mostPermits).isLessThanOrEqualTo(128);
    assertThat(simulation.law.permits()).isEqualTo(64);
  }

  @Test
  void simulation_growthThatDidNotPay_isTakenBack() {
    Simulation simulation = new Simulation(16, 1_000_000);
    simulation.handlerNanos = 50_000_000;
    simulation.brokerNanos = 5_000_000; // 200/s, where handlers could do 320/s

    simulation.run(10_000_000_000L);

    assertThat(simulation.mostPermits).isEqualTo(8);
    assertThat(simulation.law.permits()).isEqualTo(4);
  }

  @Test
  void simulation_growthThatDidNotPay_isTriedAgainWhenThingsHaveChanged() {
    Simulation simulation = new Simulation(16, 1_000_000);
    simulation.handlerNanos = 1_000_000;
    simulation.brokerNanos = 80_000;
    simulation.run(5_000_000_000L);
    assertThat(simulation.law.permits()).isEqualTo(64);

    simulation.brokerNanos = 0;
    simulation.halfTrip = 20_000_000; // farther away: the rate falls
    simulation.run(5_000_000_000L);
    long before = simulation.done;
    simulation.run(5_000_000_000L);

    assertThat(simulation.done - before).isGreaterThan(5 * 14_000);
  }

  @Test
  void simulation_linkThatChangesTwiceASecond_getsThereToo() {
    Simulation simulation = new Simulation(16, 20_000_000);
    simulation.handlerNanos = 1_000_000;
    simulation.hearsEvery(500_000_000);
    simulation.run(5_000_000_000L);

    long before = simulation.done;
    simulation.run(5_000_000_000L);

    assertThat(simulation.done - before).isGreaterThan(5 * 14_000);
  }

  /** A broker with an endless backlog that is half a round trip away; events in time order. */
  private static final class Simulation {
    private final AdaptivePermits law;
    private long halfTrip;
    private long brokerNanos; // a message
    private long brokerFree;
    private long linkEveryNanos; // how often the link can be told of another number; 0 for always
    private long nextLink;
    private int linkPermits;
    private int mostPermits;
    private final PriorityQueue<long[]> arrivals =
        new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
    private final ArrayDeque<Long> queue = new ArrayDeque<>();
    private final PriorityQueue<Long> freeAt = new PriorityQueue<>();
    private long now;
    private long nextTick = TICK;
    private long handlerNanos;
    private double mean;
    private long taken;
    private long done;
    private long begun; // nanoseconds of work
    private int granted; // on the way, or queued
    private int least = Integer.MAX_VALUE;
    private boolean empty;
    private int mostQueued;

    private Simulation(int workers, long roundTrip) {
      law = law(workers);
      halfTrip = roundTrip / 2;
      for (int i = 0; i < workers; i++) {
        freeAt.add(0L);
      }
      grant();
    }

    /** Flow is sent when half of the window was taken, as the client does. */
    private void grant() {
      if (now >= nextLink && linkPermits != law.permits()) {
        linkPermits = law.permits();
        nextLink = now + linkEveryNanos;
      }
      mostPermits = Math.max(mostPermits, linkPermits);
      int missing = linkPermits - granted;
      if (missing <= 0 || (missing * 2 < linkPermits && !queue.isEmpty())) {
        return;
      }
      granted += missing;
      if (brokerNanos == 0) {
        arrivals.add(new long[] {now + 2 * halfTrip + 20_000, missing});
      }
      for (int i = 0; brokerNanos > 0 && i < missing; i++) {
        brokerFree = Math.max(brokerFree, now + halfTrip) + brokerNanos;
        arrivals.add(new long[] {brokerFree + halfTrip, 1});
      }
    }

    private int unsettled() {
      return (int) freeAt.stream().filter(each -> each > now).count();
    }

    private long busyNanos() {
      return begun - freeAt.stream().mapToLong(each -> Math.max(0, each - now)).sum();
    }

    private void hearsEvery(long nanos) {
      linkEveryNanos = nanos;
      law.heardAfter(nanos);
    }

    private void stall(long nanos) {
      begun += nanos;
      long first = freeAt.remove();
      freeAt.add(Math.max(first, now) + nanos);
    }

    private void run(long nanos) {
      long end = now + nanos;
      boolean looked = false;
      while (now < end) {
        while (!arrivals.isEmpty() && arrivals.element()[0] <= now) {
          for (long n = arrivals.remove()[1]; n > 0; n--) {
            queue.add(now);
          }
          mostQueued = Math.max(mostQueued, queue.size());
          looked = false;
        }
        while (!freeAt.isEmpty() && freeAt.element() <= now) {
          if (queue.isEmpty()) {
            if (!looked) {
              looked = true;
              empty = true;
              law.ranEmpty(now, taken, unsettled(), busyNanos(), mean);
              grant();
            }
            break;
          }
          looked = false;
          least = Math.min(least, queue.size());
          queue.remove();
          granted--;
          taken++;
          done++;
          law.taken(100);
          freeAt.remove();
          freeAt.add(now + handlerNanos);
          begun += handlerNanos;
          mean =
              mean == 0
                  ? handlerNanos
                  : mean + (handlerNanos - mean) * (handlerNanos > mean ? 0.25 : 0.125);
          grant();
        }
        if (now >= nextTick) {
          nextTick += TICK;
          law.tick(
              new Seen(
                  now,
                  taken,
                  busyNanos(),
                  least == Integer.MAX_VALUE ? -1 : least,
                  empty,
                  queue.size() * 100L));
          least = Integer.MAX_VALUE;
          empty = false;
          grant();
        }
        long next = nextTick;
        if (!arrivals.isEmpty()) {
          next = Math.min(next, arrivals.element()[0]);
        }
        long free = freeAt.element();
        if (free > now) {
          next = Math.min(next, free);
        }
        now = Math.max(now + 1, next);
      }
    }
  }
}
