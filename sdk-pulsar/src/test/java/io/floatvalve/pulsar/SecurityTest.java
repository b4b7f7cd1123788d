package io.floatvalve.pulsar;

import static io.floatvalve.pulsar.LinkRig.PATIENCE;
import static io.floatvalve.pulsar.LinkRig.topic;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.model.Ordering;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker.Settings;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.TestAuthority;
import io.floatvalve.testkit.TestAuthority.Identity;
import io.floatvalve.testkit.TlsDoor;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * TLS and tokens at one broker: its own port of TLS wants a certificate of the client, doors before
 * it show other certificates and want none.
 */
@NeedsPulsar(ownProcess = true)
@Timeout(120)
final class SecurityTest {
  private static final byte[] SIGNING = "a secret of thirty-two bytes, no less".getBytes(UTF_8);
  private static final TestAuthority OURS = TestAuthority.named("ours");
  private static final TestAuthority STRANGER = TestAuthority.named("stranger");
  private static final Duration FOR_EVER = Duration.ofDays(1);

  @TempDir private static Path folder;
  private static Path trusted;
  private static String rootToken;
  private static TlsDoor good;
  private static TlsDoor other;
  private static PulsarNode node;

  @BeforeAll
  static void start() throws Exception {
    rootToken = token("root", FOR_EVER);
    OURS.write(OURS.issue("client"), folder, "client");
    STRANGER.write(STRANGER.issue("client"), folder, "stranger");
    trusted = folder.resolve("client-authority.pem");
    good = door(OURS.issue("localhost"));
    other = door(OURS.issue("elsewhere.test"));
    node =
        PulsarNode.startWithTls(
            OURS,
            List.of(good, other),
            List.of(
                "authenticationEnabled=true",
                "authorizationEnabled=true",
                "authenticationProviders="
                    + "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
                "tokenSecretKey=data:;base64," + Base64.getEncoder().encodeToString(SIGNING),
                "superUserRoles=root",
                "brokerClientAuthenticationPlugin="
                    + "org.apache.pulsar.client.impl.auth.AuthenticationToken",
                "brokerClientAuthenticationParameters=token:" + token("root", FOR_EVER)));
  }

  @AfterAll
  static void stop() {
    good.close();
    other.close();
    node.close();
  }

  private static TlsDoor door(Identity shown) {
    return TlsDoor.open(OURS.context(shown), false);
  }

