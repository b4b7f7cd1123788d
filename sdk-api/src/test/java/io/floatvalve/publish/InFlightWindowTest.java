package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InFlightWindowTest {

  @Test
  void sequences_areDenseFromOne() {
    var window = new InFlightWindow<String>(3, 100);

    assertThat(window.tryClaim("a", 1)).isEqualTo(1);
    assertThat(window.tryClaim("b", 1)).isEqualTo(2);
    assertThat(window.settle(1)).isEqualTo("a");
    assertThat(window.tryClaim("c", 1)).isEqualTo(3);
  }

  @Test
  void claim_whenCountIsReached_isRefusedUntilOneSettles() {
    var window = new InFlightWindow<String>(2, 100);
    window.tryClaim("a", 1);
    window.tryClaim("b", 1);

    assertThat(window.tryClaim("c", 1)).isEqualTo(InFlightWindow.FULL);
    window.settle(2);
    assertThat(window.tryClaim("c", 1)).isEqualTo(3);
  }

  @Test
  void claim_whenBytesAreReached_isRefusedUntilEnoughSettle() {
    var window = new InFlightWindow<String>(10, 100);
    window.tryClaim("a", 60);

    assertThat(window.tryClaim("b", 41)).isEqualTo(InFlightWindow.FULL);
    assertThat(window.tryClaim("b", 40)).isEqualTo(2);
    assertThat(window.bytes()).isEqualTo(100);
  }

  @Test
  void entryLargerThanAllBytes_isAdmittedAlone() {
    var window = new InFlightWindow<String>(10, 100);
    window.tryClaim("small", 1);

    assertThat(window.tryClaim("large", 500)).isEqualTo(InFlightWindow.FULL);
    window.settle(1);
    assertThat(window.tryClaim("large", 500)).isEqualTo(2);
    assertThat(window.tryClaim("next", 1)).isEqualTo(InFlightWindow.FULL);
  }

  @Test
  void slowAnswer_doesNotStopTheWindow() {
    var window = new InFlightWindow<String>(2, 100);
    long slow = window.tryClaim("slow", 1);
    for (int i = 0; i < 7; i++) {
      assertThat(window.settle(window.tryClaim("quick", 1))).isEqualTo("quick");
    }

    assertThat(window.tryClaim("too far", 1)).isEqualTo(InFlightWindow.FULL);
    assertThat(window.settle(slow)).isEqualTo("slow");
    assertThat(window.tryClaim("on", 1)).isEqualTo(9);
  }

  @Test
  void settle_ofWhatIsNotOpen_isNull() {
    var window = new InFlightWindow<String>(2, 100);
    window.tryClaim("a", 1);

    assertThat(window.settle(0)).isNull();
    assertThat(window.settle(-1)).isNull();
    assertThat(window.settle(2)).isNull();
    assertThat(window.settle(Long.MAX_VALUE)).isNull();
    assertThat(window.settle(1)).isEqualTo("a");
    assertThat(window.settle(1)).isNull();
    assertThat(window.settleOldest(Long.MAX_VALUE)).isNull();
  }

  @Test
  void emptiedWindow_isOldestWhereItIsNext() {
    var window = new InFlightWindow<String>(2, 100);
    for (int i = 1; i <= 10; i++) {
      assertThat(window.settle(window.tryClaim("m" + i, 1))).isEqualTo("m" + i);
      assertThat(window.oldest()).isEqualTo(i + 1);
      assertThat(window.next()).isEqualTo(i + 1);
    }
  }

  @Test
  void distance_isKeptBelowTheSpan_alsoAfterALongTime() {
    var window = new InFlightWindow<String>(100, 1_000);
    assertThat(window.span()).isEqualTo(400);
    for (int i = 0; i < 1_000; i++) {
      window.settle(window.tryClaim("before", 1));
    }

    for (int i = 0; i < 100; i++) {
      assertThat(window.tryClaim("m" + i, 1)).isEqualTo(1_001 + i);
      assertThat(window.get(1_002 + i)).as("is not sent yet").isNull();
    }
    for (int i = 0; i < 100; i++) {
      assertThat(window.settleOldest(1_100)).isEqualTo("m" + i);
    }
  }

  @Test
  void replaced_isAnotherInTheSamePlace_andOnlyOfWhatIsOpen() {
    var window = new InFlightWindow<String>(100, 1_000);
    for (int i = 1; i <= 64; i++) {
      window.tryClaim("m" + i, 1);
    }
    window.settle(2);

    window.replace(64, "other");

    assertThat(window.settle(64)).isEqualTo("other");
    assertThat(window.settle(63)).isEqualTo("m63");
    assertThat(window.bytes()).isEqualTo(61);
    assertThatThrownBy(() -> window.replace(2, "gone"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> window.replace(65, "to come"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void lowerLimit_keepsWhatIsOpen() {
    var window = new InFlightWindow<String>(8, 100);
    for (int i = 0; i < 8; i++) {
      window.tryClaim("m" + i, 1);
    }
    window.limit(2);
    assertThat(window.limit()).isEqualTo(2);

    for (int i = 0; i < 6; i++) {
      window.settle(i + 1);
      assertThat(window.hasRoom(1)).isFalse();
    }
    window.settle(7);
    assertThat(window.hasRoom(1)).isTrue();
  }

  @Test
  void slowAnswer_doesNotStopALoweredWindow() {
    var window = new InFlightWindow<String>(100, 1_000);
    window.tryClaim("slow", 1);
    window.limit(2);

    for (int i = 0; i < 50; i++) {
      assertThat(window.settle(window.tryClaim("quick", 1))).isEqualTo("quick");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void randomOperations_agreeWithAnOrderedMap(int seed) {
    var random = new Random(seed);
    int most = 1 + random.nextInt(300);
    int limit = most;
    long byteLimit = 1L + random.nextInt(2_000);
    var window = new InFlightWindow<Long>(limit, byteLimit);
    var model = new TreeMap<Long, Integer>(); // open sequences and their sizes
    long next = 1;
    for (int step = 0; step < 50_000; step++) {
      switch (random.nextInt(10)) {
        case 0, 1, 2, 3, 4 -> {
          int size = random.nextInt(40);
          long bytes = model.values().stream().mapToLong(Integer::longValue).sum();
          long oldest = model.isEmpty() ? next : model.firstKey();
          boolean room =
              model.size() < limit
                  && next - oldest < 4L * most
                  && (model.isEmpty() || bytes + size <= byteLimit);
          long claimed = window.tryClaim(next, size);
          assertThat(claimed).isEqualTo(room ? next : InFlightWindow.FULL);
          if (room) {
            model.put(next++, size);
          }
        }
        case 5, 6, 7 -> {
          long sequence = Math.max(0, next - 1 - random.nextInt(600));
          Long settled = window.settle(sequence);
          assertThat(settled).isEqualTo(model.remove(sequence) == null ? null : sequence);
        }
        case 8 -> {
          long upTo = next - 1 - random.nextInt(300);
          Map.Entry<Long, Integer> expected = model.floorEntry(upTo);
          expected = expected == null ? null : model.pollFirstEntry();
          assertThat(window.settleOldest(upTo))
              .isEqualTo(expected == null ? null : expected.getKey());
        }
        default -> {
          if (random.nextInt(20) == 0) {
            limit = 1 + random.nextInt(most);
            window.limit(limit);
          }
        }
      }
      assertThat(window.size()).isEqualTo(model.size());
      assertThat(window.next()).isEqualTo(next);
      assertThat(window.oldest()).isEqualTo(model.isEmpty() ? next : model.firstKey());
    }
  }
}
