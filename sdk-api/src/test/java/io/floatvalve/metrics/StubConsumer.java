package io.floatvalve.metrics;

import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.PullConsumer;
import io.floatvalve.explain.Explanation;
import io.floatvalve.latency.LatencyRecorder;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A consumer that says what it was told to say. */
final class StubConsumer implements PullConsumer {
  Usage usage = Usages.none();
  final LatencyRecorder handling = new LatencyRecorder("started-handled");
  ConsumerStatus.State state = ConsumerStatus.State.RUNNING;
  int waiting = 3;
  int inHandlers = 5;
  Duration oldest = Duration.ofMillis(250);
  int settling = 6;
  long accepted = 12;
  int partlyAcked = -1;

  @Override
  public Optional<Delivery> receive(Duration timeout) {
    return Optional.empty();
  }

  @Override
  public long drain(Duration timeout) {
    return 0;
  }

  @Override
  public Usage usage() {
    return usage;
  }

  @Override
  public Explanation explain() {
    throw new UnsupportedOperationException();
  }

  @Override
  public ConsumerStatus status() {
    return new ConsumerStatus(
        state,
        1,
        10,
        2,
        waiting,
        30,
        4,
        inHandlers,
        settling,
        70,
        oldest,
        100,
        11,
        accepted,
        13,
        14,
        15,
        16,
        17,
        18,
        19,
        partlyAcked,
        20,
        21,
        "");
  }

  @Override
  public LatencySnapshot latency() {
    return LatencyRecorder.snapshot(List.of(handling));
  }

  @Override
  public void close() {
    state = ConsumerStatus.State.CLOSED;
  }
}
