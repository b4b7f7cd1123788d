package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.Returned;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.testkit.ScriptedAmqpPeer;
import io.floatvalve.testkit.ScriptedAmqpPeer.PeerChannel;
import io.floatvalve.testkit.ScriptedAmqpPeer.Publish;
import io.floatvalve.testkit.ScriptedAmqpPeer.Script;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Answers that a real broker gives too seldom to test with. */
@Timeout(60)
class ScriptedAnswersTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private final ScriptedAmqpPeer peer;
  private final List<Event> events = new CopyOnWriteArrayList<>();
  private final Messaging messaging;

  ScriptedAnswersTest() throws IOException {
    peer = ScriptedAmqpPeer.start();
    messaging = Messaging.over(RabbitBroker.connect(peer.uri()), events::add);
  }

  @AfterEach
  void close() {
    messaging.close();
    peer.close();
  }

  private static PublisherSettings toQueue() {
    return PublisherSettings.to(Address.queue("q"))
        .withMaxInFlight(100)
        .withCloseTimeout(Duration.ofMillis(200));
  }

  private static List<CompletableFuture<PublishOutcome>> publish(Publisher publisher, int count) {
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      futures.add(publisher.publish(Message.of(new byte[] {(byte) i})));
    }
    return futures;
  }

  private static PublishOutcome outcome(CompletableFuture<PublishOutcome> future) throws Exception {
    return future.get(20, TimeUnit.SECONDS);
  }

  @Test
  void nacksOneByOne_thenAMultipleAck_keepTheNacks() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher = messaging.publisher(toQueue());
    var futures = publish(publisher, 12);
    peer.awaitPublishes(12, LIMIT);
    PeerChannel channel = peer.awaitPublisher(LIMIT);

    for (int tag = 4; tag <= 10; tag++) {
      channel.nack(tag, false);
    }
    channel.ack(12, true);

    for (int i = 0; i < 12; i++) {
      int tag = i + 1;
      assertThat(outcome(futures.get(i)).verdict())
          .as("tag %d", tag)
          .isEqualTo(tag >= 4 && tag <= 10 ? Verdict.NACKED : Verdict.CONFIRMED);
    }
  }

  @Test
  void multipleNack_settlesAllBelow_andTheAckAfterItTheRest() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher = messaging.publisher(toQueue());
    var futures = publish(publisher, 6);
    peer.awaitPublishes(6, LIMIT);
    PeerChannel channel = peer.awaitPublisher(LIMIT);

    channel.ack(2, false);
    channel.nack(4, true);
    channel.ack(6, true);

    var verdicts = new ArrayList<Verdict>();
    for (var future : futures) {
      verdicts.add(outcome(future).verdict());
    }
    assertThat(verdicts)
        .containsExactly(
            Verdict.NACKED,
            Verdict.CONFIRMED,
            Verdict.NACKED,
            Verdict.NACKED,
            Verdict.CONFIRMED,
            Verdict.CONFIRMED);
  }

  @Test
  void tagZeroWithMultiple_meansAllThatAreOpen() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher = messaging.publisher(toQueue());
    var futures = publish(publisher, 5);
    peer.awaitPublishes(5, LIMIT);

    peer.awaitPublisher(LIMIT).ack(0, true);

    for (var future : futures) {
      assertThat(outcome(future).verdict()).isEqualTo(Verdict.CONFIRMED);
    }
    assertThat(publisher.status().strayAnswers()).isZero();
  }

  @Test
  void acksInReverse_settleEachItsOwn() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher = messaging.publisher(toQueue());
    var futures = publish(publisher, 50);
    peer.awaitPublishes(50, LIMIT);
    PeerChannel channel = peer.awaitPublisher(LIMIT);

    IntStream.iterate(50, tag -> tag - 1).limit(50).forEach(tag -> channel.ack(tag, false));

    for (int i = 0; i < 50; i++) {
      assertThat(((Confirmed) outcome(futures.get(i))).sequence()).isEqualTo(i + 1);
    }
  }

  @Test
  void answersForTagsThatWereNeverSent_areCounted() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher = messaging.publisher(toQueue());
    var futures = publish(publisher, 1);
    peer.awaitPublishes(1, LIMIT);
    PeerChannel channel = peer.awaitPublisher(LIMIT);

    channel.ack(99, true);
    channel.ack(1, false);
    channel.ack(1, false);

    assertThat(outcome(futures.get(0)).verdict()).isEqualTo(Verdict.CONFIRMED);
    await().until(() -> publisher.status().strayAnswers() == 2);
  }

  @Test
  void returnWithoutOurHeader_isCountedAndTold_andTheAckDecides() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher = messaging.publisher(toQueue());
    var futures = publish(publisher, 1);
    Publish publish = peer.awaitPublishes(1, LIMIT).get(0);
    PeerChannel channel = peer.awaitPublisher(LIMIT);

    channel.giveBackWithoutHeaders(publish, 312, "NO_ROUTE");
    channel.ack(1, false);

    assertThat(outcome(futures.get(0)).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.status().strayReturns()).isEqualTo(1);
    await().until(() -> events.stream().anyMatch(e -> e instanceof Event.ReturnUnmatched));
  }

  @Test
  void returnGivesBackTheMessageAsItWasGiven() throws Exception {
    peer.script(
        (channel, publish) -> {
          channel.giveBack(publish, 312, "NO_ROUTE");
          channel.ack(publish.sequence(), false);
        });
    Publisher publisher = messaging.publisher(toQueue());
    Message message =
        Message.builder(new byte[] {1, 2}).messageId("mine").header("trace", "t1").key("k").build();

    PublishOutcome outcome = outcome(publisher.publish(message));

    assertThat(outcome)
        .isEqualTo(new Returned(312, "NO_ROUTE", "", "q", message, 1))
        .isInstanceOfSatisfying(Returned.class, r -> assertThat(r.message()).isSameAs(message));
    assertThat(message.headers()).isEqualTo(Map.of("trace", "t1"));
  }

  @Test
  void rc24_returnOfADelayedExchange_isNoFailure_whereItIsSaidToBeOne() throws Exception {
    peer.script(
        (channel, publish) -> { // as the delayed-message exchange does: returned, and routed later
          channel.giveBack(publish, 312, "NO_ROUTE");
          channel.ack(publish.sequence(), false);
        });
    Message delayed = Message.builder(new byte[1]).delay(Duration.ofSeconds(1)).build();
    Publisher known =
        messaging.publisher(
            PublisherSettings.to(Address.exchange("later", "k"))
                .withNative(RabbitBroker.PublishSettings.defaults().withDelayedExchange(true)));
    Publisher plain = messaging.publisher(PublisherSettings.to(Address.exchange("now", "k")));

    assertThat(outcome(known.publish(delayed)))
        .isInstanceOfSatisfying(Confirmed.class, c -> assertThat(c.returned()).isTrue());
    assertThat(peer.publishes().get(0).properties().getHeaders()).containsEntry("x-delay", 1_000L);
    assertThat(outcome(known.publish(Message.of(new byte[1]))))
        .as("a message without a delay that is returned went nowhere")
        .isInstanceOf(Returned.class);
    assertThat(outcome(plain.publish(Message.of(new byte[1])))).isInstanceOf(Returned.class);
    assertThat(peer.publishes()).as("each was published once").hasSize(3);
  }

  @Test
  void silence_isATimeout_andALateAckIsCounted() throws Exception {
    peer.script(Script.SILENCE);
    // After as long again the channel is given up: until then the ack must come.
    Publisher publisher = messaging.publisher(toQueue().withConfirmTimeout(Duration.ofSeconds(3)));
    var futures = publish(publisher, 3);
    peer.awaitPublishes(3, LIMIT);
    for (var future : futures) {
      assertThat(((Unknown) outcome(future)).cause()).isEqualTo(Unknown.Cause.CONFIRM_TIMEOUT);
    }

    peer.awaitPublisher(LIMIT).ack(3, true);

    await().until(() -> publisher.status().lateConfirms() == 3);
    assertThat(publisher.status().inFlight()).isZero();
  }

  @Test
  void channelClosedByTheBroker_leavesUnknown_andPublishingGoesOn() throws Exception {
    for (int code : new int[] {404, 406}) {
      peer.script(Script.SILENCE).clear();
      Publisher publisher = messaging.publisher(toQueue());
      var futures = publish(publisher, 3);
      peer.awaitPublishes(3, LIMIT);

      peer.script(Script.CONFIRM);
      peer.awaitPublisher(LIMIT).close(code, "BY_THE_SCRIPT");

      for (var future : futures) {
        assertThat(outcome(future))
            .isInstanceOfSatisfying(
                Unknown.class,
                u -> {
                  assertThat(u.cause()).isEqualTo(Unknown.Cause.CHANNEL_CLOSED);
                  assertThat(u.detail()).contains(code + "").contains("BY_THE_SCRIPT");
                });
      }
      await().until(() -> publisher.status().reopened() == 1);
      assertThat(outcome(publisher.publish(Message.of(new byte[1]))).verdict())
          .isEqualTo(Verdict.CONFIRMED);
    }
    assertThat(peer.connections()).as("the connection stayed").isEqualTo(1);
  }

  @Test
  void connectionClosedByTheBroker_namesItsWord() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher = messaging.publisher(toQueue());
    var futures = publish(publisher, 3);
    peer.awaitPublishes(3, LIMIT);

    peer.script(Script.CONFIRM);
    peer.closeConnections(530, "NOT_ALLOWED - denied for too many requests");

    for (var future : futures) {
      assertThat(outcome(future))
          .isInstanceOfSatisfying(
              Unknown.class,
              u -> {
                assertThat(u.cause()).isEqualTo(Unknown.Cause.CONNECTION_LOST);
                assertThat(u.detail()).contains("denied for too many requests");
              });
    }
    await().until(() -> publisher.status().reopened() == 1);
    assertThat(outcome(publisher.publish(Message.of(new byte[1]))).verdict())
        .isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void blockedConnection_isSaid_andCloseKeepsItsTime() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher = messaging.publisher(toQueue().withCloseTimeout(Duration.ofSeconds(1)));
    var sent = publish(publisher, 1).get(0);
    peer.awaitPublishes(1, LIMIT);
    peer.block("low on memory");
    await().until(() -> publisher.status().state() == PublisherStatus.State.BLOCKED);
    peer.stopReading();
    var waiting = publisher.publish(Message.of(new byte[1]));

    long start = System.nanoTime();
    publisher.close();
    Duration took = Duration.ofNanos(System.nanoTime() - start);

    assertThat(took).isBetween(Duration.ofMillis(900), Duration.ofSeconds(10));
    assertThat(((Unknown) outcome(sent)).cause()).isEqualTo(Unknown.Cause.PUBLISHER_CLOSED);
    assertThat(((PublishOutcome.NotSent) outcome(waiting)).reason())
        .isEqualTo(PublishOutcome.NotSent.Reason.CLOSED);
    assertThat(peer.publishes()).hasSize(1);
  }

  @Test
  void writeThatHangs_endsInOutcomes_andAnotherConnectionGoesOn() throws Exception {
    peer.script(Script.SILENCE);
    Publisher publisher =
        messaging.publisher(
            toQueue().withConfirmTimeout(Duration.ofSeconds(1)).withMaxInFlight(1_000));
    peer.stopReading(); // without a word: buffers fill, then the write hangs
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      futures.add(publisher.publish(Message.of(new byte[200_000])));
    }
    assertThat(outcome(futures.get(0)).verdict()).isEqualTo(Verdict.UNKNOWN);

    peer.script(Script.CONFIRM);
    peer.resumeReading();

    for (var future : futures) {
      assertThat(outcome(future).verdict()).isIn(Verdict.UNKNOWN, Verdict.CONFIRMED);
    }
    await()
        .atMost(LIMIT)
        .until(
            () ->
                outcome(publisher.publish(Message.of(new byte[1]))).verdict() == Verdict.CONFIRMED);
    await().atMost(LIMIT).until(() -> publisher.status().inFlight() == 0);
  }
}
