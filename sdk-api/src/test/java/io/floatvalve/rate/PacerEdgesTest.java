package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.floatvalve.model.Address;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.OnExceed;
import io.floatvalve.rate.QuotaPolicy.Oversize;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.rate.QuotaStatus.ScopeStatus;
import io.floatvalve.rate.ThrottleDetector.Evidence;
import io.floatvalve.rate.ThrottleDetector.Verdict;
import java.time.Duration;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a pacer, its gates and budgets answer at their edges, to the nanosecond. */
final class PacerEdgesTest {
  private static final long MS = 1_000_000;
  private static final long SECOND = 1_000 * MS;
  private static final long WINDOW = 1_010 * MS; // what passed has left it, at the latest
  private static final long BEHIND = 200_000;
  private static final long GRACE = 5 * MS;
  private static final Address TOPIC = Address.topic("t");
  private static final Address OTHER = Address.topic("other");
  private static final int ANY = Gate.ANY_PARTITION;

  /** It lies ahead of the clock, so that a status is of the time that was passed in last. */
  private static final long START = System.nanoTime() + 3_600 * SECOND;

  private static Pacer pacer(QuotaPolicy rules) {
    return new Pacer(rules.withHeadroom(1), START);
  }

  private static QuotaPolicy messages(long perSecond) {
    return QuotaPolicy.none().withPublish(Scope.TOPIC, Quota.messagesPerSecond(perSecond));
  }

  private static QuotaPolicy bytes(long perSecond) {
    return QuotaPolicy.none().withPublish(Scope.TOPIC, Quota.bytesPerSecond(perSecond));
  }

  private static long publish(Gate gate, long at) {
    return publish(gate, TOPIC, at);
  }

  private static long publish(Gate gate, Address address, long at) {
    return gate.take(Kind.PUBLISH, address, ANY, 1, 1, START + at);
  }

  private static long cost(Gate gate, int cost, long at) {
    return gate.take(Kind.PUBLISH, TOPIC, ANY, cost, 1, START + at);
  }

  private static long bytes(Gate gate, long bytes, long at) {
    return gate.take(Kind.PUBLISH, TOPIC, ANY, 1, bytes, START + at);
  }

  private static int passing(Gate gate, int most, long at) {
    int passed = 0;
    while (passed < most && publish(gate, at) == 0) {
      passed++;
    }
    return passed;
  }

