package io.floatvalve.publish;

import static io.floatvalve.publish.SimulatedBroker.MS;
import static io.floatvalve.publish.SimulatedBroker.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.publish.SimulatedBroker.Flow;
import io.floatvalve.publish.SimulatedBroker.Model;
import java.util.Locale;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The law against brokers in virtual time; every figure is the same in each run. */
final class AdaptiveWindowTest {
  private static final int[] FIXED = {50, 100, 1_000, 10_000};
  private static final long FROM = 2 * SECOND;
  private static final long TO = 5 * SECOND;

  // ---------------------------------------------------------------------------- beside fixed ones

  /** The last column is the part of the best fixed window's throughput that is promised. */
  @ParameterizedTest
  @CsvSource({
    // ms RTT, body, ms a commit, messages a lump, ms a lump, promised
    "0,  100,   0,   1,    0,  0.95",
    "0,  16384, 0,   1,    0,  0.95",
    "0,  65536, 0,   1,    0,  0.95",
    "0,  100,   0,   50,   0,  0.95",
    "0,  100,   0,   2000, 0,  0.95",
    "0,  100,   0,   1,    10, 0.95",
    "0,  100,   0,   1,    50, 0.90",
    "0,  100,   0.3, 1,    0,  0.90",
    "20, 100,   0,   1,    0,  0.90",
    "20, 16384, 0,   1,    0,  0.90",
    "20, 100,   0,   50,   0,  0.90",
    "20, 100,   0.3, 1,    0,  0.90",
  })
  void everyBroker_isKeptBusyAtALowLatency(
      double rtt, int body, double commit, int lump, double lumpMillis, double promised) {
    Row row = measure(model(rtt, commit, lump, lumpMillis), rtt, body);

    assertThat(row.part).as("%s", row.text).isGreaterThanOrEqualTo(promised);
    assertThat(row.p50).as("%s", row.text).isLessThanOrEqualTo(row.mostP50);
  }

  /**
   * Where latency and throughput pull apart: a commit of milliseconds that only more in flight
   * would amortise, or lumps longer than the round trip. The law stays near the latency that is
   * promised above, and keeps more than half of the throughput, but for commits of 20 ms.
   */
  @ParameterizedTest
  @CsvSource({
    // ms RTT, ms a commit, messages a lump, ms a lump, promised, most p50 ms
    "0,  1,  1,    0,  0.75, 12",
    "0,  5,  1,    0,  0.60, 36",
    "0,  20, 1,    0,  0.38, 126",
    "20, 1,  1,    0,  0.85, 55",
    "20, 5,  1,    0,  0.75, 75",
    "20, 20, 1,    0,  0.60, 130",
    "20, 0,  500,  0,  0.80, 50",
    "20, 0,  2000, 0,  0.50, 50",
    "20, 0,  1,    10, 0.90, 62",
  })
  void brokersThatCommitSlowly_areNotHeldAtHalf(
      double rtt, double commit, int lump, double lumpMillis, double promised, double mostP50) {
    Row row = measure(model(rtt, commit, lump, lumpMillis), rtt, 100);

    assertThat(row.part).as("%s", row.text).isGreaterThanOrEqualTo(promised);
    assertThat(row.p50).as("%s", row.text).isLessThanOrEqualTo(mostP50);
  }

  private record Row(double part, double p50, double mostP50, String text) {}

  private static Consumer<Model> model(double rtt, double commit, int lump, double lumpMillis) {
    return model -> {
      model.rttNanos = now -> rtt * MS;
      model.lump = lump;
      model.lumpNanos = lumpMillis * MS;
      if (commit > 0) {
        model.commitNanos = commit * MS;
        model.batch = Integer.MAX_VALUE;
      }
    };
  }

  private static Row measure(Consumer<Model> how, double rtt, int body) {
    double best = 0;
    double p50Of50 = 0;
    StringBuilder fixed = new StringBuilder();
    for (int window : FIXED) {
      SimulatedBroker broker = broker(1, how);
      Flow flow = broker.fixed(window);
      flow.bytes = () -> body;
      broker.run(TO);
      best = Math.max(best, flow.perSecond(FROM, TO));
      p50Of50 = window == 50 ? flow.p50Millis(FROM, TO) : p50Of50;
      fixed.append(
          String.format(
              Locale.ROOT,
              "%d: %.0f/s %.1f ms, ",
              window,
              flow.perSecond(FROM, TO),
              flow.p50Millis(FROM, TO)));
    }
    SimulatedBroker broker = broker(1, how);
    Flow flow = broker.adaptive();
    flow.bytes = () -> body;
    broker.run(TO);
    double part = flow.perSecond(FROM, TO) / best;
    double p50 = flow.p50Millis(FROM, TO);
    double mostP50 = rtt == 0 ? 3 * p50Of50 : 2.5 * rtt;
    String text =
        String.format(
            Locale.ROOT,
            "x %.2f, p50 %5.1f ms (%5.1f), window %4d; fixed %s",
            part,
            p50,
            mostP50,
            flow.window(FROM, TO),
            fixed);
    Model model = new Model();
    how.accept(model);
    System.out.printf(
        Locale.ROOT,
        "RTT %2.0f, %5d B, commit %4.1f ms, lump %4d / %2.0f ms: %s%n",
        rtt,
        body,
        model.commitNanos / MS,
        model.lump,
        model.lumpNanos / MS,
        text);
    return new Row(part, p50, mostP50, text);
  }

