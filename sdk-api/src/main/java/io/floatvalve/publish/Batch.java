package io.floatvalve.publish;

import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Sums up the outcomes of messages that were published together. Thread-safe. */
final class Batch {
  private final CompletableFuture<PublishSummary> done = new CompletableFuture<>();
  private final Tally outcomes = new Tally(); // guarded by this, as below
  private final List<PublishSummary.Failure> failures = new ArrayList<>();
  private long open = 1; // one for the batch itself, until all were added

  void add(long index, Message message, CompletableFuture<PublishOutcome> outcome) {
    synchronized (this) {
      open++;
    }
    var unused = outcome.thenAccept(o -> settle(index, message, o));
  }

  /** Says that no more are added; returns what sums them up. */
  CompletableFuture<PublishSummary> summary() {
    finish(close());
    return done;
  }

  private void settle(long index, Message message, PublishOutcome outcome) {
    PublishSummary summary;
    synchronized (this) {
      outcomes.count(outcome);
      if (outcome.verdict() != Verdict.CONFIRMED) {
        failures.add(new PublishSummary.Failure(index, message, outcome));
      }
      summary = close();
    }
    finish(summary);
  }

  private void finish(@Nullable PublishSummary summary) {
    if (summary != null) {
      done.complete(summary);
    }
  }

  /** Returns the summary if this was the last. */
  private synchronized @Nullable PublishSummary close() {
    if (--open > 0) {
      return null;
    }
    failures.sort(Comparator.comparingLong(PublishSummary.Failure::index));
    return new PublishSummary(outcomes.toMap(), failures);
  }
}
