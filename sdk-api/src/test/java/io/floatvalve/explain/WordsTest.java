package io.floatvalve.explain;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class WordsTest {
  @ParameterizedTest
  @CsvSource({
    "PT0S, 0.00 ms",
    "PT0.00008S, 0.08 ms",
    "PT0.0005S, 0.50 ms",
    "PT0.001S, 1.0 ms",
    "PT0.0099S, 9.9 ms",
    "PT0.01S, 10 ms",
    "PT0.999S, 999 ms",
    "PT1S, 1.0 s",
    "PT9.9S, 9.9 s",
    "PT10S, 10 s",
    "PT119S, 119 s",
    "PT2M, 2 min",
    "PT90M, 90 min",
    "PT1H59M, 119 min",
    "PT2H, 2 h",
    "PT48H, 48 h",
  })
  void times_haveThreeDigitsAtMost(Duration time, String words) {
    assertThat(Words.time(time)).isEqualTo(words);
    if (!time.isZero()) {
      assertThat(Words.orNever(time)).isEqualTo(words);
      assertThat(Words.orUnknown(time)).isEqualTo(words);
    }
  }

  @Test
  void noTime_isNeverOrUnknown() {
    assertThat(Words.orNever(Duration.ZERO)).isEqualTo("never");
    assertThat(Words.orUnknown(Duration.ZERO)).isEqualTo("an unknown time");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0 B",
    "1023, 1023 B",
    "1024, 1 KiB",
    "524288, 512 KiB",
    "1048575, 1024 KiB",
    "1048576, 1.0 MiB",
    "5767168, 5.5 MiB",
  })
  void bytes_changeTheirUnitAtAWholeOne(long bytes, String words) {
    assertThat(Words.bytes(bytes)).isEqualTo(words);
  }

  @Test
  void sharesAndRates_areRoundedToWhatMatters() {
    assertThat(Words.percent(0.256)).isEqualTo("26 %");
    assertThat(Words.percent(1)).isEqualTo("100 %");
    assertThat(Words.rate(0)).isEqualTo("0.0");
    assertThat(Words.rate(9.94)).isEqualTo("9.9");
    assertThat(Words.rate(10)).isEqualTo("10");
    assertThat(Words.rate(1_234.4)).isEqualTo("1234");
  }
}
