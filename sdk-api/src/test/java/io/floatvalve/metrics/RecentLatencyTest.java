package io.floatvalve.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.latency.LatencyRecorder;
import io.floatvalve.latency.LatencySnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RecentLatencyTest {
  private static final long SPAN = 30;

  private final LatencyRecorder recorder = new LatencyRecorder("s");
  private final RecentLatency recent = new RecentLatency(SPAN, 0);

  private long countAt(long now) {
    LatencySnapshot all = LatencyRecorder.snapshot(List.of(recorder));
    return recent.at(now, all).stage("s").map(LatencySnapshot.Stage::count).orElse(0L);
  }

  @Test
  void young_tellsAllSinceTheBeginning() {
    recorder.record(1);

    assertThat(countAt(SPAN - 1)).isEqualTo(1);
  }

  @Test
  void whatIsTwoSpansOld_isForgotten() {
    recorder.record(1);

    assertThat(countAt(SPAN)).isEqualTo(1);
    assertThat(countAt(2 * SPAN)).isZero();
  }

  /** Beside a dull model, which keeps every read and every sample. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void whateverTheReads_itLooksBackASpanAtLeast_andTwoOfThemWithAReadEachAtMost(int seed) {
    var random = new Random(seed);
    List<Long> recorded = new ArrayList<>();
    long now = 0;
    long lastRead = 0;
    long longestGap = 0;
    for (int i = 0; i < 500; i++) {
      now += random.nextInt(seed % 2 == 0 ? 10 : 50);
      if (random.nextBoolean()) {
        recorder.record(1);
        recorded.add(now);
        continue;
      }
      longestGap = Math.max(longestGap, now - lastRead);
      lastRead = now;
      long least = now - SPAN;
      long most = now - 2 * (SPAN + longestGap);
      assertThat(countAt(now))
          .as("read at %s", now)
          .isBetween(
              recorded.stream().filter(t -> t > least).count(),
              recorded.stream().filter(t -> t >= most).count());
    }
  }
}
