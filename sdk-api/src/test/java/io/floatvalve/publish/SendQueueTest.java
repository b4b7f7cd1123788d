package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SendQueueTest {
  private final List<Event> events = new ArrayList<>();
  private final PublishSide side = new PublishSide(new FakeBroker(), events::add);
  private final WindowedPublisher owner =
      new WindowedPublisher(side, PublisherSettings.to(Address.queue("q")));

  @AfterEach
  void close() {
    side.close();
  }

  private Pending message(int bytes, long queuedNanos) {
    return new Pending(Message.of(new byte[bytes]), queuedNanos, queuedNanos, owner);
  }

  private Pending again(int bytes, long dueNanos) {
    Pending pending = message(bytes, 0);
    pending.retries = new Retries();
    pending.retries.dueNanos = dueNanos;
    return pending;
  }

  private static List<Pending> takeAll(SendQueue queue) {
    List<Pending> all = new ArrayList<>();
    while (queue.first() != null) {
      all.add(queue.remove());
    }
    return all;
  }

  @Test
  void room_isBoundedByMessagesAndBytes_andWhoWaitsForItComesFirst() {
    SendQueue queue = new SendQueue(3, 100);
    queue.add(message(40, 0));

    assertThat(queue.hasRoom(60, 0)).isTrue();
    assertThat(queue.hasRoom(61, 0)).isFalse();
    assertThat(queue.hasRoom(1, 1)).isTrue();
    assertThat(queue.hasRoom(1, 2)).as("two others wait already").isFalse();
  }

  @Test
  void aMessageLargerThanAllRoom_fitsAlone() {
    SendQueue queue = new SendQueue(3, 100);

    assertThat(queue.hasRoom(1_000, 0)).isTrue();
    queue.add(message(0, 0));
    assertThat(queue.hasRoom(1_000, 0)).isFalse();
  }

  @Test
  void whatIsToBeSentAgain_fillsTheQueue() {
    SendQueue queue = new SendQueue(2, 100);
    queue.addForLater(again(60, 5));

    assertThat(queue.size()).isEqualTo(1);
    assertThat(queue.bytes()).isEqualTo(60);
    assertThat(queue.first()).isNull();
    assertThat(queue.hasRoom(41, 0)).isFalse();
    queue.add(message(0, 0));
    assertThat(queue.hasPlace()).isFalse();
  }

  @Test
  void whatIsDue_comesBeforeAllElse_inItsOrder() {
    SendQueue queue = new SendQueue(10, 100);
    Pending fresh = message(1, 0);
    Pending first = again(1, 5);
    Pending notDue = again(1, 6);
    Pending second = again(1, 5);
    queue.add(fresh);
    queue.addForLater(first);
    queue.addForLater(notDue);
    queue.addForLater(second);

    queue.queueDue(5, false);

    assertThat(takeAll(queue)).containsExactly(first, second, fresh);
    assertThat(first.queuedNanos).as("it waits from now on").isEqualTo(5);
    queue.queueDue(5, true);
    assertThat(takeAll(queue)).containsExactly(notDue);
    assertThat(queue.bytes()).isZero();
  }

  @Test
  void whatWaitedTooLong_isFoundBehindNewerOnesThatCameBack() {
    SendQueue queue = new SendQueue(10, 100);
    Pending old = message(1, 1);
    Pending last = message(1, 9);
    Pending back = again(1, 0);
    queue.add(old);
    queue.add(last);
    queue.addForLater(back);
    queue.queueDue(8, false);
    List<Pending> tooLong = new ArrayList<>();

    queue.removeQueuedUntil(1, tooLong::add);

    assertThat(tooLong).containsExactly(old);
    queue.removeQueuedUntil(9, tooLong::add);
    assertThat(tooLong).containsExactly(old, back, last);
    queue.add(message(1, 10));
    assertThat(takeAll(queue)).hasSize(1);
  }

  @Test
  void whatCameBack_isSearched_alsoBeforeTimeZero() {
    SendQueue queue = new SendQueue(10, 100);
    queue.addForLater(again(1, -5));
    queue.queueDue(-5, false);
    Pending back = queue.remove();
    Pending old = message(1, -10);
    queue.add(old);
    queue.putBack(back);
    List<Pending> tooLong = new ArrayList<>();

    queue.removeQueuedUntil(-10, tooLong::add);

    assertThat(tooLong).containsExactly(old);
  }

  @Test
  void halfEmpty_isOfMessagesThatAreReady_andOfBytes() {
    SendQueue queue = new SendQueue(4, 100);
    queue.add(message(25, 0));
    queue.addForLater(again(5, 9));
    queue.addForLater(again(5, 9));
    queue.add(message(15, 0));
    assertThat(queue.isHalfEmpty()).isTrue();

    queue.add(message(0, 0));
    assertThat(queue.isHalfEmpty()).as("three of four").isFalse();
    queue.remove();
    assertThat(queue.isHalfEmpty()).isTrue();
    queue.add(message(26, 0));
    queue.remove();
    assertThat(queue.bytes()).isEqualTo(36);
    assertThat(queue.isHalfEmpty()).isTrue();
    queue.addForLater(again(15, 9));
    assertThat(queue.isHalfEmpty()).as("51 of 100 bytes").isFalse();
  }

  @Test
  void age_isOfTheFirst_orOfAnyForLater() {
    SendQueue queue = new SendQueue(10, 100);
    assertThat(queue.ageAt(100)).isZero();

    queue.add(message(1, 30));
    queue.add(message(1, 20));
    assertThat(queue.ageAt(100)).isEqualTo(70);
    queue.addForLater(again(1, 200));
    assertThat(queue.ageAt(100)).as("it was due at 0").isEqualTo(100);
  }

  @Test
  void whatIsForLater_isTakenOutInItsOrder_withItsBytes() {
    SendQueue queue = new SendQueue(10, 100);
    Pending one = again(3, 5);
    Pending two = again(4, 1);
    queue.addForLater(one);
    queue.addForLater(two);

    assertThat(queue.removeLater()).isSameAs(one);
    assertThat(queue.bytes()).isEqualTo(4);
    assertThat(queue.removeLater()).isSameAs(two);
    assertThat(queue.removeLater()).isNull();
    assertThat(queue.bytes()).isZero();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void anySteps_keepOrderAndCounts(long seed) {
    Random random = new Random(seed);
    SendQueue queue = new SendQueue(1_000_000, Long.MAX_VALUE);
    List<Pending> ready = new ArrayList<>(); // the dull model
    List<Pending> later = new ArrayList<>();
    for (int now = 0; now < 20_000; now++) {
      switch (random.nextInt(7)) {
        case 0, 1 -> {
          Pending pending = message(random.nextInt(5), now);
          queue.add(pending);
          ready.add(pending);
        }
        case 2 -> {
          Pending pending = again(random.nextInt(5), now + random.nextInt(50));
          queue.addForLater(pending);
          later.add(pending);
        }
        case 3 -> {
          if (!ready.isEmpty()) {
            assertThat(queue.remove()).isSameAs(ready.remove(0));
          }
        }
        case 4 -> {
          long at = now;
          boolean all = random.nextInt(10) == 0;
          List<Pending> due =
              later.stream()
                  .filter(p -> p.retries != null && (all || p.retries.dueNanos <= at))
                  .toList();
          later.removeAll(due);
          ready.addAll(0, due);
          queue.queueDue(now, all);
        }
        case 5 -> {
          List<Pending> taken = new ArrayList<>();
          for (int i = random.nextInt(5); i > 0 && queue.first() != null; i--) {
            taken.add(0, queue.remove());
          }
          taken.forEach(queue::putBack);
        }
        default -> {
          int until = now - random.nextInt(40);
          List<Pending> gone = new ArrayList<>();
          queue.removeQueuedUntil(until, gone::add);
          List<Pending> expected = ready.stream().filter(p -> p.queuedNanos <= until).toList();
          assertThat(gone).isEqualTo(expected);
          ready.removeAll(expected);
        }
      }
      assertThat(queue.first()).isSameAs(ready.isEmpty() ? null : ready.get(0));
      assertThat(queue.size()).isEqualTo(ready.size() + later.size());
      assertThat(queue.bytes())
          .isEqualTo(
              ready.stream().mapToLong(p -> p.bytes).sum()
                  + later.stream().mapToLong(p -> p.bytes).sum());
    }
    List<Pending> all = new ArrayList<>();
    queue.collect(all);
    ready.addAll(later);
    assertThat(all).isEqualTo(ready);
  }
}