  private static SimulatedBroker broker(long seed, Consumer<Model> how) {
    Model model = new Model();
    how.accept(model);
    return new SimulatedBroker(model, seed);
  }

  // ----------------------------------------------------------------------------------- in motion

  @ParameterizedTest
  @ValueSource(doubles = {3, 8, 20, 50})
  void longerWay_isLearntWithinASecond_withoutADip(double rtt) {
    SimulatedBroker broker =
        broker(3, model -> model.rttNanos = now -> now < 3 * SECOND ? 0 : rtt * MS);
    Flow flow = broker.adaptive();
    broker.run(6 * SECOND);

    double before = flow.perSecond(2 * SECOND, 3 * SECOND);
    double carried = 1e3 * flow.window(2 * SECOND, 3 * SECOND) / rtt; // what the way itself leaves
    assertThat(flow.slowest(3 * SECOND, 4 * SECOND, 100 * MS))
        .isGreaterThan(Math.min(before / 10, carried / 4));
    assertThat(flow.perSecond(4 * SECOND, 6 * SECOND)).isGreaterThan(0.85 * before);
    assertThat(flow.p50Millis(4 * SECOND, 6 * SECOND)).isLessThan(2 * rtt + 6);
  }

  @Test
  void shorterWay_isLearntWithinASecond() {
    SimulatedBroker broker =
        broker(3, model -> model.rttNanos = now -> now < 3 * SECOND ? 20 * MS : 0);
    Flow flow = broker.adaptive();
    broker.run(5 * SECOND);

    assertThat(flow.p50Millis(2 * SECOND, 3 * SECOND)).isGreaterThan(35);
    assertThat(flow.p50Millis(4 * SECOND, 5 * SECOND)).isLessThan(8);
    assertThat(flow.slowest(3 * SECOND, 5 * SECOND, 100 * MS)).isGreaterThan(20_000);
  }

  @Test
  void sizeOfMessages_isFollowedWithinASecond_bothWays() {
    SimulatedBroker broker = broker(3, model -> {});
    Flow flow = broker.adaptive();
    flow.bytes = () -> broker.now() < 3 * SECOND || broker.now() > 6 * SECOND ? 100 : 65_536;
    broker.run(8 * SECOND);

    assertThat(flow.perSecond(2 * SECOND, 3 * SECOND)).isGreaterThan(24_000);
    assertThat(flow.p50Millis(4 * SECOND, 6 * SECOND)).isLessThan(20);
    assertThat(flow.slowest(4 * SECOND, 6 * SECOND, 200 * MS)).isGreaterThan(2_400);
    assertThat(flow.perSecond(7 * SECOND, 8 * SECOND)).isGreaterThan(24_000);
    assertThat(flow.p50Millis(7 * SECOND, 8 * SECOND)).isLessThan(8);
  }

  @Test
  void slowerBroker_getsFewer_withinASecond() {
    SimulatedBroker broker = broker(3, model -> model.slowness = now -> now < 3 * SECOND ? 1 : 10);
    Flow flow = broker.adaptive();
    broker.run(6 * SECOND);

    assertThat(flow.p50Millis(4 * SECOND, 6 * SECOND)).isLessThan(20);
    assertThat(flow.slowest(3 * SECOND, 6 * SECOND, 200 * MS)).isGreaterThan(2_200);
  }

