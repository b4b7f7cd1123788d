package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.rate.ThrottleDetector.Sign;
import io.floatvalve.rate.ThrottleDetector.Verdict;
import io.floatvalve.rate.ThrottledTrace.Model;
import io.floatvalve.rate.ThrottledTrace.Pauses;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The law against brokers in virtual time; every count is the same in each run. */
class ThrottleDetectorTest {
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000 * MILLI;
  private static final int SEEDS = 20;
  private static final double NONE = Double.POSITIVE_INFINITY;

  /**
   * How many of 20 traces of 25 s are at least suspected, and how many are likely: between the
   * bounds of the last four columns. What cannot be told apart is here, too: a broker that stands
   * still for long once a second, under a load that never ends and without a known quota.
   */
  @ParameterizedTest
  @CsvSource({
    // what, model, pauses, offered/s, limit/s, quota, own pace, window, RTT ms, suspected, likely
    "windows,           WINDOWS,   NONE,      3000,     1000, Infinity, Infinity, 5000, 2, 20, 20,"
        + " 20, 20",
    "windows quota,     WINDOWS,   NONE,      3000,     1000, 1000,     Infinity, 5000, 2, 20, 20,"
        + " 20, 20",
    "windows closed,    WINDOWS,   NONE,      Infinity, 1000, Infinity, Infinity, 200,  2, 20, 20,"
        + " 20, 20",
    "windows barely,    WINDOWS,   NONE,      1300,     1000, Infinity, Infinity, 5000, 2, 20, 20,"
        + " 18, 20",
    "windows small,     WINDOWS,   NONE,      300,      50,   50,       Infinity, 5000, 2, 20, 20,"
        + " 18, 20",
    "windows GC,        WINDOWS,   COLLECTOR, 3000,     1000, Infinity, Infinity, 5000, 2, 18, 20,"
        + " 10, 20",
    "tokens,            TOKENS,    NONE,      3000,     1000, Infinity, Infinity, 5000, 2, 20, 20,"
        + " 0,  0",
    "tokens quota,      TOKENS,    NONE,      3000,     1000, 1000,     Infinity, 5000, 2, 20, 20,"
        + " 20, 20",
    "tokens closed,     TOKENS,    NONE,      Infinity, 1000, 1050,     Infinity, 14,   2, 20, 20,"
        + " 20, 20",
    "tokens paced,      TOKENS,    NONE,      3000,     1000, 1080,     1080,     5000, 2, 20, 20,"
        + " 20, 20",
    "tokens slow,       TOKENS,    NONE,      300,      10,   10,       Infinity, 5000, 2, 20, 20,"
        + " 20, 20",
    "healthy,           HEALTHY,   NONE,      1000,     0,    Infinity, Infinity, 5000, 2, 0,  0, "
        + " 0,  0",
    "healthy quota,     HEALTHY,   NONE,      1000,     0,    1000,     Infinity, 5000, 2, 0,  0, "
        + " 0,  0",
    "healthy far,       HEALTHY,   NONE,      1000,     0,    1000,     Infinity, 5000, 90, 0, 0, "
        + " 0,  0",
    "healthy paced,     HEALTHY,   NONE,      3000,     0,    1000,     900,      5000, 2, 0,  0, "
        + " 0,  0",
    "healthy paced far, HEALTHY,   NONE,      3000,     0,    1000,     900,      5000, 90, 0, 0, "
        + " 0,  0",
    "healthy bursts,    HEALTHY,   NONE,      15000,    0,    15000,    Infinity, 5000, 2, 0,  0, "
        + " 0,  0",
    "GC,                HEALTHY,   COLLECTOR, 1000,     0,    1000,     Infinity, 5000, 2, 0,  0, "
        + " 0,  0",
    "GC closed,         HEALTHY,   COLLECTOR, Infinity, 0,    10000,    Infinity, 100,  9, 0,  20,"
        + " 0,  0",
    "stopped,           HEALTHY,   STOPPED,   1000,     0,    1000,     Infinity, 5000, 2, 0,  0, "
        + " 0,  0",
    "stopped paced,     HEALTHY,   STOPPED,   3000,     0,    1000,     900,      5000, 2, 0,  0, "
        + " 0,  0",
    "stalls,            STALLS,    NONE,      1000,     0,    1000,     Infinity, 5000, 2, 0,  4, "
        + " 0,  0",
    "stalls closed,     STALLS,    NONE,      Infinity, 0,    1000,     Infinity, 50,   9, 0,  4, "
        + " 0,  0",
    "stalls paced,      STALLS,    NONE,      3000,     0,    1000,     900,      5000, 2, 0,  4, "
        + " 0,  0",
    "saturated,         SATURATED, NONE,      Infinity, 0,    Infinity, Infinity, 500,  2, 0,  20,"
        + " 0,  0",
    "saturated GC,      SATURATED, COLLECTOR, Infinity, 0,    Infinity, Infinity, 500,  2, 0,  20,"
        + " 0,  0",
    "fsync 150 ms,      FSYNC,     NONE,      Infinity, 0,    Infinity, Infinity, 500,  2, 0,  20,"
        + " 0,  0",
    "fsync closed,      FSYNC,     NONE,      Infinity, 0,    Infinity, Infinity, 500,  2, 20, 20,"
        + " 20, 20",
    "fsync far quota,   FSYNC,     NONE,      Infinity, 0,    10000,    Infinity, 500,  2, 20, 20,"
        + " 0,  0",
    "fsync open,        FSYNC,     NONE,      1000,     0,    1000,     Infinity, 5000, 2, 0,  0, "
        + " 0,  0",
  })
  @SuppressWarnings("TooManyParameters") // a row of a table
  void publishing_isJudgedByWhatHappens(
      String what,
      Model model,
      Pauses pauses,
      double offered,
      double limit,
      double quota,
      double pace,
      int window,
      int roundTrip,
      int leastSuspected,
      int mostSuspected,
      int leastLikely,
      int mostLikely) {
    int suspected = 0;
    int likely = 0;
    StringBuilder signs = new StringBuilder();
    for (int seed = 0; seed < SEEDS; seed++) {
      ThrottledTrace trace =
          new ThrottledTrace(seed, model, pauses, offered, limit, quota, pace, window, roundTrip)
              .stallsOf(what.contains("150") ? 150 : 300)
              .publish(25);
      suspected += trace.worst() == Verdict.NONE ? 0 : 1;
      likely += trace.worst() == Verdict.LIKELY ? 1 : 0;
      signs.append(trace.signs().isEmpty() ? "" : trace.signs() + " ");
    }
    print("publish", what, suspected, likely);

    assertThat(suspected).as("suspected: %s", signs).isBetween(leastSuspected, mostSuspected);
    assertThat(likely).as("likely: %s", signs).isBetween(leastLikely, mostLikely);
  }