  private static String token(String subject, Duration life) throws Exception {
    Base64.Encoder text = Base64.getUrlEncoder().withoutPadding();
    String claims =
        "{\"sub\":\"%s\",\"exp\":%d}".formatted(subject, Instant.now().plus(life).getEpochSecond());
    String signed =
        text.encodeToString("{\"alg\":\"HS256\"}".getBytes(UTF_8))
            + "."
            + text.encodeToString(claims.getBytes(UTF_8));
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(SIGNING, "HmacSHA256"));
    return signed + "." + text.encodeToString(mac.doFinal(signed.getBytes(UTF_8)));
  }

  private static Settings root(String url) throws Exception {
    return Settings.at(url).withToken(() -> rootToken);
  }

  private static Settings tls(TlsDoor door) throws Exception {
    return root("pulsar+ssl://localhost:" + door.port()).withTrustedCertificates(trusted);
  }

  private static Settings tlsOfTheNode() throws Exception {
    return root(node.tlsServiceUrl()).withTrustedCertificates(trusted);
  }

  private static void isTaken(Settings settings) throws Exception {
    try (Messaging messaging = LinkRig.messaging(settings)) {
      Publisher publisher =
          messaging.publisher(PublisherSettings.to(Address.topic(topic("secured"))));
      PublishOutcome outcome =
          publisher.publish(Message.of(new byte[10])).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      assertThat(outcome.verdict()).isEqualTo(Verdict.CONFIRMED);
    }
  }

  /** What is refused names the place, at once and without a secret. */
  private static MessagingException refusal(Settings settings) throws Exception {
    PulsarBroker broker = PulsarBroker.connect(settings);
    try {
      long start = System.nanoTime();
      MessagingException e =
          catchThrowableOfType(
              MessagingException.class,
              () ->
                  broker.openReceive(
                      LinkRig.request("secured", Ordering.NONE, LinkRig.earliest()),
                      new LinkRig.Heard()));
      assertThat(e).isNotNull();
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(PATIENCE.dividedBy(2));
      assertThat(e).hasMessageContaining(settings.where());
      StringWriter trace = new StringWriter();
      e.printStackTrace(new PrintWriter(trace));
      assertThat(trace.toString()).doesNotContain(rootToken);
      return e;
    } finally {
      broker.close(LinkRig.SOON);
    }
  }

  private static MessagingException invalid(Settings settings) throws Exception {
    MessagingException e = refusal(settings);
    assertThat(e.kind()).as(e.getMessage()).isEqualTo(Kind.INVALID);
    return e;
  }

  @Test
  void aTrustedCertificateOfTheHost_isTaken_andMessagesAreConfirmed() throws Exception {
    isTaken(tls(good).withListenerName("door0"));
    assertThat(good.entered()).isPositive();
  }

  @Test
  void aCertificateOfAnotherHost_isRefused_unlessVerificationIsOff() throws Exception {
    Settings settings = tls(other).withListenerName("door1");

    assertThat(invalid(settings))
        .hasMessageContaining("the broker's certificate is for another host");
    assertThat(other.entered()).isZero();
    isTaken(settings.withHostNameVerification(false));
    assertThat(other.entered()).isPositive();
  }

  @Test
  void anExpiredCertificate_isRefused() throws Exception {
    try (TlsDoor door = door(OURS.issueExpired("localhost"))) {
      assertThat(invalid(tls(door))).hasMessageContaining("the broker's certificate has expired");
      assertThat(door.entered()).isZero();
    }
  }

  @Test
  void aCertificateOfAnUnknownAuthority_isRefused() throws Exception {
    try (TlsDoor door = door(STRANGER.issue("localhost"))) {
      assertThat(invalid(tls(door))).hasMessageContaining("signed by nobody who is trusted here");
      assertThat(door.entered()).isZero();
    }
  }

  @Test
  void ofBothSides_aTrustedCertificateIsTaken() throws Exception {
    isTaken(
        tlsOfTheNode()
            .withClientCertificate(
                folder.resolve("client-certificate.pem"), folder.resolve("client-key.pem")));
  }

  @Test
  void aMissingCertificateOfOurs_isSaid() throws Exception {
    assertThat(invalid(tlsOfTheNode())).hasMessageContaining("wants a certificate of ours");
  }

  @Test
  void aCertificateOfOursThatTheBrokerDoesNotTrust_isSaid() throws Exception {
    Settings settings =
        tlsOfTheNode()
            .withClientCertificate(
                folder.resolve("stranger-certificate.pem"), folder.resolve("stranger-key.pem"));

    assertThat(invalid(settings)).hasMessageContaining("a certificate of ours");
  }

  @Test
  void tlsToAPlainPort_isInvalid() throws Exception {
    Settings settings =
        root("pulsar+ssl://localhost:" + node.port()).withTrustedCertificates(trusted);

    assertThat(invalid(settings)).hasMessageContaining("no TLS is spoken at this port");
  }

  @Test
  void plainToAPortOfTls_isInvalid() throws Exception {
    Settings settings = root(node.tlsServiceUrl().replace("pulsar+ssl", "pulsar"));

    assertThat(invalid(settings)).hasMessageContaining("TLS is spoken at this port");
  }

  @Test
  void filesOfTlsThatAreNotThere_areNamed() throws Exception {
    Settings settings = tls(good).withTrustedCertificates(folder.resolve("none-such.pem"));

    assertThat(refusal(settings)).hasMessageContaining("none-such.pem");
  }

  @Test
  void withoutATokenOrAPermission_openingIsRefused() throws Exception {
    Settings nobody = Settings.at(node.serviceUrl());
    String guest = token("guest", FOR_EVER);
    String expired = token("root", Duration.ofHours(-1));
    String garbled = token("root", FOR_EVER) + "x";

    for (Settings each :
        List.of(
            nobody,
            nobody.withToken(() -> guest),
            nobody.withToken(() -> expired),
            nobody.withToken(() -> garbled))) {
      MessagingException e = refusal(each);
      assertThat(e.kind()).as(e.getMessage()).isEqualTo(Kind.REFUSED);
      assertThat(e.toString()).doesNotContain(guest, expired, garbled);
    }
  }

  /** A token that was replaced is the one that the next connection is made with. */
  @Test
  void aTokensFile_isReadAgainForEachConnection() throws Exception {
    Path file = Files.writeString(folder.resolve("token"), token("root", FOR_EVER) + "\n");
    String topic = topic("rotated");
    try (FaultProxy proxy = node.openProxy();
        Messaging messaging = LinkRig.messaging(LinkRig.through(proxy).withTokenFile(file))) {
      Publisher publisher = messaging.publisher(PublisherSettings.to(Address.topic(topic)));
      assertThat(confirmed(publisher)).isTrue();

      Files.writeString(file, token("root", Duration.ofHours(-1)));
      proxy.cut(FaultProxy.Cut.RESET);
      await()
          .atMost(PATIENCE)
          .until(() -> publisher.status().reopened() > 0 || !confirmed(publisher));
      Files.writeString(file, token("root", FOR_EVER));

      await().atMost(PATIENCE).until(() -> confirmed(publisher));
    }
  }

  private static boolean confirmed(Publisher publisher) throws Exception {
    return publisher.publish(Message.of(new byte[1])).get(60, TimeUnit.SECONDS).verdict()
        == Verdict.CONFIRMED;
  }

  @Test
  void aTokensSupplier_isAskedForEachConnection() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    String token = token("root", FOR_EVER);
    try (FaultProxy proxy = node.openProxy();
        Messaging messaging =
            LinkRig.messaging(
                LinkRig.through(proxy)
                    .withToken(
                        () -> {
                          asked.incrementAndGet();
                          return token;
                        }))) {
      Publisher publisher =
          messaging.publisher(PublisherSettings.to(Address.topic(topic("supplied"))));
      assertThat(confirmed(publisher)).isTrue();
      int before = asked.get();

      proxy.cut(FaultProxy.Cut.RESET);

      await().atMost(PATIENCE).until(() -> confirmed(publisher) && asked.get() > before);
    }
  }

  @Test
  void settings_takeNoKeyWithoutTls_andShowNoSecret() {
    Settings plain = Settings.at("pulsar://localhost");

    assertThatThrownBy(() -> plain.withClientCertificate(Path.of("c.pem"), Path.of("k.pem")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("pulsar+ssl://");
    assertThat(plain.withToken(() -> "s3cret").toString()).doesNotContain("s3cret");
  }
}
