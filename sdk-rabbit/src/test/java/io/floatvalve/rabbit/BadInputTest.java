package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is refused names the thing and the value, never a secret, and harms no neighbour. */
@NeedsRabbit
@Timeout(60)
class BadInputTest {
  private static final String SECRET = "s3cr3t-word";

  private final RabbitNode node = RabbitNode.shared();
  private final Messaging messaging = Messaging.over(RabbitBroker.connect(node.uri()));

  @AfterEach
  void close() {
    messaging.close();
  }

  private static PublishOutcome outcome(Publisher publisher, Message message) throws Exception {
    return publisher.publish(message).get(20, TimeUnit.SECONDS);
  }

  @Test
  void messagesThatCannotBeSent_areRefusedByName_andNoTagIsOffByOne() throws Exception {
    Publisher publisher =
        messaging.publisher(
            PublisherSettings.to(Address.exchange("amq.topic", "k")).withMaxMessageBytes(1_000));
    Publisher neighbour =
        messaging.publisher(PublisherSettings.to(Address.exchange("amq.fanout", "")));
    String longText = "x".repeat(256);
    Map<String, Message> bad = new LinkedHashMap<>();
    Function<Address, Message> at = a -> Message.builder(new byte[1]).address(a).build();
    bad.put("routing key", at.apply(Address.exchange("amq.topic", longText)));
    bad.put("exchange", at.apply(Address.exchange(longText, "k")));
    bad.put("topic", at.apply(Address.topic("t")));
    bad.put("name of a header", Message.builder(new byte[1]).header(longText, 1).build());
    bad.put("header 'nan'", Message.builder(new byte[1]).header("nan", Double.NaN).build());
    bad.put(
        "amq.rabbitmq.reply-to",
        Message.builder(new byte[1]).replyTo("amq.rabbitmq.reply-to").build());
    bad.put("131", Message.builder(new byte[1]).header("h", "x".repeat(140_000)).build());
    bad.put("message id", Message.builder(new byte[1]).messageId(longText).build());
    bad.put("1000", Message.of(new byte[1_001]));

    long tag = 0;
    for (var each : bad.entrySet()) {
      PublishOutcome refused = outcome(publisher, each.getValue());
      assertThat(refused).as(each.getKey()).isInstanceOf(NotSent.class);
      assertThat(((NotSent) refused).detail()).containsIgnoringCase(each.getKey());
      assertThat(refused.retry()).isEqualTo(PublishOutcome.Retry.FUTILE);
      Message good = Message.builder(new byte[1]).mandatory(false).build();
      assertThat(((Confirmed) outcome(publisher, good)).sequence()).isEqualTo(++tag);
      assertThat(((Confirmed) outcome(neighbour, good)).sequence()).isEqualTo(tag);
    }
    assertThat(publisher.status().reopened()).isZero();
  }

