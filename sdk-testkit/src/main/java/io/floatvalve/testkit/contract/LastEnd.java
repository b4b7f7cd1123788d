package io.floatvalve.testkit.contract;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** How the test before ends, beside the next one. One at a time: tests of a class take turns. */
final class LastEnd {
  private final Duration limit;
  private CompletableFuture<Void> ending = CompletableFuture.completedFuture(null);

  LastEnd(Duration limit) {
    this.limit = limit;
  }

  /** Waits for the test before, fails if it ended badly, and lets this one end all the same. */
  void then(Supplier<CompletableFuture<Void>> end) throws Exception {
    try {
      await();
    } finally {
      ending = end.get();
    }
  }

  /** Waits for the last one; fails if it ended badly. */
  void await() throws Exception {
    ending.get(limit.toSeconds(), TimeUnit.SECONDS);
  }
}
