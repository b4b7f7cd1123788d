package io.floatvalve.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

final class LastKnownTest {
  private static final Duration EVERY = Duration.ofSeconds(2);
  private static final Duration OLDEST = Duration.ofSeconds(10);

  private final List<CompletableFuture<String>> asked = new ArrayList<>();
  private long now;
  private final LastKnown<String, String> known =
      new LastKnown<>(
          EVERY,
          OLDEST,
          key -> {
            asked.add(new CompletableFuture<>());
            return asked.get(asked.size() - 1);
          },
          () -> now);

  @Test
  void first_findsNothing_andHasItAsked_once() {
    assertThat(known.of("q")).isEmpty();
    now += EVERY.toNanos() * 5;
    assertThat(known.of("q")).isEmpty();

    assertThat(asked).hasSize(1);
  }

  @Test
  void answer_isKnownWithItsAge_andAskedAnewWhenDue() {
    known.of("q");
    asked.get(0).complete("one");
    now += EVERY.toNanos() - 1;
    assertThat(known.of("q")).contains(new LastKnown.Heard<>("one", EVERY.minusNanos(1)));
    assertThat(asked).hasSize(1);

    now += 1;
    assertThat(known.of("q")).map(LastKnown.Heard::value).contains("one");
    assertThat(asked).hasSize(2);
    asked.get(1).complete("two");

    assertThat(known.of("q")).contains(new LastKnown.Heard<>("two", Duration.ZERO));
  }

  @Test
  void tooOld_isNotKnown() {
    known.of("q");
    asked.get(0).complete("one");
    now += OLDEST.toNanos();
    assertThat(known.of("q")).isPresent();
    now += 1;

    assertThat(known.of("q")).isEmpty();
  }

  @Test
  void failure_keepsWhatIsKnown_andIsSaid() {
    known.of("q");
    asked.get(0).complete("one");
    now += EVERY.toNanos();
    known.of("q");
    asked.get(1).completeExceptionally(new IOException("status 401"));

    assertThat(known.of("q")).map(LastKnown.Heard::value).contains("one");
    assertThat(known.lastFailure()).isEqualTo("status 401");
    now += EVERY.toNanos();
    known.of("q");
    assertThat(asked).as("asked again after a failure").hasSize(3);
  }
}
