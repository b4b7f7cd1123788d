package io.floatvalve.latency;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class LatencySummaryTest {
  private static final long SECOND = 1_000_000_000L;

  private final LatencyRecorder recorder = new LatencyRecorder("s");
  private final LatencySummary summary = new LatencySummary(Duration.ofSeconds(10), 0);
  private long oldest;

  private LatencySnapshot latency() {
    return LatencyRecorder.snapshot(List.of(recorder), oldest);
  }

  @Test
  void line_comesOnceAnInterval_andIsOnItAlone() {
    recorder.record(1_000_000);

    assertThat(summary.lineAt(10 * SECOND - 1, this::latency)).isEmpty();
    assertThat(summary.lineAt(10 * SECOND, this::latency)).hasValueSatisfying(this::hasOne);
    recorder.record(1_000_000);
    assertThat(summary.lineAt(15 * SECOND, this::latency)).isEmpty();
    assertThat(summary.lineAt(20 * SECOND, this::latency)).hasValueSatisfying(this::hasOne);
  }

  private void hasOne(String line) {
    assertThat(line).startsWith("s n=1 ");
  }

  @Test
  void nothingToSay_isNotSaid_butWhatHangsIs() {
    assertThat(summary.lineAt(10 * SECOND, this::latency)).isEmpty();
    oldest = 3 * SECOND;
    assertThat(summary.lineAt(20 * SECOND, this::latency))
        .hasValue("no samples; oldest unsettled 3000 ms");
  }

  @Test
  void clock_mayWrapRound() {
    LatencySummary wraps = new LatencySummary(Duration.ofSeconds(10), Long.MAX_VALUE - SECOND);
    recorder.record(1_000_000);

    assertThat(wraps.lineAt(Long.MAX_VALUE, this::latency)).isEmpty();
    assertThat(wraps.lineAt(Long.MIN_VALUE + 10 * SECOND, this::latency)).isPresent();
  }
}
