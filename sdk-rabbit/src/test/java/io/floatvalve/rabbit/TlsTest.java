package io.floatvalve.rabbit;

import static java.nio.charset.StandardCharsets.UTF_8;
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
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TLS, ended by a door of our own in front of the node. */
@NeedsRabbit
class TlsTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final char[] STORE = "store-password".toCharArray();
  private static SSLContext context;

  private final SSLServerSocket door;

  /** A certificate for {@code localhost}, and a context that shows and trusts it. */
  @BeforeAll
  static void certificate(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("store.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "door",
                "-keyalg",
                "EC",
                "-dname",
                "CN=localhost",
                "-ext",
                "SAN=dns:localhost",
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-keystore",
                file.toString(),
                "-storepass",
                new String(STORE))
            .redirectErrorStream(true)
            .start();
    String output = new String(keytool.getInputStream().readAllBytes(), UTF_8);
    assertThat(keytool.waitFor()).as(output).isZero();
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      store.load(in, STORE);
    }
    KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(store, STORE);
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(store);
    context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
  }

  TlsTest(RabbitNode node) throws IOException {
    door =
        (SSLServerSocket)
            context
                .getServerSocketFactory()
                .createServerSocket(0, 10, InetAddress.getLoopbackAddress());
    daemon(
        () -> {
          while (true) {
            Socket client = door.accept();
            Socket server = new Socket(node.host(), node.port());
            daemon(() -> pump(client, server));
            daemon(() -> pump(server, client));
          }
        });
  }

  private interface Work {
    void run() throws IOException;
  }

  private static void daemon(Work work) {
    Threads.start(
        "door",
        () -> {
          try {
            work.run();
          } catch (IOException e) {
            // the test, or a peer, closed it
          }
        });
  }

  private static void pump(Socket from, Socket to) throws IOException {
    try (from;
        to) {
      from.getInputStream().transferTo(to.getOutputStream());
    }
  }

  @AfterEach
  void close() throws IOException {
    door.close();
  }

  private Settings settings(String host, @Nullable SSLContext trusted) {
    return Settings.at("amqps://guest:guest@" + host + ":" + door.getLocalPort())
        .withSslContext(trusted);
  }

  @Test
  void aTrustedCertificateOfTheHost_isTaken_andMessagesAreConfirmed() throws Exception {
    RabbitBroker broker = RabbitBroker.connect(settings("localhost", context));
    Heard heard = new Heard();
    PublishLink link =
        broker.openPublish(
            new PublishRequest(Address.queue("no-such-queue"), 1, null, LONG), heard);

    for (int i = 1; i <= 100; i++) {
      link.send(i, Message.of(new byte[10_000]));
    }
    link.flush();

    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 100);
    assertThat(heard.events).filteredOn(e -> e.startsWith("returned ")).hasSize(100);
    link.close(LONG);
    broker.close(LONG);
  }

  @Test
  void anUnknownCertificate_isRefused() {
    assertThatThrownBy(() -> RabbitBroker.connect(settings("localhost", null)))
        .isInstanceOfSatisfying(
            MessagingException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageContaining("localhost:" + door.getLocalPort() + ": ")
        .hasMessageContaining("certification path");
  }

  @Test
  void aCertificateOfAnotherHost_isRefused_unlessVerificationIsOff() {
    Settings other = settings("127.0.0.1", context);

    assertThatThrownBy(() -> RabbitBroker.connect(other))
        .isInstanceOfSatisfying(
            MessagingException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageContaining("127.0.0.1");
    RabbitBroker.connect(other.withHostNameVerification(false)).close(LONG);
  }

  @Test
  void tlsToAPlainPort_isInvalid(RabbitNode node) {
    Settings plain = Settings.at("amqps://localhost:" + node.port());

    assertThatThrownBy(() -> RabbitBroker.connect(plain))
        .isInstanceOfSatisfying(
            MessagingException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID));
  }
}
