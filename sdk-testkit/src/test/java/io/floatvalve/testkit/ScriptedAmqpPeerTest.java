package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.PossibleAuthenticationFailureException;
import com.rabbitmq.client.Return;
import com.rabbitmq.client.ShutdownSignalException;
import com.rabbitmq.client.SocketConfigurators;
import io.floatvalve.testkit.ScriptedAmqpPeer.PeerChannel;
import io.floatvalve.testkit.ScriptedAmqpPeer.Publish;
import io.floatvalve.testkit.ScriptedAmqpPeer.Script;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ScriptedAmqpPeerTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();
  private final BlockingQueue<Return> returns = new LinkedBlockingQueue<>();
  private ScriptedAmqpPeer peer;
  private Connection connection;
  private Channel channel;

  @BeforeEach
  void open() throws Exception {
    peer = ScriptedAmqpPeer.start();
    connection = factory().newConnection();
    channel = connection.createChannel();
    channel.confirmSelect();
    channel.addConfirmListener(
        (tag, multiple) -> heard.add("ack " + tag + (multiple ? " multiple" : "")),
        (tag, multiple) -> heard.add("nack " + tag + (multiple ? " multiple" : "")));
    channel.addReturnListener(
        returned -> {
          returns.add(returned);
          heard.add("return " + returned.getReplyCode());
        });
  }

  @AfterEach
  void close() {
    connection.abort(1_000);
    peer.close();
  }

  @Test
  void byDefault_everyPublishIsConfirmedInOrder_andKeptAsItCame() throws Exception {
    BasicProperties properties =
        new BasicProperties.Builder().messageId("m").headers(Map.of("h", 1)).build();
    byte[] large = new byte[300_000];
    large[299_999] = 5;
    channel.basicPublish("amq.topic", "a.b", true, properties, large);
    publish(2);

    channel.waitForConfirmsOrDie(10_000);

    assertThat(heard).containsExactly("ack 1", "ack 2", "ack 3");
    List<Publish> publishes = peer.publishes();
    assertThat(publishes).extracting(Publish::sequence).containsExactly(1L, 2L, 3L);
    Publish first = publishes.get(0);
    assertThat(first.exchange()).isEqualTo("amq.topic");
    assertThat(first.routingKey()).isEqualTo("a.b");
    assertThat(first.mandatory()).isTrue();
    assertThat(first.properties()).isEqualTo(properties);
    assertThat(first.body()).isEqualTo(large);
    assertThat(publishes.get(1).body()).isEmpty();
  }

  @Test
  void confirmsGoOutAsTold_lateOutOfOrderInRangesAndRefusedBeforeGranted() throws Exception {
    peer.script(Script.SILENCE);
    publish(12);
    peer.awaitPublishes(12, LIMIT);
    assertThat(heard).isEmpty();
    PeerChannel on = peer.awaitPublisher(LIMIT);

    on.ack(3, false);
    on.nack(6, true);
    on.ack(9, false);
    on.ack(0, true);

    assertThat(hear(4)).containsExactly("ack 3", "nack 6 multiple", "ack 9", "ack 0 multiple");
  }

  @Test
  void returnsComeBack_withTheirOwnHeaders_withoutThem_andBeforeTheirConfirm() throws Exception {
    peer.script(
        (on, publish) -> {
          if (publish.sequence() == 1) {
            on.giveBack(publish, 312, "NO_ROUTE");
          } else {
            on.giveBackWithoutHeaders(publish, 312, "NO_ROUTE");
          }
          on.ack(publish.sequence(), false);
        });
    BasicProperties properties =
        new BasicProperties.Builder().messageId("m").headers(Map.of("h", 1)).build();
    channel.basicPublish("", "nowhere", true, properties, "body".getBytes(US_ASCII));
    channel.basicPublish("", "nowhere", true, properties, "body".getBytes(US_ASCII));

    assertThat(hear(4)).containsExactly("return 312", "ack 1", "return 312", "ack 2");
    Return whole = returns.remove();
    assertThat(whole.getProperties()).isEqualTo(properties);
    assertThat(whole.getBody()).asString(US_ASCII).isEqualTo("body");
    assertThat(whole.getRoutingKey()).isEqualTo("nowhere");
    Return bare = returns.remove();
    assertThat(bare.getProperties().getHeaders()).isNull();
    assertThat(bare.getProperties().getMessageId()).isEqualTo("m");
  }

  @Test
  void closedChannel_swallowsWhatComesAfter_andANewOneBeginsAtOne() throws Exception {
    CompletableFuture<ShutdownSignalException> shutdown = new CompletableFuture<>();
    channel.addShutdownListener(shutdown::complete);
    peer.script(Script.SILENCE);
    publish(2);
    peer.awaitPublishes(2, LIMIT);
    PeerChannel on = peer.awaitPublisher(LIMIT);

    on.close(406, "PRECONDITION_FAILED - told so");

    assertThat(shutdown.get(10, TimeUnit.SECONDS).getMessage()).contains("406", "told so");
    assertThat(on.isOpen()).isFalse();
    assertThatThrownBy(() -> publish(1)).isInstanceOf(AlreadyClosedException.class);
    assertThatThrownBy(() -> peer.awaitPublisher(Duration.ZERO))
        .isInstanceOf(IllegalStateException.class);
    Channel next = connection.createChannel();
    next.confirmSelect();
    next.basicPublish("", "q", null, new byte[0]);
    assertThat(peer.awaitPublishes(3, LIMIT).get(2).sequence()).isEqualTo(1);
    assertThat(peer.awaitPublisher(LIMIT)).isNotSameAs(on);
  }

  @Test
  void missingNames_closeTheChannelWith404_untilTheyAreDeclared() throws Exception {
    peer.missing("gone");

    Channel asking = connection.createChannel();
    assertThatThrownBy(() -> asking.queueDeclarePassive("gone"))
        .isInstanceOf(IOException.class)
        .hasStackTraceContaining("404");
    CompletableFuture<ShutdownSignalException> shutdown = new CompletableFuture<>();
    channel.addShutdownListener(shutdown::complete);
    channel.basicPublish("gone", "key", null, new byte[3]);
    assertThat(shutdown.get(10, TimeUnit.SECONDS).getMessage()).contains("404", "'gone'");

    Channel declaring = connection.createChannel();
    assertThat(declaring.queueDeclare("gone", true, false, false, null).getQueue())
        .isEqualTo("gone");
    declaring.queueDeclarePassive("gone");
    declaring.exchangeDeclare("x", "topic");
    declaring.queueBind("gone", "x", "#");
    assertThat(declaring.queueDeclare().getQueue()).startsWith("amq.gen-");
    assertThat(peer.publishes()).isEmpty();
  }

  @Test
  void connections_areClosedWithACode_orDropped_orRefusedAtLogin() throws Exception {
    CompletableFuture<ShutdownSignalException> shutdown = new CompletableFuture<>();
    connection.addShutdownListener(shutdown::complete);
    peer.closeConnections(320, "CONNECTION_FORCED - told so");
    assertThat(shutdown.get(10, TimeUnit.SECONDS).getMessage()).contains("320", "told so");
    await().until(() -> peer.connections() == 0);

    Connection second = factory().newConnection();
    CompletableFuture<ShutdownSignalException> dropped = new CompletableFuture<>();
    second.addShutdownListener(dropped::complete);
    peer.dropConnections();
    assertThat(dropped.get(10, TimeUnit.SECONDS).isHardError()).isTrue();
    assertThat(peer.accepted()).isEqualTo(2);

    peer.refuseLogins(true);
    assertThatThrownBy(() -> factory().newConnection())
        .isInstanceOf(PossibleAuthenticationFailureException.class);
  }

  @Test
  void blockedAndUnblocked_areToldToTheClient() throws Exception {
    CompletableFuture<String> blocked = new CompletableFuture<>();
    CountDownLatch unblocked = new CountDownLatch(1);
    connection.addBlockedListener(blocked::complete, unblocked::countDown);

    peer.block("low on memory");

    assertThat(blocked.get(10, TimeUnit.SECONDS)).isEqualTo("low on memory");
    peer.unblock();
    assertThat(unblocked.await(10, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void peerThatDoesNotRead_hangsTheClientsWrites_untilItReadsOn() throws Exception {
    peer.stopReading();
    int count = 200;
    CompletableFuture<Void> publishing = new CompletableFuture<>();
    Thread publisher =
        new Thread(
            () -> {
              try {
                for (int i = 0; i < count; i++) {
                  channel.basicPublish("", "q", null, new byte[100_000]);
                }
                publishing.complete(null);
              } catch (IOException e) {
                publishing.completeExceptionally(e);
              }
            });
    publisher.setDaemon(true);
    publisher.start();
    assertThat(publishing).failsWithin(Duration.ofSeconds(1));
    assertThat(peer.publishes()).hasSizeLessThan(2);

    peer.resumeReading();

    publishing.get(20, TimeUnit.SECONDS);
    channel.waitForConfirmsOrDie(20_000);
    assertThat(peer.publishes()).hasSize(count);
  }

  @Test
  void scriptThatThrows_closesTheConnectionAndSaysWhy() throws Exception {
    CompletableFuture<ShutdownSignalException> shutdown = new CompletableFuture<>();
    connection.addShutdownListener(shutdown::complete);
    peer.script(
        (on, publish) -> {
          throw new IllegalArgumentException("planted");
        });

    publish(1);

    assertThat(shutdown.get(10, TimeUnit.SECONDS).getMessage()).contains("541", "planted");
  }

  @Test
  void idleConnection_isKeptByHeartbeats_andASilentClientIsDropped() throws Exception {
    ConnectionFactory factory = factory();
    factory.setRequestedHeartbeat(2); // who is silent for 4 s is dropped
    try (FaultProxy proxy = FaultProxy.to(peer.host(), peer.port())) {
      factory.setPort(proxy.port());
      try (Connection idle = factory.newConnection()) {
        await().during(Duration.ofSeconds(5)).atMost(LIMIT).until(idle::isOpen);
        assertThat(peer.connections()).isEqualTo(2);

        proxy.stall(FaultProxy.Direction.TO_BROKER);

        await().atMost(LIMIT).until(() -> peer.connections() == 1);
        proxy.unstall();
        await().atMost(LIMIT).until(() -> !idle.isOpen());
      } catch (AlreadyClosedException e) {
        assertThat(e).as("closing what the peer has dropped").isNotNull();
      }
    }
  }

  @Test
  void deliveries_reachAConsumer_andItsSettlementsAreTaken() throws Exception {
    CompletableFuture<String> delivered = new CompletableFuture<>();
    Channel consuming = connection.createChannel();
    consuming.basicQos(5);
    consuming.basicConsume(
        "q",
        false,
        "tag",
        (tag, delivery) -> {
          consuming.basicAck(delivery.getEnvelope().getDeliveryTag(), false);
          delivered.complete(new String(delivery.getBody(), US_ASCII));
        },
        tag -> {});
    consuming.confirmSelect();

    peer.awaitPublisher(LIMIT)
        .deliver("tag", 1, false, "q", new BasicProperties(), "body".getBytes(US_ASCII));

    assertThat(delivered.get(10, TimeUnit.SECONDS)).isEqualTo("body");
    consuming.basicCancel("tag");
    assertThat(consuming.basicGet("q", true)).isNull();
  }

  private ConnectionFactory factory() throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(peer.uri());
    factory.setAutomaticRecoveryEnabled(false);
    factory.setSocketConfigurator( // how much a system buffers by itself differs
        SocketConfigurators.defaultConfigurator()
            .andThen(socket -> socket.setSendBufferSize(256 * 1024)));
    return factory;
  }

  private void publish(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      channel.basicPublish("", "q", null, new byte[0]);
    }
  }

  private List<String> hear(int count) {
    await().atMost(LIMIT).until(() -> heard.size() >= count);
    return List.copyOf(heard);
  }
}
