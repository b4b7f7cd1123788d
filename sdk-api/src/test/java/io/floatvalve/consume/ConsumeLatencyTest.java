package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Address;
import io.floatvalve.model.Settlement;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ConsumeLatencyTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  private final FakeBroker broker = new FakeBroker();
  private final ConsumeSide side = new ConsumeSide(broker, event -> {});
  private final ConsumerSettings settings = ConsumerSettings.from(Address.queue("q"));

  @AfterEach
  void close() {
    side.close();
    broker.close(Duration.ZERO);
  }

  private static long count(LatencySnapshot latency, String stage) {
    return latency.stage(stage).map(LatencySnapshot.Stage::count).orElse(0L);
  }

  @Test
  void everyStageOfAHandledMessage_isRecordedOnce() {
    Consumer consumer = side.open(settings);
    broker.feed(100);
    consumer.handle(delivery -> Settlement.accept());

    await()
        .atMost(LONG)
        .untilAsserted(
            () -> assertThat(count(consumer.latency(), "handled-settled")).isEqualTo(100));
    assertThat(consumer.latency().stages())
        .containsOnlyKeys(
            "published-arrived",
            "arrived-started",
            "started-handled",
            "handled-settled",
            "published-handled");
    consumer
        .latency()
        .stages()
        .forEach(
            (name, stage) -> {
              assertThat(stage.count()).as(name).isEqualTo(100);
              assertThat(stage.negative()).as(name).isZero();
            });
  }

  @Test
  void handOutOfAPullConsumer_countsAsItsHandler() throws Exception {
    PullConsumer consumer = side.openPull(settings);
    broker.feed(1);
    Delivery delivery = consumer.receive(LONG).orElseThrow();

    assertThat(count(consumer.latency(), "arrived-started")).isEqualTo(1);
    assertThat(count(consumer.latency(), "started-handled")).isZero();

    delivery.settle(Settlement.accept());

    assertThat(count(consumer.latency(), "started-handled")).isEqualTo(1);
    assertThat(count(consumer.latency(), "handled-settled")).isEqualTo(1);
  }

  @Test
  void retryByACopy_isSettledWhenTheCopyIsConfirmed() {
    broker.copiesWait = true;
    Consumer consumer = side.open(settings);
    broker.feed(1);
    consumer.handle(delivery -> Settlement.retry());
    await().atMost(LONG).until(() -> broker.copies().size() == 1);
    await().atMost(LONG).until(() -> count(consumer.latency(), "started-handled") == 1);

    assertThat(count(consumer.latency(), "handled-settled")).isZero();

    broker.copies().get(0).done().done(null);

    await().atMost(LONG).until(() -> count(consumer.latency(), "handled-settled") == 1);
  }

  @Test
  void messageInAHandler_ages_untilItIsSettled() {
    CountDownLatch go = new CountDownLatch(1);
    Consumer consumer = side.open(settings);
    assertThat(consumer.latency().oldestUnsettled()).isZero();
    broker.feed(1);
    consumer.handle(
        delivery -> {
          go.await();
          return Settlement.accept();
        });

    await()
        .atMost(LONG)
        .until(() -> consumer.latency().oldestUnsettled().compareTo(Duration.ofMillis(20)) > 0);
    go.countDown();

    await().atMost(LONG).until(() -> consumer.latency().oldestUnsettled().isZero());
  }

  /** HD-02: a message with a time 5 s ahead of the clock here. */
  @Test
  void hd02_publishersClockAhead_isCountedApart_andTheHandlerRuns() {
    broker.aheadMillis = 5_000;
    Consumer consumer = side.open(settings);
    broker.feed(1);
    consumer.handle(delivery -> Settlement.accept());

    await().atMost(LONG).until(() -> broker.acked().size() == 1);
    await().atMost(LONG).until(() -> count(consumer.latency(), "started-handled") == 1);
    LatencySnapshot.Stage skewed = consumer.latency().stage("published-handled").orElseThrow();
    assertThat(skewed.negative()).isEqualTo(1);
    assertThat(skewed.count()).isZero();
  }
}
