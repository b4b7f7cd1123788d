package io.floatvalve.examples.lab.quota;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SoftQuotaTest {
  @Test
  void fiveNodes_letTwiceTheLimitPass() {
    SoftQuota quota = new SoftQuota(5, 1_000, 750);

    assertThat(quota.threshold()).isEqualTo(400);
    assertThat(quota.passed(1_000)).isEqualTo(2_000);
    assertThat(quota.passed(50)).isEqualTo(2_000);
  }

  @Test
  void oneNode_keepsTheLimit() {
    assertThat(new SoftQuota(1, 1_000, 750).passed(1_000)).isEqualTo(1_000);
  }

  @Test
  void whatIsNotOffered_doesNotPass() {
    assertThat(new SoftQuota(5, 1_000, 750).passed(1)).isEqualTo(100);
  }
}
