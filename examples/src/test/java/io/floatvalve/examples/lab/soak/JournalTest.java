package io.floatvalve.examples.lab.soak;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.examples.lab.soak.Journal.Kind;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JournalTest {
  private static final int CHUNK = 1 << 20;

  @TempDir private Path folder = Path.of("");

  private Path stem() {
    return folder.resolve("journal");
  }

  @Test
  void whatIsWritten_isReadInItsOrder_andOnce() {
    Journal journal = new Journal(stem());
    Journal.Reader reader = new Journal.Reader(stem());
    List<String> read = new ArrayList<>();
    Journal.Sink sink = (kind, id, detail) -> read.add(kind + " " + id + " " + detail);
    assertThat(reader.read(sink, false)).isZero();

    journal.add(Kind.INTENDED, 0, 0);
    journal.add(Kind.OUTCOME, Integer.MAX_VALUE, Journal.MAX_DETAIL);
    assertThat(reader.read(sink, false)).isEqualTo(2);
    journal.add(Kind.HANDLED, 3, Integer.MAX_VALUE);
    assertThat(reader.read(sink, true)).isEqualTo(1);

    assertThat(read)
        .containsExactly("INTENDED 0 0", "OUTCOME 2147483647 16777215", "HANDLED 3 16777215");
  }

  @Test
  void manyThreads_loseNothing_andEachKeepsItsOrder_acrossFiles() throws Exception {
    Journal journal = new Journal(stem());
    int each = CHUNK * 3 / 8;
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      int of = t;
      Thread thread =
          new Thread(
              () -> {
                for (int i = 0; i < each; i++) {
                  journal.add(Kind.BEGUN, i, of);
                }
              });
      thread.start();
      threads.add(thread);
    }
    int[] next = new int[4];
    Journal.Sink sink = (kind, id, detail) -> assertThat(next[detail]++).isEqualTo(id);
    Journal.Reader reader = new Journal.Reader(stem());
    int count = 0;
    while (threads.stream().anyMatch(Thread::isAlive)) {
      count += reader.read(sink, false);
    }
    count += reader.read(sink, true);

    assertThat(count).isEqualTo(4 * each);
    assertThat(next).containsOnly(each);
    assertThat(files()).hasSizeLessThan(2); // what is read is deleted
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  @Test
  void ending_keepsVerdictAndTime_neverAShorterOne() {
    for (Verdict verdict : Verdict.values()) {
      for (long millis : new long[] {0, 1, 4, 5, 17_000, 3_600_000}) {
        int detail = Ending.of(verdict, millis);
        assertThat(Ending.verdict(detail)).isEqualTo(verdict);
        assertThat(Ending.millis(detail)).isBetween(millis, millis + 3);
      }
    }
    assertThat(Ending.millis(Ending.of(Verdict.UNKNOWN, Long.MAX_VALUE / 2)))
        .isGreaterThan(7_200_000);
  }
}