  @ParameterizedTest
  @CsvSource({
    // what, model, pauses, offered/s, limit/s, quota, sent once a second, suspected, likely
    "windows,         WINDOWS,   NONE,      1000, 500, Infinity, false, 20, 20, 20, 20",
    "windows quota,   WINDOWS,   NONE,      1000, 500, 500,      false, 20, 20, 20, 20",
    "windows GC,      WINDOWS,   COLLECTOR, 1000, 500, Infinity, false, 18, 20, 10, 20",
    "windows bursts,  WINDOWS,   NONE,      1000, 500, Infinity, true,  20, 20, 20, 20",
    "tokens quota,    TOKENS,    NONE,      1000, 500, 500,      false, 20, 20, 20, 20",
    "healthy,         HEALTHY,   NONE,      500,  0,   500,      false, 0,  0,  0,  0",
    "once a second,   HEALTHY,   NONE,      500,  0,   500,      true,  0,  0,  0,  0",
    "GC,              HEALTHY,   COLLECTOR, 500,  0,   500,      false, 0,  0,  0,  0",
    "stopped,         HEALTHY,   STOPPED,   500,  0,   500,      false, 0,  0,  0,  0",
    "stalls,          STALLS,    NONE,      500,  0,   500,      false, 0,  4,  0,  0",
    "saturated,       SATURATED, NONE,      9000, 0,   Infinity, false, 0,  20, 0,  0",
  })
  @SuppressWarnings("TooManyParameters") // a row of a table
  void consuming_isJudgedByWhatHappens(
      String what,
      Model model,
      Pauses pauses,
      double offered,
      double limit,
      double quota,
      boolean once,
      int leastSuspected,
      int mostSuspected,
      int leastLikely,
      int mostLikely) {
    int suspected = 0;
    int likely = 0;
    StringBuilder signs = new StringBuilder();
    for (int seed = 0; seed < SEEDS; seed++) {
      ThrottledTrace trace =
          new ThrottledTrace(seed, model, pauses, offered, limit, quota, NONE, 0, 0)
              .consume(25, once);
      suspected += trace.worst() == Verdict.NONE ? 0 : 1;
      likely += trace.worst() == Verdict.LIKELY ? 1 : 0;
      signs.append(trace.signs().isEmpty() ? "" : trace.signs() + " ");
    }
    print("consume", what, suspected, likely);

    assertThat(suspected).as("suspected: %s", signs).isBetween(leastSuspected, mostSuspected);
    assertThat(likely).as("likely: %s", signs).isBetween(leastLikely, mostLikely);
  }

