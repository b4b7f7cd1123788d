package io.floatvalve.rabbit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.rabbit.RabbitBroker.PublishSettings;
import io.floatvalve.spi.Broker.PublishRequest;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Links against a real node. */
@NeedsRabbit
class PublishChannelTest {
  private static final AtomicLong EPOCHS = new AtomicLong();
  private static final Duration LONG = Duration.ofSeconds(30);

  private final Heard heard = new Heard();
  private final RabbitBroker broker;
  private final Connection plain;
  private final Channel admin;
  private final String queue;

  PublishChannelTest(RabbitNode node) throws Exception {
    broker = RabbitBroker.connect(node.uri());
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(node.uri());
    plain = factory.newConnection();
    admin = plain.createChannel();
    queue = "floatvalve-" + EPOCHS.incrementAndGet();
  }

  @BeforeEach
  void declare() throws Exception {
    admin.queueDeclare(queue, true, false, false, null);
    admin.queuePurge(queue);
  }

  @AfterEach
  void close() throws Exception {
    broker.close(Duration.ofSeconds(5));
    try (Channel last = plain.createChannel()) {
      last.queueDelete(queue);
    }
    plain.close();
  }

  private PublishLink open(Address address) {
    return open(address, null, heard);
  }

  private PublishLink open(Address address, @Nullable Object settings, Heard listener) {
    return broker.openPublish(
        new PublishRequest(address, EPOCHS.incrementAndGet(), settings, LONG), listener);
  }

  private static Message text(String text) {
    return Message.of(text.getBytes(UTF_8));
  }

  private GetResponse get() throws Exception {
    await().atMost(LONG).until(() -> admin.messageCount(queue) > 0);
    return admin.basicGet(queue, true);
  }

