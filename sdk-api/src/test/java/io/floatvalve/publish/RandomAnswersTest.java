package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Seeds;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.spi.PublishLink;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Answers that no broker should give, beside those that it should: in any order, for one or for all
 * before it, twice, for what was never sent, from a link that is gone.
 */
@Timeout(value = 60, unit = TimeUnit.MINUTES)
final class RandomAnswersTest {
  private static final int MOST = 40;
  private static final long MOST_BYTES = 1_000;

  private final FakeBroker broker = new FakeBroker();
  private final PublishSide side = new PublishSide(broker, event -> {});

  /** What a map says is open. */
  private static final class Open {
    final int message;
    final int bytes;
    boolean returned;

    Open(int message, int bytes) {
      this.message = message;
      this.bytes = bytes;
    }
  }

  private final TreeMap<Long, Open> open = new TreeMap<>();
  private final List<@Nullable Verdict> ends = new ArrayList<>();
  private final List<Long> sequences = new ArrayList<>();
  private final List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
  private long next = 1;
  private long strays;
  private long strayReturns;
  private long stale;

  static LongStream seeds() {
    return Seeds.of(4);
  }

  @AfterEach
  void close() {
    side.close();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whateverIsAnswered_theOutcomesAreWhatAMapSays(long seed) throws Exception {
    Random random = new Random(seed);
    broker.sendsAtOnce = true;
    Publisher publisher =
        side.open(
            PublisherSettings.to(Address.queue("q"))
                .withMaxInFlight(MOST)
                .withMaxInFlightBytes(MOST_BYTES)
                .withConfirmTimeout(Duration.ofMinutes(30))
                .withCloseTimeout(Duration.ofMillis(100)));
    FakeBroker.Link link = broker.nextLink();
    FakeBroker.@Nullable Link before = null;

    for (int step = 0; step < 800; step++) {
      int what = random.nextInt(1_000);
      if (what < 450) {
        publish(publisher, random.nextInt(60));
        assertThat(link.lastSequence).isEqualTo(next - 1);
      } else if (what < 997) {
        answer(link.listener, random);
      } else {
        link.listener.lost(random.nextBoolean(), "by the test");
        unanswered();
        before = link;
        link = broker.nextLink();
        long epoch = link.request.epoch();
        await().pollInterval(Duration.ofMillis(1)).until(() -> publisher.status().epoch() == epoch);
        next = 1;
      }
      if (before != null && random.nextInt(20) == 0) {
        answerTooLate(before.listener, random.nextInt(5));
      }
      PublisherStatus status = publisher.status();
      assertThat(status.inFlight()).isEqualTo(open.size());
      assertThat(status.inFlightBytes()).isEqualTo(bytes());
      assertThat(status.strayAnswers()).isEqualTo(strays);
      assertThat(status.strayReturns()).isEqualTo(strayReturns);
      assertThat(status.staleAnswers()).isEqualTo(stale);
    }
    publisher.close();
    unanswered();

    for (int i = 0; i < futures.size(); i++) {
      PublishOutcome outcome = futures.get(i).get(20, TimeUnit.SECONDS);
      assertThat(outcome.verdict()).as("message %s", i).isEqualTo(ends.get(i));
      if (outcome instanceof Confirmed confirmed) {
        assertThat(confirmed.sequence()).isEqualTo(sequences.get(i));
      }
    }
  }

  private void publish(Publisher publisher, int bytes) {
    long oldest = open.isEmpty() ? next : open.firstKey();
    boolean room =
        open.size() < MOST
            && next - oldest < 4L * MOST
            && (open.isEmpty() || bytes() + bytes <= MOST_BYTES);
    if (room) { // else the sender would send it, some time later
      open.put(next, new Open(futures.size(), bytes));
      sequences.add(next++);
      ends.add(null);
      futures.add(publisher.publish(Message.of(new byte[bytes])));
    }
  }

  private long bytes() {
    return open.values().stream().mapToLong(each -> each.bytes).sum();
  }

  /** A sequence of interest: open, settled, at an edge, or nonsense. */
  private long sequence(Random random) {
    return switch (random.nextInt(12)) {
      case 0 -> 0;
      case 1 -> -1 - random.nextInt(3);
      case 2 -> next + random.nextInt(3);
      case 3 -> random.nextBoolean() ? Long.MAX_VALUE : Long.MIN_VALUE;
      case 4 -> next - 1;
      case 5, 6 -> open.isEmpty() ? 1 : open.firstKey();
      default -> Math.max(1, next - 1 - random.nextInt(MOST + 10));
    };
  }

  private void answer(PublishLink.Listener listener, Random random) {
    long sequence = sequence(random);
    switch (random.nextInt(12)) {
      case 0, 1, 2, 3 -> {
        boolean upTo = random.nextInt(3) == 0;
        expectAnswer(sequence, upTo, Verdict.CONFIRMED);
        listener.confirmed(sequence, upTo, null);
      }
      case 4, 5 -> {
        boolean upTo = random.nextInt(3) == 0;
        expectAnswer(sequence, upTo, Verdict.NACKED);
        listener.nacked(sequence, upTo, random.nextBoolean() ? "full" : null);
      }
      case 6, 7 -> {
        int count = random.nextInt(4);
        long[] several = new long[count + random.nextInt(2)];
        Object[] receipts = new Object[several.length];
        for (int i = 0; i < several.length; i++) {
          several[i] = sequence(random);
          receipts[i] = "r" + several[i];
        }
        for (int i = 0; i < count; i++) {
          expectAnswer(several[i], false, Verdict.CONFIRMED);
        }
        listener.confirmed(several, receipts, count);
      }
      case 8, 9 -> {
        boolean failure = random.nextInt(4) > 0;
        Open returned = open.get(sequence);
        if (returned == null) {
          strayReturns++;
        } else {
          returned.returned |= failure;
        }
        listener.returned(sequence, 312, "NO_ROUTE", "e", "k", failure);
      }
      case 10 -> {
        Open unsent = open.remove(sequence);
        if (unsent == null) {
          strays++;
        } else {
          ends.set(unsent.message, Verdict.NOT_SENT);
        }
        PublishLink.Unsent[] all = PublishLink.Unsent.values();
        listener.notSent(sequence, all[random.nextInt(all.length)], "by the test");
      }
      default -> {
        Open unclear = open.remove(sequence);
        if (unclear == null) {
          strays++;
        } else {
          end(unclear, Verdict.UNKNOWN);
        }
        listener.unclear(sequence, "by the test");
      }
    }
  }

  private void expectAnswer(long sequence, boolean upTo, Verdict verdict) {
    if (sequence >= next || sequence < (upTo ? 0 : 1)) {
      strays++;
    } else if (upTo) {
      var below = sequence == 0 ? open : open.headMap(sequence, true);
      below.values().forEach(each -> end(each, verdict));
      below.clear();
    } else {
      Open answered = open.remove(sequence);
      if (answered == null) {
        strays++;
      } else {
        end(answered, verdict);
      }
    }
  }

  private void end(Open each, Verdict verdict) {
    ends.set(each.message, each.returned ? Verdict.RETURNED : verdict);
  }

  private void unanswered() {
    open.values().forEach(each -> end(each, Verdict.UNKNOWN));
    open.clear();
  }

  private void answerTooLate(PublishLink.Listener listener, int how) {
    stale += how == 2 ? 3 : 1;
    switch (how) {
      case 0 -> listener.confirmed(0, true, null);
      case 1 -> listener.nacked(1, false, null);
      case 2 -> listener.confirmed(new long[] {1, 2, 3}, new Object[] {"a", "b", "c"}, 3);
      case 3 -> listener.returned(1, 312, "NO_ROUTE", "e", "k", true);
      default -> listener.unclear(1, "by the test");
    }
  }
}
