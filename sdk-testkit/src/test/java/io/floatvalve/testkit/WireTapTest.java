package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.impl.AMQImpl;
import io.floatvalve.testkit.FaultProxy.Direction;
import io.floatvalve.testkit.WireTap.Event;
import io.floatvalve.testkit.WireTap.Kind;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class WireTapTest {
  @Test
  @NeedsRabbit
  void framesOfARealPublish_areRecordedInWireOrder(RabbitNode node) throws Exception {
    try (FaultProxy proxy = FaultProxy.to(node.host(), node.port())) {
      WireTap tap = WireTap.on(proxy);
      ConnectionFactory factory = new ConnectionFactory();
      factory.setUri(node.uri());
      factory.setHost(proxy.host());
      factory.setPort(proxy.port());
      try (Connection connection = factory.newConnection();
          Channel channel = connection.createChannel()) {
        channel.confirmSelect();
        BasicProperties properties =
            new BasicProperties.Builder().messageId("m1").headers(Map.of("h", 7)).build();
        channel.basicPublish("", "no such queue", true, properties, new byte[200_000]);
        channel.waitForConfirmsOrDie(10_000);
      }

      List<Event> all = tap.events();
      assertThat(all.get(0).kind()).isEqualTo(Kind.PROTOCOL_HEADER);
      assertThat(all).noneMatch(event -> event.kind() == Kind.UNDECODABLE);
      assertThat(all.toString()).doesNotContain("response=");
      List<Event> ours =
          tap.events(e -> e.channel() == 1 && !e.method().startsWith("channel.")).stream()
              .filter(e -> e.direction() == Direction.TO_BROKER)
              .toList();
      assertThat(ours)
          .extracting(e -> e.kind() == Kind.METHOD ? e.method() : e.kind().name())
          .containsExactly("confirm.select", "basic.publish", "HEADER", "BODY", "BODY");
      assertThat(ours.get(1).arguments())
          .containsEntry("routing-key", "no such queue")
          .containsEntry("mandatory", "true");
      assertThat(ours.get(2).size()).isEqualTo(200_000);
      assertThat(ours.get(2).properties().orElseThrow().getMessageId()).isEqualTo("m1");
      assertThat(ours.get(3).size() + ours.get(4).size()).isEqualTo(200_000);

      Event returned = tap.methods("basic.return").get(0);
      assertThat(returned.replyCode()).hasValue(312);
      Event ack = tap.methods("basic.ack").get(0);
      assertThat(ack.deliveryTag()).hasValue(1);
      assertThat(ack.multiple()).isFalse();
      assertThat(all.indexOf(ack))
          .isGreaterThan(all.indexOf(returned))
          .isGreaterThan(all.indexOf(ours.get(4)));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 8, 9, 1000})
  void framesCutAnywhere_areDecodedTheSame(int piece) throws Exception {
    byte[] wire = nacks(5);
    try (FaultProxy proxy = FaultProxy.to("127.0.0.1", 1)) {
      WireTap tap = WireTap.on(proxy);

      for (int offset = 0; offset < wire.length; offset += piece) {
        int length = Math.min(piece, wire.length - offset);
        tap.bytes(4, Direction.FROM_BROKER, ByteBuffer.wrap(wire, offset, length));
      }

      assertThat(tap.methods("basic.nack"))
          .hasSize(5)
          .allSatisfy(event -> assertThat(event.multiple()).isTrue())
          .allSatisfy(event -> assertThat(event.requeue()).isTrue())
          .extracting(event -> event.deliveryTag().orElseThrow())
          .containsExactly(1L, 2L, 3L, 4L, 5L);
      assertThat(tap.events().get(4).toString())
          .isEqualTo("<- 4/3 basic.nack {delivery-tag=5, multiple=true, requeue=true}");
    }
  }

  @Test
  void moreEventsThanTheBound_theOldestAreDroppedAndCounted() throws Exception {
    try (FaultProxy proxy = FaultProxy.to("127.0.0.1", 1)) {
      WireTap tap = WireTap.on(proxy, 2);

      tap.bytes(1, Direction.FROM_BROKER, ByteBuffer.wrap(nacks(5)));

      assertThat(tap.events())
          .extracting(event -> event.deliveryTag().orElseThrow())
          .containsExactly(4L, 5L);
      assertThat(tap.dropped()).isEqualTo(3);
      tap.clear();
      assertThat(tap.events()).isEmpty();
      assertThat(tap.dropped()).isZero();
      assertThatThrownBy(() -> WireTap.on(proxy, 0)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void bytesThatAreNoFrame_areSaidToBeSo_andTheOtherDirectionIsStillDecoded() throws Exception {
    try (FaultProxy proxy = FaultProxy.to("127.0.0.1", 1)) {
      WireTap tap = WireTap.on(proxy);

      tap.bytes(
          1, Direction.TO_BROKER, ByteBuffer.wrap("AMQP----GET / HTTP/1.1".getBytes(US_ASCII)));
      tap.bytes(1, Direction.TO_BROKER, ByteBuffer.wrap(nacks(1)));
      tap.bytes(1, Direction.FROM_BROKER, ByteBuffer.wrap(nacks(1)));

      assertThat(tap.events())
          .extracting(Event::kind)
          .containsExactly(Kind.PROTOCOL_HEADER, Kind.UNDECODABLE, Kind.METHOD);
    }
  }

  private static byte[] nacks(int count) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    for (int tag = 1; tag <= count; tag++) {
      new AMQImpl.Basic.Nack(tag, true, true).toFrame(3).writeTo(out);
    }
    return bytes.toByteArray();
  }
}
