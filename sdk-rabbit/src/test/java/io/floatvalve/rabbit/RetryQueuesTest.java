package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Envelope;
import io.floatvalve.spi.ReceiveLink.Copy;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RetryQueuesTest {
  private final RetryQueues queues =
      RetryQueues.of(
          "orders",
          List.of(Duration.ZERO, Duration.ofMillis(200), Duration.ofSeconds(5)),
          Map.of("x-queue-type", "quorum"));

  @Test
  void delay_goesToTheNextLongerStep_andNeverToAShorterOne() {
    assertThat(queues.steps()).containsExactly(Duration.ofMillis(200), Duration.ofSeconds(5));
    assertThat(queues.queue(Duration.ZERO)).isEqualTo("orders");
    assertThat(queues.queue(Duration.ofMillis(1))).isEqualTo("orders.retry.200ms");
    assertThat(queues.queue(Duration.ofMillis(200))).isEqualTo("orders.retry.200ms");
    assertThat(queues.queue(Duration.ofMillis(201))).isEqualTo("orders.retry.5000ms");
    assertThat(queues.longest()).isEqualTo(Duration.ofSeconds(5));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> queues.queue(Duration.ofMillis(5_001)))
        .withMessageContaining("PT5.001S");
    assertThat(RetryQueues.of("q", List.of(Duration.ZERO), Map.of()).longest()).isZero();
  }

  @Test
  void givenArguments_goAlong_butNotInsteadOfWhatMakesThemRetryQueues() {
    assertThat(
            RetryQueues.of("q", List.of(), Map.of("x-message-ttl", 1, "x-max-length", 9))
                .arguments(Duration.ofMillis(200)))
        .isEqualTo(
            Map.of(
                "x-queue-type", "classic",
                "x-message-ttl", 200L,
                "x-dead-letter-exchange", "",
                "x-dead-letter-routing-key", "q",
                "x-max-length", 9));
    assertThat(queues.arguments(Duration.ofMillis(200))).containsEntry("x-queue-type", "quorum");
  }

  /** Each of these would have the broker refuse the copy, route it elsewhere, or drop it. */
  @Test
  void copy_leavesOutWhatIsForTheBroker_andKeepsTheRest() {
    Map<String, Object> headers = new HashMap<>();
    headers.put("colour", "red");
    headers.put(PropertyMap.KEY, "k");
    for (String name :
        List.of(
            "CC",
            "BCC",
            "x-death",
            "x-first-death-queue",
            "x-last-death-reason",
            "x-delivery-count",
            "x-delay")) {
      headers.put(name, "for the broker");
    }
    BasicProperties original =
        new BasicProperties.Builder()
            .headers(headers)
            .contentType("text/plain")
            .contentEncoding("gzip")
            .userId("somebody")
            .expiration("1000")
            .priority(3)
            .deliveryMode(2)
            .build();
    Copy copy = new Copy(false, 2, Duration.ZERO, "x".repeat(5_000), Instant.ofEpochSecond(9));

    BasicProperties made =
        CopyProperties.of(original, new Envelope(1, false, "shop", "eu.orders"), "orders", copy);

    assertThat(made.getHeaders())
        .containsEntry("colour", "red")
        .containsEntry(PropertyMap.KEY, "k")
        .containsEntry(PropertyMap.ATTEMPTS, 2)
        .containsEntry(CopyProperties.ORIGIN_QUEUE, "orders")
        .containsEntry(CopyProperties.ORIGIN_EXCHANGE, "shop")
        .containsEntry(CopyProperties.ORIGIN_KEY, "eu.orders")
        .doesNotContainValue("for the broker");
    assertThat((String) made.getHeaders().get(CopyProperties.REASON)).hasSize(1_001);
    assertThat(made.getContentType()).isEqualTo("text/plain");
    assertThat(made.getContentEncoding()).isEqualTo("gzip");
    assertThat(made.getPriority()).isEqualTo(3);
    assertThat(made.getDeliveryMode()).isEqualTo(2);
    assertThat(made.getUserId()).isNull();
    assertThat(made.getExpiration()).isNull();
  }

  @Test
  void originOfTheFirstCopy_stays() {
    BasicProperties once =
        CopyProperties.of(
            new BasicProperties(),
            new Envelope(1, false, "shop", "eu.orders"),
            "orders",
            new Copy(false, 1, Duration.ZERO, "first", Instant.EPOCH));

    BasicProperties twice =
        CopyProperties.of(
            once,
            new Envelope(2, false, "", "orders"),
            "orders",
            new Copy(true, 2, Duration.ZERO, "second", Instant.EPOCH));

    assertThat(twice.getHeaders())
        .containsEntry(CopyProperties.ORIGIN_EXCHANGE, "shop")
        .containsEntry(CopyProperties.REASON, "second")
        .containsEntry(PropertyMap.ATTEMPTS, 2);
  }
}
