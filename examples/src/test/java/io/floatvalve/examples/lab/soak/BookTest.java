package io.floatvalve.examples.lab.soak;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.examples.lab.soak.Book.Blow;
import io.floatvalve.examples.lab.soak.Journal.Kind;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each law is seen to fail, and to hold where it is excused. */
class BookTest {
  private static final int KEYS = 4;
  private static final long LONGEST = 1_000;

  private final Book book = new Book(new Book.Terms(KEYS, LONGEST, true, true, 0));

  private void publish(int id, Verdict verdict) {
    book.entry(Kind.INTENDED, id, 0);
    book.entry(Kind.OUTCOME, id, Ending.of(verdict, 8));
  }

  private void handle(int id) {
    handle(book, id, false);
  }

  private static void handle(Book book, int id, boolean again) {
    book.entry(Kind.BEGUN, id, again ? 1 : 0);
    book.entry(Kind.HANDLED, id, 1);
  }

  private void confirmedAndHandled(int id) {
    publish(id, Verdict.CONFIRMED);
    book.stored(id);
    handle(id);
  }

  private void only(Law violated) {
    only(book, violated);
  }

  private static void only(Book book, Law violated) {
    book.balance();
    for (Law law : Law.values()) {
      assertThat(book.violations(law))
          .describedAs("%s: %s", law, book.examples())
          .isEqualTo(law == violated ? 1 : 0);
    }
  }

  private void none() {
    book.balance();
    assertThat(book.examples()).isEmpty();
  }

  // ---------------------------------------------------------------------------------- publishing

  @Test
  void lostOutcome_isAViolation() {
    book.entry(Kind.INTENDED, 0, 0);

    only(Law.ONE_OUTCOME);
  }

  @Test
  void secondOutcome_isAViolation() {
    confirmedAndHandled(0);
    book.entry(Kind.OUTCOME, 0, Ending.of(Verdict.UNKNOWN, 8));

    only(Law.ONE_OUTCOME);
  }

  @Test
  void publishThatFails_isAViolation() {
    publish(0, Verdict.NOT_SENT);
    book.entry(Kind.FAILED, 0, 0);

    only(Law.ONE_OUTCOME);
  }

  @Test
  void outcomeOfAKilledClient_isNotMissed() {
    book.entry(Kind.INTENDED, 0, 0);
    book.blow(Blow.CLIENT_KILLED);

    none();
    assertThat(book.figures().cutOff()).isEqualTo(1);
  }

  @Test
  void outcomeAfterTheDeadline_isAViolation_unlessTheClientWasHaltedMeanwhile() {
    book.entry(Kind.INTENDED, 1, 0);
    book.blow(Blow.CLIENT_HALTED);
    book.entry(Kind.OUTCOME, 1, Ending.of(Verdict.NOT_SENT, LONGEST + Soak.HALT.toMillis() - 100));
    assertThat(book.violations(Law.IN_TIME)).isZero();

    book.entry(Kind.INTENDED, 2, 0);
    book.entry(Kind.OUTCOME, 2, Ending.of(Verdict.NOT_SENT, LONGEST + 100));

    only(Law.IN_TIME);
  }

  @Test
  void confirmedButNotStored_isAViolation() {
    publish(0, Verdict.CONFIRMED);

    only(Law.CONFIRMED_STORED);
  }

  @Test
  void notSentButStored_isAViolation() {
    publish(0, Verdict.NOT_SENT);
    book.stored(0);
    handle(0);

    only(Law.NOT_SENT_ABSENT);
  }

  @Test
  void notSentButHandled_isAViolation() {
    publish(0, Verdict.NOT_SENT);
    handle(0);

    only(Law.NOT_SENT_ABSENT);
  }

  @Test
  void returned_isNowhere_andOnlyWhatNoQueueTakesIsReturned() {
    Book some = new Book(new Book.Terms(KEYS, LONGEST, true, true, 2)); // odd ones
    some.entry(Kind.INTENDED, 1, 0);
    some.entry(Kind.OUTCOME, 1, Ending.of(Verdict.RETURNED, 8));
    some.balance();
    assertThat(some.examples()).isEmpty();

    some.stored(1);
    handle(some, 1, false);
    only(some, Law.RETURNED_ABSENT);
  }

