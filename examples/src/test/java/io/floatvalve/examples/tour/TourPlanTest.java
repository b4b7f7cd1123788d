package io.floatvalve.examples.tour;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.examples.tour.TourPlan.Trouble;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TourPlanTest {
  @ParameterizedTest
  @ValueSource(ints = {40, 41, 47, 53, 100, 251, 100_000})
  void everyTrouble_isMetByItsNumberOfLines(int lines) {
    Map<Trouble, Integer> met = new EnumMap<>(Trouble.class);
    TourPlan plan = new TourPlan(lines);
    for (int line = 1; line <= lines; line++) {
      met.merge(plan.of(line), 1, Integer::sum);
    }

    assertThat(met)
        .containsEntry(Trouble.NO_QUEUE, 1)
        .containsEntry(Trouble.FULL_QUEUE, TourPlan.TO_FULL)
        .containsEntry(Trouble.LONG_KEY, 1)
        .containsEntry(Trouble.CUT, TourPlan.CUT)
        .containsEntry(Trouble.NONE, lines - 2 - TourPlan.TO_FULL - TourPlan.CUT);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 39})
  void shortFile_meetsNoTrouble(int lines) {
    TourPlan plan = new TourPlan(lines);
    for (int line = 1; line <= lines; line++) {
      assertThat(plan.of(line)).isEqualTo(Trouble.NONE);
    }
  }
}
