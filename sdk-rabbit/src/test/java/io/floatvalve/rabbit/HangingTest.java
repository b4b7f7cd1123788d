package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.rabbit.RabbitBroker.Settings;
import io.floatvalve.spi.Broker.PublishRequest;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A broker that halts, blocks, dies or sends us away. */
@NeedsRabbit(ownProcess = true)
class HangingTest {
  private static final AtomicLong EPOCHS = new AtomicLong();
  private static final Duration LONG = Duration.ofSeconds(30);
  private static RabbitNode node;

  private final Heard heard = new Heard();
  private RabbitBroker broker;

  @BeforeAll
  static void start() {
    node = RabbitNode.start();
  }

  @AfterAll
  static void stop() {
    node.close();
  }

  @BeforeEach
  void connect() {
    broker =
        RabbitBroker.connect(
            Settings.at(node.uri())
                .withHeartbeat(Duration.ofSeconds(5))
                .withRpcTimeout(Duration.ofSeconds(3)));
  }

  @AfterEach
  void close() {
    node.resume();
    broker.close(LONG);
  }

  private PublishLink open(Heard listener, Duration timeout) {
    return broker.openPublish(
        new PublishRequest(Address.queue("q"), EPOCHS.incrementAndGet(), null, timeout), listener);
  }

  /** Sends until a write hangs. */
  private static final class Sender {
    final AtomicReference<Throwable> ended = new AtomicReference<>();
    final AtomicLong sent = new AtomicLong();
    final Thread thread;

    Sender(PublishLink link) {
      Message message = Message.of(new byte[100_000]);
      thread =
          new Thread(
              () -> {
                try {
                  while (true) {
                    link.send(sent.get() + 1, message);
                    link.flush();
                    sent.incrementAndGet();
                  }
                } catch (Exception e) {
                  ended.set(e);
                }
              });
      thread.setDaemon(true);
      thread.start();
    }

    void awaitHanging() {
      AtomicLong before = new AtomicLong(-1);
      await()
          .atMost(LONG)
          .pollInterval(Duration.ofMillis(500))
          .until(() -> before.getAndSet(sent.get()) == sent.get() && sent.get() > 0);
      assertThat(ended).hasNullValue();
    }

    void awaitEnd() {
      await().atMost(LONG).until(() -> ended.get() != null);
    }
  }

  private static Duration timeOf(Runnable work) {
    long start = System.nanoTime();
    work.run();
    return Duration.ofNanos(System.nanoTime() - start);
  }

  @Test
  void abort_endsASendThatHangs_withoutWaiting() {
    PublishLink link = open(heard, LONG);
    Heard other = new Heard();
    open(other, LONG);
    node.pause();
    Sender sender = new Sender(link);
    sender.awaitHanging();

    assertThat(timeOf(link::abort)).isLessThan(Duration.ofSeconds(5));

    sender.awaitEnd();
    await().atMost(LONG).until(() -> other.has("lost connection"));
    assertThat(heard.events).noneMatch(event -> event.startsWith("lost"));
    node.resume();
    open(new Heard(), LONG);
  }

  @Test
  void close_returnsInTime_whileASendHangs() {
    PublishLink link = open(heard, LONG);
    node.pause();
    Sender sender = new Sender(link);
    sender.awaitHanging();

    assertThat(timeOf(() -> link.close(Duration.ofSeconds(1)))).isLessThan(Duration.ofSeconds(7));
    sender.awaitEnd();
  }

  @Test
  void closingTheBroker_returnsInTime_whileASendHangs() {
    PublishLink link = open(heard, LONG);
    node.pause();
    Sender sender = new Sender(link);
    sender.awaitHanging();

    assertThat(timeOf(() -> broker.close(Duration.ofSeconds(1)))).isLessThan(Duration.ofSeconds(7));
    sender.awaitEnd();
    await().atMost(LONG).until(() -> heard.has("lost connection"));
  }

  @Test
  void missedHeartbeats_loseTheConnection_whileASendHangs() {
    PublishLink link = open(heard, LONG);
    node.pause();
    Sender sender = new Sender(link);
    sender.awaitHanging();

    await().atMost(Duration.ofMinutes(1)).until(() -> heard.has("lost connection"));
    sender.awaitEnd();
  }

  @Test
  void opening_endsByItsTimeout_andTheNextOneFindsAnotherConnection() {
    String silent = // ours alone: those of other tests may still be closing
        await().atMost(LONG).until(this::peerPorts, ports -> ports.size() == 1).get(0);
    node.pause();

    assertThat(
            timeOf(
                () ->
                    assertThatThrownBy(() -> open(heard, Duration.ofMillis(500)))
                        .isInstanceOfSatisfying(
                            MessagingException.class,
                            e -> assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE))
                        .hasMessageContaining("cannot publish to queue 'q' of RabbitMQ")
                        .hasMessageContaining("no answer within PT0.5S")))
        .isLessThan(Duration.ofSeconds(9));
    node.resume();

    open(new Heard(), LONG);
    await().atMost(LONG).until(() -> !peerPorts().contains(silent));
    assertThat(heard.events).isEmpty();
  }

  /** The broker's name for each connection to it. */
  private List<String> peerPorts() {
    return node.ctl("list_connections", "peer_port")
        .lines()
        .filter(line -> line.matches("[0-9]+")) // not the heading
        .toList();
  }

  @Test
  void aConnectionThatTheBrokerCloses_isLostWithItsWords_andTheNextLinkHasAnother()
      throws Exception {
    open(heard, LONG);

    node.ctl("close_all_connections", "go away");

    await().atMost(LONG).until(() -> heard.has("lost"));
    assertThat(heard.events).containsExactly("lost connection 320 CONNECTION_FORCED - go away");
    Heard next = new Heard();
    PublishLink link = open(next, LONG);
    link.send(1, Message.of(new byte[1]).toBuilder().mandatory(false).build());
    link.flush();
    await().atMost(LONG).until(() -> next.confirmedUpTo() == 1);
  }

  @Test
  void aBlockedConnection_isToldToAllItsLinks_andToOnesThatOpenLater() throws Exception {
    PublishLink link = open(heard, LONG);
    Heard idle = new Heard();
    open(idle, LONG);
    Heard late = new Heard();
    node.memoryAlarm(true);
    try {
      Message message = Message.of(new byte[1]).toBuilder().mandatory(false).build();
      AtomicLong sent = new AtomicLong();
      await()
          .atMost(LONG)
          .until(
              () -> {
                link.send(sent.incrementAndGet(), message);
                link.flush();
                return heard.has("blocked") && idle.has("blocked"); // one after the other
              });
      assertThat(idle.events).containsExactly("blocked low on memory");

      assertThatThrownBy(() -> open(late, Duration.ofMillis(500)))
          .hasMessageContaining("the broker blocks the connection: low on memory");
      assertThat(late.events).containsExactly("blocked low on memory");
    } finally {
      node.memoryAlarm(false);
    }
    await().atMost(LONG).until(() -> heard.has("unblocked") && idle.has("unblocked"));
    assertThat(idle.events).containsExactly("blocked low on memory", "unblocked");
  }
}
