package io.floatvalve.examples.report;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SizingTest {
  @ParameterizedTest
  @CsvSource({"900, 1, 1000", "901, 1, 1002", "900, 5, 5000", "0, 3, 0", "1, 1, 2"})
  void quota_leavesATenthOfABusySecond(long busiest, int fanOut, long quota) {
    assertThat(Sizing.quota(busiest, fanOut)).isEqualTo(quota);
  }
}
