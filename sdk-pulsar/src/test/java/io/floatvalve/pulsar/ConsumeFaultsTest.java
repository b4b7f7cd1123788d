package io.floatvalve.pulsar;

import static io.floatvalve.pulsar.LinkRig.PATIENCE;
import static io.floatvalve.pulsar.LinkRig.topic;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What goes wrong between a consumer and its broker. */
@NeedsPulsar(ownProcess = true)
@Timeout(300)
final class ConsumeFaultsTest {
  @Test
  void brokerKilled_underAConsumer_losesNothing() throws Exception {
    try (PulsarNode node = PulsarNode.start()) {
      String topic = topic("killed");
      int all = 2_000;
      try (PulsarClient plain = PulsarClient.builder().serviceUrl(node.serviceUrl()).build();
          Producer<byte[]> producer =
              plain.newProducer().topic(topic).maxPendingMessages(all).create()) {
        for (int i = 0; i < all; i++) {
          producer.sendAsync(Integer.toString(i).getBytes(UTF_8));
        }
        producer.flush();
      }
      Map<String, Integer> handled = new ConcurrentHashMap<>();
      Semaphore go = new Semaphore(all / 4);
      try (Messaging messaging = Messaging.over(PulsarBroker.connect(node.serviceUrl()));
          Consumer consumer =
              messaging.consumer(
                  ConsumerSettings.from(Address.topic(topic))
                      .withGroup("s")
                      .withNative(LinkRig.earliest()))) {
        consumer.handle(
            delivery -> {
              go.acquire();
              handled.merge(new String(delivery.message().payload(), UTF_8), 1, Integer::sum);
              return Settlement.accept();
            });
        await().atMost(PATIENCE).until(() -> handled.size() >= all / 4);

        node.kill();
        node.restart();
        go.release(2 * all);

        await().atMost(PATIENCE).until(() -> handled.size() == all);
        await()
            .atMost(PATIENCE)
            .until(
                () ->
                    node.rest().topicStats(topic).number("subscriptions", "s", "msgBacklog") == 0);
        assertThat(consumer.drain(PATIENCE)).isZero();
      }
    }
  }

  @Test
  void withoutATokenOrAPermission_openingIsRefused() throws Exception {
    byte[] secret = "a secret of thirty-two bytes, no less".getBytes(UTF_8);
    List<String> configuration =
        List.of(
            "authenticationEnabled=true",
            "authorizationEnabled=true",
            "authenticationProviders="
                + "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
            "tokenSecretKey=data:;base64," + Base64.getEncoder().encodeToString(secret),
            "superUserRoles=root",
            "brokerClientAuthenticationPlugin="
                + "org.apache.pulsar.client.impl.auth.AuthenticationToken",
            "brokerClientAuthenticationParameters=token:" + token(secret, "root"));
    try (PulsarNode node = PulsarNode.start(configuration)) {
      String url = node.serviceUrl();
      PulsarBroker.Settings nobody = PulsarBroker.Settings.at(url);
      PulsarBroker.Settings guest =
          nobody.withAuthentication(AuthenticationFactory.token(token(secret, "guest")));
      PulsarBroker.Settings root =
          nobody.withAuthentication(AuthenticationFactory.token(token(secret, "root")));

      for (PulsarBroker.Settings each : List.of(nobody, guest)) {
        MessagingException e = failure(each, PATIENCE);
        assertThat(e.kind()).as(e.getMessage()).isEqualTo(Kind.REFUSED);
        assertThat(e.getMessage()).doesNotContain(token(secret, "guest"));
      }
      PulsarBroker broker = PulsarBroker.connect(root);
      broker
          .openReceive(
              LinkRig.request(topic("root"), Ordering.NONE, LinkRig.earliest()),
              new LinkRig.Heard())
          .close(PATIENCE);
      broker.close(PATIENCE);
    }
  }