  @Test
  void valuesOfUnsupportedTypes_andNulls_areRefusedWhereTheyAreGiven() {
    assertThatThrownBy(() -> Message.builder(new byte[1]).header("h", new Object()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'h'")
        .hasMessageContaining("java.lang.Object");
    assertThatThrownBy(() -> Message.of(nothing()))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("payload");
  }

  @SuppressWarnings("NullAway") // what a caller without a checker may pass
  private static byte[] nothing() {
    return null;
  }

  @Test
  void unknownExchange_isAnOpeningError_andNeighboursGoOn() throws Exception {
    Publisher neighbour =
        messaging.publisher(PublisherSettings.to(Address.exchange("amq.fanout", "")));

    MessagingException e =
        catchThrowableOfType(
            MessagingException.class,
            () -> messaging.publisher(PublisherSettings.to(Address.exchange("none-such", "k"))));

    assertThat(e.kind()).isEqualTo(MessagingException.Kind.NOT_FOUND);
    assertThat(e).hasMessageContaining("none-such").hasMessageContaining(":" + node.port());
    assertThat(outcome(neighbour, Message.builder(new byte[1]).mandatory(false).build()))
        .isInstanceOf(Confirmed.class);
    assertThat(neighbour.status().reopened()).isZero();
  }

  @Test
  void wrongCredentials_areSaidWithoutThem() {
    String uri = "amqp://somebody:" + SECRET + "@127.0.0.1:" + node.port();

    MessagingException e =
        catchThrowableOfType(MessagingException.class, () -> RabbitBroker.connect(uri));

    assertThat(e.kind()).isEqualTo(MessagingException.Kind.REFUSED);
    assertThat(e).hasMessageContaining("127.0.0.1:" + node.port());
    for (Throwable t = e; t != null; t = t.getCause()) {
      assertThat(t.toString()).doesNotContain(SECRET);
    }
  }

  @Test
  void passwordTooLongForTheBroker_isSuspected_notOnlyTheCredentials() {
    RabbitBroker.Settings settings =
        RabbitBroker.Settings.at("amqp://127.0.0.1:" + node.port())
            .withCredentials("guest", SECRET.repeat(600));

    MessagingException e =
        catchThrowableOfType(MessagingException.class, () -> RabbitBroker.connect(settings));

    if (node.version().startsWith("3.")) { // later ones have room, and refuse it
      assertThat(e).hasMessageContaining("length of the password, 6600 bytes");
    }
    assertThat(e.toString()).doesNotContain(SECRET);
  }

  @Test
  void wrongPort_isUnreachable_andNamed() throws Exception {
    try (Socket closed = closedPort()) {
      int port = closed.getLocalPort();

      MessagingException e =
          catchThrowableOfType(
              MessagingException.class,
              () -> RabbitBroker.connect("amqp://guest:" + SECRET + "@127.0.0.1:" + port));

      assertThat(e.kind()).isEqualTo(MessagingException.Kind.UNREACHABLE);
      assertThat(e).hasMessageContaining("127.0.0.1:" + port);
      assertThat(e.toString()).doesNotContain(SECRET);
    }
  }

  /** Takes a port that nobody listens on, and nobody else gets while this is open. */
  private static Socket closedPort() throws IOException {
    Socket bound = new Socket();
    bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    return bound;
  }

  @Test
  void portThatAcceptsAndSaysNothing_isUnreachableInTime() throws Exception {
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      RabbitBroker.Settings settings =
          RabbitBroker.Settings.at("amqp://127.0.0.1:" + mute.getLocalPort())
              .withConnectTimeout(Duration.ofSeconds(1))
              .withRpcTimeout(Duration.ofSeconds(1));
      long start = System.nanoTime();

      MessagingException e =
          catchThrowableOfType(MessagingException.class, () -> RabbitBroker.connect(settings));

      assertThat(e.kind()).isEqualTo(MessagingException.Kind.UNREACHABLE);
      assertThat(e).hasMessageContaining(":" + mute.getLocalPort());
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
    }
  }

  @Test
  void hostThatDoesNotExist_isUnreachable_andNamed() {
    MessagingException e =
        catchThrowableOfType(
            MessagingException.class,
            () -> RabbitBroker.connect("amqp://no-such-host.invalid:5672"));

    assertThat(e.kind()).isEqualTo(MessagingException.Kind.UNREACHABLE);
    assertThat(e).hasMessageContaining("no-such-host.invalid");
  }

  @Test
  void secondAddress_isUsedWhereTheFirstIsDead() throws Exception {
    try (Socket dead = closedPort()) {
      RabbitBroker.Settings two =
          RabbitBroker.Settings.at(
              "amqp://guest:guest@127.0.0.1:" + dead.getLocalPort(), node.uri());

      try (Messaging other = Messaging.over(RabbitBroker.connect(two))) {
        Publisher publisher =
            other.publisher(PublisherSettings.to(Address.exchange("amq.fanout", "")));
        assertThat(outcome(publisher, Message.builder(new byte[1]).mandatory(false).build()))
            .isInstanceOf(Confirmed.class);
      }
    }
  }

  @Test
  void settingsOutOfRange_areRefusedWithRangeAndValue() {
    PublisherSettings settings = PublisherSettings.to(Address.queue("q"));

    assertThatThrownBy(() -> settings.withMaxInFlight(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("maxInFlight must be from 1 to 1048576, was 0");
    assertThatThrownBy(() -> settings.withConfirmTimeout(Duration.ZERO))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("confirmTimeout must be from PT0.001S to PT24H, was PT0S");
    assertThatThrownBy(() -> Address.queue("")).hasMessage("queue name must not be empty");
  }

  @Test
  void closedMessaging_refusesToOpen() {
    messaging.close();

    MessagingException e =
        catchThrowableOfType(
            MessagingException.class,
            () -> messaging.publisher(PublisherSettings.to(Address.queue("q"))));

    assertThat(e.kind()).isEqualTo(MessagingException.Kind.CLOSED);
  }
}
