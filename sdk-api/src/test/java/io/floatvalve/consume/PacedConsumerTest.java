package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import io.floatvalve.flow.PermitPolicy;
import io.floatvalve.model.Address;
import io.floatvalve.model.Settlement;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.Scope;
import io.floatvalve.rate.QuotaStatus.ScopeStatus;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Consumers and their quotas; what may pass when is {@code PacerTest}'s matter. */
@Timeout(120)
final class PacedConsumerTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  private final FakeBroker broker = new FakeBroker();
  private final ConsumeSide side = new ConsumeSide(broker, event -> {});

  @AfterEach
  void close() {
    side.close();
    broker.close(Duration.ZERO);
    assertThat(broker.wrongs()).isEmpty();
  }

  private static ConsumerSettings settings(QuotaPolicy quota) {
    return ConsumerSettings.from(Address.topic("t"))
        .withCloseTimeout(Duration.ofSeconds(5))
        .withQuota(quota);
  }

  private static QuotaPolicy messages(long perSecond) {
    return QuotaPolicy.none()
        .withHeadroom(1)
        .withConsume(Scope.TOPIC, Quota.messagesPerSecond(perSecond));
  }

  private void awaitAcked(int count) {
    await().atMost(LONG).untilAsserted(() -> assertThat(broker.acked()).hasSize(count));
  }

  @Test
  void handlers_areGivenNoMoreThanAQuotaAdmits_andNothingIsLost() {
    Queue<Long> began = new ConcurrentLinkedQueue<>();
    broker.feed(300);
    var policy = messages(150);
    Consumer consumer = side.open(settings(policy).withPermits(PermitPolicy.fixed(1_000)));

    consumer.handle(
        delivery -> {
          began.add(System.nanoTime());
          return Settlement.accept();
        });

    awaitAcked(300);
    long[] times = began.stream().mapToLong(t -> t).sorted().toArray();
    assertThat(times).hasSize(300);
    // 300 of them are two seconds' worth, less what the last of a second may come early
    assertThat(times[299] - times[0]).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(1_700));
    assertThat(policy.status().scopes().get(0).messages()).isEqualTo(300);
    assertThat(policy.status().scopes().get(0).kind()).isEqualTo(Kind.CONSUME);
    assertThat(policy.status().waits()).isPositive();
    assertThat(consumer.status().givenBack()).isZero();
  }

  @Test
  void permits_areNoMoreThanAQuotaAdmitsInHalfASecond() {
    broker.feed(500);
    var policy = messages(200);
    Consumer consumer = side.open(settings(policy).withPermits(PermitPolicy.fixed(1_000)));

    consumer.handle(delivery -> Settlement.accept());

    awaitAcked(500);
    assertThat(broker.link().mostWaiting).isBetween(1, 100);
  }

  @Test
  void permits_areEachConsumersPart_andOfBytesToo() {
    broker.feed(400);
    var policy =
        QuotaPolicy.none()
            .withHeadroom(1)
            .withConsume(Scope.CLUSTER, Quota.messagesPerSecond(400).withBytesPerSecond(40_000));
    Consumer one = side.open(settings(policy).withPermits(PermitPolicy.fixed(1_000)));
    Consumer two = side.open(settings(policy).withPermits(PermitPolicy.fixed(1_000)));

    one.handle(delivery -> Settlement.accept());
    two.handle(delivery -> Settlement.accept());

    awaitAcked(400);
    assertThat(broker.links).allSatisfy(link -> assertThat(link.mostWaiting).isLessThan(201));
    assertThat(broker.links.stream().mapToInt(link -> link.mostWaiting).max()).isPresent();
    assertThat(policy.status().scopes().get(0).bytes()).isEqualTo(40_000);
  }

  @Test
  void copies_countAsPublished_andAreNotHeld() {
    broker.feed(4);
    var policy =
        QuotaPolicy.none()
            .withPublish(Scope.CLUSTER, Quota.messagesPerSecond(1))
            .withDelayedPublish(Scope.CLUSTER, Quota.messagesPerSecond(1));
    Consumer consumer = side.open(settings(policy));
    AtomicInteger handled = new AtomicInteger();

    consumer.handle(
        delivery ->
            handled.getAndIncrement() == 0
                ? Settlement.reject("bad")
                : Settlement.retryAfter(Duration.ofSeconds(1)));

    awaitAcked(4);
    assertThat(broker.copies()).hasSize(4);
    assertThat(policy.status().scopes())
        .extracting(ScopeStatus::kind, ScopeStatus::messages)
        .containsExactlyInAnyOrder(tuple(Kind.PUBLISH, 1L), tuple(Kind.DELAYED_PUBLISH, 3L));
    assertThat(policy.status().waits()).isZero();
  }

  @Test
  void pullConsumer_handsOutNoMoreThanAQuotaAdmits() throws Exception {
    broker.feed(3);
    PullConsumer consumer = side.openPull(settings(messages(1).withShare(0.001)));

    assertThat(consumer.receive(LONG)).isPresent();

    assertThat(consumer.receive(Duration.ofMillis(100))).isEmpty();
  }

  @Test
  void whatAQuotaHolds_isGivenBackWhenTheConsumerEnds() throws Exception {
    broker.feed(3);
    var policy = messages(1).withShare(0.001);
    PullConsumer consumer = side.openPull(settings(policy));
    Delivery first = consumer.receive(LONG).orElseThrow();
    assertThat(consumer.receive(Duration.ofMillis(50))).isEmpty();
    assertThat(policy.status().waiting()).isEqualTo(1);

    Delivery.Answer unused = first.settle(Settlement.accept());
    consumer.close();

    assertThat(policy.status().waiting()).isZero();
    assertThat(broker.backlog()).isEqualTo(2);
    assertThat(broker.acked()).hasSize(1);
  }
}