  @Test
  void confirmedThoughNoQueueTakesIt_isAViolation() {
    Book some = new Book(new Book.Terms(KEYS, LONGEST, true, true, 2));
    some.entry(Kind.INTENDED, 1, 0);
    some.entry(Kind.OUTCOME, 1, Ending.of(Verdict.CONFIRMED, 8));

    only(some, Law.ROUTED);
  }

  @Test
  void returnedThoughAQueueTakesIt_isAViolation() {
    publish(0, Verdict.RETURNED);

    only(Law.ROUTED);
  }

  @Test
  void unknownAndNacked_mayBeThereOrNot() {
    publish(0, Verdict.UNKNOWN);
    publish(1, Verdict.UNKNOWN);
    book.stored(1);
    handle(1);
    publish(2, Verdict.NACKED);

    none();
  }

  @Test
  void secondCopy_isAViolation() {
    confirmedAndHandled(0);
    book.storedAgain(0);

    only(Law.STORED_ONCE);
  }

  // ------------------------------------------------------------------------------------- handling

  @Test
  void acknowledgedUnhandled_isAViolation() {
    publish(0, Verdict.CONFIRMED);
    book.stored(0);

    only(Law.STORED_HANDLED);
  }

  @Test
  void storedThoughUnknown_isHandled() {
    publish(0, Verdict.UNKNOWN);
    book.stored(0);

    only(Law.STORED_HANDLED);
  }

  @Test
  void begunAndThrown_isNotHandled() {
    publish(0, Verdict.CONFIRMED);
    book.stored(0);
    book.entry(Kind.BEGUN, 0, 0);
    book.entry(Kind.HANDLED, 0, 0);

    only(Law.STORED_HANDLED);
  }

  @Test
  void whatLayInADeletedQueue_isExcused_whatCameAfterItIsNot() {
    publish(0, Verdict.CONFIRMED);
    book.stored(0);
    book.blow(Blow.DELETED);
    publish(1, Verdict.CONFIRMED);
    book.stored(1);

    only(Law.STORED_HANDLED);
    assertThat(book.figures().excusedDeleted()).isEqualTo(1);
    assertThat(book.examples()).allMatch(each -> each.contains("message 1:"));
  }

  @Test
  void killedBroker_excusesWhatItHadNotConfirmed_andNothingElse() {
    publish(0, Verdict.UNKNOWN);
    book.stored(0);
    publish(1, Verdict.CONFIRMED);
    book.stored(1);
    book.blow(Blow.KILLED);
    publish(2, Verdict.CONFIRMED);
    book.stored(2);
    handle(2);

    only(Law.STORED_HANDLED);
    assertThat(book.figures().excusedKilled()).isEqualTo(1);
    assertThat(book.examples()).allMatch(each -> each.contains("message 1:"));
  }

  @Test
  void handledButNeverPublished_isAViolation() {
    handle(7);

    only(Law.OURS);
  }

  @Test
  void storedButNeverPublished_isAViolation() {
    book.stored(7);

    only(Law.OURS);
  }

  @Test
  void settledTwice_isAViolation() {
    publish(0, Verdict.CONFIRMED);
    book.stored(0);
    book.entry(Kind.BEGUN, 0, 0);
    book.entry(Kind.SETTLED, 0, 0);
    book.entry(Kind.SETTLED, 0, 0);
    book.entry(Kind.HANDLED, 0, 1);

    only(Law.SETTLED_ONCE);
  }

  @Test
  void eachDelivery_maySettleAnew() {
    publish(0, Verdict.CONFIRMED);
    book.stored(0);
    for (int times = 0; times < 2; times++) {
      book.entry(Kind.BEGUN, 0, times);
      book.entry(Kind.SETTLED, 0, 0);
      book.entry(Kind.HANDLED, 0, 1);
    }

    none();
    assertThat(book.figures().repeats()).isEqualTo(1);
    assertThat(book.figures().handled()).isEqualTo(1);
  }

  @Test
  void twoOfAKeyAtATime_isAViolation() {
    publish(0, Verdict.CONFIRMED);
    publish(KEYS, Verdict.CONFIRMED);
    book.stored(0);
    book.stored(KEYS);
    book.entry(Kind.BEGUN, 0, 0);
    book.entry(Kind.BEGUN, KEYS, 0);
    book.entry(Kind.HANDLED, KEYS, 1);
    handle(0);

    only(Law.ONE_OF_A_KEY);
  }

