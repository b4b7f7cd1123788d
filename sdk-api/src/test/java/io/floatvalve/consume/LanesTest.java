package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LanesTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void eachKey_hasOneThatHoldsItsLane_andTheOthersFollowInOrder(long seed) {
    Random random = new Random(seed);
    Lanes lanes = new Lanes();
    Map<String, List<Integer>> waiting = new HashMap<>(); // the model: first one runs
    List<Taken> running = new ArrayList<>();

    for (int i = 0; i < 20_000; i++) {
      if (random.nextInt(3) > 0) {
        String key = "k" + random.nextInt(9);
        Taken next = Takens.of(i, key, 1);
        List<Integer> queue = waiting.computeIfAbsent(key, k -> new ArrayList<>());
        queue.add(i);
        boolean starts = lanes.enter(key, next);
        assertThat(starts).isEqualTo(queue.size() == 1);
        if (starts) {
          running.add(next);
        }
      } else if (!running.isEmpty()) {
        Taken done = running.remove(random.nextInt(running.size()));
        List<Integer> queue =
            Objects.requireNonNull(waiting.get(String.valueOf(done.received.key())));
        assertThat(queue.remove(0)).isEqualTo(done.received.nativeMessage());
        lanes.release(done);
        lanes.release(done); // once is enough
        Taken next = lanes.pollReady();
        assertThat(next == null).isEqualTo(queue.isEmpty());
        if (next != null) {
          assertThat(next.received.nativeMessage()).isEqualTo(queue.get(0));
          running.add(next);
        }
      }
      assertThat(lanes.anyHeld()).isEqualTo(!running.isEmpty());
    }
  }

  @Test
  void forgetting_leavesALaneWithWhoeverHoldsIt() {
    Lanes lanes = new Lanes();
    Taken first = Takens.of(1, "k", 1);
    lanes.enter("k", first);
    lanes.enter("k", Takens.of(2, "k", 1));

    lanes.forgetWaiting();
    Taken after = Takens.of(3, "k", 1);

    assertThat(lanes.enter("k", after)).isFalse();
    lanes.release(first);
    assertThat(lanes.pollReady()).isSameAs(after);
  }

  @Test
  void forgetting_leavesNobodyReady() {
    Lanes lanes = new Lanes();
    Taken first = Takens.of(1, "k", 1);
    lanes.enter("k", first);
    lanes.enter("k", Takens.of(2, "k", 1));
    lanes.release(first);

    lanes.forgetWaiting();

    assertThat(lanes.pollReady()).isNull();
  }
}