  @Test
  void windows_showTheirSignsAndTheirRate() {
    ThrottledTrace trace =
        new ThrottledTrace(1, Model.WINDOWS, Pauses.NONE, 3_000, 1_000, 1_000, NONE, 5_000, 2)
            .publish(25);

    assertThat(trace.signs()).containsExactlyInAnyOrder(Sign.values());
    assertThat(trace.perSecond()).isBetween(950.0, 1_050.0);
  }

  @Test
  void likely_whereTheQuotaIsKnown_needsASecondNearIt() {
    ThrottledTrace trace =
        new ThrottledTrace(1, Model.WINDOWS, Pauses.NONE, 3_000, 400, 1_000, NONE, 5_000, 2)
            .publish(25);

    assertThat(trace.signs()).contains(Sign.PHASE, Sign.EQUAL).doesNotContain(Sign.QUOTA);
    assertThat(trace.worst()).isEqualTo(Verdict.SUSPECTED);
  }

  /** A token bucket's course, answer by answer. */
  private static long tokens(ThrottleDetector detector, long from, int seconds, int perSecond) {
    long now = from;
    for (int i = 0; i < seconds * 50; i++) {
      now += 20 * MILLI;
      detector.answered(now, perSecond / 50, 500 * MILLI, 500);
      detector.tick(now, true, true, NONE);
    }
    return now;
  }

  @Test
  void verdict_endsSoonAfterThrottlingDoes() {
    ThrottleDetector detector = new ThrottleDetector(0, 20 * MILLI);
    detector.quota(1_000);
    long now = tokens(detector, 0, 6, 1_000);
    assertThat(detector.evidence().verdict()).isEqualTo(Verdict.LIKELY);

    boolean changed = false;
    for (int i = 0; i < 50 * 8; i++) {
      now += 20 * MILLI;
      detector.answered(now, 10, MILLI, 0);
      changed |= detector.tick(now, true, false, NONE);
    }

    assertThat(changed).isTrue();
    assertThat(detector.evidence().verdict()).isEqualTo(Verdict.NONE);
  }

  @Test
  void forgetting_leavesTheVerdict_untilItIsConfirmedOrNot() {
    ThrottleDetector detector = new ThrottleDetector(0, 20 * MILLI);
    detector.quota(1_000);
    long now = tokens(detector, 0, 6, 1_000);

    detector.forget();

    now = tokens(detector, now, 1, 1_000);
    assertThat(detector.evidence().verdict()).isEqualTo(Verdict.LIKELY);
    tokens(detector, now, 6, 500);
    assertThat(detector.evidence().verdict()).isEqualTo(Verdict.SUSPECTED);
  }

  @Test
  void silence_inWhichTheBrokerWasAskedForNothing_isNoGap() {
    ThrottleDetector detector = new ThrottleDetector(0, 20 * MILLI);
    for (long now = 0; now < 20 * SECOND; now += 20 * MILLI) {
      boolean open = now % SECOND < 400 * MILLI;
      if (open) {
        detector.answered(now, 20, MILLI, 500);
      }
      detector.tick(now, open, true, NONE);
    }

    assertThat(detector.evidence().gaps()).isZero();
    assertThat(detector.evidence().signs()).doesNotContain(Sign.PHASE, Sign.EQUAL);
  }

  @Test
  void answers_allocateNothing() {
    ThrottleDetector detector = new ThrottleDetector(0, 20 * MILLI);
    var threads =
        (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
    for (int i = 0; i < 20_000; i++) {
      detector.answered(i * MILLI, 1, MILLI, 100);
    }

    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 20_000; i < 40_000; i++) {
      detector.answered(i * MILLI, 1, MILLI, 100);
    }

    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(20_000);
  }

  private static void print(String side, String what, int suspected, int likely) {
    System.out.printf(
        Locale.ROOT,
        "%s, %-18s suspected %3d %%, likely %3d %%%n",
        side,
        what,
        suspected * 100 / SEEDS,
        likely * 100 / SEEDS);
  }
}
