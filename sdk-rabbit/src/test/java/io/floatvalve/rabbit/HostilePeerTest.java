package io.floatvalve.rabbit;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.AMQP.BasicProperties;
import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.event.Event;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker.Settings;
import io.floatvalve.testkit.ScriptedAmqpPeer;
import io.floatvalve.testkit.ScriptedAmqpPeer.PeerChannel;
import io.floatvalve.testkit.ScriptedAmqpPeer.Script;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A peer that is no broker, or not a sound one: it costs a connection, never the process. */
@Timeout(60)
class HostilePeerTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int MOST_BYTES = 1 << 20;
  private static final int FRAME_END = 206;
  private static final int FLOOD = 50_000;

  private final ScriptedAmqpPeer peer;
  private final List<Event> events = new CopyOnWriteArrayList<>();

  HostilePeerTest() throws IOException {
    peer = ScriptedAmqpPeer.start();
  }

  @AfterEach
  void close() {
    peer.close();
  }

  private Messaging messaging() {
    return Messaging.over(
        RabbitBroker.connect(Settings.at(peer.uri()).withMaxInboundBytes(MOST_BYTES)), events::add);
  }

  private static PublisherSettings toQueue() {
    return PublisherSettings.to(Address.queue("q"))
        .withMaxInFlight(100)
        .withCloseTimeout(Duration.ofMillis(200));
  }

  private static Verdict publish(Publisher publisher) throws Exception {
    return publisher
        .publish(Message.of(new byte[] {1}))
        .get(LIMIT.toSeconds(), TimeUnit.SECONDS)
        .verdict();
  }

  /** The publisher goes on over another connection, and confirms are honest again. */
  private void goesOn(Publisher publisher) {
    await().atMost(LIMIT).until(() -> publish(publisher) == Verdict.CONFIRMED);
    assertThat(publisher.status().reopened()).isPositive();
  }

  private static byte[] frame(int type, int channel, int announced, byte[] payload) {
    ByteBuffer frame = ByteBuffer.allocate(8 + payload.length);
    frame.put((byte) type).putShort((short) channel).putInt(announced).put(payload);
    frame.put((byte) FRAME_END);
    return frame.array();
  }

  /** A frame that says it has two billion bytes is not waited for, let alone given room. */
  @ParameterizedTest
  @ValueSource(ints = {Integer.MAX_VALUE, Integer.MAX_VALUE - 64, -1, MOST_BYTES + 1_000})
  void aFrameWithoutEnd_endsTheConnection_andPublishingGoesOn(int announced) throws Exception {
    try (Messaging messaging = messaging()) {
      Publisher publisher = messaging.publisher(toQueue());
      assertThat(publish(publisher)).isEqualTo(Verdict.CONFIRMED);
      PeerChannel channel = peer.awaitPublisher(LIMIT);

      channel.raw(frame(1, 1, announced, new byte[100]));

      await().atMost(LIMIT).until(() -> !channel.isOpen() || publisher.status().reopened() > 0);
      goesOn(publisher);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {Long.MAX_VALUE, MOST_BYTES + 1})
  void aReturnWithABodyWithoutEnd_endsTheConnection_andPublishingGoesOn(long announced)
      throws Exception {
    peer.script(Script.SILENCE);
    try (Messaging messaging = messaging()) {
      Publisher publisher = messaging.publisher(toQueue());
      var lost = publisher.publish(Message.of(new byte[] {1}));
      peer.awaitPublishes(1, LIMIT);
      PeerChannel channel = peer.awaitPublisher(LIMIT);
      peer.script(Script.CONFIRM);

      channel.raw(frame(1, channel.number(), 15, returned()));
      channel.raw(frame(2, channel.number(), 14, header(announced)));
      byte[] fragment = frame(3, channel.number(), 100_000, new byte[100_000]);
      try {
        for (int i = 0; i < 10_000; i++) { // 1 GB, were it taken
          channel.raw(fragment);
        }
      } catch (IllegalStateException e) {
        // it was not
      }

      assertThat(lost.get(LIMIT.toSeconds(), TimeUnit.SECONDS).verdict())
          .isEqualTo(Verdict.UNKNOWN);
      goesOn(publisher);
    }
  }

  private static byte[] returned() {
    ByteBuffer method = ByteBuffer.allocate(15);
    method.putShort((short) 60).putShort((short) 50).putShort((short) 312);
    method.put((byte) 2).put("no".getBytes(US_ASCII)); // the reply's text
    method.put((byte) 1).put("e".getBytes(US_ASCII));
    return method.put((byte) 3).put("key".getBytes(US_ASCII)).array();
  }

  private static byte[] header(long bodySize) {
    return ByteBuffer.allocate(14)
        .putShort((short) 60)
        .putShort((short) 0)
        .putLong(bodySize)
        .putShort((short) 0)
        .array();
  }

  @Test
  void aFloodOfAnswersForNothing_isCounted_andHarmsNoOutcome() throws Exception {
    peer.script(Script.SILENCE);
    try (Messaging messaging = messaging()) {
      Publisher publisher =
          messaging.publisher(toQueue().withConfirmTimeout(Duration.ofMinutes(10)));
      var outcome = publisher.publish(Message.of(new byte[] {1}));
      var sent = peer.awaitPublishes(1, LIMIT).get(0);
      PeerChannel channel = peer.awaitPublisher(LIMIT);

      for (int i = 0; i < FLOOD; i++) {
        channel.ack(1_000_000_000_000L + i, i % 7 == 0);
        channel.nack(2 + i, false);
        channel.giveBackWithoutHeaders(sent, 312, "NO_ROUTE");
      }
      channel.nack(sent.sequence(), false);

      assertThat(outcome.get(LIMIT.toSeconds(), TimeUnit.SECONDS).verdict())
          .as("what the answer to it says, and none of the others")
          .isEqualTo(Verdict.NACKED);
      assertThat(publisher.status().reopened()).isZero();
      assertThat(publisher.status().inFlight()).isZero();
      assertThat(publisher.status().strayReturns()).isEqualTo(FLOOD);
      assertThat(publisher.status().strayAnswers()).isGreaterThanOrEqualTo(FLOOD);
      peer.script(Script.CONFIRM);
      assertThat(publish(publisher)).isEqualTo(Verdict.CONFIRMED);
    }
  }

  /** What a broker may send ahead is the prefetch; what sends on and on is none. */
  @Test
  void aFloodOfDeliveriesBeyondThePrefetch_endsTheConnection_andIsNotKept() throws Exception {
    int many = 200_000;
    try (Messaging messaging = messaging();
        var consumer = messaging.pullConsumer(ConsumerSettings.from(Address.queue("q")))) {
      PeerChannel channel = peer.awaitConsumer(LIMIT);

      try {
        for (int i = 1; i <= many; i++) {
          channel.deliver(
              channel.consumerTag(), i, false, "q", new BasicProperties(), new byte[100]);
        }
      } catch (IllegalStateException e) {
        // the connection is gone
      }

      await()
          .atMost(LIMIT)
          .until(
              () -> events.stream().anyMatch(e -> e.toString().contains("more than the prefetch")));
      assertThat(consumer.status().waiting()).isLessThan(many / 10);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void aPeerThatSendsGarbage_isNoBroker_inTime(long seed) throws Exception {
    try (Peer garbage = new Peer(new Random(seed))) {
      Settings settings =
          Settings.at("amqp://user:s3cret@127.0.0.1:" + garbage.port())
              .withConnectTimeout(Duration.ofSeconds(2))
              .withRpcTimeout(Duration.ofSeconds(1));
      long start = System.nanoTime();

      MessagingException e =
          catchThrowableOfType(MessagingException.class, () -> RabbitBroker.connect(settings));

      assertThat(e.kind()).isIn(Kind.INVALID, Kind.UNREACHABLE);
      assertThat(e).hasMessageContaining("127.0.0.1:" + garbage.port() + ": ");
      assertThat(e.toString()).doesNotContain("s3cret").hasSizeLessThan(500);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(LIMIT);
    }
  }

  @Test
  void aPeersWordsOnItself_areShownInPart_andWithoutControls() throws Exception {
    peer.version("3\u001b[2J\n" + "9".repeat(5_000));
    try (Messaging messaging = messaging()) {
      MessagingException e =
          catchThrowableOfType(
              MessagingException.class,
              () -> messaging.publisher(PublisherSettings.to(Address.topic("t"))));
      assertThat(e).isNotNull();
      RabbitBroker broker = RabbitBroker.connect(peer.uri());
      try {
        assertThat(broker.describe()).hasSizeLessThan(200).doesNotContain("\u001b", "\n");
      } finally {
        broker.close(LIMIT);
      }
    }
  }

  /** Answers everybody with bytes without sense, and never ends. */
  private static final class Peer implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

    Peer(Random random) throws IOException {
      Threads.start(
          "garbage",
          () -> {
            while (!server.isClosed()) {
              try (Socket guest = server.accept()) {
                OutputStream out = guest.getOutputStream();
                byte[] bytes = new byte[8_192];
                while (true) {
                  random.nextBytes(bytes);
                  out.write(bytes);
                }
              } catch (IOException e) {
                // the guest has had enough
              }
            }
          });
    }

    int port() {
      return server.getLocalPort();
    }

    @Override
    public void close() throws IOException {
      server.close();
    }
  }
}
