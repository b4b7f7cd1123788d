package io.floatvalve.latency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.HdrHistogram.Histogram;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LatencyRecorderTest {

  private static LatencySnapshot.Stage stage(LatencyRecorder recorder) {
    return LatencyRecorder.snapshot(List.of(recorder)).stage("s").orElseThrow();
  }

  /** HD-01: a value above the range throws inside the ack handler. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void hd01_valuesAboveTheRange_areCountedAtItsEdge_andNeverThrow(boolean alone) {
    var recorder = new LatencyRecorder("s");
    for (long value :
        new long[] {3_600_000_000_001L, 3_600_000_000_000_000L, Long.MAX_VALUE, 0, 1}) {
      record(recorder, alone, value);
    }
    record(recorder, alone, 3_600_000_000_000L);

    assertThat(stage(recorder).count()).isEqualTo(6);
    assertThat(stage(recorder).clamped()).isEqualTo(3);
    assertThat(stage(recorder).negative()).isZero();
    assertThat(stage(recorder).maxNanos())
        .isCloseTo(3_600_000_000_000L, Percentage.withPercentage(1));
  }

  private static void record(LatencyRecorder recorder, boolean alone, long value) {
    if (alone) {
      recorder.recordAlone(value);
    } else {
      recorder.record(value);
    }
  }

  /** HD-02: negative latency. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void hd02_negativeValues_areCountedApart_andEnterNoPercentile(boolean alone) {
    var recorder = new LatencyRecorder("s");
    record(recorder, alone, -5);
    record(recorder, alone, Long.MIN_VALUE);

    assertThat(stage(recorder).negative()).isEqualTo(2);
    assertThat(stage(recorder).count()).isZero();
    assertThatThrownBy(() -> stage(recorder).nanosAt(50)).isInstanceOf(IllegalStateException.class);

    record(recorder, alone, 5_000_000);

    assertThat(stage(recorder).count()).isEqualTo(1);
    assertThat((double) stage(recorder).nanosAt(0)).isCloseTo(5e6, within(5e4));
  }

  @Test
  void stageWithoutSamples_isLeftOut() {
    assertThat(LatencyRecorder.snapshot(List.of(new LatencyRecorder("s"))).stages()).isEmpty();
  }

  /** The slots are HdrHistogram's own: what its tools compute from a copy is what was recorded. */
  @Test
  void everyOrderOfMagnitude_fallsIntoTheSlotsOfAnHdrHistogram() {
    var recorder = new LatencyRecorder("s");
    Histogram own =
        new Histogram(
            LatencyRecorder.LOWEST_NANOS, LatencyRecorder.HIGHEST_NANOS, LatencyRecorder.DIGITS);
    for (long base = 1; base < LatencyRecorder.HIGHEST_NANOS; base = base * 5 / 4 + 1) {
      for (long value = base - 1; value <= base + 1; value++) {
        record(recorder, base % 2 == 0, value);
        own.recordValue(value);
      }
    }
    own.recordValue(LatencyRecorder.HIGHEST_NANOS);
    recorder.record(LatencyRecorder.HIGHEST_NANOS);

    Histogram copy = stage(recorder).histogram();
    assertThat(copy.getTotalCount()).isEqualTo(own.getTotalCount());
    for (double p = 0; p <= 100; p += 0.25) {
      assertThat(copy.getValueAtPercentile(p)).as("p%s", p).isEqualTo(own.getValueAtPercentile(p));
    }
  }

  /** HD-06: interval histogram recycled twice. */
  @Test
  void hd06_intervals_holdEachSampleOnce_andStayAsTheyWere() {
    var recorder = new LatencyRecorder("s");
    LatencySnapshot start = LatencyRecorder.snapshot(List.of(recorder));
    recorder.record(1_000_000);
    LatencySnapshot one = LatencyRecorder.snapshot(List.of(recorder));
    LatencySnapshot first = one.since(start);
    for (int i = 0; i < 1_000; i++) {
      recorder.record(5_000_000);
    }
    LatencySnapshot two = LatencyRecorder.snapshot(List.of(recorder));
    LatencySnapshot second = two.since(one);
    recorder.record(1_000_000);

    assertThat(first.stage("s").orElseThrow().count()).isEqualTo(1);
    assertThat(first.stage("s").orElseThrow().maxNanos()).isLessThan(2_000_000);
    assertThat(second.stage("s").orElseThrow().count()).isEqualTo(1_000);
    assertThat(second.stage("s").orElseThrow().nanosAt(0)).isGreaterThan(4_000_000);
    assertThat(two.since(two).stages()).as("an empty interval has no percentile").isEmpty();
  }

  @Test
  void intervalsTakenUnderLoad_loseNothingAndCountNothingTwice() throws InterruptedException {
    var recorder = new LatencyRecorder("s");
    int each = 200_000;
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 3; t++) {
      int seed = t;
      Thread thread =
          new Thread(
              () -> {
                Random random = new Random(seed);
                for (int i = 0; i < each; i++) {
                  recorder.record((long) Math.exp(random.nextDouble() * 25));
                }
              });
      threads.add(thread);
    }
    threads.forEach(Thread::start);
    Histogram sum =
        new Histogram(
            LatencyRecorder.LOWEST_NANOS, LatencyRecorder.HIGHEST_NANOS, LatencyRecorder.DIGITS);
    LatencySnapshot before = new LatencySnapshot(Map.of(), 0);
    boolean alive = true;
    while (alive) {
      alive = threads.stream().anyMatch(Thread::isAlive);
      LatencySnapshot now = LatencyRecorder.snapshot(List.of(recorder));
      now.since(before).stage("s").ifPresent(stage -> sum.add(stage.histogram()));
      before = now;
    }

    assertThat(sum.getTotalCount()).isEqualTo(3L * each);
    Histogram all = stage(recorder).histogram();
    for (double p : new double[] {1, 50, 99, 100}) {
      assertThat(sum.getValueAtPercentile(p)).isEqualTo(all.getValueAtPercentile(p));
    }
  }

  @Test
  void summary_isOneLine_andNamesWhatIsOdd() {
    var recorder = new LatencyRecorder("s");
    recorder.record(-1);
    recorder.record(1_000_000);

    assertThat(LatencyRecorder.snapshot(List.of(recorder), 2_500_000_000L).summary())
        .startsWith("s n=1 p50=1.0")
        .contains("negative=1")
        .endsWith("oldest unsettled 2500 ms")
        .doesNotContain("\n");
  }

  @Test
  void snapshot_staysAsItWas() {
    var recorder = new LatencyRecorder("s");
    recorder.record(1_000_000);
    var before = stage(recorder);
    for (int i = 0; i < 1_000; i++) {
      recorder.record(5_000_000);
    }

    assertThat(before.count()).isEqualTo(1);
    before.histogram().reset();
    assertThat(before.count()).isEqualTo(1);
    assertThat(stage(recorder).count()).isEqualTo(1_001);
    assertThat(stage(recorder).count()).as("nothing is counted twice").isEqualTo(1_001);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void percentiles_areThoseOfTheSortedSamples(int seed) {
    var random = new Random(seed);
    var recorder = new LatencyRecorder("s");
    long[] samples = new long[20_000];
    for (int i = 0; i < samples.length; i++) {
      samples[i] = (long) Math.exp(Math.log(10_000) + random.nextDouble() * Math.log(1e5));
      recorder.record(samples[i]);
    }
    Arrays.sort(samples);

    for (double p : new double[] {1, 50, 90, 99, 99.9}) {
      long expected = samples[(int) Math.ceil(samples.length * p / 100) - 1];
      assertThat((double) stage(recorder).nanosAt(p))
          .as("p%s", p)
          .isCloseTo((double) expected, within(expected * 0.01 + 1_000));
    }
  }

  @Test
  void manyThreads_loseNothing() throws InterruptedException {
    var recorder = new LatencyRecorder("s");
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      Thread thread =
          new Thread(
              () -> {
                for (int i = 0; i < 50_000; i++) {
                  recorder.record(i);
                }
              });
      thread.start();
      threads.add(thread);
    }
    while (threads.stream().anyMatch(Thread::isAlive)) {
      LatencyRecorder.snapshot(List.of(recorder)); // readers do not disturb writers
    }
    for (Thread thread : threads) {
      thread.join();
    }

    assertThat(stage(recorder).count()).isEqualTo(200_000);
  }
}