  private static String token(byte[] secret, String subject) throws Exception {
    Base64.Encoder text = Base64.getUrlEncoder().withoutPadding();
    String signed =
        text.encodeToString("{\"alg\":\"HS256\"}".getBytes(UTF_8))
            + "."
            + text.encodeToString(("{\"sub\":\"" + subject + "\"}").getBytes(UTF_8));
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret, "HmacSHA256"));
    return signed + "." + text.encodeToString(mac.doFinal(signed.getBytes(UTF_8)));
  }

  private static MessagingException failure(PulsarBroker.Settings settings, Duration timeout) {
    PulsarBroker broker = PulsarBroker.connect(settings);
    try {
      var request =
          new io.floatvalve.spi.Broker.ReceiveRequest(
              List.of(Address.topic("refused")),
              "s",
              Ordering.NONE,
              1,
              4,
              10,
              1L << 20,
              List.of(),
              null,
              1,
              null,
              null,
              timeout);
      MessagingException e =
          catchThrowableOfType(
              MessagingException.class, () -> broker.openReceive(request, new LinkRig.Heard()));
      assertThat(e).isNotNull();
      return e;
    } finally {
      broker.close(Duration.ofSeconds(5));
    }
  }

  /** Behind the door of TLS there is nobody: what counts is who gets so far as to talk. */
  @Test
  void tls_isTalkedOnlyWithTheHostOfTheCertificate(@TempDir Path folder) throws Exception {
    Path trusted = folder.resolve("trusted.pem");
    Semaphore talked = new Semaphore(0);
    // By name: for an address the client asks the system which name it has.
    try (SSLServerSocket door = door(certificateOf("elsewhere.test", folder, trusted), talked)) {
      PulsarBroker.Settings wrong = through(door).withTrustedCertificates(trusted);

      MessagingException e = failure(wrong, Duration.ofSeconds(3));
      assertThat(talked.tryAcquire()).as(e.getMessage()).isFalse();

      awaitTalk(wrong.withHostNameVerification(false), talked);
    }
    talked.drainPermits();
    Path known = folder.resolve("known.pem");
    try (SSLServerSocket door = door(certificateOf("localhost", folder, known), talked)) {
      PulsarBroker.Settings right = through(door);

      assertThat(failure(right, Duration.ofSeconds(3))).isNotNull(); // who signed it is unknown
      assertThat(talked.tryAcquire()).isFalse();

      awaitTalk(right.withTrustedCertificates(known), talked);
    }
  }

  private static PulsarBroker.Settings through(SSLServerSocket door) {
    return PulsarBroker.Settings.at("pulsar+ssl://localhost:" + door.getLocalPort());
  }

  private static SSLServerSocket door(SSLContext context, Semaphore talked) throws IOException {
    SSLServerSocket door =
        (SSLServerSocket)
            context
                .getServerSocketFactory()
                .createServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread listening = new Thread(() -> listen(door, talked), "door");
    listening.setDaemon(true);
    listening.start();
    return door;
  }

  private static void awaitTalk(PulsarBroker.Settings settings, Semaphore talked)
      throws InterruptedException {
    Thread opening = new Thread(() -> failure(settings, Duration.ofSeconds(10)), "opening");
    opening.start();
    assertThat(talked.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
    opening.join();
  }

  private static void listen(SSLServerSocket door, Semaphore talked) {
    while (!door.isClosed()) {
      try (SSLSocket guest = (SSLSocket) door.accept()) {
        guest.setSoTimeout(5_000);
        if (guest.getInputStream().read() >= 0) {
          talked.release();
        }
      } catch (IOException e) {
        // the handshake failed, or the test is over
      }
    }
  }

  private static SSLContext certificateOf(String host, Path folder, Path trusted) throws Exception {
    Path file = folder.resolve(host + ".p12");
    char[] password = "store-password".toCharArray();
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "door",
                "-keyalg",
                "EC",
                "-dname",
                "CN=" + host,
                "-ext",
                "SAN=dns:" + host,
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-keystore",
                file.toString(),
                "-storepass",
                new String(password))
            .redirectErrorStream(true)
            .start();
    String output = new String(keytool.getInputStream().readAllBytes(), UTF_8);
    assertThat(keytool.waitFor()).as(output).isZero();
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      store.load(in, password);
    }
    Base64.Encoder lines = Base64.getMimeEncoder(64, new byte[] {'\n'});
    Files.writeString(
        trusted,
        "-----BEGIN CERTIFICATE-----\n"
            + lines.encodeToString(store.getCertificate("door").getEncoded())
            + "\n-----END CERTIFICATE-----\n");
    KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(store, password);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), null, null);
    return context;
  }

  @Test
  void clientOfAnotherShape_isNotLinked() {
    assertThat(PermitBridge.link(new ClassLoader(null) {})).isNull();
    assertThat(PermitBridge.links()).isTrue();
  }
}
