package io.floatvalve.examples.lines;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FatesTest {
  @ParameterizedTest
  @CsvSource({
    "UNTRIED,   NOT_SENT,  NOT_SENT",
    "UNKNOWN,   CONFIRMED, CONFIRMED",
    "CONFIRMED, UNKNOWN,   CONFIRMED",
    "UNKNOWN,   NOT_SENT,  UNKNOWN",
    "UNKNOWN,   NACKED,    UNKNOWN",
    "NACKED,    NOT_SENT,  NACKED",
    "NOT_SENT,  RETURNED,  RETURNED",
    "RETURNED,  NOT_SENT,  NOT_SENT",
    "NOT_SENT,  UNTRIED,   NOT_SENT",
  })
  void aTryThatMayHaveArrived_isNotUndone(Fate first, Fate second, Fate both) {
    assertThat(first.then(second)).isEqualTo(both);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void counts_areThoseOfADullModel(long seed) {
    Random random = new Random(seed);
    Fates fates = new Fates();
    Map<Long, Fate> model = new HashMap<>();
    for (int i = 0; i < 5_000; i++) {
      long line = 1 + random.nextInt(20_000);
      Fate next = Fate.at(random.nextInt(7));
      fates.add(line, next);
      model.merge(line, Fate.UNTRIED.then(next), (known, ignored) -> known.then(next));
    }

    Map<Fate, Long> counts = new EnumMap<>(Fate.class);
    for (long line = 1; line <= fates.highest(); line++) {
      Fate expected = model.getOrDefault(line, Fate.UNTRIED);
      assertThat(fates.get(line)).isEqualTo(expected);
      counts.merge(expected, 1L, Long::sum);
    }
    assertThat(fates.tally().counts()).isEqualTo(counts);
    assertThat(fates.tally().total()).isEqualTo(fates.highest());
  }

  @Test
  void lineThatWasSeen_countsAsUntried() {
    Fates fates = new Fates();
    fates.seen(1);
    fates.seen(2);
    fates.add(2, Fate.CONFIRMED);

    assertThat(fates.tally().counts()).isEqualTo(Map.of(Fate.UNTRIED, 1L, Fate.CONFIRMED, 1L));
    assertThat(fates.tally().allConfirmed()).isFalse();
  }
}
