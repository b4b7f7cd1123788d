package io.floatvalve.pulsar;

import static io.floatvalve.pulsar.LinkRig.topic;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a message of ours is at Pulsar, and what is refused. */
@NeedsPulsar(ownProcess = true)
@Timeout(300)
final class PublishMappingTest {
  private static PublisherSettings to(String topic) {
    return PublisherSettings.to(Address.topic(topic))
        .withOpenTimeout(Duration.ofSeconds(30))
        .withConfirmTimeout(Duration.ofSeconds(30));
  }

  private static PulsarBroker.PublishSettings plain() {
    return PulsarBroker.PublishSettings.defaults();
  }

  private static PullConsumer consumer(Messaging messaging, String topic) {
    return messaging.pullConsumer(
        ConsumerSettings.from(Address.topic(topic))
            .withGroup("s")
            .withOpenTimeout(Duration.ofSeconds(30))
            .withNative(LinkRig.earliest()));
  }

  private static Delivery next(PullConsumer consumer) throws Exception {
    return consumer.receive(Duration.ofSeconds(60)).orElseThrow();
  }

  @Test
  void everythingThatPulsarCarries_comesBackAsItWas(PulsarNode node) throws Exception {
    String topic = topic("mapping");
    Message sent =
        Message.builder(new byte[] {1, 2, 3})
            .key("k-1")
            .header("text", "word")
            .header("count", 42)
            .header("bytes", new byte[] {4, 5})
            .header("list", List.of(1L, "two", Map.of("three", 3.0)))
            .contentType("application/octet-stream")
            .messageId("m-1")
            .correlationId("c-1")
            .replyTo("answers")
            .timestamp(Instant.ofEpochMilli(1_700_000_000_123L))
            .priority(7)
            .build();
    try (Messaging messaging = LinkRig.messaging(node);
        PullConsumer consumer = consumer(messaging, topic)) {
      Publisher publisher = messaging.publisher(to(topic));
      assertThat(publisher.publish(sent).get(60, TimeUnit.SECONDS).verdict())
          .isEqualTo(Verdict.CONFIRMED);

      Message came = next(consumer).message();

      assertThat(came)
          .usingRecursiveComparison()
          .ignoringFields("mandatory", "persistent")
          .isEqualTo(sent);
    }
  }

  @Test
  void receipt_isTheMessageId(PulsarNode node) throws Exception {
    String topic = topic("receipt");
    try (Messaging messaging = LinkRig.messaging(node);
        PullConsumer consumer = consumer(messaging, topic)) {
      Publisher publisher = messaging.publisher(to(topic));

      String receipt =
          publisher
              .publish(Message.of(new byte[1]))
              .get(60, TimeUnit.SECONDS)
              .orElseThrow()
              .receipt();

      var came =
          (org.apache.pulsar.client.api.Message<?>)
              next(consumer).unwrap(org.apache.pulsar.client.api.Message.class);
      MessageIdAdv id = (MessageIdAdv) came.getMessageId();
      assertThat(receipt).contains(id.getLedgerId() + ":" + id.getEntryId());
    }
  }

  @Test
  void whatPulsarHasNot_isRefusedByName() {
    Outgoing outgoing = new Outgoing("number");
    Message.Builder good = Message.builder(new byte[1]).header("number", 1L);

    assertThat(outgoing.refusal(good.build())).isNull();
    assertThat(outgoing.refusal(good.build().toBuilder().ttl(Duration.ofSeconds(1)).build()))
        .contains("time to live");
    assertThat(outgoing.refusal(good.build().toBuilder().address(Address.topic("other")).build()))
        .contains("other");
    assertThat(outgoing.refusal(good.build().toBuilder().header("floatvalve-x", "y").build()))
        .contains("floatvalve-x");
    assertThat(
            outgoing.refusal(
                good.build().toBuilder().delay(Duration.ofSeconds(Long.MAX_VALUE)).build()))
        .contains("delay");
    assertThat(outgoing.refusal(good.build().toBuilder().timestamp(Instant.MIN).build()))
        .contains("timestamp");
    assertThat(outgoing.refusal(good.build().toBuilder().header("number", "1").build()))
        .contains("'number'");
  }

