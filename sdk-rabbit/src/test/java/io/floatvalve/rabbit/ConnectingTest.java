package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.rabbit.RabbitBroker.Settings;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ConnectingTest {
  private static final String S3CRET = "s3cret";

  private static MessagingException failure(Settings settings) {
    MessagingException failure =
        catchThrowableOfType(MessagingException.class, () -> RabbitBroker.connect(settings));
    StringWriter trace = new StringWriter();
    failure.printStackTrace(new PrintWriter(trace));
    assertThat(trace.toString()).doesNotContain(S3CRET);
    return failure;
  }

  /** Takes a port that nobody listens on, and nobody else gets while this is open. */
  private static Socket closedPort() throws IOException {
    Socket bound = new Socket();
    bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    return bound;
  }

  private static String place(Socket port) {
    return "127.0.0.1:" + port.getLocalPort();
  }

  @Test
  void aClosedPort_isUnreachable() throws IOException {
    try (Socket closed = closedPort()) {
      String place = place(closed);

      MessagingException e = failure(Settings.at("amqp://user:" + S3CRET + "@" + place));

      assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE);
      assertThat(e).hasMessage("cannot connect to RabbitMQ at " + place + ": Connection refused");
    }
  }

  @Test
  void anUnknownHost_isUnreachable() {
    MessagingException e = failure(Settings.at("amqp://no-such-host.invalid"));

    assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE);
    assertThat(e).hasMessageContaining("no-such-host.invalid:5672: ");
  }

  @Test
  void aSilentPeer_isUnreachable_inTime() throws IOException {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Settings settings =
          Settings.at("amqp://127.0.0.1:" + silent.getLocalPort())
              .withRpcTimeout(Duration.ofMillis(200));
      long start = System.nanoTime();

      MessagingException e = failure(settings);

      assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE);
      assertThat(e).hasMessageEndingWith(": no answer in time");
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
    }
  }

  @Test
  @NeedsRabbit
  void aWrongPassword_isRefused(RabbitNode node) {
    Settings settings = Settings.at(node.uri()).withCredentials("guest", S3CRET);

    MessagingException e = failure(settings);

    assertThat(e.kind()).isEqualTo(Kind.REFUSED);
    assertThat(e).hasMessageContaining("127.0.0.1:" + node.port() + ": ACCESS_REFUSED");
  }

  @Test
  @NeedsRabbit
  void anUnknownVirtualHost_isNotFound(RabbitNode node) {
    MessagingException e = failure(Settings.at(node.uri()).withVirtualHost("nowhere"));

    assertThat(e.kind()).isEqualTo(Kind.NOT_FOUND);
    assertThat(e).hasMessageContaining("nowhere");
  }

  @Test
  @NeedsRabbit
  void credentials_areAskedForAtEachConnection(RabbitNode node) {
    Settings settings =
        Settings.at(node.uri())
            .withCredentialsFrom(
                () -> {
                  throw new IllegalStateException("vault sealed");
                });

    MessagingException e = failure(settings);

    assertThat(e.kind()).isEqualTo(Kind.REFUSED);
    assertThat(e).rootCause().hasMessage("vault sealed");
  }

  @Test
  @NeedsRabbit
  void theNextAddress_isTakenWhenOneCannotBeHad(RabbitNode node) throws IOException {
    try (Socket dead = closedPort()) {
      RabbitBroker broker = RabbitBroker.connect(Settings.at("amqp://" + place(dead), node.uri()));

      assertThat(broker.describe()).endsWith(" at 127.0.0.1:" + node.port());
      broker.close(Duration.ofSeconds(5));
    }
  }

  @Test
  void allAddresses_areNamedWithTheirCause() throws IOException {
    try (Socket first = closedPort();
        Socket second = closedPort()) {
      String one = place(first);
      String two = place(second);

      assertThatThrownBy(() -> RabbitBroker.connect(Settings.at("amqp://" + one, "amqp://" + two)))
          .hasMessageContaining(one + ": Connection refused")
          .hasMessageContaining(two + ": Connection refused");
    }
  }
}
