package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
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
import io.floatvalve.testkit.TestAuthority;
import io.floatvalve.testkit.TestAuthority.Identity;
import io.floatvalve.testkit.TlsDoor;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * TLS, with certificates made here: at the node's own port, which wants one of the client, and at
 * doors before it that show others.
 */
@NeedsRabbit(ownProcess = true)
class TlsTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final String S3CRET = "s3cret-of-tls";
  private static final TestAuthority OURS = TestAuthority.named("ours");
  private static final TestAuthority STRANGER = TestAuthority.named("stranger");
  private static final AtomicLong EPOCHS = new AtomicLong();
  private static RabbitNode node;

  @BeforeAll
  static void start() {
    node = RabbitNode.startWithTls(OURS);
  }

  @AfterAll
  static void stop() {
    node.close();
  }

  private static TlsDoor door(Identity shown) {
    TlsDoor door = TlsDoor.open(OURS.context(shown), false);
    door.to(node.host(), node.port());
    return door;
  }

  private static Settings at(int port, SSLContext context) {
    return Settings.at("amqps://localhost:" + port).withSslContext(context);
  }

  /** Connects, publishes until it is confirmed, and closes. */
  private static void isTaken(Settings settings) throws Exception {
    RabbitBroker broker = RabbitBroker.connect(settings);
    try {
      Heard heard = new Heard();
      PublishLink link =
          broker.openPublish(
              new PublishRequest(
                  Address.queue("no-such-queue"), EPOCHS.incrementAndGet(), null, LONG),
              heard);
      for (int i = 1; i <= 100; i++) {
        link.send(i, Message.of(new byte[10_000]));
      }
      link.flush();
      await().atMost(LONG).until(() -> heard.confirmedUpTo() == 100);
      assertThat(heard.events).filteredOn(e -> e.startsWith("returned ")).hasSize(100);
      link.close(LONG);
    } finally {
      broker.close(LONG);
    }
  }

  /** What is refused names the place and no secret. */
  private static MessagingException refusal(Settings settings) {
    MessagingException e =
        catchThrowableOfType(
            MessagingException.class,
            () -> RabbitBroker.connect(settings.withCredentials("guest", S3CRET)));
    assertThat(e).isNotNull();
    assertThat(e).hasMessageContaining(settings.where() + ": ");
    StringWriter trace = new StringWriter();
    e.printStackTrace(new PrintWriter(trace));
    assertThat(trace.toString()).doesNotContain(S3CRET);
    return e;
  }

  @Test
  void aTrustedCertificateOfTheHost_isTaken_andMessagesAreConfirmed() throws Exception {
    try (TlsDoor door = door(OURS.issue("localhost"))) {
      isTaken(at(door.port(), OURS.context(null)));
    }
  }

  @Test
  void aCertificateOfAnotherHost_isRefused_unlessVerificationIsOff() throws Exception {
    try (TlsDoor door = door(OURS.issue("elsewhere.test"))) {
      Settings settings = at(door.port(), OURS.context(null));

      MessagingException e = refusal(settings);

      assertThat(e.kind()).isEqualTo(Kind.INVALID);
      assertThat(e).hasMessageContaining("the broker's certificate is for another host");
      assertThat(door.entered()).isZero();
      isTaken(settings.withHostNameVerification(false));
    }
  }

  @Test
  void anExpiredCertificate_isRefused() {
    try (TlsDoor door = door(OURS.issueExpired("localhost"))) {
      MessagingException e = refusal(at(door.port(), OURS.context(null)));

      assertThat(e.kind()).isEqualTo(Kind.INVALID);
      assertThat(e).hasMessageContaining("the broker's certificate has expired");
      assertThat(door.entered()).isZero();
    }
  }

  @Test
  void aCertificateOfAnUnknownAuthority_isRefused() {
    try (TlsDoor door = door(STRANGER.issue("localhost"))) {
      MessagingException e = refusal(at(door.port(), OURS.context(null)));

      assertThat(e.kind()).isEqualTo(Kind.INVALID);
      assertThat(e).hasMessageContaining("signed by nobody who is trusted here");
      assertThat(door.entered()).isZero();
    }
  }

  @Test
  void ofBothSides_aTrustedCertificateIsTaken() throws Exception {
    isTaken(at(node.tlsPort(), OURS.context(OURS.issue("client"))));
  }

  @Test
  void aMissingCertificateOfOurs_isSaid() {
    MessagingException e = refusal(at(node.tlsPort(), OURS.context(null)));

    assertThat(e.kind()).isEqualTo(Kind.INVALID);
    assertThat(e).hasMessageContaining("wants a certificate of ours");
  }

  @Test
  void aCertificateOfOursThatTheBrokerDoesNotTrust_isSaid() {
    MessagingException e = refusal(at(node.tlsPort(), OURS.context(STRANGER.issue("client"))));

    assertThat(e.kind()).isEqualTo(Kind.INVALID);
    assertThat(e).hasMessageContaining("a certificate of ours");
  }

  @Test
  void tlsToAPlainPort_isInvalid() {
    MessagingException e = refusal(at(node.port(), OURS.context(null)));

    assertThat(e.kind()).isEqualTo(Kind.INVALID);
    assertThat(e).hasMessageContaining("no TLS is spoken at this port");
  }

  @Test
  void plainToAPortOfTls_isInvalid() {
    MessagingException e = refusal(Settings.at("amqp://localhost:" + node.tlsPort()));

    assertThat(e.kind()).isEqualTo(Kind.INVALID);
    assertThat(e).hasMessageContaining("TLS is spoken at this port, use amqps://");
    try (TlsDoor door = door(OURS.issue("localhost"))) {
      refusal(Settings.at("amqp://localhost:" + door.port()));
    }
  }
}