  private static ScopeStatus place(Pacer pacer, Kind kind, Scope scope, String name) {
    return pacer.status().scopes().stream()
        .filter(s -> s.kind() == kind && s.scope() == scope && s.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static ScopeStatus topic(Pacer pacer) {
    return place(pacer, Kind.PUBLISH, Scope.TOPIC, TOPIC.toString());
  }

  private static ScopeStatus cluster(Pacer pacer, Kind kind) {
    return place(pacer, kind, Scope.CLUSTER, "");
  }

  private static Evidence seen(Verdict verdict, double perSecond) {
    return new Evidence(verdict, Set.of(), 0, 0, perSecond, 0, 1_000);
  }

  // --------------------------------------------------------------------------- one who goes alone

  @Test
  void time_countsFromTheStart() {
    long start = 7 * MS;
    Gate gate = new Pacer(bytes(10).withHeadroom(1), start).gate();
    assertThat(gate.take(Kind.PUBLISH, TOPIC, ANY, 1, 10, start)).isZero();

    assertThat(gate.take(Kind.PUBLISH, TOPIC, ANY, 1, 10, start)).isEqualTo(WINDOW);
    assertThat(gate.take(Kind.PUBLISH, TOPIC, ANY, 1, 10, start + WINDOW)).isZero();
  }

  @Test
  void whatIsAsLargeAsTheLimit_passes_andOneMoreIsTooLarge() {
    Gate ofBytes = pacer(bytes(1_000)).gate();
    assertThat(bytes(ofBytes, 1_001, 0)).isEqualTo(Gate.TOO_LARGE);
    assertThat(bytes(ofBytes, 1_000, 0)).isZero();

    Gate ofMessages = pacer(messages(10)).gate();
    assertThat(cost(ofMessages, 11, 0)).isEqualTo(Gate.TOO_LARGE);
    assertThat(cost(ofMessages, 10, 0)).isZero();
  }

  @Test
  void tooLarge_takesFromNoPlace_andWaitsForNone() {
    Pacer pacer = pacer(bytes(1_000).withPublish(Scope.CLUSTER, Quota.messagesPerSecond(10)));
    Gate gate = pacer.gate();

    assertThat(bytes(gate, 1_001, 0)).isEqualTo(Gate.TOO_LARGE);

    assertThat(cluster(pacer, Kind.PUBLISH).messages()).isZero();
    assertThat(pacer.status().waiting()).isZero();
    assertThat(pacer.status().waits()).isZero();
  }

  @Test
  void consumedMessageThatIsTooLarge_passesAlone_thoughPublishedOnesAreRejected() {
    QuotaPolicy rules = QuotaPolicy.none().withConsume(Scope.TOPIC, Quota.bytesPerSecond(10));
    Gate gate = pacer(rules.withOversize(Oversize.REJECT)).gate();

    assertThat(gate.take(Kind.CONSUME, TOPIC, ANY, 1, 11, START)).isZero();
    assertThat(gate.take(Kind.CONSUME, TOPIC, ANY, 1, 1, START)).isEqualTo(WINDOW);
  }

  @Test
  void fewASecond_areKeptApartByAPause() {
    Gate gate = pacer(messages(10)).gate();
    publish(gate, 0);

    assertThat(publish(gate, 0)).isEqualTo(80 * MS);
    assertThat(publish(gate, 80 * MS - 1)).isEqualTo(1);
    assertThat(publish(gate, 80 * MS)).isZero();
  }

  @Test
  void bytes_areFollowedByAPauseOfTheirSize_lessTenMilliseconds() {
    Gate gate = pacer(bytes(1_000)).gate();
    bytes(gate, 500, 0);

    assertThat(bytes(gate, 1, 0)).isEqualTo(390 * MS);
    assertThat(bytes(gate, 1, 390 * MS)).isZero();
  }

  @ParameterizedTest
  @CsvSource({"200, 2, 10101011", "1000, 10, 10101011", "250, 2, 8064517", "20000, 200, 10101011"})
  void manyASecond_passByCycles(int limit, int inACycle, long cycleNanos) {
    Gate gate = pacer(messages(limit)).gate();

    assertThat(passing(gate, 1_000, 0)).isEqualTo(inACycle);
    assertThat(publish(gate, 0)).isEqualTo(cycleNanos);
    assertThat(publish(gate, cycleNanos - 1)).isEqualTo(1);
    assertThat(passing(gate, 1_000, cycleNanos)).isEqualTo(inACycle);
    assertThat(publish(gate, cycleNanos)).isEqualTo(cycleNanos);
  }

  @Test
  void costOfMoreThanACycle_isGatheredOverCycles_andNoMoreThanThatIsGot() {
    long cycle = 10_101_011;
    Gate gate = pacer(messages(1_000)).gate();

    assertThat(cost(gate, 15, 0)).isEqualTo(cycle);
    assertThat(cost(gate, 15, cycle)).isZero();

    assertThat(cost(gate, 10, 2 * cycle)).isZero();
    assertThat(cost(gate, 1, 2 * cycle)).isEqualTo(cycle);
  }

  @Test
  void whatIsLeftOfACycle_isKeptForAMessageThatNeedsMore() {
    long cycle = 10_101_011;
    Gate gate = pacer(messages(1_000)).gate();
    cost(gate, 4, 0);

    assertThat(cost(gate, 10, 0)).isEqualTo(cycle);
    assertThat(cost(gate, 10, cycle)).isZero();
    assertThat(cost(gate, 6, cycle)).isZero();
    assertThat(cost(gate, 1, cycle)).isEqualTo(cycle);
  }

  @Test
  void pauseBetweenCycles_isOfOneMessage_whateverItCosts() {
    Gate gate = pacer(messages(100)).gate();
    long at = 0;
    long wait = cost(gate, 5, at);
    while (wait > 0) {
      at += wait;
      wait = cost(gate, 5, at);
    }

    assertThat(at).isEqualTo(4 * 10_101_011L);
    assertThat(publish(gate, at)).isEqualTo(8 * MS);
  }

  // -------------------------------------------------------------------------- limits that change

  @Test
  void raisedLimit_letsTheDifferencePass_andWhatPassedLeavesInItsTime() {
    Pacer pacer = pacer(bytes(100));
    Gate gate = pacer.gate();
    bytes(gate, 100, 0);
    assertThat(bytes(gate, 100, 500 * MS)).isEqualTo(510 * MS);

    pacer.changeTo(bytes(200).withHeadroom(1));

    assertThat(bytes(gate, 100, 500 * MS)).isZero();
    assertThat(bytes(gate, 100, 950 * MS)).isEqualTo(60 * MS);
    assertThat(bytes(gate, 100, WINDOW)).isZero();
  }

  @Test
  void whatPassedInASecond_countsOn_thoughTheNewLimitCountsByAnotherSpan() {
    Pacer pacer = pacer(messages(1).withShare(0.5));
    Gate gate = pacer.gate();
    publish(gate, 0);
    assertThat(publish(gate, 0)).isEqualTo(2 * WINDOW);

    pacer.changeTo(messages(1).withHeadroom(1));

    assertThat(publish(gate, 0)).isEqualTo(WINDOW);
  }

  @Test
  void quotaThatIsAdded_holdsForGatesThatKnewAnotherWay() {
    Pacer pacer = pacer(messages(10));
    Gate gate = pacer.gate();
    publish(gate, 0);

    pacer.changeTo(messages(10).withPublish(Scope.CLUSTER, Quota.messagesPerSecond(1)));

    assertThat(publish(gate, 80 * MS)).isZero();
    assertThat(cluster(pacer, Kind.PUBLISH).messages()).isEqualTo(1);
  }

  @Test
  void quotaThatIsTaken_holdsNoMore() {
    Pacer pacer = pacer(messages(1));
    Gate gate = pacer.gate();
    publish(gate, 0);

    pacer.changeTo(QuotaPolicy.none());

    assertThat(passing(gate, 100, 0)).isEqualTo(100);
    assertThat(topic(pacer).messageLimit()).isEmpty();
    assertThat(pacer.rules().quota(Kind.PUBLISH, Scope.TOPIC)).isEqualTo(Quota.none());
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -0.5, 1.01, Double.NaN})
  void scale_isAboveNothingAndAtMostAll(double factor) {
    Pacer pacer = pacer(messages(1));

    assertThatThrownBy(() -> pacer.scaleTo(Kind.PUBLISH, factor))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("was " + factor);
    assertThat(pacer.part(Kind.PUBLISH)).isEqualTo(1);
  }

  @Test
  void scale_lowersTheLimitsOfItsKind_ofPlacesKnownAndNew() {
    Pacer pacer = pacer(bytes(100).withConsume(Scope.TOPIC, Quota.bytesPerSecond(100)));
    Gate gate = pacer.gate();
    bytes(gate, 1, 0);

    pacer.scaleTo(Kind.PUBLISH, 0.5);

    assertThat(pacer.part(Kind.PUBLISH)).isEqualTo(0.5);
    assertThat(pacer.part(Kind.CONSUME)).isEqualTo(1);
    assertThat(bytes(gate, 51, 0)).isEqualTo(Gate.TOO_LARGE);
    assertThat(gate.take(Kind.PUBLISH, OTHER, ANY, 1, 51, START)).isEqualTo(Gate.TOO_LARGE);
    assertThat(gate.take(Kind.PUBLISH, OTHER, ANY, 1, 50, START)).isZero();
    assertThat(gate.take(Kind.CONSUME, TOPIC, ANY, 1, 100, START)).isZero();
    assertThat(topic(pacer).byteLimit()).hasValue(50);
    assertThat(topic(pacer).factor()).isEqualTo(0.5);
  }

  @Test
  void scaleOfOne_isAllOfTheLimitAgain() {
    Pacer pacer = pacer(bytes(100));
    pacer.scaleTo(Kind.PUBLISH, 0.5);

    pacer.scaleTo(Kind.PUBLISH, 1);

    assertThat(bytes(pacer.gate(), 100, 0)).isZero();
  }

  @Test
  void limit_isTheQuotaTimesShareTimesHeadroom() {
    Pacer pacer = new Pacer(bytes(1_000).withShare(0.25).withHeadroom(0.8), START);
    Gate gate = pacer.gate();

    assertThat(bytes(gate, 201, 0)).isEqualTo(Gate.TOO_LARGE);
    assertThat(bytes(gate, 200, 0)).isZero();
    assertThat(topic(pacer).byteLimit()).hasValueCloseTo(200.0, within(1e-9));
  }

  @Test
  void throttling_reducesTheLimits_andTellsThePartThatHolds() {
    Pacer pacer = pacer(messages(1_000));
    publish(pacer.gate(), 0);
    assertThat(pacer.reduce(Kind.PUBLISH, 0, seen(Verdict.NONE, 0), 1_000)).isEqualTo(1);

    double part = pacer.reduce(Kind.PUBLISH, 0, seen(Verdict.LIKELY, 600), 1_000);

    assertThat(part).isCloseTo(0.54, within(1e-9));
    assertThat(pacer.part(Kind.PUBLISH)).isEqualTo(part);
    assertThat(topic(pacer).factor()).isEqualTo(part);
    assertThat(pacer.part(Kind.CONSUME)).isEqualTo(1);
    assertThat(pacer.reduce(Kind.PUBLISH, SECOND, seen(Verdict.LIKELY, 1), 1_000)).isEqualTo(part);
  }

  // ---------------------------------------------------------------- turns of those who share one

  @Test
  void thoseWhoWait_areDueOneAfterAnother_aCycleApart() {
    Pacer pacer = pacer(messages(10));
    publish(pacer.gate(), 0);

    assertThat(publish(pacer.gate(), 0)).isEqualTo(80 * MS);
    assertThat(publish(pacer.gate(), 0)).isEqualTo(180 * MS);
    assertThat(publish(pacer.gate(), 0)).isEqualTo(280 * MS);
  }

  @ParameterizedTest
  @CsvSource({"49, 20408163", "50, 20408164", "100, 10101011"})
  void cyclesOfALimit_areTheLimitersFromFiftyOn(int limit, long cycleNanos) {
    Pacer pacer = pacer(messages(limit));
    publish(pacer.gate(), 0);

    long first = publish(pacer.gate(), 0);
    assertThat(first).isEqualTo((long) (0.8e9 / limit));
    assertThat(publish(pacer.gate(), 0)).isEqualTo(first + cycleNanos);
  }

  @Test
  void severalWhoFitIntoACycle_areDueInTheSame() {
    Pacer pacer = pacer(messages(1_000));
    passing(pacer.gate(), 10, 0);

    assertThat(publish(pacer.gate(), 0)).isEqualTo(10_101_011);
    assertThat(publish(pacer.gate(), 0)).isEqualTo(10_101_011 + BEHIND);
  }

  @Test
  void first_keepsOthersOut_untilHeIsLate() {
    Pacer pacer = pacer(messages(10));
    Gate first = pacer.gate();
    publish(pacer.gate(), 0);
    publish(first, 0);

    assertThat(publish(pacer.gate(), 80 * MS)).isEqualTo(BEHIND + 100 * MS);
    assertThat(publish(pacer.gate(), 80 * MS + GRACE)).isEqualTo(BEHIND + 200 * MS);
    assertThat(publish(first, 80 * MS + GRACE)).isZero();
  }

  @Test
  void whoIsLate_losesHisTurn() {
    Pacer pacer = pacer(messages(10));
    Gate late = pacer.gate();
    publish(pacer.gate(), 0);
    publish(late, 0);

    assertThat(publish(pacer.gate(), 80 * MS + GRACE + 1)).isZero();
    assertThat(publish(late, 80 * MS + GRACE + 1)).isEqualTo(80 * MS);
  }

  @Test
  void whoOnlyGuessesWhenHeIsDue_keepsOthersOutFromThenOn() {
    for (long early : new long[] {1, 0}) {
      Pacer pacer = pacer(messages(10));
      Gate first = pacer.gate();
      Gate second = pacer.gate();
      publish(pacer.gate(), 0);
      publish(first, 0);
      assertThat(publish(second, 0)).isEqualTo(180 * MS);
      assertThat(publish(first, 80 * MS)).isZero();

      long wait = publish(pacer.gate(), 180 * MS - early);

      assertThat(wait).isEqualTo(early == 1 ? 0 : BEHIND + 100 * MS);
    }
  }

  @Test
  void whoIsOnTurn_goesOnForHisPartOfACycle() {
    long cycle = 10_101_011;
    Pacer pacer = pacer(messages(1_000));
    Gate one = pacer.gate();
    Gate two = pacer.gate();
    passing(one, 10, 0);
    publish(one, 0);
    publish(two, 0);
    assertThat(publish(one, cycle)).isZero();

    assertThat(passing(one, 10, cycle + BEHIND)).isEqualTo(4);
    assertThat(publish(one, cycle + BEHIND)).isEqualTo(BEHIND);
    assertThat(passing(two, 10, cycle + BEHIND)).isEqualTo(5);
  }

  @Test
  void whoIsOnTurn_goesOnForHisPartOfTheBytesOfACycle() {
    Pacer pacer = pacer(bytes(1_000_000));
    Gate one = pacer.gate();
    Gate two = pacer.gate();
    for (int i = 0; i < 13; i++) {
      assertThat(bytes(one, 1_000, 0)).isZero();
    }
    assertThat(bytes(one, 1_000, 0)).isEqualTo(400_000);
    assertThat(bytes(two, 1_000, 0)).isEqualTo(400_000 + 10 * MS);
    assertThat(bytes(one, 1_000, 400_000)).isZero();

    for (int i = 0; i < 4; i++) {
      assertThat(bytes(one, 1_000, 400_000 + 10 * MS)).isZero();
    }
    assertThat(bytes(one, 1_000, 400_000 + 10 * MS)).isEqualTo(BEHIND + 10 * MS);
    assertThat(bytes(two, 1_000, 400_000 + 10 * MS)).isZero();
  }

  @Test
  void turn_isNotLost_whereAnotherBeginsToWait() {
    long cycle = 10_101_011;
    Pacer pacer = pacer(messages(1_000));
    Gate one = pacer.gate();
    passing(one, 10, 0);
    publish(one, 0);
    publish(pacer.gate(), 0);
    assertThat(publish(one, cycle)).isZero();
    assertThat(publish(pacer.gate(), cycle + BEHIND)).isEqualTo(BEHIND);

    assertThat(passing(one, 10, cycle + BEHIND)).isEqualTo(2); // a third of ten, and one has been
  }

  @Test
  void turn_isOverForWhoWaits() {
    long cycle = 10_101_011;
    Pacer pacer = pacer(messages(1_000));
    Gate one = pacer.gate();
    Gate two = pacer.gate();
    passing(one, 10, 0);
    publish(one, 0);
    publish(two, 0);
    assertThat(publish(one, cycle)).isZero();
    assertThat(cost(one, 10, cycle)).isEqualTo(cycle);

    assertThat(cost(one, 10, cycle + BEHIND)).isEqualTo(BEHIND);
    assertThat(publish(two, cycle + BEHIND)).isZero();
  }

  @Test
  void whoLeaves_keepsNobodyOut() {
    Pacer pacer = pacer(messages(10));
    Gate gone = pacer.gate();
    publish(pacer.gate(), 0);
    publish(gone, 0);

    gone.leave();

    assertThat(pacer.status().waiting()).isZero();
    assertThat(publish(pacer.gate(), 80 * MS)).isZero();
  }

  @Test
  void whoNeverWaited_mayLeave() {
    Pacer pacer = pacer(messages(10));

    pacer.gate().leave();

    assertThat(pacer.status().waiting()).isZero();
  }

  @Test
  void whoComesToWaitAtAnotherPlace_keepsNobodyOutAtTheFormer() {
    QuotaPolicy rules =
        QuotaPolicy.none()
            .withHeadroom(1)
            .withPublish(Scope.CLUSTER, Quota.messagesPerSecond(10))
            .withPublish(Scope.TOPIC, Quota.messagesPerSecond(100));
    Pacer pacer = pacer(rules);
    Gate gate = pacer.gate();
    publish(pacer.gate(), 0);
    assertThat(publish(gate, 0)).isEqualTo(80 * MS);

    pacer.changeTo(rules.withPublish(Scope.TOPIC, Quota.messagesPerSecond(1)));
    assertThat(publish(gate, 0)).isEqualTo(WINDOW);

    assertThat(publish(pacer.gate(), OTHER, 80 * MS)).isZero();
  }

  // ----------------------------------------------------------------------- what a status counts

  @Test
  void whatPassed_isCounted_byPlace() {
    Pacer pacer = pacer(messages(10).withPublish(Scope.CLUSTER, Quota.bytesPerSecond(1_000)));
    Gate gate = pacer.gate();
    gate.take(Kind.PUBLISH, TOPIC, ANY, 2, 30, START);
    gate.take(Kind.PUBLISH, OTHER, ANY, 3, 40, START + 500 * MS);
    gate.take(Kind.PUBLISH, TOPIC, ANY, 4, 50, START + 600 * MS);

    ScopeStatus topic = topic(pacer);
    assertThat(topic.messages()).isEqualTo(2);
    assertThat(topic.cost()).isEqualTo(6);
    assertThat(topic.bytes()).isEqualTo(80);
    assertThat(topic.lastSecondCost()).isEqualTo(6);
    assertThat(topic.lastSecondBytes()).isZero();
    assertThat(topic.messageLimit()).hasValue(10);
    assertThat(topic.byteLimit()).isEmpty();
    assertThat(topic.quota()).isEqualTo(Quota.messagesPerSecond(10));
    assertThat(topic.factor()).isEqualTo(1);
    assertThat(topic.waits()).isZero();
    ScopeStatus cluster = cluster(pacer, Kind.PUBLISH);
    assertThat(cluster.messages()).isEqualTo(3);
    assertThat(cluster.cost()).isEqualTo(9);
    assertThat(cluster.bytes()).isEqualTo(120);
    assertThat(cluster.lastSecondCost()).isZero();
    assertThat(cluster.lastSecondBytes()).isEqualTo(120);
    assertThat(cluster.messageLimit()).isEmpty();
    assertThat(cluster.byteLimit()).hasValue(1_000);
  }

  @Test
  void lastSecond_endsWithTheWindow() {
    Pacer pacer = pacer(messages(10));
    Gate gate = pacer.gate();
    publish(gate, 0);

    publish(gate, OTHER, WINDOW - 1);
    assertThat(topic(pacer).lastSecondCost()).isEqualTo(1);
    publish(gate, OTHER, WINDOW);
    assertThat(topic(pacer).lastSecondCost()).isZero();
  }

  @Test
  void wait_isCountedOnceForAMessage_howeverOftenItIsTried() {
    Pacer pacer = pacer(messages(10));
    Gate gate = pacer.gate();
    publish(gate, 0);

    publish(gate, 0);
    publish(gate, 10 * MS);

    assertThat(pacer.status().waits()).isEqualTo(1);
    assertThat(topic(pacer).waits()).isEqualTo(1);
    assertThat(pacer.status().waiting()).isEqualTo(1);
    assertThat(pacer.status().oldestWait()).isEqualTo(Duration.ofMillis(10));
    assertThat(publish(gate, 80 * MS)).isZero();
    assertThat(pacer.status().waiting()).isZero();
    assertThat(pacer.status().oldestWait()).isZero();
    publish(gate, 80 * MS);
    assertThat(pacer.status().waits()).isEqualTo(2);
    assertThat(topic(pacer).waits()).isEqualTo(2);
  }

  @Test
  void oldestWait_isOfWhoWaitsLongest() {
    Pacer pacer = pacer(messages(1));
    publish(pacer.gate(), 0);
    publish(pacer.gate(), 100 * MS);
    publish(pacer.gate(), 300 * MS);

    assertThat(pacer.status().waiting()).isEqualTo(2);
    assertThat(pacer.status().oldestWait()).isEqualTo(Duration.ofMillis(200));
  }

  @Test
  void failing_tellsTheWait_andWaitsForNothing() {
    Pacer pacer = pacer(messages(10).withOnExceed(OnExceed.FAIL));
    Gate gate = pacer.gate();
    publish(gate, 0);

    assertThat(publish(gate, 0)).isEqualTo(80 * MS);

    assertThat(pacer.status().waits()).isZero();
    assertThat(pacer.status().waiting()).isZero();
  }

  @Test
  void consuming_waits_whateverHappensToWhatIsPublished() {
    QuotaPolicy rules = QuotaPolicy.none().withConsume(Scope.TOPIC, Quota.messagesPerSecond(10));
    Pacer pacer = pacer(rules.withOnExceed(OnExceed.FAIL));
    Gate gate = pacer.gate();
    gate.take(Kind.CONSUME, TOPIC, ANY, 1, 1, START);

    assertThat(gate.take(Kind.CONSUME, TOPIC, ANY, 1, 1, START)).isEqualTo(80 * MS);

    assertThat(pacer.status().waiting()).isEqualTo(1);
  }

  @Test
  void whatOthersEndOrStrip_isCountedAsTheyTell() {
    Pacer pacer = pacer(QuotaPolicy.none());

    pacer.refused();
    pacer.refused();
    pacer.delayStripped();

    assertThat(pacer.status().refused()).isEqualTo(2);
    assertThat(pacer.status().delaysStripped()).isEqualTo(1);
  }

  // -------------------------------------------------------------------------------------- copies

  @Test
  void copy_isCountedAtTheCluster_andWhatComesAfterItWaits() {
    Pacer pacer = pacer(messages(10).withPublish(Scope.CLUSTER, Quota.bytesPerSecond(100)));
    Gate gate = pacer.gate();

    gate.count(Kind.PUBLISH, 100, START);

    assertThat(publish(gate, 0)).isEqualTo(WINDOW);
    assertThat(cluster(pacer, Kind.PUBLISH).messages()).isEqualTo(1);
    assertThat(cluster(pacer, Kind.PUBLISH).bytes()).isEqualTo(100);
    assertThat(topic(pacer).messages()).isZero();
  }

  @Test
  void copyWithoutAQuotaOfTheCluster_isCountedNowhere() {
    Pacer pacer = pacer(messages(10));

    pacer.gate().count(Kind.PUBLISH, 100, START);

    assertThat(pacer.status().scopes()).isEmpty();
  }

  @Test
  void delayedCopy_countsAsPublished_unlessThereIsAQuotaForIt() {
    QuotaPolicy rules = QuotaPolicy.none().withPublish(Scope.CLUSTER, Quota.bytesPerSecond(100));
    Pacer published = pacer(rules);
    published.gate().count(Kind.DELAYED_PUBLISH, 10, START);
    assertThat(cluster(published, Kind.PUBLISH).bytes()).isEqualTo(10);

    Pacer both = pacer(rules.withDelayedPublish(Scope.CLUSTER, Quota.bytesPerSecond(100)));
    both.gate().count(Kind.DELAYED_PUBLISH, 10, START);
    both.gate().count(Kind.PUBLISH, 20, START);
    assertThat(cluster(both, Kind.DELAYED_PUBLISH).bytes()).isEqualTo(10);
    assertThat(cluster(both, Kind.PUBLISH).bytes()).isEqualTo(20);
  }

  // -------------------------------------------------------------------------------------- places

  @Test
  void delayedMessage_countsAsPublished_unlessThereIsAQuotaForIt() {
    Pacer published = pacer(bytes(100));
    published.gate().take(Kind.DELAYED_PUBLISH, TOPIC, ANY, 1, 10, START);
    assertThat(topic(published).bytes()).isEqualTo(10);

    Pacer both = pacer(bytes(100).withDelayedPublish(Scope.TOPIC, Quota.bytesPerSecond(100)));
    both.gate().take(Kind.DELAYED_PUBLISH, TOPIC, ANY, 1, 10, START);
    both.gate().take(Kind.PUBLISH, TOPIC, ANY, 1, 20, START);
    String name = TOPIC.toString();
    assertThat(place(both, Kind.DELAYED_PUBLISH, Scope.TOPIC, name).bytes()).isEqualTo(10);
    assertThat(topic(both).bytes()).isEqualTo(20);
  }

  @Test
  void partitions_countEachByItself_inWhicheverOrderTheyAreMet() {
    Pacer pacer =
        pacer(QuotaPolicy.none().withPublish(Scope.PARTITION, Quota.bytesPerSecond(100_000)));
    Gate gate = pacer.gate();
    int[] partitions = {ANY, 0, 3, 1, 1, 0, ANY};
    for (int i = 0; i < partitions.length; i++) {
      assertThat(gate.take(Kind.PUBLISH, TOPIC, partitions[i], 1, 1L << i, START)).isZero();
    }
    assertThat(gate.take(Kind.PUBLISH, OTHER, ANY, 1, 1_000, START)).isZero();

    assertThat(partition(pacer, TOPIC.toString()).bytes()).isEqualTo(0b1000001);
    assertThat(partition(pacer, TOPIC + ", partition 0").bytes()).isEqualTo(0b100010);
    assertThat(partition(pacer, TOPIC + ", partition 1").bytes()).isEqualTo(0b11000);
    assertThat(partition(pacer, TOPIC + ", partition 3").bytes()).isEqualTo(0b100);
    assertThat(partition(pacer, OTHER.toString()).bytes()).isEqualTo(1_000);
    assertThat(pacer.status().scopes()).hasSize(5);
  }

  private static ScopeStatus partition(Pacer pacer, String name) {
    return place(pacer, Kind.PUBLISH, Scope.PARTITION, name);
  }

  @Test
  void addresses_countEachByItself_thoughOneGateLeadsToAll() {
    Pacer pacer = pacer(bytes(100_000));
    Gate gate = pacer.gate();
    gate.take(Kind.PUBLISH, TOPIC, ANY, 1, 1, START);
    gate.take(Kind.PUBLISH, OTHER, ANY, 1, 10, START);
    gate.take(Kind.PUBLISH, TOPIC, ANY, 1, 100, START);

    assertThat(topic(pacer).bytes()).isEqualTo(101);
    assertThat(place(pacer, Kind.PUBLISH, Scope.TOPIC, OTHER.toString()).bytes()).isEqualTo(10);
  }

  private static void fill(Gate gate, int places) {
    for (int i = 0; i < places; i++) {
      assertThat(publish(gate, Address.topic("t" + i), 0)).isZero();
    }
  }

  @Test
  void thousandPlaces_areForgottenAfterTwoSeconds_butThoseInUse() {
    Pacer pacer = pacer(messages(10));
    Gate gate = pacer.gate();
    fill(gate, 999);
    publish(gate, OTHER, 1_500 * MS);

    publish(gate, 2 * SECOND);
    assertThat(pacer.status().scopes()).hasSize(1_001);

    publish(gate, Address.topic("next"), 2 * SECOND + 1);
    assertThat(pacer.status().scopes())
        .extracting(ScopeStatus::name)
        .containsExactly(OTHER.toString(), TOPIC.toString(), Address.topic("next").toString());
  }

  @Test
  void thousandPlaces_areForgotten_andFewerAreNot() {
    Pacer few = pacer(messages(10));
    fill(few.gate(), 999);
    publish(few.gate(), 3 * SECOND);
    assertThat(few.status().scopes()).hasSize(1_000);

    Pacer many = pacer(messages(10));
    fill(many.gate(), 1_000);
    publish(many.gate(), 3 * SECOND);
    assertThat(many.status().scopes()).hasSize(1);
  }

  @Test
  void placeWhereSomebodyWaits_isNotForgotten() {
    Pacer pacer = pacer(messages(10));
    fill(pacer.gate(), 1_000);
    assertThat(publish(pacer.gate(), Address.topic("t7"), 0)).isEqualTo(80 * MS);

    publish(pacer.gate(), 3 * SECOND);

    assertThat(pacer.status().scopes())
        .extracting(ScopeStatus::name)
        .containsExactly(Address.topic("t7").toString(), TOPIC.toString());
  }

  @Test
  void gateThatKnewAForgottenPlace_countsAtTheNewOne() {
    Pacer pacer = pacer(messages(10));
    Gate gate = pacer.gate();
    publish(gate, 0);
    fill(pacer.gate(), 999);
    publish(pacer.gate(), OTHER, 3 * SECOND);
    assertThat(pacer.status().scopes()).hasSize(1);

    publish(gate, 4 * SECOND);

    assertThat(topic(pacer).messages()).isEqualTo(1);
  }

  @Test
  void gateFromBeforeAChange_knowsTheNewRules_thoughPlacesWereForgottenSince() {
    Pacer pacer = pacer(messages(10));
    Gate gate = pacer.gate();
    publish(gate, 0);
    fill(pacer.gate(), 999);

    pacer.changeTo(messages(10).withPublish(Scope.CLUSTER, Quota.messagesPerSecond(10)));
    publish(pacer.gate(), OTHER, 3 * SECOND);
    publish(gate, 4 * SECOND);

    assertThat(cluster(pacer, Kind.PUBLISH).messages()).isEqualTo(2);
    assertThat(topic(pacer).messages()).isEqualTo(1);
  }

  @Test
  void forgottenPlace_isForgottenByTheGateThatAsksForIt() {
    Pacer pacer = pacer(bytes(1_000));
    Gate gate = pacer.gate();
    fill(gate, 1_000);
    Address first = Address.topic("t0");

    assertThat(gate.take(Kind.PUBLISH, first, ANY, 1, 1_000, START + 3 * SECOND)).isZero();

    assertThat(gate.take(Kind.PUBLISH, first, ANY, 1, 1_000, START + 3 * SECOND)).isPositive();
  }

  @Test
  void placeWithLessThanOneInTwoSeconds_isNotForgottenBeforeThat() {
    Pacer pacer = pacer(messages(1).withShare(0.25));
    fill(pacer.gate(), 1_000);
    assertThat(publish(pacer.gate(), OTHER, 2 * SECOND + 1)).isZero();

    assertThat(publish(pacer.gate(), Address.topic("t0"), 2 * SECOND + 1)).isPositive();
  }

  // ------------------------------------------------------------------------------- asking ahead

  @ParameterizedTest
  @CsvSource({"1000, 50000, 500, 25000", "1, 1, 1, 1"})
  void ahead_isHalfASecondOfTheQuotaForConsuming_andAtLeastOne(
      long messages, long bytes, int messagesAhead, long bytesAhead) {
    Quota quota = Quota.messagesPerSecond(messages).withBytesPerSecond(bytes);
    Gate gate = pacer(QuotaPolicy.none().withConsume(Scope.TOPIC, quota)).gate();

    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(messagesAhead);
    assertThat(gate.bytesAhead(TOPIC)).isEqualTo(bytesAhead);
  }

  @Test
  void ahead_hasNoBound_whereNoQuotaForConsumingCountsIt() {
    Gate none = pacer(messages(10)).gate();
    assertThat(none.messagesAhead(TOPIC)).isEqualTo(Integer.MAX_VALUE);
    assertThat(none.bytesAhead(TOPIC)).isEqualTo(Long.MAX_VALUE);

    QuotaPolicy rules = QuotaPolicy.none();
    Gate bytes = pacer(rules.withConsume(Scope.TOPIC, Quota.bytesPerSecond(10))).gate();
    assertThat(bytes.messagesAhead(TOPIC)).isEqualTo(Integer.MAX_VALUE);
    Gate messages = pacer(rules.withConsume(Scope.TOPIC, Quota.messagesPerSecond(10))).gate();
    assertThat(messages.bytesAhead(TOPIC)).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void ahead_isSharedByTheConsumersOfAnAddress() {
    Quota quota = Quota.messagesPerSecond(1_000).withBytesPerSecond(50_000);
    Gate gate = pacer(QuotaPolicy.none().withConsume(Scope.TOPIC, quota)).gate();

    gate.consumers(TOPIC, 1);
    gate.consumers(OTHER, 1);
    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(500);
    gate.consumers(TOPIC, 1);
    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(250);
    assertThat(gate.bytesAhead(TOPIC)).isEqualTo(12_500);
    gate.consumers(TOPIC, 1);
    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(166);
    gate.consumers(TOPIC, -1);
    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(250);
    gate.consumers(TOPIC, -1);
    gate.consumers(TOPIC, -1);
    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(500);
  }

  @Test
  void aheadOfACluster_isSharedByAllConsumers() {
    QuotaPolicy rules =
        QuotaPolicy.none()
            .withConsume(Scope.CLUSTER, Quota.messagesPerSecond(1_000))
            .withConsume(Scope.TOPIC, Quota.messagesPerSecond(600));
    Gate gate = pacer(rules).gate();

    gate.consumers(TOPIC, 1);
    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(300);
    gate.consumers(OTHER, 1);
    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(250);
    gate.consumers(OTHER, -1);
    assertThat(gate.messagesAhead(TOPIC)).isEqualTo(300);
  }

  // ------------------------------------------------------------------------------ other threads

  private static Stream<Arguments> calls() {
    return Stream.of(
        call("changeTo", (pacer, gate) -> pacer.changeTo(messages(20))),
        call("scaleTo", (pacer, gate) -> pacer.scaleTo(Kind.PUBLISH, 0.5)),
        call("part", (pacer, gate) -> pacer.part(Kind.PUBLISH)),
        call("reduce", (pacer, gate) -> reduce(pacer, Verdict.LIKELY)),
        call("reduce to the same", (pacer, gate) -> reduce(pacer, Verdict.NONE)),
        call("refused", (pacer, gate) -> pacer.refused()),
        call("delayStripped", (pacer, gate) -> pacer.delayStripped()),
        call("take", (pacer, gate) -> publish(gate, 0)),
        call("take what is too large", (pacer, gate) -> cost(gate, 11, 0)),
        call("count", (pacer, gate) -> gate.count(Kind.PUBLISH, 1, START)),
        call("leave", (pacer, gate) -> gate.leave()),
        call("consumers", (pacer, gate) -> gate.consumers(TOPIC, 1)),
        call("messagesAhead", (pacer, gate) -> gate.messagesAhead(TOPIC)),
        call("bytesAhead", (pacer, gate) -> gate.bytesAhead(TOPIC)),
        call("status", (pacer, gate) -> pacer.status()));
  }

  private static Arguments call(String name, BiConsumer<Pacer, Gate> call) {
    return arguments(name, call);
  }

  private static void reduce(Pacer pacer, Verdict verdict) {
    assertThat(pacer.reduce(Kind.PUBLISH, 0, seen(verdict, 600), 1_000)).isPositive();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("calls")
  void call_whenItIsOver_leavesThePacerToOtherThreads(String name, BiConsumer<Pacer, Gate> call)
      throws InterruptedException {
    Pacer pacer = pacer(messages(10));
    Gate gate = pacer.gate();

    call.accept(pacer, gate);

    Thread other = new Thread(pacer::refused, "after " + name);
    other.setDaemon(true);
    other.start();
    other.join(5_000);
    assertThat(other.isAlive()).isFalse();
    assertThat(pacer.status().refused()).isPositive();
  }
}
