package io.floatvalve.consume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.event.Event;
import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.Explanation;
import io.floatvalve.explain.Finding;
import io.floatvalve.model.Address;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a consumer says of itself, and when it says so unasked. */
@Timeout(60)
final class ConsumerExplainTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  private final FakeBroker broker = new FakeBroker();
  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private final ConsumeSide side = new ConsumeSide(broker, events::add);
  private final ConsumerSettings settings =
      ConsumerSettings.from(Address.topic("t"))
          .withCloseTimeout(Duration.ZERO)
          .withStallWarning(Duration.ofMillis(300));

  @AfterEach
  void close() {
    side.close();
    broker.close(Duration.ZERO);
  }

  private List<Event.Stalled> stalls() {
    return events.stream()
        .filter(Event.Stalled.class::isInstance)
        .map(Event.Stalled.class::cast)
        .toList();
  }

  @Test
  void stallWithWork_isToldOnce_andAgainAfterProgress() {
    Queue<CompletableFuture<Settlement>> open = new ConcurrentLinkedQueue<>();
    Consumer consumer = side.open(settings);
    consumer.handleAsync(
        delivery -> {
          CompletableFuture<Settlement> stage = new CompletableFuture<>();
          open.add(stage);
          return stage;
        });
    broker.feed(1);
    await().atMost(LONG).until(() -> stalls().size() == 1);

    broker.feed(1); // progress: it is taken, and does not end either
    await().atMost(LONG).until(() -> stalls().size() == 2);

    assertThat(stalls().get(0).since()).isGreaterThanOrEqualTo(Duration.ofMillis(300));
    assertThat(stalls().get(0).explanation()).contains("t", "1 of 16 handlers in use");
    open.forEach(each -> each.complete(Settlement.accept()));
    await().atMost(LONG).until(() -> consumer.status().accepted() == 2);
    assertThat(stalls()).hasSize(2);
  }

  @Test
  void neitherIdleNorPausedNorSwitchedOff_isAStall() throws Exception {
    FakeBroker held = new FakeBroker();
    Queue<Event> told = new ConcurrentLinkedQueue<>();
    ConsumeSide quiet = new ConsumeSide(held, told::add);
    Consumer idle = quiet.open(settings);
    idle.handle(delivery -> Settlement.accept());
    held.feed(3);
    await().atMost(LONG).until(() -> idle.status().accepted() == 3);
    PullConsumer off = side.openPull(settings.withStallWarning(Duration.ZERO));
    broker.feed(1);
    assertThat(off.receive(LONG)).isPresent();
    FakeBroker third = new FakeBroker();
    ConsumeSide still = new ConsumeSide(third, told::add);
    Consumer paused = still.open(settings);
    paused.handle(delivery -> Settlement.accept());
    paused.pause();
    third.feed(3);

    FakeBroker other = new FakeBroker();
    ConsumeSide clock = new ConsumeSide(other, told::add);
    Consumer stalled = clock.open(settings.withStallWarning(Duration.ofSeconds(2)));
    stalled.handleAsync(delivery -> new CompletableFuture<>());
    other.feed(1);
    await()
        .atMost(LONG)
        .until(() -> told.stream().filter(Event.Stalled.class::isInstance).count() == 1);

    await().atMost(LONG).until(() -> idle.explain().state() == Explanation.State.IDLE);
    assertThat(idle.explain().findings()).isEmpty();
    assertThat(paused.explain().state()).isEqualTo(Explanation.State.WAITING);
    assertThat(stalls()).isEmpty();
    quiet.close();
    still.close();
    clock.close();
  }

  @Test
  void messageNobodySettles_isNamedWithItsKey() {
    Consumer consumer = side.open(settings.withOrdering(Ordering.BY_KEY));
    consumer.handleAsync(
        delivery ->
            delivery.unwrap(Integer.class) == 50
                ? new CompletableFuture<>()
                : CompletableFuture.completedFuture(Settlement.accept()));
    broker.feed(100, 10, id -> "key-" + id);

    await().atMost(LONG).until(() -> !consumer.explain().findings().isEmpty());

    Explanation explained = consumer.explain();
    assertThat(explained.findings()).extracting(Finding::name).contains("settlement-forgotten");
    assertThat(explained.text()).contains("key-50");
  }

  @Test
  void callerThatNeverSettles_isToldToSettle() throws Exception {
    PullConsumer consumer = side.openPull(settings.withMaxUnsettled(2));
    broker.feed(5);
    for (int i = 0; i < 2; i++) {
      assertThat(consumer.receive(LONG)).isPresent();
    }

    await()
        .atMost(LONG)
        .until(
            () -> {
              assertThat(consumer.receive(Duration.ZERO)).isEmpty();
              return !consumer.explain().isHealthy();
            });

    assertThat(consumer.explain().findings().get(0))
        .isInstanceOfSatisfying(
            Finding.BlockedOnUnacked.class, found -> assertThat(found.limit()).isEqualTo(2));
  }

  @Test
  void whatTheBrokerSays_isLookedAt() {
    side.viewedBy(
        (addresses, group, name) -> {
          assertThat(addresses).containsExactly(Address.topic("t"));
          return Optional.of(BrokerView.from("the test", Duration.ZERO).withDraining(4, 9, "c7"));
        });
    Consumer consumer = side.open(settings);
    consumer.handle(delivery -> Settlement.accept());

    assertThat(consumer.explain().findings())
        .singleElement()
        .isInstanceOfSatisfying(
            Finding.KeySharedDraining.class, found -> assertThat(found.holder()).isEqualTo("c7"));
    assertThat(side.explain()).hasSize(1);
  }
}
