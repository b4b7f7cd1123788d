package io.floatvalve.explain;

import static io.floatvalve.explain.ConsumerDraft.millis;
import static io.floatvalve.explain.ConsumerDraft.timing;
import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.explain.BrokerView.Member;
import io.floatvalve.explain.BrokerView.Spread;
import io.floatvalve.explain.Finding.RedeliveryStorm.Cause;
import io.floatvalve.model.Ordering;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ConsumerRulesTest {
  private static final Duration S2 = Duration.ofSeconds(2);
  private static final Duration S3 = Duration.ofSeconds(3);
  private static final Duration S4 = Duration.ofSeconds(4);
  private static final Duration S10 = Duration.ofSeconds(10);
  private static final OptionalLong UNKNOWN = OptionalLong.empty();

  private static Arguments row(String scene, Consumer<ConsumerDraft> change, String... findings) {
    return Arguments.of(scene, change, List.of(findings));
  }

  private static ConsumerSnapshot.Held held(int count, String lane, String thread) {
    return new ConsumerSnapshot.Held(count, S3, "message 5:17", lane, S4, thread);
  }

  private static BrokerView view() {
    return BrokerView.from("admin", Duration.ofMillis(100));
  }

  private static Member own(long permits, long unacked, boolean blocked) {
    return new Member("c1", true, OptionalLong.of(permits), OptionalLong.of(unacked), blocked);
  }

  private static Member sibling(long unacked) {
    return new Member("c2", false, OptionalLong.of(0), OptionalLong.of(unacked), false);
  }

  private static void storm(ConsumerDraft d) {
    d.took = 100;
    d.handling = timing(100, 10);
    d.redelivered = 80;
  }

  static Stream<Arguments> table() {
    return Stream.of(
        row("steady", d -> {}),
        row("idle", d -> d.idle(Duration.ofHours(3))),
        row("a burst of 1.9 s", d -> d.pressed(millis(1_900))),
        row("all busy", d -> d.pressed(S2), "handlers-all-busy"),
        row(
            "all busy, but some time is left",
            d -> {
              d.pressed(S10);
              d.busyShare = 0.89;
              d.inHandlers = d.slots - 1;
            }),
        row(
            "all busy for as long as the process stood still",
            d -> {
              d.pressed(S4);
              d.pause = S3;
            }),
        row(
            "slow as such",
            d -> {
              d.pressed(S3);
              d.handling = timing(60, 250);
            },
            "handler-slow"),
        row(
            "nearly slow as such",
            d -> {
              d.pressed(S3);
              d.handling = timing(60, 249);
              d.before = timing(10_000, 249);
            },
            "handlers-all-busy"),
        row(
            "turned slow a moment ago: most of the last seconds were fast",
            d -> {
              d.pressed(S2);
              d.before = timing(10_000, 10);
              d.handling = timing(400, 10);
              d.lately = timing(20, 60);
            },
            "handler-slow"),
        row(
            "was slow a moment ago",
            d -> {
              d.pressed(S2);
              d.before = timing(10_000, 10);
              d.handling = timing(400, 60);
              d.lately = timing(200, 10);
            },
            "handlers-all-busy"),
        row(
            "slow, and keeping up",
            d -> {
              d.handling = timing(30, 900);
              d.busyShare = 0.85;
              d.inHandlers = 14;
            }),
        row(
            "three times as slow as before",
            d -> {
              d.pressed(S3);
              d.handling = timing(60, 30);
            },
            "handler-slow"),
        row(
            "less than three times as slow",
            d -> {
              d.pressed(S3);
              d.handling = timing(60, 29);
            },
            "handlers-all-busy"),
        row(
            "slower than before a few only",
            d -> {
              d.pressed(S3);
              d.before = timing(49, 1);
              d.handling = timing(60, 30);
            },
            "handlers-all-busy"),
        row(
            "all stuck",
            d -> {
              d.pressed(S3);
              d.handling = Timing.NONE;
              d.took = 0;
              d.settled = S3;
            },
            "handler-slow"),
        row("one stuck on its thread", d -> d.held = held(1, "", "worker-3"), "handler-slow"),
        row("forgotten", d -> d.held = held(1, "k", ""), "settlement-forgotten"),
        row(
            "forgotten in each batch",
            d -> {
              d.held = held(3, "", "");
              d.partlyAcked = 3;
            },
            "partly-acked-batches",
            "settlement-forgotten"),
        row(
            "forgotten in two of many batches",
            d -> {
              d.held = held(2, "", "");
              d.partlyAcked = 30;
            },
            "settlement-forgotten"),
        row("batches in progress", d -> d.partlyAcked = 30),
        row(
            "a caller is refused",
            d -> {
              d.pulls = true;
              d.inHandlers = d.slots;
              d.refusing = true;
              d.settled = S2;
            },
            "blocked-on-unacked"),
        row(
            "a caller is not refused",
            d -> {
              d.pulls = true;
              d.inHandlers = d.slots;
              d.settled = S10;
            }),
        row(
            "a caller is refused and settles",
            d -> {
              d.pulls = true;
              d.inHandlers = d.slots;
              d.refusing = true;
              d.settled = millis(1_900);
            }),
        row(
            "the broker says blocked",
            d -> {
              d.idle(S3);
              d.view =
                  view()
                      .withBacklog(500, 40)
                      .withUnackedLimit(50)
                      .withConsumers(List.of(own(900, 40, true)));
            },
            "blocked-on-unacked"),
        row("storm", ConsumerRulesTest::storm, "redelivery-storm"),
        row(
            "nearly half come again",
            d -> {
              d.took = 100;
              d.redelivered = 49;
            }),
        row(
            "a few come again",
            d -> {
              d.took = 9;
              d.redelivered = 9;
            }),
        row(
            "all come again after the connection was lost",
            d -> {
              storm(d);
              d.opened = S4;
            }),
        row("ack timeout at p99.9", d -> d.ackTimeout = millis(30), "ack-timeout-too-short"),
        row("ack timeout above p99.9", d -> d.ackTimeout = millis(31)),
        row(
            "copies fail",
            d -> {
              d.copiesFailed = 1;
              d.settling = 1;
            },
            "copies-failing"),
        row("a copy failed and was mended", d -> d.copiesFailed = 1),
        row(
            "handlers without a break, of whom what waits is given back",
            d -> {
              d.pressed(millis(200));
              d.handling = ConsumerDraft.timing(20, 400);
              d.busyShare = 0.99;
            },
            "handler-slow"),
        row(
            "handlers without a break, and nothing waits",
            d -> {
              d.busyShare = 1;
            }),
        row(
            "handlers with hardly a break, and the broker has more for each of them",
            d -> {
              d.busyShare = 0.9;
              d.view = view().withBacklog(32, 16);
            },
            "handlers-all-busy"),
        row(
            "handlers with hardly a break, and the broker has little more",
            d -> {
              d.busyShare = 0.97;
              d.view = view().withBacklog(31, 16);
            }),
        row(
            "handlers without a break, of which too little is known",
            d -> {
              d.pressed(millis(1_900));
              d.busyShare = 1;
              d.length = millis(1_999);
            }),
        row(
            "handlers that stood still with the process",
            d -> {
              d.pressed(millis(200));
              d.busyShare = 1;
              d.pause = S2;
            }),
        row(
            "memory waits",
            d -> {
              d.pressed(S3);
              d.waitingBytes = d.maxBytes * 8 / 10 + 1;
            },
            "memory-held",
            "handlers-all-busy"),
        row(
            "memory waits for a moment",
            d -> {
              d.pressed(millis(1_900));
              d.waitingBytes = d.maxBytes;
            }),
        row(
            "no permits, nothing here",
            d -> {
              d.idle(S2);
              d.outstanding = -99;
            },
            "permits-starved"),
        row(
            "no permits for a moment",
            d -> {
              d.idle(millis(1_900));
              d.outstanding = 0;
            }),
        row(
            "no permits, and all is with handlers",
            d -> {
              d.idle(S4);
              d.outstanding = 0;
              d.inHandlers = d.slots;
            }),
        row(
            "no permits, and the broker has nothing",
            d -> {
              d.idle(S4);
              d.outstanding = 0;
              d.view = view().withBacklog(0, 0);
            }),
        row(
            "permits here, none there",
            d -> {
              d.idle(S4);
              d.view = view().withBacklog(9, 0).withConsumers(List.of(own(0, 0, false)));
            },
            "permits-starved"),
        row(
            "held by the broker",
            d -> {
              d.idle(S2);
              d.view = view().withBacklog(9, 0).withConsumers(List.of(own(60, 0, false)));
            },
            "held-by-broker"),
        row(
            "stands by while another has its turn",
            d -> {
              d.idle(S4);
              d.view =
                  view()
                      .withSpread(BrokerView.Spread.ONE)
                      .withBacklog(9, 0)
                      .withConsumers(List.of(own(60, 0, false), sibling(0)));
            }),
        row(
            "stands by while another has it all",
            d -> {
              d.idle(S4);
              d.view =
                  view()
                      .withSpread(BrokerView.Spread.ONE)
                      .withBacklog(800, 800)
                      .withConsumers(List.of(own(60, 0, false), sibling(800)));
            }),
        row(
            "one at a time, and the broker's list is older than we are",
            d -> {
              d.idle(S4);
              d.view =
                  view()
                      .withSpread(BrokerView.Spread.ONE)
                      .withBacklog(9, 0)
                      .withConsumers(List.of(sibling(9)));
            }),
        row(
            "one at a time, and there is no other",
            d -> {
              d.idle(S4);
              d.view =
                  view()
                      .withSpread(BrokerView.Spread.ONE)
                      .withBacklog(9, 0)
                      .withConsumers(List.of(own(60, 0, false)));
            },
            "held-by-broker"),
        row(
            "held for a moment",
            d -> {
              d.idle(millis(1_900));
              d.view = view().withBacklog(9, 0).withConsumers(List.of(own(60, 0, false)));
            }),
        row(
            "held while handlers are at work",
            d -> {
              d.idle(S4);
              d.inHandlers = 1;
              d.view = view().withBacklog(9, 1);
            }),
        row(
            "throttled dispatch by the broker's word",
            d -> d.view = view().withBacklog(900, 0).withThrottled(1, 0),
            "throttled-dispatch"),
        row(
            "throttled dispatch by its rhythm",
            d -> d.throttle = new Throttle(Throttle.Level.LIKELY, "gaps of 960 ms"),
            "throttled-dispatch"),
        row(
            "throttled, but the handlers are slower",
            d -> {
              d.pressed(S3);
              d.throttle = new Throttle(Throttle.Level.LIKELY, "gaps of 960 ms");
            },
            "handlers-all-busy"),
        row(
            "draining",
            d -> {
              d.idle(S2);
              d.view = view().withBacklog(300, 200).withDraining(10, 100, "c1");
            },
            "key-shared-draining"),
        row("drained", d -> d.view = view().withBacklog(300, 200).withDraining(0, 0, "")),
        row(
            "a sibling has it all",
            d -> {
              d.idle(S2);
              d.view =
                  view()
                      .withBacklog(800, 800)
                      .withConsumers(List.of(own(60, 0, false), sibling(800)));
            },
            "starved-by-siblings"),
        row(
            "a sibling is at work",
            d -> {
              d.idle(S2);
              d.view =
                  view().withBacklog(31, 31).withConsumers(List.of(own(60, 0, false), sibling(31)));
            }),
        row(
            "no keys in an order by key",
            d -> {
              d.ordering = Ordering.BY_KEY;
              d.keyless = 400;
            },
            "order-contradiction"),
        row(
            "a few without a key",
            d -> {
              d.ordering = Ordering.BY_KEY;
              d.keyless = 399;
            }),
        row("no keys, and no order", d -> d.keyless = 800),
        row(
            "total order spread over two",
            d -> {
              d.ordering = Ordering.TOTAL;
              d.view =
                  view()
                      .withSpread(Spread.BY_KEY)
                      .withConsumers(List.of(own(60, 0, false), sibling(0)));
            },
            "order-contradiction"),
        row(
            "order by key spread by key",
            d -> {
              d.ordering = Ordering.BY_KEY;
              d.view =
                  view()
                      .withSpread(Spread.BY_KEY)
                      .withConsumers(List.of(own(60, 0, false), sibling(0)));
            }),
        row("quota near", d -> d.peaks = new Peaks("messages", 800, 300, 1_000), "quota-near"),
        row("quota not near", d -> d.peaks = new Peaks("messages", 799, 300, 1_000)),
        row(
            "recovering",
            d -> {
              d.state = ConsumerSnapshot.State.RECOVERING;
              d.window = 0;
              d.outstanding = 0;
              d.arrived = S10;
            },
            "not-connected"),
        row(
            "paused with messages here",
            d -> {
              d.idle(S10);
              d.state = ConsumerSnapshot.State.PAUSED;
              d.waiting = 64;
              d.outstanding = 0;
              d.queueEmpty = S10;
            }),
        row(
            "closing, whatever else",
            d -> {
              d.pressed(S10);
              d.state = ConsumerSnapshot.State.ENDING;
            }));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("table")
  void scene_yieldsItsFindings(String scene, Consumer<ConsumerDraft> change, List<String> names) {
    ConsumerDraft draft = new ConsumerDraft();
    change.accept(draft);

    Explanation explained = draft.explained();

    assertThat(explained.findings())
        .as(explained.text())
        .extracting(Finding::name)
        .isEqualTo(names);
    for (Finding each : explained.findings()) {
      assertThat(each.what()).isNotBlank();
      assertThat(each.evidence()).isNotEmpty().noneMatch(String::isBlank);
      assertThat(each.remedy()).isNotBlank();
      assertThat(explained.text()).contains(each.what(), each.remedy());
      assertThat(explained.line()).contains(each.what());
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void healthyOfAnyKind_yieldsNothing(long seed) {
    SplittableRandom random = new SplittableRandom(seed);

    for (int i = 0; i < 20_000; i++) {
      ConsumerSnapshot snapshot = ConsumerDraft.healthy(random).snapshot();

      assertThat(ConsumerRules.find(snapshot))
          .as("seed %d, round %d: %s", seed, i, snapshot)
          .isEmpty();
    }
  }

  @Test
  void blocked_saysHowManyAreToBeSettled() {
    ConsumerDraft draft = new ConsumerDraft().idle(S3);
    draft.view =
        view().withBacklog(500, 40).withUnackedLimit(50).withConsumers(List.of(own(900, 40, true)));

    Finding first = draft.explained().findings().get(0);

    assertThat(first)
        .isEqualTo(
            new Finding.BlockedOnUnacked(Certainty.CERTAIN, 40, 50, 15, false, draft.settled));
    assertThat(first.what()).contains("settle 15 more");
  }

  @Test
  void storm_saysWhatBringsMessagesBack() {
    ConsumerDraft timeout = new ConsumerDraft();
    storm(timeout);
    timeout.ackTimeout = millis(20);
    ConsumerDraft attempts = new ConsumerDraft();
    storm(attempts);
    attempts.retried = 60;
    ConsumerDraft unknown = new ConsumerDraft();
    storm(unknown);

    assertThat(cause(timeout)).isEqualTo(Cause.ACK_TIMEOUT);
    assertThat(cause(attempts)).isEqualTo(Cause.ATTEMPTS);
    assertThat(cause(unknown)).isEqualTo(Cause.UNKNOWN);
  }

  private static Cause cause(ConsumerDraft draft) {
    return ((Finding.RedeliveryStorm) draft.explained().findings().get(0)).cause();
  }

  @Test
  void forgotten_namesTheMessageAndItsLane() {
    ConsumerDraft draft = new ConsumerDraft();
    draft.held = held(1, "customer-9", "");

    assertThat(draft.explained().text()).contains("message 5:17", "customer-9", "4.0 s");
  }

  @Test
  void heldLimit_followsWhatIsUsual() {
    Duration warning = Duration.ofSeconds(30);

    assertThat(ConsumerSnapshot.heldLimit(timing(19, 1), warning)).isEqualTo(warning);
    assertThat(ConsumerSnapshot.heldLimit(timing(20, 1), warning)).isEqualTo(S3);
    assertThat(ConsumerSnapshot.heldLimit(timing(20, 500), warning)).isEqualTo(S10);
  }

  @Test
  void chain_showsEachStageInOrder_andWhatCannotBeToldApart() {
    Explanation idle = new ConsumerDraft().idle(S10).explained();

    assertThat(idle.chain()).extracting(Explanation.Step::stage).containsExactly(Stage.values());
    assertThat(idle.text()).contains("idle or held by it", "nothing is wrong");
    assertThat(idle.state()).isEqualTo(Explanation.State.IDLE);
  }

  @Test
  void chain_showsWhatTheBrokerSays() {
    ConsumerDraft draft = new ConsumerDraft().idle(S10);
    draft.view =
        view()
            .withBacklog(12, 3)
            .withStoredBytes(5 << 20)
            .withConsumers(List.of(new Member("c1", true, OptionalLong.of(44), UNKNOWN, false)));

    assertThat(draft.explained().text()).contains("backlog 12, 3 of it", "44 permits", "5.0 MiB");
  }

  @Test
  void state_saysHowItStands() {
    ConsumerDraft stalled = new ConsumerDraft().idle(S10);
    stalled.inHandlers = 3;
    ConsumerDraft begun = new ConsumerDraft().idle(millis(100));
    begun.inHandlers = 3;
    ConsumerDraft paused = new ConsumerDraft();
    paused.state = ConsumerSnapshot.State.PAUSED;
    ConsumerDraft lost = new ConsumerDraft();
    lost.state = ConsumerSnapshot.State.RECOVERING;

    assertThat(new ConsumerDraft().explained().state()).isEqualTo(Explanation.State.FLOWING);
    assertThat(stalled.explained().state()).isEqualTo(Explanation.State.STALLED);
    assertThat(begun.explained().state()).isEqualTo(Explanation.State.FLOWING);
    assertThat(paused.explained().state()).isEqualTo(Explanation.State.WAITING);
    assertThat(lost.explained().state()).isEqualTo(Explanation.State.DISCONNECTED);
  }

  @Test
  void together_keepsTheWorstStateAndTheSurestFirst() {
    ConsumerDraft busy = new ConsumerDraft().pressed(S3);
    ConsumerDraft late = new ConsumerDraft();
    late.ackTimeout = millis(1);

    Explanation all = Explanation.together("a broker", List.of(busy.explained(), late.explained()));

    assertThat(all.findings())
        .extracting(Finding::name)
        .containsExactly("ack-timeout-too-short", "handlers-all-busy");
    assertThat(all.parts()).hasSize(2);
    assertThat(all.text()).contains("2 findings", "orders as 'g'");
  }
}
