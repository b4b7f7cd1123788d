package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.model.Address;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.Oversize;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.rate.QuotaStatus.ScopeStatus;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.IntSupplier;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Paces in simulated time: the same seed gives the same figures. */
final class PacerTest {
  private static final long MS = 1_000_000;
  private static final long SECOND = 1_000 * MS;
  private static final Address TOPIC = Address.topic("t");
  private static final Address OTHER = Address.topic("other");

  /** What passed, and when. */
  private record Passed(long at, int cost, int bytes) {}

  /** Somebody who always has a message, and tries again when told to, or later. */
  private static final class Sending {
    private final Gate gate;
    private final Address address;
    private final List<Passed> passed = new ArrayList<>();
    private IntSupplier cost = () -> 1;
    private IntSupplier bytes = () -> 100;
    private long at;
    private int nextCost;
    private int nextBytes;
    private boolean drawn;

    Sending(Pacer pacer, Address address) {
      this.gate = pacer.gate();
      this.address = address;
    }

    Sending bytes(IntSupplier bytes) {
      this.bytes = bytes;
      return this;
    }

    Sending cost(IntSupplier cost) {
      this.cost = cost;
      return this;
    }

    private long take() {
      if (!drawn) {
        nextCost = cost.getAsInt();
        nextBytes = bytes.getAsInt();
        drawn = true;
      }
      int partition = Gate.ANY_PARTITION;
      long wait = gate.take(Kind.PUBLISH, address, partition, nextCost, nextBytes, at);
      if (wait == 0) {
        passed.add(new Passed(at, nextCost, nextBytes));
        drawn = false;
      }
      return wait;
    }
  }

  /** Runs until a time; a message takes 2 µs, and timers are late as told. */
  private static void run(long until, IntSupplier lateNanos, Sending... all) {
    var due = new PriorityQueue<Sending>(Comparator.comparingLong(s -> s.at));
    due.addAll(List.of(all));
    while (due.element().at < until) {
      Sending next = due.remove();
      long wait = next.take();
      assertThat(wait).isLessThan(10 * SECOND);
      next.at += wait == 0 ? 2_000 : wait + lateNanos.getAsInt();
      due.add(next);
    }
  }

  private static List<Passed> all(Sending... of) {
    List<Passed> all = new ArrayList<>();
    for (Sending each : of) {
      all.addAll(each.passed);
    }
    all.sort(Comparator.comparingLong(Passed::at));
    return all;
  }

  private static long mostInASecond(List<Passed> passed, ToLongFunction<Passed> size) {
    long most = 0;
    long sum = 0;
    int from = 0;
    for (Passed each : passed) {
      sum += size.applyAsLong(each);
      while (each.at - passed.get(from).at > SECOND) {
        sum -= size.applyAsLong(passed.get(from++));
      }
      most = Math.max(most, sum);
    }
    return most;
  }

  private static long sum(List<Passed> passed, ToLongFunction<Passed> size) {
    return passed.stream().mapToLong(size).sum();
  }

  private static QuotaPolicy messages(long perSecond) {
    return QuotaPolicy.none().withPublish(Scope.TOPIC, Quota.messagesPerSecond(perSecond));
  }

