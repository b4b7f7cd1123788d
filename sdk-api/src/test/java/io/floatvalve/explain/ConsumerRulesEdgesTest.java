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
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where a rule begins to speak, and what it says then. */
final class ConsumerRulesEdgesTest {
  private static final Duration S2 = Duration.ofSeconds(2);
  private static final Duration S3 = Duration.ofSeconds(3);
  private static final Duration S10 = Duration.ofSeconds(10);

  private static ConsumerDraft draft(Consumer<ConsumerDraft> change) {
    ConsumerDraft draft = new ConsumerDraft();
    change.accept(draft);
    return draft;
  }

  private static List<String> names(Consumer<ConsumerDraft> change) {
    return draft(change).explained().findings().stream().map(Finding::name).toList();
  }

  private static <F extends Finding> F first(Class<F> type, Consumer<ConsumerDraft> change) {
    return draft(change).explained().findings().stream()
        .filter(type::isInstance)
        .map(type::cast)
        .findFirst()
        .orElseThrow();
  }

  private static BrokerView view() {
    return BrokerView.from("admin", millis(100));
  }

  private static Member sibling(String name, long unacked) {
    return new Member(name, false, OptionalLong.of(0), OptionalLong.of(unacked), false);
  }

  private static void storm(ConsumerDraft d, long retried, long rejected, long duplicates) {
    d.took = 100;
    d.redelivered = 80;
    d.retried = retried;
    d.rejected = rejected;
    d.duplicates = duplicates;
  }

  @ParameterizedTest
  @CsvSource({
    "10, 10, 0, true",
    "9, 9, 0, false",
    "100, 50, 0, true",
    "100, 49, 0, false",
    "20, 0, 30, true",
    "100, 0, 100, true",
    "100, 0, 49, false",
  })
  void storm_isTenAndHalfOfAll(long took, long redelivered, long retried, boolean storm) {
    assertThat(
            names(
                d -> {
                  d.took = took;
                  d.redelivered = redelivered;
                  d.retried = retried;
                }))
        .isEqualTo(storm ? List.of("redelivery-storm") : List.of());
  }

