package io.floatvalve.metrics;

import io.floatvalve.explain.Explanation;
import io.floatvalve.latency.LatencyRecorder;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.PublishSummary;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.rate.Usage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A publisher that says what it was told to say, and keeps what it is given. */
final class StubPublisher implements Publisher {
  Usage usage = Usages.none();
  final Map<Verdict, Long> outcomes = new EnumMap<>(Verdict.class);
  final Map<Unknown.Cause, Long> unknown = new EnumMap<>(Unknown.Cause.class);
  final Map<NotSent.Reason, Long> notSent = new EnumMap<>(NotSent.Reason.class);
  final LatencyRecorder confirmed = new LatencyRecorder("due-confirmed");
  final List<Message> published = new ArrayList<>();
  final List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
  final CompletableFuture<PublishSummary> summary = new CompletableFuture<>();
  PublisherStatus.State state = PublisherStatus.State.OPEN;
  PublisherStatus.Flow flow = PublisherStatus.Flow.FREE;
  Duration oldestInFlight = Duration.ZERO;
  long queued;
  int looks;

  @Override
  public CompletableFuture<PublishOutcome> publish(Message message) {
    published.add(message);
    futures.add(new CompletableFuture<>());
    return futures.get(futures.size() - 1);
  }

  @Override
  public CompletableFuture<PublishOutcome> publish(Message message, long dueNanos) {
    return publish(message);
  }

  @Override
  public CompletableFuture<PublishOutcome> tryPublish(Message message) {
    return publish(message);
  }

  @Override
  public CompletableFuture<PublishSummary> publishAll(Iterable<Message> messages) {
    messages.forEach(this::publish);
    return summary;
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
  public PublisherStatus status() {
    looks++;
    return new PublisherStatus(
        state,
        flow,
        "",
        1,
        queued,
        200,
        3,
        300,
        16,
        oldestInFlight,
        outcomes,
        unknown,
        notSent,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        "");
  }

  @Override
  public LatencySnapshot latency() {
    return LatencyRecorder.snapshot(List.of(confirmed), 1_500_000_000L);
  }

  @Override
  public void close() {
    state = PublisherStatus.State.CLOSED;
  }
}
