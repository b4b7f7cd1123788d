package io.floatvalve.examples.lines;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.examples.lines.ResultsFile.Past;
import io.floatvalve.examples.lines.ResultsFile.Run;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultsFileTest {
  private static final Run RUN =
      new Run("rabbit", "q", "f.txt", LineFormat.TEXT, 10, EnumSet.of(Fate.UNTRIED));

  @TempDir private Path folder = Path.of("");

  private Path path() {
    return folder.resolve("results.ndjson");
  }

  private static NotSent notSent() {
    return new NotSent(NotSent.Reason.CLOSED, "closed", 1);
  }

  private static Unknown unknown() {
    return new Unknown(Unknown.Cause.CONNECTION_LOST, "a \"quoted\"\nword", 1);
  }

  private static Fate fateOf(Past past, long line) {
    return past.fates().get(line);
  }

  @Test
  void outcomes_areReadBack() throws IOException {
    try (ResultsFile file = ResultsFile.create(path(), RUN)) {
      file.upTo(1_000);
      file.outcome(1, notSent());
      file.outcome(2, unknown());
      file.end(new Fates().tally());
      file.check();
    }

    Past past = ResultsFile.read(path());

    assertThat(past.run()).isEqualTo(RUN);
    assertThat(fateOf(past, 1)).isEqualTo(Fate.NOT_SENT);
    assertThat(fateOf(past, 2)).isEqualTo(Fate.UNKNOWN);
    assertThat(fateOf(past, 3)).isEqualTo(Fate.UNTRIED);
  }

  @Test
  void killedRun_leavesInDoubtWhatItHadAnnounced() throws IOException {
    try (ResultsFile file = ResultsFile.create(path(), RUN)) {
      file.upTo(1_000);
      file.outcome(7, notSent());
    }

    Past past = ResultsFile.read(path());

    assertThat(fateOf(past, 7)).isEqualTo(Fate.NOT_SENT);
    assertThat(fateOf(past, 8)).isEqualTo(Fate.UNKNOWN);
    assertThat(fateOf(past, 1_000)).isEqualTo(Fate.UNKNOWN);
    assertThat(fateOf(past, 1_001)).isEqualTo(Fate.UNTRIED);
  }

  @Test
  void killedSecondRun_putsNothingInDoubtThatItWasNotToTry() throws IOException {
    try (ResultsFile file = ResultsFile.create(path(), RUN)) {
      file.upTo(1_000);
      file.outcome(1, notSent());
      file.outcome(2, new NotSent(NotSent.Reason.INVALID_MESSAGE, "bad", 1));
      file.end(new Fates().tally());
    }
    Run again =
        new Run(
            "rabbit", "q", "f.txt", LineFormat.TEXT, 10, EnumSet.of(Fate.UNTRIED, Fate.NOT_SENT));
    try (ResultsFile file = ResultsFile.append(path(), again)) {
      file.upTo(2);
    }

    Past past = ResultsFile.read(path());

    assertThat(fateOf(past, 1)).isEqualTo(Fate.UNKNOWN);
    assertThat(fateOf(past, 2)).isEqualTo(Fate.UNFIT);
  }

  @Test
  void halfWrittenLine_isPassedOver() throws IOException {
    try (ResultsFile file = ResultsFile.create(path(), RUN)) {
      file.upTo(1_000);
      file.outcome(1, notSent());
    }
    Files.writeString(path(), "\n{\"line\":2,\"fa", StandardOpenOption.APPEND);
    try (ResultsFile file = ResultsFile.append(path(), RUN)) {
      file.outcome(3, unknown());
      file.end(new Fates().tally());
    }

    Past past = ResultsFile.read(path());

    assertThat(fateOf(past, 1)).isEqualTo(Fate.NOT_SENT);
    assertThat(fateOf(past, 2)).isEqualTo(Fate.UNKNOWN);
    assertThat(fateOf(past, 3)).isEqualTo(Fate.UNKNOWN);
  }

  @Test
  void otherFile_isRefused() throws IOException {
    Files.writeString(path(), "hello\n");

    assertThatThrownBy(() -> ResultsFile.read(path()))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("no results file");
  }
}
