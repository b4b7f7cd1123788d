package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.rabbit.Unsettled.Entry;
import io.floatvalve.rabbit.Unsettled.Source;
import io.floatvalve.rabbit.Unsettled.Words;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UnsettledTest {
  private final Unsettled unsettled = new Unsettled();
  private final Source source = new Source();
  private final Words words = new Words();

  private List<Entry> arrive(int count) {
    List<Entry> entries = new ArrayList<>();
    for (int i = 1; i <= count; i++) {
      Entry entry = new Entry(i, source);
      unsettled.arrived(entry);
      entries.add(entry);
    }
    return entries;
  }

  private List<String> told(boolean singly) {
    words.clear();
    unsettled.tell(singly, words);
    List<String> said = new ArrayList<>();
    for (int i = 0; i < words.count(); i++) {
      String kind =
          switch (words.kind(i)) {
            case Words.ACK -> "ack ";
            case Words.ACK_UP_TO -> "ack up to ";
            case Words.REJECT -> "reject ";
            default -> "give back ";
          };
      said.add(kind + words.tag(i));
    }
    return said;
  }

  @Test
  void unbrokenRun_isAcknowledgedByOneWord() {
    List<Entry> entries = arrive(5);
    for (int i : new int[] {2, 0, 1, 4}) {
      unsettled.ack(entries.get(i));
    }

    assertThat(unsettled.run()).isEqualTo(3);
    assertThat(told(false)).containsExactly("ack up to 3");
    assertThat(unsettled.unsent()).isEqualTo(1);
    assertThat(unsettled.outstanding()).isEqualTo(2);
    assertThat(told(false)).isEmpty();
    assertThat(told(true)).containsExactly("ack 5");
  }

  @Test
  void refusals_areToldFirstAndSingly_andNotSweptAlong() {
    List<Entry> entries = arrive(4);
    unsettled.ack(entries.get(0));
    unsettled.reject(entries.get(1));
    unsettled.giveBack(entries.get(2));
    unsettled.ack(entries.get(3));

    assertThat(told(false)).containsExactly("reject 2", "give back 3", "ack up to 4");
    assertThat(unsettled.outstanding()).isZero();
  }

  @Test
  void settledTwice_saysSoAndChangesNothing() {
    Entry entry = arrive(1).get(0);

    assertThat(unsettled.ack(entry)).isTrue();
    assertThat(unsettled.ack(entry)).isFalse();
    assertThat(unsettled.reject(entry)).isFalse();
    assertThat(told(true)).containsExactly("ack 1");
    assertThat(unsettled.giveBack(entry)).isFalse();
    assertThat(told(true)).isEmpty();
  }

  @Test
  void heldSource_isNotTold_untilReleased() {
    List<Entry> entries = arrive(3);
    Source other = new Source();
    Entry later = new Entry(4, other);
    unsettled.arrived(later);
    entries.forEach(unsettled::ack);
    unsettled.ack(later);

    unsettled.hold(source);

    assertThat(unsettled.run()).isZero();
    assertThat(told(true)).containsExactly("ack 4");
    assertThat(source.outstanding()).isEqualTo(3);
    unsettled.release(source);
    assertThat(told(false)).containsExactly("ack up to 3");
    assertThat(source.outstanding()).isZero();
  }

  /** Whatever happens, the broker concludes of each delivery what was settled, and nothing else. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void broker_concludesWhatWasSettled(long seed) {
    Random random = new Random(seed);
    TreeMap<Long, String> broker = new TreeMap<>(); // outstanding there, with what was settled here
    List<Entry> open = new ArrayList<>();
    Source[] sources = {new Source(), new Source(), new Source()};
    Set<Source> held = new HashSet<>();
    long tag = 0;
    for (int step = 0; step < 20_000; step++) {
      int dice = random.nextInt(100);
      if (dice < 40 && broker.size() < 60) {
        Entry entry = new Entry(++tag, sources[random.nextInt(3)]);
        unsettled.arrived(entry);
        open.add(entry);
        broker.put(tag, "open");
      } else if (dice < 85 && !open.isEmpty()) {
        Entry entry = open.remove(Math.min(random.nextInt(8), open.size() - 1));
        String end = dice < 75 ? "ack" : dice < 80 ? "reject" : "give back";
        boolean first =
            switch (end) {
              case "ack" -> unsettled.ack(entry);
              case "reject" -> unsettled.reject(entry);
              default -> unsettled.giveBack(entry);
            };
        assertThat(first).isTrue();
        broker.put(entry.tag(), end);
      } else if (dice < 88) {
        Source source = sources[random.nextInt(3)];
        if (held.add(source)) {
          unsettled.hold(source);
        }
      } else if (dice < 91) {
        Source source = sources[random.nextInt(3)];
        if (held.remove(source)) {
          unsettled.release(source);
        }
      } else {
        hear(broker, random.nextBoolean());
      }
      assertThat(unsettled.outstanding()).isEqualTo(broker.size());
      assertThat(sources[0].outstanding() + sources[1].outstanding() + sources[2].outstanding())
          .isEqualTo(broker.size());
    }
    held.forEach(unsettled::release);
    hear(broker, true);
    assertThat(broker.values()).allMatch("open"::equals).hasSize(open.size());
    assertThat(unsettled.unsent()).isZero();
  }

  private void hear(NavigableMap<Long, String> broker, boolean singly) {
    for (String said : told(singly)) {
      long tag = Long.parseLong(said.substring(said.lastIndexOf(' ') + 1));
      String kind = said.substring(0, said.lastIndexOf(' '));
      if (kind.equals("ack up to")) {
        assertThat(broker.headMap(tag, true).values()).isNotEmpty().allMatch("ack"::equals);
        broker.headMap(tag, true).clear();
      } else {
        assertThat(broker.remove(tag)).isEqualTo(kind);
      }
    }
  }
}