  @Test
  void eachMessage_isConfirmedByItsSequence() throws Exception {
    PublishLink link = open(Address.queue(queue));

    for (int i = 1; i <= 1_000; i++) {
      Message message = text("message " + i);
      assertThat(link.refusal(message)).isNull();
      link.send(i, message);
    }
    link.flush();

    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 1_000);
    assertThat(heard.events).allMatch(event -> event.startsWith("confirmed "));
    await().atMost(LONG).until(() -> admin.messageCount(queue) == 1_000);
  }

  @Test
  void returns_nameTheirSequence_inARunThatSharesItsProperties() throws Exception {
    PublishLink link = open(Address.queue(queue));
    Address nowhere = Address.queue("floatvalve-nowhere");

    List<String> expected = new ArrayList<>();
    for (int i = 1; i <= 200; i++) {
      Message message = text("message " + i);
      if (i % 3 == 0) {
        message = message.toBuilder().address(nowhere).build();
        expected.add("returned " + i + " 312 NO_ROUTE '' 'floatvalve-nowhere' failure");
      }
      link.send(i, message);
    }
    link.flush();

    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 200);
    assertThat(heard.events).filteredOn(e -> e.startsWith("returned")).isEqualTo(expected);
  }

  @Test
  void aReturn_isHeardBeforeTheConfirmOfItsSequence() throws Exception {
    PublishLink link = open(Address.queue("floatvalve-nowhere"));

    link.send(1, text("x"));
    link.flush();

    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 1);
    assertThat(heard.events)
        .containsExactly("returned 1 312 NO_ROUTE '' 'floatvalve-nowhere' failure", "confirmed 1");
  }

  @Test
  void withoutMandatory_nothingIsReturned_andNoMarkIsSent() throws Exception {
    PublishLink link = open(Address.queue(queue));

    Message message = text("x").toBuilder().mandatory(false).build();
    link.send(1, message);
    link.send(2, message.toBuilder().address(Address.queue("floatvalve-nowhere")).build());
    link.flush();

    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 2);
    assertThat(heard.events).noneMatch(event -> event.startsWith("returned"));
    assertThat(get().getProps().getHeaders()).isNull();
  }

  @Test
  void aMessage_arrivesAsItWasSent() throws Exception {
    PublishLink link = open(Address.queue(queue));
    Message sent =
        Message.builder("body".getBytes(UTF_8))
            .messageId("id")
            .contentType("text/plain")
            .key("key")
            .priority(3)
            .ttl(Duration.ofMinutes(5))
            .header("decimal", new BigDecimal("1.25"))
            .header("nested", List.of(Map.of("k", 1L)))
            .header(PropertyMap.MARK, "the application's")
            .build();

    link.send(1, sent);
    link.flush();
    GetResponse raw = get();
    Message got = PropertyMap.toMessage(raw.getProps(), raw.getBody());

    assertThat(got.payload()).isEqualTo(sent.payload());
    assertThat(got.messageId()).isEqualTo("id");
    assertThat(got.contentType()).isEqualTo("text/plain");
    assertThat(got.key()).isEqualTo("key");
    assertThat(got.priority()).isEqualTo(3);
    assertThat(got.persistent()).isTrue();
    assertThat(got.headers())
        .isEqualTo(Map.of("decimal", new BigDecimal("1.25"), "nested", List.of(Map.of("k", 1L))));
    assertThat(raw.getProps().getHeaders().get(PropertyMap.MARK)).isInstanceOf(byte[].class);
  }

  @Test
  void eachMessage_hasItsOwnProperties_whateverWentBefore() throws Exception {
    PublishLink link = open(Address.queue(queue));
    Message first = text("x");
    List<Message> sent =
        List.of(
            first,
            first.toBuilder().mandatory(false).build(),
            first.toBuilder().persistent(false).build(),
            first.toBuilder().priority(1).build(),
            first.toBuilder().contentType("a/b").build(),
            first.toBuilder().messageId("id").build(),
            first);

    long sequence = 0;
    for (Message message : sent) {
      link.send(++sequence, message);
    }
    link.flush();

    for (Message message : sent) {
      GetResponse raw = get();
      Message got = PropertyMap.toMessage(raw.getProps(), raw.getBody());
      assertThat(raw.getProps().getHeaders() != null).isEqualTo(message.mandatory());
      assertThat(got.persistent()).isEqualTo(message.persistent());
      assertThat(got.priority()).isEqualTo(message.priority());
      assertThat(got.contentType()).isEqualTo(message.contentType());
      assertThat(got.messageId()).isEqualTo(message.messageId());
    }
  }

  @Test
  void aLargeBody_isSentInManyFrames() throws Exception {
    PublishLink link = open(Address.queue(queue));

    link.send(1, Message.of(new byte[3_000_001]));
    link.flush();

    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 1);
    assertThat(get().getBody()).hasSize(3_000_001);
  }

  @Test
  void whatCannotBeSent_isRefusedByNameAndSize_andTheChannelGoesOn() throws Exception {
    PublishLink link = open(Address.queue(queue));
    String tooLong = "k".repeat(256);

    assertThat(
            link.refusal(
                text("x").toBuilder().address(Address.exchange("amq.direct", tooLong)).build()))
        .startsWith("routing key must be at most 255 bytes in UTF-8, has 256");
    assertThat(link.refusal(text("x").toBuilder().address(Address.exchange(tooLong, "")).build()))
        .startsWith("exchange name must be at most 255 bytes");
    assertThat(link.refusal(text("x").toBuilder().address(Address.topic("t")).build()))
        .isEqualTo("topic 't' is no address of RabbitMQ: name a queue or an exchange");
    assertThat(link.refusal(text("x").toBuilder().header("h", new byte[200_000]).build()))
        .startsWith("headers and properties must fit into a frame of 131072 bytes, take 200");
    assertThat(link.refusal(text("x").toBuilder().delay(Duration.ofSeconds(1)).build()))
        .startsWith("a delay of PT1S needs a delayed exchange, which queue ");
    assertThat(link.refusal(text("x").toBuilder().delay(Duration.ZERO).build())).isNull();

    link.send(1, text("x").toBuilder().header("h", new byte[130_000]).build());
    link.flush();

    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 1);
  }

  @Test
  void aDelayedExchange_takesDelays() {
    PublishSettings delayed = PublishSettings.defaults().withDelayedExchange(true);
    PublishLink link = open(Address.exchange("amq.direct", "k"), delayed, heard);

    Message later = text("x").toBuilder().delay(Duration.ofSeconds(1)).build();
    assertThat(link.refusal(later)).isNull();
    assertThat(link.refusal(later.toBuilder().delay(Duration.ofDays(50)).build()))
        .startsWith("delay must be at most PT1193H2M47.295S, was PT1200H");
    assertThat(link.refusal(later.toBuilder().address(Address.queue(queue)).build()))
        .startsWith("a delay of PT1S needs");
    assertThatThrownBy(() -> open(Address.queue(queue), delayed, heard))
        .isInstanceOfSatisfying(
            MessagingException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID));
  }

  @Test
  void aMissingExchange_isSaidAtOpening_andNeighboursGoOn() throws Exception {
    PublishLink neighbour = open(Address.queue(queue));

    assertThatThrownBy(() -> open(Address.exchange("no-such-exchange", "k"), null, new Heard()))
        .isInstanceOfSatisfying(
            MessagingException.class, e -> assertThat(e.kind()).isEqualTo(Kind.NOT_FOUND))
        .hasMessageContaining("exchange 'no-such-exchange'")
        .hasMessageContaining(" at 127.0.0.1:")
        .hasMessageContaining("404 NOT_FOUND - no exchange 'no-such-exchange' in vhost '/'");

    neighbour.send(1, text("x"));
    neighbour.flush();
    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 1);
  }

  @Test
  void whatIsNotRabbits_isInvalidAtOpening() {
    assertThatThrownBy(() -> open(Address.topic("t")))
        .isInstanceOfSatisfying(
            MessagingException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageContaining("topic 't'");
    assertThatThrownBy(() -> open(Address.queue(queue), "other settings", heard))
        .isInstanceOfSatisfying(
            MessagingException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageContaining("RabbitBroker.PublishSettings")
        .hasMessageContaining("java.lang.String");
  }

  @Test
  void anExchangeThatVanishes_losesTheChannelAlone_withTheBrokersWords() throws Exception {
    String exchange = queue + "-x";
    admin.exchangeDeclare(exchange, "fanout");
    PublishLink link = open(Address.exchange(exchange, ""));
    Heard other = new Heard();
    PublishLink neighbour = open(Address.queue(queue), null, other);
    admin.exchangeDelete(exchange);

    link.send(1, text("x"));
    link.flush();

    await().atMost(LONG).until(() -> heard.has("lost"));
    assertThat(heard.events)
        .containsExactly(
            "lost channel 404 NOT_FOUND - no exchange '" + exchange + "' in vhost '/'");
    assertThatThrownBy(() -> link.send(2, text("x"))).isInstanceOf(Exception.class);
    neighbour.send(1, text("x"));
    neighbour.flush();
    await().atMost(LONG).until(() -> other.confirmedUpTo() == 1);
    link.abort();
  }

  @Test
  void afterClose_nothingIsHeard_andTheConnectionStays() throws Exception {
    PublishLink link = open(Address.queue(queue));
    link.send(1, text("x"));
    link.flush();
    await().atMost(LONG).until(() -> heard.confirmedUpTo() == 1);

    link.close(LONG);

    assertThat(heard.events).containsExactly("confirmed 1");
    Heard next = new Heard();
    PublishLink second = open(Address.queue(queue), null, next);
    second.send(1, text("y"));
    second.flush();
    await().atMost(LONG).until(() -> next.confirmedUpTo() == 1);
    second.abort();
    second.abort();
  }

  @Test
  void whenTheBrokerIsClosed_openLinksAreLost_andNoneIsOpened() {
    open(Address.queue(queue));

    broker.close(LONG);
    broker.close(LONG);

    await().atMost(LONG).until(() -> heard.has("lost"));
    assertThat(heard.events).containsExactly("lost connection closed by this application");
    assertThatThrownBy(() -> open(Address.queue(queue)))
        .isInstanceOfSatisfying(
            MessagingException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CLOSED));
  }

  @Test
  void describe_namesProductVersionAndPlace(RabbitNode node) {
    assertThat(broker.describe())
        .isEqualTo("RabbitMQ " + node.version() + " at " + node.host() + ":" + node.port());
  }
}