  @Test
  void freeze_isForgottenInAFifthOfASecond() {
    SimulatedBroker broker =
        broker(
            3,
            model -> {
              model.freezeAt = 3 * SECOND;
              model.freezeNanos = 300 * MS;
            });
    Flow flow = broker.adaptive();
    broker.run(5 * SECOND);

    long thaw = 3_300 * MS;
    assertThat(flow.perSecond(3_050 * MS, thaw)).isZero();
    assertThat(flow.slowest(thaw, 5 * SECOND, 50 * MS)).isGreaterThan(23_000);
    assertThat(flow.p50Millis(thaw + 200 * MS, 5 * SECOND)).isLessThan(6);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 20})
  void slowConfirms_doNotCollapseIt(double rtt) {
    SimulatedBroker broker =
        broker(
            3,
            model -> {
              model.rttNanos = now -> rtt * MS;
              model.strayEvery = 5_000;
              model.strayNanos = 300 * MS;
            });
    Flow flow = broker.adaptive();
    broker.run(6 * SECOND);

    assertThat(flow.perSecond(2 * SECOND, 6 * SECOND)).isGreaterThan(23_000);
    assertThat(flow.slowest(2 * SECOND, 6 * SECOND, 100 * MS)).isGreaterThan(12_000);
  }

  @Test
  void confirmsThatNeverCome_leaveTheWindowOpen() {
    SimulatedBroker broker =
        broker(3, model -> model.lost = sequence -> sequence > 50_000 && sequence <= 50_020);
    Flow flow = broker.adaptive();
    broker.run(8 * SECOND);

    assertThat(flow.perSecond(4 * SECOND, 8 * SECOND)).isGreaterThan(18_000);
  }

  @Test
  void window_doesNotGrowWhileTheApplicationIsTheLimit() {
    SimulatedBroker broker = broker(3, model -> {});
    Flow flow = broker.adaptive();
    flow.everyNanos = 100_000;
    broker.run(6 * SECOND);

    assertThat(flow.perSecond(SECOND, 6 * SECOND)).isBetween(9_990.0, 10_010.0);
    assertThat(flow.law().limit()).isEqualTo(16);
  }

  @Test
  void start_reachesAFarBrokersRateInHalfASecond() {
    SimulatedBroker broker = broker(3, model -> model.rttNanos = now -> 20 * MS);
    Flow flow = broker.adaptive();
    broker.run(SECOND);

    assertThat(flow.perSecond(300 * MS, 600 * MS)).isGreaterThan(22_000);
  }

  // --------------------------------------------------------------------------------- in company

  @ParameterizedTest
  @CsvSource({"0, false", "0, true", "20, false", "20, true"})
  void twoAdaptive_shareEvenly(double rtt, boolean fair) {
    for (long seed = 1; seed <= 3; seed++) {
      SimulatedBroker broker = shared(seed, rtt, fair);
      Flow first = broker.adaptive();
      Flow second = broker.adaptive(1_500 * MS, 0);
      broker.run(10 * SECOND);

      double a = first.perSecond(5 * SECOND, 10 * SECOND);
      double b = second.perSecond(5 * SECOND, 10 * SECOND);
      assertThat(Math.min(a, b) / Math.max(a, b)).as("%s and %s", a, b).isGreaterThan(0.75);
      assertThat(a + b).isGreaterThan(22_000);
      assertThat(second.p50Millis(5 * SECOND, 10 * SECOND)).isLessThan(rtt == 0 ? 20 : 50);
    }
  }

  @ParameterizedTest
  @CsvSource({"0, false", "0, true", "20, false", "20, true"})
  void besideAGreedyNeighbour_itKeepsItsShare_andGetsTheRestWhenThatIsGone(
      double rtt, boolean fair) {
    SimulatedBroker broker = shared(2, rtt, fair);
    Flow greedy = broker.fixed(1_000, 3 * SECOND);
    greedy.stopsAt = 8 * SECOND;
    Flow flow = broker.adaptive();
    broker.run(12 * SECOND);

    double ours = flow.perSecond(4 * SECOND, 8 * SECOND);
    double theirs = greedy.perSecond(4 * SECOND, 8 * SECOND);
    assertThat(ours).isGreaterThan((ours + theirs) / 2 / 2);
    assertThat(theirs).isGreaterThan((ours + theirs) / 2 / 2);
    assertThat(flow.perSecond(9 * SECOND, 12 * SECOND)).isGreaterThan(22_000);
    assertThat(flow.p50Millis(9 * SECOND + 500 * MS, 12 * SECOND)).isLessThan(rtt == 0 ? 7 : 50);
  }

  /** Whose clocks differ do not probe together: each sees others' queues, but not without end. */
  @ParameterizedTest
  @ValueSource(doubles = {0, 20})
  void fiveOnDifferentClocks_doNotDriveEachOtherUp(double rtt) {
    SimulatedBroker broker = shared(2, rtt, false);
    Flow[] flows =
        IntStream.range(0, 5)
            .mapToObj(i -> broker.adaptive(i * 200 * MS, i * 130 * MS))
            .toArray(Flow[]::new);
    broker.run(12 * SECOND);

    for (Flow flow : flows) {
      assertThat(flow.p50Millis(8 * SECOND, 12 * SECOND)).isLessThan(400);
    }
  }

  private static SimulatedBroker shared(long seed, double rtt, boolean fair) {
    return broker(
        seed,
        model -> {
          model.rttNanos = now -> rtt * MS;
          model.fair = fair;
        });
  }

  // ---------------------------------------------------------------------------------- any input

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 100, 10_000})
  void limit_staysInItsBounds_whateverIsSaid(int most) {
    Random random = new Random(most);
    AdaptiveWindow law = new AdaptiveWindow(most);
    long now = random.nextLong();
    long sent = 0;
    long settled = 0;
    for (int i = 0; i < 100_000; i++) {
      assertThat(law.limit()).isBetween(1, most);
      sent = settled + 1 + random.nextInt(law.limit());
      int count = 1 + random.nextInt((int) (sent - settled));
      settled += count;
      now += random.nextInt(3) == 0 ? 0 : (long) Math.exp(random.nextDouble() * 22);
      double roundTrip = random.nextInt(9) == 0 ? 0 : Math.exp(random.nextDouble() * 24);
      int told = law.answered(now, count, count * roundTrip, sent, settled, random.nextInt(4) > 0);
      assertThat(told).isEqualTo(law.limit());
    }
  }
}
