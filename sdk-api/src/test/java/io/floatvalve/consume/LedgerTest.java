package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.consume.Ledger.End;
import io.floatvalve.consume.Ledger.Stage;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LedgerTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void whateverIsEntered_itSaysWhatADullListSays(long seed) {
    Random random = new Random(seed);
    Ledger ledger = new Ledger();
    List<Taken> model = new ArrayList<>();
    Map<End, Long> ends = new LinkedHashMap<>();
    List<Taken> gone = new ArrayList<>();
    long taken = 0;
    long inPlace = 0;

    for (int i = 0; i < 5_000; i++) {
      Taken any = model.isEmpty() ? null : model.get(random.nextInt(model.size()));
      switch (random.nextInt(6)) {
        case 0, 1 -> {
          Taken next = Takens.of(i, null, random.nextInt(1_000));
          ledger.enter(next, Stage.PARKED);
          model.add(next);
          taken++;
        }
        case 2 -> {
          if (any != null) {
            ledger.move(any, any(Stage.class, random));
          }
        }
        case 3 -> {
          if (any != null) {
            Taken again = new Taken(any);
            ledger.replace(any, again);
            model.set(model.indexOf(any), again);
            gone.add(any);
            inPlace++;
          }
        }
        case 4 -> {
          if (any != null) {
            End end = any(End.class, random);
            ledger.end(any, end);
            model.remove(any);
            gone.add(any);
            ends.merge(end, 1L, Long::sum);
          }
        }
        default -> {
          if (!gone.isEmpty()) { // what has gone changes nothing
            Taken old = gone.get(random.nextInt(gone.size()));
            ledger.end(old, End.ACCEPTED);
            ledger.move(old, Stage.SETTLING);
            ledger.replace(old, Takens.of(-1, null, 1));
          }
        }
      }
      assertThat(listed(ledger)).isEqualTo(model);
      assertThat(ledger.unsettled()).isEqualTo(model.size());
      assertThat(ledger.bytes()).isEqualTo(model.stream().mapToLong(t -> t.size).sum());
      for (Stage each : Stage.values()) {
        assertThat(ledger.at(each))
            .isEqualTo((int) model.stream().filter(t -> t.stage == each).count());
      }
    }
    assertThat(ledger.taken()).isEqualTo(taken);
    assertThat(ledger.retriedInPlace()).isEqualTo(inPlace);
    for (End each : End.values()) {
      assertThat(ledger.ended(each)).isEqualTo(ends.getOrDefault(each, 0L));
    }
  }

  private static <E extends Enum<E>> E any(Class<E> of, Random random) {
    List<E> all = List.copyOf(EnumSet.allOf(of));
    return all.get(random.nextInt(all.size()));
  }

  private static List<Taken> listed(Ledger ledger) {
    List<Taken> all = new ArrayList<>();
    for (@Nullable Taken each = ledger.oldest(); each != null; each = each.next) {
      all.add(each);
    }
    return all;
  }
}