  @Test
  void handlerOfAKilledClient_isOver() {
    publish(0, Verdict.CONFIRMED);
    book.stored(0);
    book.entry(Kind.BEGUN, 0, 0);
    book.blow(Blow.CLIENT_KILLED);
    handle(0);

    none();
  }

  @Test
  void confirmedAfterALaterOneOfItsKey_isAViolation() {
    confirmedAndHandled(KEYS);
    confirmedAndHandled(1); // of another key
    confirmedAndHandled(0);

    only(Law.KEY_ORDER);
  }

  @Test
  void repetitionAfterLaterOnes_isNone() {
    confirmedAndHandled(0);
    confirmedAndHandled(KEYS);
    handle(0);

    none();
  }

  @Test
  void unknownAfterLaterOnes_isNone() {
    confirmedAndHandled(KEYS);
    publish(0, Verdict.UNKNOWN);
    book.stored(0);
    handle(0);

    none();
    assertThat(book.figures().late()).isEqualTo(1);
  }

  @Test
  void queueThatPutsWhatComesAgainBehindOthers_excusesThatAlone() {
    Book quorum = new Book(new Book.Terms(KEYS, LONGEST, false, false, 0));
    for (int id : new int[] {0, KEYS, 2 * KEYS}) {
      quorum.entry(Kind.INTENDED, id, 0);
      quorum.entry(Kind.OUTCOME, id, Ending.of(Verdict.CONFIRMED, 8));
      quorum.stored(id);
    }
    handle(quorum, 2 * KEYS, false);
    handle(quorum, 0, true);
    handle(quorum, KEYS, false);

    only(quorum, Law.KEY_ORDER);
    assertThat(quorum.figures().outOfHeadOrder()).isEqualTo(1);
  }

  // ------------------------------------------------------------------------------------ all of it

  @Test
  void nextNumber_isBehindTheLastOfEachPublisher() {
    assertThat(book.next(0, 2)).isZero();
    assertThat(book.next(1, 2)).isEqualTo(1);

    publish(0, Verdict.NOT_SENT);
    publish(2, Verdict.NOT_SENT);
    publish(1, Verdict.NOT_SENT);

    assertThat(book.next(0, 2)).isEqualTo(4);
    assertThat(book.next(1, 2)).isEqualTo(3);
  }

  /** A broker that keeps its promises, whatever comes in between, breaks no law. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void honestBroker_violatesNothing(long seed) {
    Random random = new Random(seed);
    Map<Verdict, Long> told = new EnumMap<>(Verdict.class);
    Deque<Integer> queue = new ArrayDeque<>();
    List<Integer> unacknowledged = new ArrayList<>();
    for (int id = 0; id < 20_000; id++) {
      Verdict verdict =
          random.nextInt(10) > 0
              ? Verdict.CONFIRMED
              : random.nextBoolean() ? Verdict.UNKNOWN : Verdict.NOT_SENT;
      publish(id, verdict);
      told.merge(verdict, 1L, Long::sum);
      if (verdict == Verdict.CONFIRMED || (verdict == Verdict.UNKNOWN && random.nextBoolean())) {
        book.stored(id);
        queue.add(id);
      }
      for (int times = random.nextInt(3); times > 0 && !queue.isEmpty(); times--) {
        int next = queue.remove();
        handle(next);
        unacknowledged.add(next);
      }
      switch (random.nextInt(100)) {
        case 0 -> { // the connection is lost: what was not acknowledged comes again
          for (int i = unacknowledged.size() - 1; i >= 0; i--) {
            queue.addFirst(unacknowledged.get(i));
          }
          unacknowledged.clear();
        }
        case 1 -> book.blow(Blow.KILLED);
        case 2 -> {
          queue.clear();
          unacknowledged.clear();
          book.blow(Blow.DELETED);
        }
        case 3 -> book.blow(Blow.CLIENT_KILLED);
        default -> unacknowledged.clear();
      }
    }
    queue.forEach(this::handle);

    none();
    Book.Figures figures = book.figures();
    assertThat(figures.published()).isEqualTo(20_000);
    told.forEach((verdict, count) -> assertThat(figures.outcomes()).containsEntry(verdict, count));
    assertThat(figures.repeats()).isPositive();
    assertThat(figures.excusedDeleted()).isPositive();
  }
}
