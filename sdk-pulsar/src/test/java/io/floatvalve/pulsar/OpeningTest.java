package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.model.Ordering;
import io.floatvalve.spi.Broker.ReceiveRequest;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.SubscriptionType;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What cannot be opened says of which kind it is, and where. */
@NeedsPulsar(ownProcess = true)
@Timeout(300)
final class OpeningTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private static MessagingException refused(PulsarBroker broker, ReceiveRequest request) {
    MessagingException e =
        catchThrowableOfType(
            MessagingException.class, () -> broker.openReceive(request, new LinkRig.Heard()));
    assertThat(e).isNotNull();
    return e;
  }

  private static ReceiveRequest request(
      Address from,
      @Nullable String group,
      Ordering ordering,
      @Nullable Object nativeSettings,
      Duration timeout) {
    return new ReceiveRequest(
        List.of(from),
        group,
        ordering,
        1,
        4,
        10,
        1 << 20,
        List.of(),
        null,
        1,
        null,
        nativeSettings,
        timeout);
  }

  @Test
  void contradictions_areRefusedByName_withoutABroker() {
    PulsarBroker broker = PulsarBroker.connect("pulsar://127.0.0.1:1");
    try {
      Address topic = Address.topic("t");
      var shared =
          PulsarBroker.ConsumeSettings.defaults().withSubscriptionType(SubscriptionType.Shared);

      MessagingException ordering =
          refused(broker, request(topic, "s", Ordering.TOTAL, shared, PATIENCE));
      assertThat(ordering.kind()).isEqualTo(Kind.INVALID);
      assertThat(ordering).hasMessageContainingAll("TOTAL", "Shared", "127.0.0.1:1");

      MessagingException names =
          refused(
              broker,
              request(
                  topic,
                  "s",
                  Ordering.NONE,
                  PulsarBroker.ConsumeSettings.defaults().withSubscriptionName("other"),
                  PATIENCE));
      assertThat(names.kind()).isEqualTo(Kind.INVALID);
      assertThat(names).hasMessageContainingAll("'s'", "'other'");

      assertThat(refused(broker, request(topic, null, Ordering.NONE, null, PATIENCE)).kind())
          .isEqualTo(Kind.INVALID);
      assertThat(
              refused(broker, request(Address.queue("q"), "s", Ordering.NONE, null, PATIENCE))
                  .kind())
          .isEqualTo(Kind.INVALID);
      assertThat(refused(broker, request(topic, "s", Ordering.NONE, "what", PATIENCE)).kind())
          .isEqualTo(Kind.INVALID);
    } finally {
      broker.close(LinkRig.SOON);
    }
  }

  @Test
  void nobodyThere_isUnreachableInTime() throws Exception {
    try (Socket closed = new Socket()) { // bound, and nobody listens
      closed.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      int port = closed.getLocalPort();
      PulsarBroker broker = PulsarBroker.connect("pulsar://127.0.0.1:" + port);
      try {
        MessagingException e =
            refused(
                broker,
                request(Address.topic("t"), "s", Ordering.NONE, null, Duration.ofMillis(500)));

        assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE);
        assertThat(e).hasMessageContaining("127.0.0.1:" + port);
      } finally {
        broker.close(LinkRig.SOON);
      }
    }
  }

  @Test
  void exclusiveHeldByAnother_isAConflict(PulsarNode node) {
    PulsarBroker broker = PulsarBroker.connect(node.serviceUrl());
    try {
      ReceiveRequest request =
          request(
              Address.topic(LinkRig.topic("excl")),
              "s",
              Ordering.TOTAL,
              PulsarBroker.ConsumeSettings.defaults()
                  .withSubscriptionType(SubscriptionType.Exclusive),
              PATIENCE);
      broker.openReceive(request, new LinkRig.Heard());

      assertThat(refused(broker, request).kind()).isEqualTo(Kind.CONFLICT);
    } finally {
      broker.close(LinkRig.SOON);
    }
  }

  @Test
  void unknownTopic_whereNoneIsCreated_isNotFound() {
    try (PulsarNode node = PulsarNode.start(List.of("allowAutoTopicCreation=false"))) {
      PulsarBroker broker = PulsarBroker.connect(node.serviceUrl());
      try {
        MessagingException e =
            refused(broker, request(Address.topic("nowhere"), "s", Ordering.NONE, null, PATIENCE));

        assertThat(e.kind()).isEqualTo(Kind.NOT_FOUND);
        assertThat(e).hasMessageContaining("nowhere");
      } finally {
        broker.close(LinkRig.SOON);
      }
    }
  }

  @Test
  void settings_showNoSecret_andTakeNone() {
    var settings =
        PulsarBroker.Settings.at("pulsar://localhost:6650")
            .withAuthentication(AuthenticationFactory.token("s3cret"));

    assertThat(settings.toString()).contains("localhost:6650").doesNotContain("s3cret");
    assertThatThrownBy(() -> PulsarBroker.Settings.at("pulsar://me:s3cret@localhost:6650"))
        .isInstanceOf(IllegalArgumentException.class)
        .message()
        .doesNotContain("s3cret");
  }
}
