package io.floatvalve.examples.publish;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PublishReportTest {
  @Test
  void oneLine_isNoLines() {
    assertThat(PublishReport.counted(0)).isEqualTo("0 lines");
    assertThat(PublishReport.counted(1)).isEqualTo("1 line");
    assertThat(PublishReport.counted(1_001)).endsWith("001 lines");
  }
}
