package io.floatvalve.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.metrics.Health.State;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.PublisherStatus;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class HealthCheckTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final StubPublisher publisher = new StubPublisher();
  private final StubConsumer consumer = new StubConsumer();
  private long now;
  private final HealthCheck check = new HealthCheck(PATIENCE, () -> now);

  private Health after(Duration time) {
    now += time.toNanos();
    return check.health();
  }

  @Test
  void nothingToLookAt_isUp() {
    assertThat(check.health()).isEqualTo(Health.up());
  }

  @ParameterizedTest
  @EnumSource
  void publisher_isJudgedByItsState(PublisherStatus.State state) {
    check.watch("p", publisher);
    publisher.state = state;

    assertThat(check.health().state())
        .isEqualTo(
            switch (state) {
              case OPEN -> State.UP;
              case BLOCKED -> State.DEGRADED;
              case RECOVERING, CLOSING, CLOSED -> State.DOWN;
            });
  }

  @ParameterizedTest
  @EnumSource
  void consumer_isJudgedByItsState(ConsumerStatus.State state) {
    check.watch("c", consumer);
    consumer.state = state;

    assertThat(check.health().state())
        .isEqualTo(
            switch (state) {
              case RUNNING, IDLE, PAUSED -> State.UP;
              case RECOVERING, FAILED, DRAINING, CLOSED -> State.DOWN;
            });
  }

  @Test
  void stalledConsumer_isDown_andSaysWhatItHas() {
    check.watch("invoices", consumer);
    assertThat(check.health().state()).isEqualTo(State.UP);

    assertThat(after(PATIENCE.minusNanos(1)).state()).isEqualTo(State.UP);
    Health stalled = after(Duration.ofNanos(1));

    assertThat(stalled.state()).isEqualTo(State.DOWN);
    assertThat(stalled.reasons())
        .singleElement()
        .satisfies(
            reason -> {
              assertThat(reason.who()).isEqualTo("invoices");
              assertThat(reason.why()).contains("60 s", "3 waiting", "5 in handlers");
            });
    consumer.accepted++;
    assertThat(after(Duration.ZERO).state()).isEqualTo(State.UP);
  }

  @Test
  void idleConsumer_isUp_howeverLong() {
    consumer.waiting = 0;
    consumer.inHandlers = 0;
    consumer.settling = 0;
    consumer.oldest = Duration.ZERO;
    check.watch("c", consumer);
    assertThat(check.health().state()).isEqualTo(State.UP);

    assertThat(after(Duration.ofDays(1)).state()).isEqualTo(State.UP);
  }

  @Test
  void pausedConsumer_isUp_andItsTimeDoesNotCountAfterwards() {
    check.watch("c", consumer);
    consumer.state = ConsumerStatus.State.PAUSED;
    assertThat(check.health().state()).isEqualTo(State.UP);
    assertThat(after(PATIENCE.multipliedBy(2)).state()).isEqualTo(State.UP);
    consumer.state = ConsumerStatus.State.RUNNING;

    assertThat(after(Duration.ZERO).state()).isEqualTo(State.UP);
    assertThat(after(PATIENCE).state()).isEqualTo(State.DOWN);
  }

  @Test
  void oneForgottenMessage_isDegraded_whileOthersAreSettled() {
    check.watch("c", consumer);
    consumer.oldest = PATIENCE;

    assertThat(check.health().state()).isEqualTo(State.DEGRADED);
  }

  @Test
  void stalledPublisher_isDown() {
    check.watch("p", publisher);
    assertThat(check.health().state()).isEqualTo(State.UP);

    assertThat(after(PATIENCE).state()).isEqualTo(State.DOWN);
    publisher.outcomes.put(Verdict.CONFIRMED, 1L);
    assertThat(after(Duration.ZERO).state()).isEqualTo(State.UP);
  }

  @Test
  void worst_isToldForAll_andEachReasonIsNamed() {
    check.watch("c", consumer).watch("p", publisher);
    publisher.state = PublisherStatus.State.BLOCKED;
    consumer.state = ConsumerStatus.State.FAILED;

    assertThat(check.health().state()).isEqualTo(State.DOWN);
    assertThat(check.health().reasons()).extracting(Health.Reason::who).containsExactly("c", "p");
    check.forget("c");
    assertThat(check.health().state()).isEqualTo(State.DEGRADED);
  }

  @Test
  void patienceOutOfRange_isRefusedWithRangeAndValue() {
    assertThatThrownBy(() -> HealthCheck.withPatience(Duration.ZERO))
        .hasMessageContaining("PT0.1S")
        .hasMessageContaining("PT0S");
  }
}