  private static QuotaPolicy bytes(long perSecond) {
    return QuotaPolicy.none().withPublish(Scope.TOPIC, Quota.bytesPerSecond(perSecond));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1",
    "2, 2",
    "10, 3",
    "49, 4",
    "50, 5",
    "51, 6",
    "100, 7",
    "199, 8",
    "200, 9",
    "333, 10",
    "1000, 11",
    "1999, 12",
    "20000, 13"
  })
  void anySecond_holdsNoMoreThanTheLimit_andNearlyAllOfItIsUsed(int limit, int seed) {
    var random = new Random(seed);
    var pacer = new Pacer(messages(limit).withHeadroom(1), 0);
    var sending = new Sending(pacer, TOPIC);
    sending.at = random.nextInt(1_000_000_000);

    run(sending.at + 30 * SECOND, () -> random.nextInt(500_000), sending);

    assertThat(mostInASecond(sending.passed, Passed::cost)).isLessThanOrEqualTo(limit);
    assertThat(sum(sending.passed, Passed::cost) / 30.0).isGreaterThanOrEqualTo(0.95 * limit);
  }

  @ParameterizedTest
  @CsvSource({"100, 90", "1000, 900", "20000, 18000"})
  void headroom_isKeptClearOfTheQuota(int quota, int limit) {
    var random = new Random(quota);
    var sending = new Sending(new Pacer(messages(quota), 0), TOPIC);

    run(30 * SECOND, () -> random.nextInt(500_000), sending);

    assertThat(mostInASecond(sending.passed, Passed::cost)).isLessThanOrEqualTo(limit);
    assertThat(sum(sending.passed, Passed::cost) / 30.0).isGreaterThanOrEqualTo(0.95 * limit);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void stallsAndLateTimers_causeNoBurstAboveTheLimit(int seed) {
    var random = new Random(seed);
    int limit = 60 + random.nextInt(3_000);
    var sending = new Sending(new Pacer(messages(limit).withHeadroom(1), 0), TOPIC);

    run(
        30 * SECOND,
        () -> random.nextInt(50) > 0 ? 0 : random.nextInt(2_000_000_000), // up to two seconds
        sending);

    assertThat(mostInASecond(sending.passed, Passed::cost)).isLessThanOrEqualTo(limit);
  }

  @ParameterizedTest
  @CsvSource({
    "1000000, 100, 200, 0.95",
    "20000000, 100, 900000, 0.95",
    "10000000, 100, 100000, 0.95",
    "1000000, 100, 10000, 0.95",
    "1000000, 900000, 900001, 0.85" // one fits into a second, and no second one
  })
  void anySecond_holdsNoMoreBytesThanTheLimit(int limit, int least, int most, double used) {
    var random = new Random(limit + most);
    var pacer = new Pacer(bytes(limit).withHeadroom(1), 0);
    var sending = new Sending(pacer, TOPIC).bytes(() -> random.nextInt(least, most));

    run(30 * SECOND, () -> random.nextInt(500_000), sending);

    assertThat(mostInASecond(sending.passed, Passed::bytes)).isLessThanOrEqualTo(limit);
    assertThat(sum(sending.passed, Passed::bytes) / 30.0).isGreaterThanOrEqualTo(used * limit);
  }

  @ParameterizedTest
  @CsvSource({"60, 1", "200, 2", "1000, 3", "10, 4"})
  void costs_areWhatIsCounted(int limit, int seed) {
    var random = new Random(seed);
    var pacer = new Pacer(messages(limit).withHeadroom(1), 0);
    var sending = new Sending(pacer, TOPIC).cost(() -> random.nextInt(4) == 0 ? 5 : 1);

    run(30 * SECOND, () -> random.nextInt(500_000), sending);

    assertThat(mostInASecond(sending.passed, Passed::cost)).isLessThanOrEqualTo(limit);
    assertThat(sum(sending.passed, Passed::cost) / 30.0).isGreaterThanOrEqualTo(0.8 * limit);
  }

  @ParameterizedTest
  @CsvSource({"10, 2", "100, 2", "1000, 2", "1000, 5", "20000, 3", "120, 40"})
  void thoseWhoShareAQuota_stayUnderItTogether_eachWithItsPart(int limit, int sharing) {
    var random = new Random(limit + sharing);
    var pacer = new Pacer(messages(limit).withHeadroom(1), 0);
    Sending[] all = new Sending[sharing];
    for (int i = 0; i < sharing; i++) {
      all[i] = new Sending(pacer, TOPIC);
    }

    run(30 * SECOND, () -> random.nextInt(500_000), all);

    assertThat(mostInASecond(all(all), Passed::cost)).isLessThanOrEqualTo(limit);
    assertThat(sum(all(all), Passed::cost) / 30.0).isGreaterThanOrEqualTo(0.95 * limit);
    for (Sending each : all) {
      assertThat(each.passed.size() / 30.0).isGreaterThanOrEqualTo(0.8 * limit / sharing);
    }
  }

  @Test
  void largeMessage_isNotKeptOutForEverBySmallOnes() {
    var pacer = new Pacer(bytes(1_000_000).withHeadroom(1), 0);
    var large = new Sending(pacer, TOPIC).bytes(() -> 900_000);
    var small = new Sending(pacer, TOPIC).bytes(() -> 1_000);

    run(30 * SECOND, () -> 100_000, large, small);

    assertThat(mostInASecond(all(large, small), Passed::bytes)).isLessThanOrEqualTo(1_000_000);
    assertThat(large.passed).hasSizeGreaterThanOrEqualTo(10);
    assertThat(small.passed).hasSizeGreaterThanOrEqualTo(1_000);
  }

  @Test
  void whoGoesAway_leavesItsPartToTheOthers() {
    var pacer = new Pacer(messages(100).withHeadroom(1), 0);
    var gone = new Sending(pacer, TOPIC);
    var stays = new Sending(pacer, TOPIC);
    run(SECOND, () -> 0, gone, stays);

    gone.at = stays.at;
    while (gone.take() == 0) {
      gone.at += 2_000; // until it waits; it never comes again
    }
    int before = stays.passed.size();
    run(stays.at + 10 * SECOND, () -> 0, stays);

    assertThat(stays.passed.size() - before).isGreaterThanOrEqualTo(950);
  }

  @Test
  void allScopesAdmit_orNoneIsTakenFrom() {
    var policy =
        QuotaPolicy.none()
            .withHeadroom(1)
            .withPublish(Scope.CLUSTER, Quota.messagesPerSecond(1_000))
            .withPublish(Scope.TOPIC, Quota.messagesPerSecond(300).withBytesPerSecond(20_000));
    var pacer = new Pacer(policy, 0);
    var one = new Sending(pacer, TOPIC); // 100 bytes each: 200 a second
    var two = new Sending(pacer, OTHER).bytes(() -> 1); // 300 a second

    run(30 * SECOND, () -> 100_000, one, two);

    assertThat(mostInASecond(one.passed, Passed::cost)).isLessThanOrEqualTo(200);
    assertThat(one.passed.size() / 30.0).isGreaterThanOrEqualTo(0.95 * 200);
    assertThat(mostInASecond(two.passed, Passed::cost)).isLessThanOrEqualTo(300);
    assertThat(two.passed.size() / 30.0).isGreaterThanOrEqualTo(0.95 * 300);
    long passed = one.passed.size() + two.passed.size();
    assertThat(pacer.status().scopes())
        .filteredOn(s -> s.scope() == Scope.CLUSTER)
        .singleElement()
        .satisfies(s -> assertThat(s.messages()).isEqualTo(passed));
    assertThat(pacer.status().scopes())
        .filteredOn(s -> s.name().equals(TOPIC.toString()))
        .singleElement()
        .satisfies(s -> assertThat(s.messages()).isEqualTo(one.passed.size()))
        .satisfies(s -> assertThat(s.bytes()).isEqualTo(100L * one.passed.size()));
  }

  @Test
  void cluster_boundsAllItsTopics() {
    var policy =
        QuotaPolicy.none()
            .withHeadroom(1)
            .withPublish(Scope.CLUSTER, Quota.messagesPerSecond(400))
            .withPublish(Scope.TOPIC, Quota.messagesPerSecond(300));
    var pacer = new Pacer(policy, 0);
    var one = new Sending(pacer, TOPIC);
    var two = new Sending(pacer, OTHER);

    run(30 * SECOND, () -> 100_000, one, two);

    assertThat(mostInASecond(all(one, two), Passed::cost)).isLessThanOrEqualTo(400);
    assertThat(all(one, two).size() / 30.0).isGreaterThanOrEqualTo(0.95 * 400);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5})
  void limitsThatChange_holdAtOnce_withWhatPassedBefore(int seed) {
    var random = new Random(seed);
    var pacer = new Pacer(messages(2_000).withHeadroom(1), 0);
    var sending = new Sending(pacer, TOPIC);
    int before = 2_000;
    for (int i = 0; i < 30; i++) {
      int limit = 5 + random.nextInt(4_000);
      pacer.changeTo(messages(limit).withHeadroom(1));
      long from = sending.at;
      run(from + 300 * MS, () -> 100_000, sending);

      // in any second that ends in here: no more than the limit, but for what had passed before
      long most = Math.max(limit, before);
      assertThat(mostInASecond(sending.passed, Passed::cost)).isLessThanOrEqualTo(most);
      List<Passed> since = sending.passed.stream().filter(p -> p.at >= from).toList();
      assertThat(mostInASecond(since, Passed::cost)).isLessThanOrEqualTo(limit);
      before = (int) most;
    }
  }

  @Test
  void loweredRate_holdsAtOnce_andComesBack() {
    var pacer = new Pacer(messages(1_000).withHeadroom(1), 0);
    var sending = new Sending(pacer, TOPIC);
    run(2 * SECOND, () -> 0, sending);

    pacer.scaleTo(Kind.PUBLISH, 0.25);
    run(12 * SECOND, () -> 0, sending);
    pacer.scaleTo(Kind.PUBLISH, 1);
    run(22 * SECOND, () -> 0, sending);

    List<Passed> low = sending.passed.stream().filter(p -> p.at > 2 * SECOND).toList();
    low = low.stream().filter(p -> p.at < 12 * SECOND).toList();
    assertThat(mostInASecond(low, Passed::cost)).isLessThanOrEqualTo(250);
    assertThat(low.size()).isBetween(2_100, 2_500); // it had to wait for the second before
    assertThat(sending.passed.stream().filter(p -> p.at > 12 * SECOND).count())
        .isBetween(9_500L, 10_000L);
  }

  @Test
  void oversize_isRefused_orPassesAlone() {
    var refusing = new Pacer(bytes(1_000).withHeadroom(1), 0);
    assertThat(new Sending(refusing, TOPIC).bytes(() -> 1_001).take()).isEqualTo(Gate.TOO_LARGE);
    assertThat(refusing.status().scopes().get(0).messages()).isZero();

    var alone = new Pacer(bytes(1_000).withHeadroom(1).withOversize(Oversize.SEND_ALONE), 0);
    int[] sizes = {10, 5_000, 10, 20};
    int[] next = {0};
    var sending = new Sending(alone, TOPIC).bytes(() -> sizes[next[0]++ % sizes.length]);
    run(8 * SECOND, () -> 0, sending);

    for (int i = 1; i < sending.passed.size(); i++) {
      Passed one = sending.passed.get(i - 1);
      Passed two = sending.passed.get(i);
      if (one.bytes > 1_000 || two.bytes > 1_000) {
        assertThat(two.at - one.at).isGreaterThanOrEqualTo(SECOND);
      }
    }
    assertThat(sending.passed).hasSizeGreaterThan(8);
  }

  @Test
  void lessThanOneASecond_isOneInSoManySeconds() {
    var pacer = new Pacer(messages(1).withHeadroom(1).withShare(0.25), 0);
    var sending = new Sending(pacer, TOPIC);

    run(60 * SECOND, () -> 0, sending);

    assertThat(sending.passed).hasSize(15);
    for (int i = 1; i < 15; i++) {
      long gap = sending.passed.get(i).at - sending.passed.get(i - 1).at;
      assertThat(gap).isGreaterThanOrEqualTo(4 * SECOND);
    }
  }

  @Test
  void rl01_edgeOfACycle_isNotTwiceTheLimit() {
    var pacer = new Pacer(messages(100).withHeadroom(1), 0);
    var sending = new Sending(pacer, TOPIC);
    sending.at = 940 * MS;

    run(1_400 * MS, () -> 0, sending);

    assertThat(mostInASecond(sending.passed, Passed::cost)).isLessThanOrEqualTo(100);
    assertThat(sending.passed.size()).isLessThanOrEqualTo(47); // what 460 ms are of it, and one
  }

  @Test
  void rl05_idleTime_savesUpNothing() {
    var pacer = new Pacer(messages(100).withHeadroom(1), 0);
    var sending = new Sending(pacer, TOPIC);
    run(SECOND, () -> 0, sending);
    int before = sending.passed.size();

    sending.at = 6 * SECOND + 3 * MS; // idle for five seconds
    run(9 * SECOND, () -> 0, sending);

    List<Passed> flood = sending.passed.subList(before, before + 200);
    for (int i = 1; i < 200; i++) {
      assertThat(flood.get(i).at - flood.get(i - 1).at).isGreaterThanOrEqualTo(8 * MS);
    }
    assertThat(flood.get(199).at - flood.get(0).at).isBetween(1_900 * MS, 2_100 * MS);
  }

  @Test
  void clockThatStepsBack_admitsNothingTwice() {
    var pacer = new Pacer(messages(100).withHeadroom(1), 0);
    var sending = new Sending(pacer, TOPIC);
    run(2 * SECOND, () -> 0, sending);
    int before = sending.passed.size();

    sending.at = 0;
    int passed = 0;
    for (int i = 0; i < 1_000; i++) {
      passed += sending.take() == 0 ? 1 : 0;
    }

    assertThat(before).isGreaterThanOrEqualTo(190);
    assertThat(passed).isLessThanOrEqualTo(1);
  }

  @Test
  void veryManyAddresses_areForgottenWhenTheyAreIdle() {
    var pacer = new Pacer(messages(100), 0);
    for (int i = 0; i < 5_000; i++) {
      var sending = new Sending(pacer, Address.topic("t" + i));
      sending.at = i * 10 * MS;
      assertThat(sending.take()).isZero();
    }

    List<ScopeStatus> scopes = pacer.status().scopes();

    assertThat(scopes.size()).isLessThanOrEqualTo(1_001);
    assertThat(scopes).anyMatch(s -> s.name().equals(Address.topic("t4999").toString()));
  }
}
