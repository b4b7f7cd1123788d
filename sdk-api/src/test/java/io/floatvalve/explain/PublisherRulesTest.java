package io.floatvalve.explain;

import static io.floatvalve.explain.ConsumerDraft.millis;
import static io.floatvalve.explain.ConsumerDraft.timing;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PublisherRulesTest {
  private static final Duration S1 = Duration.ofSeconds(1);
  private static final Duration S2 = Duration.ofSeconds(2);
  private static final Duration S10 = Duration.ofSeconds(10);

  /** A snapshot in the making: a healthy publisher with a steady load. */
  private static final class Draft {
    PublisherSnapshot.State state = PublisherSnapshot.State.OPEN;
    long queued;
    int inFlight = 40;
    int window = 100;
    int mostWindow = 10_000;
    long behind = 10;
    long span = 40_000;
    Duration oldest = millis(5);
    String blockedReason = "";
    Duration answered = millis(2);
    Duration blocked = Duration.ZERO;
    Duration unpressed = Duration.ZERO;
    long confirmedRecently = 20_000;
    Timing confirm = timing(20_000, 5);
    Timing confirmEver = timing(1_000_000, 5);
    Duration pause = Duration.ZERO;
    Throttle throttle = Throttle.NONE;
    @Nullable Peaks peaks;
    @Nullable BrokerView view;

    /** Nothing is answered for so long. */
    void silent(Duration since) {
      oldest = since;
      answered = since;
      confirmedRecently = 0;
      confirm = Timing.NONE;
    }

    /** The window has been full for so long, and there is more to send. */
    void pressed(Duration since, int size) {
      window = size;
      mostWindow = size;
      inFlight = size;
      queued = 1_000;
      unpressed = since;
    }

    Explanation explained() {
      return Explanation.of(snapshot());
    }

    PublisherSnapshot snapshot() {
      return new PublisherSnapshot(
          "publisher to orders",
          "a broker at localhost",
          state,
          new PublisherSnapshot.Here(
              queued,
              1_000,
              0,
              inFlight,
              window,
              mostWindow,
              behind,
              span,
              oldest,
              blockedReason,
              3,
              0,
              ""),
          new PublisherSnapshot.Since(Duration.ofMinutes(5), answered, blocked, unpressed),
          new PublisherSnapshot.Recent(
              S2, confirmedRecently, 0, 0, 0, confirm, timing(confirmedRecently, 1)),
          confirmEver,
          pause,
          throttle,
          peaks,
          view);
    }
  }

  private static Arguments row(String scene, Consumer<Draft> change, String... findings) {
    return Arguments.of(scene, change, List.of(findings));
  }

  static Stream<Arguments> table() {
    return Stream.of(
        row("steady", d -> {}),
        row(
            "idle",
            d -> {
              d.inFlight = 0;
              d.behind = 0;
              d.silent(S10);
              d.oldest = Duration.ZERO;
            }),
        row("silent", d -> d.silent(S1), "broker-silent"),
        row("silent for a moment", d -> d.silent(millis(999))),
        row(
            "silent while the process stood still",
            d -> {
              d.silent(S10);
              d.pause = millis(9_500);
            }),
        row(
            "silent, as slow as ever",
            d -> {
              d.silent(S10);
              d.confirmEver = timing(100, 1_100);
            }),
        row(
            "one is old, others are answered",
            d -> {
              d.oldest = S1;
              d.behind = 120;
            },
            "window-waiting-on-one"),
        row(
            "one is old, too few behind it",
            d -> {
              d.oldest = S1;
              d.behind = 119;
            }),
        row(
            "the window has run into one",
            d -> {
              d.silent(S10);
              d.inFlight = 1;
              d.behind = 399;
              d.span = 400;
            },
            "window-waiting-on-one"),
        row(
            "blocked",
            d -> {
              d.silent(S10);
              d.state = PublisherSnapshot.State.BLOCKED;
              d.blockedReason = "low on memory";
              d.blocked = S10;
            },
            "connection-blocked"),
        row(
            "recovering",
            d -> {
              d.state = PublisherSnapshot.State.RECOVERING;
              d.inFlight = 0;
            },
            "not-connected"),
        row("a small window, full", d -> d.pressed(S2, 4), "window-too-small"),
        row("a small window, full for a moment", d -> d.pressed(millis(1_900), 4)),
        row(
            "a small window, and the broker is slow",
            d -> {
              d.pressed(S10, 4);
              d.confirm = timing(100, 5.1);
            }),
        row(
            "a full window that may grow",
            d -> {
              d.pressed(S10, 4);
              d.mostWindow = 5;
            }),
        row(
            "a small window, and nothing waits",
            d -> {
              d.pressed(S10, 4);
              d.queued = 0;
            }),
        row(
            "throttled by the broker's word",
            d -> {
              d.pressed(S10, 4);
              d.confirm = timing(20, 900);
              d.view = BrokerView.from("admin", S1).withThrottled(0, 3);
            },
            "throttled-publish"),
        row(
            "throttled by the rhythm, not by the window",
            d -> {
              d.pressed(S10, 4);
              d.throttle = new Throttle(Throttle.Level.LIKELY, "plateau at 100/s");
            },
            "throttled-publish"),
        row(
            "throttled, perhaps: messages wait, and nothing else is wrong",
            d -> {
              d.queued = 1;
              d.unpressed = S2;
              d.throttle = new Throttle(Throttle.Level.SUSPECTED, "plateau at 10/s");
            },
            "throttled-publish"),
        row(
            "throttled, perhaps: and no message waits for it",
            d -> d.throttle = new Throttle(Throttle.Level.SUSPECTED, "plateau at 10/s")),
        row(
            "a suspicion, and a better reason",
            d -> {
              d.pressed(S10, 4);
              d.throttle = new Throttle(Throttle.Level.SUSPECTED, "plateau at 100/s");
            },
            "window-too-small"),
        row("quota near", d -> d.peaks = new Peaks("messages", 900, 300, 1_000), "quota-near"),
        row(
            "closing, whatever else",
            d -> {
              d.silent(S10);
              d.state = PublisherSnapshot.State.ENDING;
            }));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("table")
  void scene_yieldsItsFindings(String scene, Consumer<Draft> change, List<String> names) {
    Draft draft = new Draft();
    change.accept(draft);

    Explanation explained = draft.explained();

    assertThat(explained.findings())
        .as(explained.text())
        .extracting(Finding::name)
        .isEqualTo(names);
    for (Finding each : explained.findings()) {
      assertThat(explained.text()).contains(each.what(), each.remedy());
      assertThat(each.evidence()).isNotEmpty().noneMatch(String::isBlank);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void healthyOfAnyKind_yieldsNothing(long seed) {
    SplittableRandom random = new SplittableRandom(seed);

    for (int i = 0; i < 20_000; i++) {
      Draft d = new Draft();
      double confirm = Math.pow(10, random.nextDouble(-1, 2.5));
      d.confirmEver = timing(random.nextInt(1, 100_000), confirm);
      d.confirm = timing(random.nextInt(1, 10_000), confirm);
      d.window = random.nextInt(8, 10_000);
      d.inFlight = random.nextInt(0, d.window + 1);
      d.behind = random.nextLong(0, 3L * d.inFlight + 1);
      d.queued = random.nextInt(0, 1_001);
      d.oldest = d.inFlight == 0 ? Duration.ZERO : millis(random.nextDouble(0, 900));
      d.answered = d.inFlight == 0 ? millis(random.nextInt(0, 100_000_000)) : d.oldest;
      d.unpressed = millis(random.nextInt(0, 10_000));
      if (random.nextBoolean()) { // of a fixed size, with a broker that is the limit or some room
        d.mostWindow = d.window;
        d.confirm = timing(random.nextInt(1, 10_000), 1.1 * confirm);
        d.unpressed = random.nextBoolean() ? millis(1_900) : d.unpressed;
      }

      PublisherSnapshot snapshot = d.snapshot();

      assertThat(PublisherRules.find(snapshot))
          .as("seed %d, round %d: %s", seed, i, snapshot)
          .isEmpty();
    }
  }

  @Test
  void blocked_saysWhyAndSinceWhen() {
    Draft draft = new Draft();
    draft.state = PublisherSnapshot.State.BLOCKED;
    draft.blockedReason = "low on memory";
    draft.blocked = Duration.ofMillis(3_200);

    assertThat(draft.explained().line()).contains("blocked: low on memory, for 3.2 s");
  }

  @Test
  void silent_saysThatTheConnectionIsOpen() {
    Draft draft = new Draft();
    draft.silent(Duration.ofMillis(1_200));

    assertThat(draft.explained().line())
        .contains("no confirms for 1.2 s", "the connection is open");
    assertThat(draft.explained().state()).isEqualTo(Explanation.State.STALLED);
  }

  @Test
  void chain_showsEachStageInOrder() {
    assertThat(new Draft().explained().chain())
        .extracting(Explanation.Step::stage)
        .containsExactly(Stage.values());
  }

  private static List<Finding> findings(Consumer<Draft> change) {
    Draft draft = new Draft();
    change.accept(draft);
    return draft.explained().findings();
  }

  private static List<String> names(Consumer<Draft> change) {
    return findings(change).stream().map(Finding::name).toList();
  }

  @Test
  void waitingOnOne_isCertainOnceTheWindowHasRunIntoIt() {
    for (long span : new long[] {400, 401}) {
      Finding found =
          findings(
                  d -> {
                    d.silent(S10);
                    d.inFlight = 1;
                    d.behind = 399;
                    d.span = span;
                  })
              .get(0);
      assertThat(found.certainty()).isEqualTo(span == 400 ? Certainty.CERTAIN : Certainty.LIKELY);
    }
  }

  @Test
  void nothingInFlight_isNobodysFault() {
    assertThat(
            names(
                d -> {
                  d.silent(S10);
                  d.inFlight = 0;
                }))
        .isEmpty();
    assertThat(
            names(
                d -> {
                  d.silent(S10);
                  d.inFlight = 0;
                  d.behind = 0;
                }))
        .isEmpty();
  }

  @Test
  void silence_isFiveTimesWhatConfirmsTake() {
    assertThat(
            names(
                d -> {
                  d.silent(S10);
                  d.confirmEver = timing(100, 1_000); // 2 s at p99
                }))
        .containsExactly("broker-silent");
  }

  @Test
  void throttledByTheBrokersCount_whereThereIsSomethingToSend() {
    BrokerView three = BrokerView.from("admin", S1).withThrottled(0, 3);
    Consumer<Draft> idle =
        d -> {
          d.inFlight = 0;
          d.view = three;
        };

    assertThat(names(idle)).isEmpty();
    assertThat(names(idle.andThen(d -> d.queued = 1))).containsExactly("throttled-publish");
    assertThat(findings(idle.andThen(d -> d.inFlight = 1)).get(0))
        .isInstanceOfSatisfying(
            Finding.ThrottledPublish.class,
            found -> assertThat(found.perSecond()).isEqualTo(10_000));
    assertThat(names(d -> d.view = BrokerView.from("admin", S1).withThrottled(0, 0))).isEmpty();
  }

  @Test
  void smallWindow_isToldFromTenConfirmsOn() {
    for (int count : new int[] {9, 10}) {
      assertThat(
              names(
                  d -> {
                    d.pressed(S2, 4);
                    d.confirm = timing(count, 5);
                  }))
          .hasSize(count - 9);
    }
  }

  @Test
  void state_isIdleOnlyWhereNothingIsLeft() {
    Draft draft = new Draft();
    draft.silent(S10);
    draft.inFlight = 0;
    assertThat(draft.explained().state()).isEqualTo(Explanation.State.IDLE);
    draft.queued = 1;
    assertThat(draft.explained().state()).isEqualTo(Explanation.State.STALLED);
    draft.queued = 0;
    draft.inFlight = 1;
    assertThat(draft.explained().state()).isEqualTo(Explanation.State.STALLED);
    draft.answered = millis(10);
    assertThat(draft.explained().state()).isEqualTo(Explanation.State.FLOWING);
  }

  @Test
  void chain_saysWhatThereIs_andNothingOfWhatThereIsNot() {
    Draft draft = new Draft();
    assertThat(draft.explained().text())
        .doesNotContain("stood still", "open (", "last loss", "alarm");
    draft.pause = millis(500);
    draft.blockedReason = "low on memory";
    draft.view = BrokerView.from("admin", S1).withBacklog(7, 0).withAlarm("disk");
    assertThat(draft.explained().text())
        .contains("this process stood still for 500 ms", "open (low on memory)")
        .contains("10000 confirmed a second")
        .contains("backlog 7", "size not told; alarm: disk");
  }
}