  @Test
  void refusedMessage_isNotSent(PulsarNode node) throws Exception {
    try (Messaging messaging = LinkRig.messaging(node)) {
      Publisher publisher = messaging.publisher(to(topic("refused")));

      NotSent refused =
          (NotSent)
              publisher
                  .publish(Message.builder(new byte[1]).ttl(Duration.ofSeconds(1)).build())
                  .get(60, TimeUnit.SECONDS);

      assertThat(refused.reason()).isEqualTo(NotSent.Reason.INVALID_MESSAGE);
    }
  }

  @ParameterizedTest
  @CsvSource({"12_000_000, 0", "1_048_576, 100_000"})
  void largeMessage_goesInPieces_andComesWhole(String bytes, String chunkBytes, PulsarNode node)
      throws Exception {
    String topic = topic("pieces");
    byte[] large = new byte[number(bytes)];
    new java.util.Random(1).nextBytes(large);
    try (Messaging messaging = LinkRig.messaging(node);
        PullConsumer consumer = consumer(messaging, topic)) {
      Publisher publisher =
          messaging.publisher(
              to(topic).withNative(plain().withChunking(true).withChunkBytes(number(chunkBytes))));

      var end = publisher.publish(Message.of(large)).get(60, TimeUnit.SECONDS);
      assertThat(end.verdict()).as("%s", end).isEqualTo(Verdict.CONFIRMED);
      assertThat(next(consumer).message().payload()).isEqualTo(large);
    }
  }

  private static int number(String underscored) {
    return Integer.parseInt(underscored.replace("_", ""));
  }

  @Test
  void keysPickThePartition_andCompressionIsUndone(PulsarNode node) throws Exception {
    String topic = topic("parts");
    node.rest().createPartitionedTopic(topic, 3);
    try (Messaging messaging = LinkRig.messaging(node);
        PullConsumer consumer = consumer(messaging, topic)) {
      Publisher publisher =
          messaging.publisher(to(topic).withNative(plain().withCompression(CompressionType.LZ4)));
      for (int i = 0; i < 60; i++) {
        var unused = publisher.publish(Message.builder(new byte[5_000]).key("k" + i % 6).build());
      }
      assertThat(publisher.drain(Duration.ofSeconds(60))).isZero();

      Set<String> homes = new HashSet<>();
      Set<String> partitions = new HashSet<>();
      for (int i = 0; i < 60; i++) {
        Delivery came = next(consumer);
        String from =
            ((org.apache.pulsar.client.api.Message<?>)
                    came.unwrap(org.apache.pulsar.client.api.Message.class))
                .getTopicName();
        assertThat(came.message().payload()).hasSize(5_000);
        homes.add(came.message().key() + " in " + from);
        partitions.add(from);
        came.settle(io.floatvalve.model.Settlement.accept());
      }
      assertThat(homes).as("one partition a key").hasSize(6);
      assertThat(partitions).hasSizeGreaterThan(1);
    }
  }

  @Test
  void whatCannotBeOpened_saysOfWhichKindItIs() throws Exception {
    List<MessagingException> failures = new ArrayList<>();
    Socket closed = new Socket(); // bound, and nobody listens
    closed.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    int port = closed.getLocalPort();
    try (closed;
        Messaging messaging =
            LinkRig.messaging(PulsarBroker.Settings.at("pulsar://127.0.0.1:" + port))) {
      for (PublisherSettings settings :
          List.of(
              PublisherSettings.to(Address.queue("q")),
              to("t").withNative("what"),
              to("t").withOpenTimeout(Duration.ofMillis(500)))) {
        failures.add(
            catchThrowableOfType(MessagingException.class, () -> messaging.publisher(settings)));
      }
    }

    assertThat(failures)
        .extracting(MessagingException::kind)
        .containsExactly(Kind.INVALID, Kind.INVALID, Kind.UNREACHABLE);
    assertThat(failures).allSatisfy(e -> assertThat(e).hasMessageContaining("127.0.0.1:" + port));
  }

  @Test
  void settingsThatContradict_areRefused() {
    assertThatThrownBy(() -> plain().withSequenceHeader("number"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("producerName");
    assertThatThrownBy(() -> plain().withLinger(Duration.ZERO))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("linger");
  }
}