  @Test
  void storm_countsWhatIsTriedAgainWithoutARedelivery() {
    Finding.RedeliveryStorm storm =
        first(
            Finding.RedeliveryStorm.class,
            d -> {
              d.took = 20;
              d.retried = 30;
            });

    assertThat(storm.again()).isEqualTo(30);
    assertThat(storm.all()).isEqualTo(50);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0, 0, 0, UNKNOWN",
    "20, 0, 0, 0, ATTEMPTS",
    "19, 0, 0, 0, UNKNOWN",
    "0, 20, 0, 0, ATTEMPTS",
    "10, 10, 0, 0, ATTEMPTS",
    "0, 0, 40, 1000, UNKNOWN",
    "0, 0, 41, 1000, ACK_TIMEOUT",
    "0, 0, 41, 0, UNKNOWN",
    "0, 0, 0, 30, ACK_TIMEOUT",
    "0, 0, 0, 31, UNKNOWN",
  })
  void stormsCause_isWhatExplainsEnoughOfIt(
      long retried, long rejected, long duplicates, long timeoutMillis, Cause cause) {
    Finding.RedeliveryStorm storm =
        first(
            Finding.RedeliveryStorm.class,
            d -> {
              storm(d, retried, rejected, duplicates);
              d.ackTimeout = Duration.ofMillis(timeoutMillis);
            });

    assertThat(storm.cause()).isEqualTo(cause);
    assertThat(storm.certainty())
        .isEqualTo(cause == Cause.UNKNOWN ? Certainty.LIKELY : Certainty.CERTAIN);
  }

  @Test
  void forgotten_isLikelyWhereOthersAreSettled_andPossibleElsewhere() {
    var held = new ConsumerSnapshot.Held(1, S3, "m", "k", S3, "");

    assertThat(first(Finding.SettlementForgotten.class, d -> d.held = held).certainty())
        .isEqualTo(Certainty.LIKELY);
    assertThat(
            first(
                    Finding.SettlementForgotten.class,
                    d -> {
                      d.held = held;
                      d.took = 0;
                    })
                .certainty())
        .isEqualTo(Certainty.POSSIBLE);
  }

  @Test
  void nothingHeld_isNobodysFault() {
    assertThat(names(d -> d.held = new ConsumerSnapshot.Held(0, S3, "m", "", S3, "worker")))
        .isEmpty();
    assertThat(names(d -> d.held = new ConsumerSnapshot.Held(0, S3, "m", "", S3, ""))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"800, 0, true", "799, 0, false", "0, 800, true", "0, 799, false"})
  void memory_isHeldFromFourFifthsOn(long waiting, long unsettled, boolean held) {
    List<String> names =
        names(
            d -> {
              d.pressed(S3);
              d.maxBytes = 1_000;
              d.waitingBytes = waiting;
              d.unsettledBytes = unsettled;
            });

    assertThat(names.contains("memory-held")).isEqualTo(held);
  }

  @Test
  void slow_saysWhatWasUsualBefore_ifThatWasFaster() {
    assertThat(
            first(
                Finding.HandlerSlow.class,
                d -> {
                  d.pressed(S3);
                  d.handling = timing(60, 30);
                }))
        .satisfies(slow -> assertThat(slow.before()).isEqualTo(millis(10)))
        .satisfies(slow -> assertThat(slow.message()).isEmpty());
    assertThat(
            first(
                Finding.HandlerSlow.class,
                d -> {
                  d.pressed(S3);
                  d.before = timing(10_000, 250);
                  d.handling = timing(60, 250);
                }))
        .satisfies(slow -> assertThat(slow.before()).isZero());
    assertThat(
            first(
                Finding.HandlerSlow.class,
                d -> d.held = new ConsumerSnapshot.Held(1, S3, "m 7", "", S3, "worker")))
        .satisfies(slow -> assertThat(slow.message()).isEqualTo("m 7"));
  }

  @ParameterizedTest
  @CsvSource({"50, 1, 5, true", "49, 1, 5, false", "50, 1, 4.9, false", "50, 2, 5.9, false"})
  void slower_isFiveMilliseconds_andThreeTimesWhatFiftyTook(
      long count, double before, double now, boolean slower) {
    assertThat(
            names(
                d -> {
                  d.pressed(S3);
                  d.before = timing(count, before);
                  d.handling = timing(60, now);
                }))
        .containsExactly(slower ? "handler-slow" : "handlers-all-busy");
  }

  @ParameterizedTest
  @CsvSource({
    "4, 0.9, 8, 0, true",
    "4, 0.89, 16, 0, true",
    "4, 0.89, 15, 10, true",
    "4, 0.89, 15, 9, false",
    "0, 0.99, 16, 10, false",
  })
  void pressed_isWhereMessagesWaitForHandlersOrKeys(
      int waiting, double busy, int inHandlers, int parked, boolean pressed) {
    List<String> names =
        names(
            d -> {
              d.pressed(S3);
              d.waiting = waiting;
              d.busyShare = busy;
              d.inHandlers = inHandlers;
              d.parked = parked;
              d.handling = timing(60, 300);
            });

    assertThat(names).isEqualTo(pressed ? List.of("handler-slow") : List.of());
  }

  @ParameterizedTest
  @CsvSource({"0.98, 999, true", "0.98, 1000, false", "0.979, 999, false"})
  void pressed_isAlsoWhereHandlersHadNoBreak(double busy, double pauseMillis, boolean pressed) {
    List<String> names =
        names(
            d -> {
              d.pressed(Duration.ZERO); // the queue was empty just now
              d.busyShare = busy;
              d.pause = millis(pauseMillis);
              d.handling = timing(60, 300);
            });

    assertThat(names).isEqualTo(pressed ? List.of("handler-slow") : List.of());
  }

  @Test
  void standingBy_takesTwo() {
    Member own = new Member("c1", true, OptionalLong.of(9), OptionalLong.of(0), false);

    assertThat(
            names(
                d -> {
                  d.idle(S10);
                  d.view =
                      view().withSpread(Spread.ONE).withBacklog(5, 0).withConsumers(List.of(own));
                }))
        .containsExactly("held-by-broker");
  }

  @Test
  void allBusy_isNineTenths_andSaysTheRate() {
    Finding.HandlersAllBusy busy =
        first(
            Finding.HandlersAllBusy.class,
            d -> {
              d.pressed(S3);
              d.busyShare = 0.9;
            });

    assertThat(busy.perSecond()).isEqualTo(400);
  }

  @Test
  void handedOut_saysHowManyToSettle() {
    Finding.BlockedOnUnacked blocked =
        first(
            Finding.BlockedOnUnacked.class,
            d -> {
              d.pulls = true;
              d.refusing = true;
              d.inHandlers = 20;
              d.settled = S2;
            });

    assertThat(blocked.more()).isEqualTo(5);
    assertThat(blocked.unacked()).isEqualTo(20);
  }

  @Test
  void blocked_countsWhatIsUnsettledHere_whereTheBrokerDoesNotSay() {
    Finding.BlockedOnUnacked blocked =
        first(
            Finding.BlockedOnUnacked.class,
            d -> {
              d.inHandlers = 2;
              d.parked = 3;
              d.settling = 4;
              d.view =
                  view()
                      .withConsumers(
                          List.of(
                              new Member(
                                  "c1", true, OptionalLong.of(9), OptionalLong.empty(), true)));
            });

    assertThat(blocked.unacked()).isEqualTo(9);
  }

  @ParameterizedTest
  @CsvSource({
    "64, 0, 0, 0, true",
    "0, 0, 0, 0, false",
    "64, 1, 0, 0, false",
    "64, 0, 8, 8, false",
    "64, 0, 8, 7, true",
  })
  void starved_isWithoutPermits_withAHandlerFree(
      int window, int outstanding, int inHandlers, int settling, boolean starved) {
    assertThat(
            names(
                d -> {
                  d.idle(S2);
                  d.window = window;
                  d.outstanding = outstanding;
                  d.inHandlers = inHandlers;
                  d.settling = settling;
                }))
        .isEqualTo(starved ? List.of("permits-starved") : List.of());
  }

  @Test
  void starved_isCertainWhereTheBrokerSaysSo() {
    assertThat(
            first(
                    Finding.PermitsStarved.class,
                    d -> {
                      d.idle(S2);
                      d.outstanding = 0;
                    })
                .certainty())
        .isEqualTo(Certainty.LIKELY);
    Member own = new Member("c1", true, OptionalLong.of(-3), OptionalLong.of(0), false);
    Finding.PermitsStarved told =
        first(
            Finding.PermitsStarved.class,
            d -> {
              d.idle(S2);
              d.view = view().withBacklog(5, 0).withConsumers(List.of(own));
            });
    assertThat(told.certainty()).isEqualTo(Certainty.CERTAIN);
    assertThat(told.outstanding()).isEqualTo(-3);
  }

  @Test
  void starved_isNotHeldByTheBroker() {
    assertThat(
            names(
                d -> {
                  d.idle(S2);
                  d.outstanding = 0;
                  d.view = view().withBacklog(800, 0);
                }))
        .containsExactly("permits-starved");
  }

  @Test
  void draining_isCertainWhereNothingComes() {
    for (Duration since : List.of(millis(999), Duration.ofSeconds(1))) {
      Finding.KeySharedDraining draining =
          first(
              Finding.KeySharedDraining.class,
              d -> {
                d.idle(since);
                d.view = view().withBacklog(300, 200).withDraining(2, 200, "c9");
              });
      assertThat(draining.certainty())
          .isEqualTo(since.toMillis() < 1_000 ? Certainty.LIKELY : Certainty.CERTAIN);
    }
  }

  @Test
  void siblings_theOneWithMostIsNamed_from32On() {
    Finding.StarvedBySiblings starved =
        first(
            Finding.StarvedBySiblings.class,
            d -> {
              d.idle(S2);
              d.view =
                  view()
                      .withBacklog(432, 432)
                      .withConsumers(
                          List.of(sibling("few", 32), sibling("most", 200), sibling("same", 200)));
            });
    assertThat(starved.holder()).isEqualTo("most");
    assertThat(
            names(
                d -> {
                  d.idle(S2);
                  d.view = view().withBacklog(32, 32).withConsumers(List.of(sibling("few", 32)));
                }))
        .containsExactly("starved-by-siblings");
  }

  @Test
  void contradiction_saysWhichOrder_andBeginsAtTenAndHalf() {
    assertThat(
            draft(
                    d -> {
                      d.ordering = Ordering.BY_KEY;
                      d.took = 20;
                      d.keyless = 10;
                    })
                .explained()
                .text())
        .contains("by key");
    assertThat(
            draft(
                    d -> {
                      d.ordering = Ordering.TOTAL;
                      d.view =
                          view()
                              .withSpread(Spread.SHARED)
                              .withConsumers(List.of(sibling("a", 0), sibling("b", 0)));
                    })
                .explained()
                .text())
        .contains("in total");
  }

  @Test
  void backlogThatDoesNotCome_isAStall() {
    ConsumerDraft draft = new ConsumerDraft().idle(S10);
    draft.view = view().withBacklog(5, 0);

    assertThat(draft.explained().state()).isEqualTo(Explanation.State.STALLED);
  }

  @Test
  void chain_saysWhatThereIs() {
    String text =
        draft(
                d -> {
                  d.pause = millis(500);
                  d.lastLoss = "reset by peer";
                  d.partlyAcked = 3;
                  d.parked = 1;
                  d.view =
                      view()
                          .withBacklog(12, 3)
                          .withAlarm("memory")
                          .withConsumers(
                              List.of(
                                  new Member(
                                      "c1", true, OptionalLong.of(9), OptionalLong.of(1), true)));
                })
            .explained()
            .text();

    assertThat(text)
        .contains("400 taken and 400 settled a second; 4 of 16 handlers in use, busy 25 %")
        .contains("this process stood still for 500 ms")
        .contains("last loss: reset by peer")
        .contains("of this one 9 permits, blocked on unacknowledged messages")
        .contains("5 unsettled here, in 3 batches partly")
        .contains("size not told; alarm: memory");
  }

  @Test
  void chain_saysNothingOfWhatThereIsNot() {
    String text =
        draft(d -> d.view = view().withBacklog(0, 0).withStoredBytes(10)).explained().text();

    assertThat(text)
        .contains("10 B kept")
        .doesNotContain(
            "stood still", "last loss", "batches partly", "alarm", "draining", "rate limit");
    assertThat(draft(d -> d.partlyAcked = 3).explained().text())
        .contains("4 unsettled here, in 3 batches partly; the broker was not asked");
    assertThat(draft(d -> d.partlyAcked = 0).explained().text()).doesNotContain("batches partly");
    assertThat(draft(d -> d.pulls = true).explained().text())
        .contains("4 of 16 handed out")
        .doesNotContain("handlers in use");
    assertThat(draft(d -> d.length = Duration.ZERO).explained().text()).contains("0.0 taken");
    assertThat(
            draft(
                    d -> {
                      d.idle(S10);
                      d.outstanding = 0;
                    })
                .explained()
                .text())
        .doesNotContain("cannot be told apart");
  }
}
