package io.floatvalve.latency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LatencyRecorderTest {

  private static LatencySnapshot.Stage stage(LatencyRecorder recorder) {
    return LatencyRecorder.snapshot(List.of(recorder)).stage("s").orElseThrow();
  }

  @Test
  void valuesOutsideTheRange_areCountedAtItsEdge_andNeverThrow() {
    var recorder = new LatencyRecorder("s");
    recorder.record(-5);
    recorder.record(Long.MIN_VALUE);
    recorder.record(Long.MAX_VALUE);
    recorder.record(0);
    recorder.record(3_600_000_000_000L);

    assertThat(stage(recorder).count()).isEqualTo(5);
    assertThat(stage(recorder).clamped()).isEqualTo(3);
    assertThat(stage(recorder).maxNanos())
        .isCloseTo(3_600_000_000_000L, Percentage.withPercentage(1));
  }

  @Test
  void stageWithoutSamples_isLeftOut() {
    assertThat(LatencyRecorder.snapshot(List.of(new LatencyRecorder("s"))).stages()).isEmpty();
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
