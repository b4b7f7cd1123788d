package io.floatvalve.latency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

class LatencyTallyTest {
  private final LatencyTally tally = new LatencyTally("s");

  private LatencySnapshot.Stage stage() {
    return LatencyTally.snapshot(List.of(tally)).stage("s").orElseThrow();
  }

  @Test
  void anyValue_isKeptToWithinAHundredth_andAMicrosecond() {
    for (long nanos = 1_000; nanos <= 3_600_000_000_000L; nanos *= 10) {
      tally.record(nanos);
      assertThat((double) stage().maxNanos())
          .isCloseTo((double) nanos, within(Math.max(1_000, nanos / 100.0)));
    }

    assertThat(stage().count()).isEqualTo(10);
    assertThat(stage().clamped()).isZero();
  }

  @Test
  void whatLiesOutside_isCountedAtTheEdge() {
    tally.record(-1);
    tally.record(Long.MIN_VALUE);
    tally.record(Long.MAX_VALUE);
    tally.record(0);

    assertThat(stage().count()).isEqualTo(4);
    assertThat(stage().clamped()).isEqualTo(3);
    assertThat(stage().maxNanos() / 1e9).isCloseTo(3_600, within(36.0));
  }

  @Test
  void snapshot_doesNotChangeAfterwards_andLeavesOutWhatHasNoSamples() {
    assertThat(LatencyTally.snapshot(List.of(tally)).stages()).isEmpty();
    tally.record(5_000);
    LatencySnapshot.Stage before = stage();

    tally.record(9_000_000);

    assertThat(before.count()).isEqualTo(1);
    assertThat(before.nanosAt(99)).isLessThan(6_000);
  }
}
