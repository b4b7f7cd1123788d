package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.event.Event;
import io.floatvalve.explain.Explanation;
import io.floatvalve.explain.Finding;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a publisher says of itself, and when it says so unasked. */
@Timeout(60)
final class PublisherExplainTest {
  private static final Message MESSAGE = Message.of(new byte[10]);
  private static final Duration LONG = Duration.ofSeconds(30);

  private final FakeBroker broker = new FakeBroker();
  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private final PublishSide side = new PublishSide(broker, events::add);
  private final PublisherSettings settings =
      PublisherSettings.to(Address.queue("q"))
          .withCloseTimeout(Duration.ZERO)
          .withStallWarning(Duration.ofMillis(300));

  @AfterEach
  void close() {
    side.close();
  }

  private List<Event.Stalled> stalls() {
    return events.stream()
        .filter(Event.Stalled.class::isInstance)
        .map(Event.Stalled.class::cast)
        .toList();
  }

  private static void publish(Publisher publisher, int count) {
    for (int i = 0; i < count; i++) {
      var unused = publisher.publish(MESSAGE);
    }
  }

  @Test
  void stallWithWork_isToldOnce_andAgainAfterAnAnswer() throws Exception {
    Publisher publisher = side.open(settings);
    FakeBroker.Link link = broker.nextLink();
    publish(publisher, 3);
    await().atMost(LONG).until(() -> stalls().size() == 1);

    link.listener.confirmed(1, false, null);
    await().atMost(LONG).until(() -> stalls().size() == 2);
    link.listener.confirmed(3, true, null);
    await().atMost(LONG).until(() -> publisher.explain().state() != Explanation.State.STALLED);

    assertThat(stalls()).hasSize(2);
    assertThat(stalls().get(0).explanation()).contains("publisher to", "3 in flight");
  }

  @Test
  void idlePublisher_neverStalls_andHasNoFinding() throws Exception {
    Publisher idle = side.open(settings);
    FakeBroker.Link link = broker.nextLink();
    Publisher stalled = side.open(settings.withStallWarning(Duration.ofSeconds(1)));
    publish(stalled, 1);

    await().atMost(LONG).until(() -> !stalls().isEmpty());

    assertThat(stalls()).singleElement().satisfies(e -> assertThat(link.all).isEmpty());
    assertThat(idle.explain().findings()).isEmpty();
    assertThat(idle.explain().state()).isEqualTo(Explanation.State.IDLE);
    assertThat(side.explain()).hasSize(2);
  }

  @Test
  void confirmsThatDoNotCome_areNamed_andOneThatDoesNot() throws Exception {
    Publisher silent = side.open(settings);
    broker.nextLink();
    Publisher waiting = side.open(settings);
    FakeBroker.Link link = broker.nextLink();
    publish(silent, 3);
    publish(waiting, 15);
    await().atMost(LONG).until(() -> link.all.size() == 15);
    for (int i = 2; i <= 15; i++) {
      link.listener.confirmed(i, false, null);
    }

    await().atMost(LONG).until(() -> !silent.explain().isHealthy());
    await().atMost(LONG).until(() -> !waiting.explain().isHealthy());

    assertThat(silent.explain().findings().get(0)).isInstanceOf(Finding.BrokerSilent.class);
    assertThat(waiting.explain().findings().get(0)).isInstanceOf(Finding.WindowWaitingOnOne.class);
  }

  @Test
  void limitThatTheBrokerSpeaksOf_isExplained() throws Exception {
    Publisher publisher = side.open(settings);
    FakeBroker.Link link = broker.nextLink();
    publish(publisher, 1);
    await().atMost(LONG).until(() -> link.all.size() == 1);

    link.listener.nacked(1, false, "denied for too many requests");

    await().atMost(LONG).until(() -> !publisher.explain().isHealthy());
    assertThat(publisher.explain().findings().get(0))
        .isInstanceOf(Finding.ThrottledPublish.class)
        .asString()
        .contains("denied for too many requests");
  }

  @Test
  void quotaThatIsNearlyUsedUp_isExplained() throws Exception {
    QuotaPolicy policy =
        QuotaPolicy.none()
            .withHeadroom(1)
            .withPublish(QuotaPolicy.Scope.CLUSTER, Quota.messagesPerSecond(50));
    Publisher publisher = side.open(settings.withQuota(policy));
    FakeBroker.Link link = broker.nextLink();
    link.answer = sequence -> link.listener.confirmed(sequence, false, null);
    publish(publisher, 60);

    await()
        .atMost(LONG)
        .untilAsserted(
            () ->
                assertThat(publisher.explain().findings())
                    .anyMatch(Finding.QuotaNear.class::isInstance));
  }

  @Test
  void blockedConnection_isNamedWithItsReason() throws Exception {
    Publisher publisher = side.open(settings);
    FakeBroker.Link link = broker.nextLink();

    link.listener.blocked("low on memory");

    assertThat(publisher.explain().findings())
        .singleElement()
        .isInstanceOfSatisfying(
            Finding.ConnectionBlocked.class,
            found -> assertThat(found.reason()).isEqualTo("low on memory"));
  }
}
