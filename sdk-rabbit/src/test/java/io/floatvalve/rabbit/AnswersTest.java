package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.ShutdownSignalException;
import io.floatvalve.spi.PublishLink;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class AnswersTest {
  private final Heard heard = new Heard();
  private final Answers answers = new Answers(heard, 7, "later");

  private static BasicProperties marked(long mark, @Nullable Object delay) {
    Map<String, Object> headers = new HashMap<>();
    headers.put(PropertyMap.MARK, ByteBuffer.allocate(8).putLong(mark).array());
    headers.put(PropertyMap.DELAY, delay);
    return new BasicProperties.Builder().headers(headers).build();
  }

  private void returned(String exchange, BasicProperties properties) {
    answers.handleReturn(312, "NO_ROUTE", exchange, "key", properties, new byte[0]);
  }

  private static ShutdownSignalException closing(int code, String text) {
    return new ShutdownSignalException(
        false, false, new AMQP.Channel.Close.Builder().replyCode(code).replyText(text).build(), "");
  }

  @Test
  void aReturn_isToldWithItsSequence() {
    long last = (1L << 40) - 1;

    returned("e", marked(Answers.mark(7, 1), null));
    returned("e", marked(Answers.mark(7, last), null));

    assertThat(heard.events)
        .containsExactly(
            "returned 1 312 NO_ROUTE 'e' 'key' failure",
            "returned " + last + " 312 NO_ROUTE 'e' 'key' failure");
  }

  @Test
  void theHighestEpoch_findsItsReturns() {
    long epoch = (1 << 24) - 1;
    Answers late = new Answers(heard, epoch, null);

    late.handleReturn(312, "x", "", "", marked(Answers.mark(epoch, 5), null), new byte[0]);

    assertThat(heard.events).singleElement().asString().startsWith("returned 5 ");
  }

  @Test
  void aReturnThatIsNotOurs_isStray() {
    returned("e", new BasicProperties());
    returned("e", marked(Answers.mark(6, 1), null));
    returned("e", new BasicProperties.Builder().headers(Map.of(PropertyMap.MARK, "text")).build());
    returned(
        "e", new BasicProperties.Builder().headers(Map.of(PropertyMap.MARK, new byte[3])).build());

    assertThat(heard.events)
        .hasSize(4)
        .containsOnly("stray 312 NO_ROUTE from exchange 'e', routing key 'key'");
  }

  @Test
  void aReturnOfADelayedMessage_isNoFailure_onTheDelayedExchangeAlone() {
    returned("later", marked(Answers.mark(7, 1), 1_000));
    returned("later", marked(Answers.mark(7, 2), null));
    returned("later", marked(Answers.mark(7, 3), -5L));
    returned("e", marked(Answers.mark(7, 4), 1_000));

    assertThat(heard.events)
        .containsExactly(
            "returned 1 312 NO_ROUTE 'later' 'key' no failure",
            "returned 2 312 NO_ROUTE 'later' 'key' failure",
            "returned 3 312 NO_ROUTE 'later' 'key' failure",
            "returned 4 312 NO_ROUTE 'e' 'key' failure");
  }

  @Test
  void confirms_areToldAsTheyCome() {
    answers.handleAck(3, false);
    answers.handleNack(2, true);
    answers.handleAck(0, true);

    assertThat(heard.events).containsExactly("confirmed 3", "nacked 2*", "confirmed 0*");
  }

  @Test
  void aLoss_isToldOnceWithTheBrokersWords_andNothingAfterIt() {
    answers.lost(closing(404, "NOT_FOUND - no exchange 'x'"));
    answers.lost(closing(406, "PRECONDITION_FAILED"));
    answers.handleAck(1, false);
    answers.blocked("memory");

    assertThat(heard.events).containsExactly("lost channel 404 NOT_FOUND - no exchange 'x'");
  }

  @Test
  void onceEnded_nothingIsTold() {
    answers.end();

    answers.handleAck(1, false);
    answers.handleNack(1, false);
    returned("e", new BasicProperties());
    answers.blocked("memory");
    answers.unblocked();
    answers.lost(closing(404, "x"));

    assertThat(heard.events).isEmpty();
  }

  @Test
  void whateverAListenerThrows_staysHere() {
    PublishLink.Listener angry =
        (PublishLink.Listener)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {PublishLink.Listener.class},
                (proxy, method, arguments) -> {
                  throw new AssertionError("angry");
                });
    Answers suffering = new Answers(angry, 7, null);

    assertThatCode(
            () -> {
              suffering.handleAck(1, false);
              suffering.handleNack(1, false);
              suffering.handleReturn(312, "x", "", "", new BasicProperties(), new byte[0]);
              suffering.handleReturn(
                  312, "x", "", "", marked(Answers.mark(7, 1), null), new byte[0]);
              suffering.blocked("x");
              suffering.unblocked();
              suffering.lost(closing(404, "x"));
            })
        .doesNotThrowAnyException();
  }
}
