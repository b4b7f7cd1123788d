package io.floatvalve.examples.publish;

import io.floatvalve.examples.lines.Fate;
import io.floatvalve.examples.lines.Fates;
import io.floatvalve.examples.lines.Line;
import io.floatvalve.examples.lines.LineFormat;
import io.floatvalve.examples.lines.LineFormat.BadLine;
import io.floatvalve.examples.lines.LineReader;
import io.floatvalve.examples.lines.ResultsFile;
import io.floatvalve.examples.lines.Tally;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.Publisher;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Publishes lines, one message each, and keeps what became of each. */
final class PublishRun {
  /* Lines whose outcome is not written yet, in KiB. The publisher bounds what it holds; this bounds
   * what waits between it and the files, so that a file larger than the heap passes through. */
  private static final int OPEN_KIB = 16 * 1024;

  private final Publisher publisher;
  private final LineFormat format;
  private final Set<Fate> tries;
  private final Fates fates; // guarded by itself
  private final ResultsFile results;
  private final Leftovers leftovers;
  private final BooleanSupplier stop;
  private final Semaphore open = new Semaphore(OPEN_KIB);
  private long announced;
  private volatile boolean all;
  private volatile long linesRead;

  PublishRun(
      Publisher publisher,
      LineFormat format,
      Set<Fate> tries,
      Fates fates,
      ResultsFile results,
      Leftovers leftovers,
      BooleanSupplier stop) {
    this.publisher = publisher;
    this.format = format;
    this.tries = tries;
    this.fates = fates;
    this.results = results;
    this.leftovers = leftovers;
    this.stop = stop;
  }

  /** Publishes lines until their end or until it is told to stop; waits for no outcome. */
  void publish(LineReader lines) throws IOException {
    while (!stop.getAsBoolean()) {
      Line line;
      try {
        line = lines.next();
      } catch (ClosedByInterruptException e) {
        return;
      }
      if (line == null) {
        all = true;
        return;
      }
      linesRead = line.number();
      Fate known;
      synchronized (fates) {
        fates.seen(line.number());
        known = fates.get(line.number());
      }
      if (!tries.contains(known)) {
        leftovers.keep(line, known);
      } else if (!publish(line)) {
        return;
      }
    }
  }

  private boolean publish(Line line) {
    int weight = Math.min(OPEN_KIB, 1 + line.bytes().length / 1024);
    try {
      open.acquire(weight);
    } catch (InterruptedException e) {
      return false; // this line was not tried; the next run finds it so
    }
    if (line.number() > announced) {
      announced = line.number() + ResultsFile.AHEAD - 1;
      results.upTo(announced);
      results.check();
    }
    Message message;
    try {
      if (line.tooLong()) {
        settle(line, weight, unfit(NotSent.Reason.MESSAGE_TOO_LARGE, "the line is too long"));
        return true;
      }
      message = format.message(line.bytes());
    } catch (BadLine e) {
      settle(line, weight, unfit(NotSent.Reason.INVALID_MESSAGE, String.valueOf(e.getMessage())));
      return true;
    }
    var settled = publisher.publish(message).thenAccept(outcome -> settle(line, weight, outcome));
    return !settled.isCancelled();
  }

  private static PublishOutcome unfit(NotSent.Reason reason, String detail) {
    return new NotSent(reason, detail, 1);
  }

  private void settle(Line line, int weight, PublishOutcome outcome) {
    Fate fate;
    synchronized (fates) {
      fates.add(line.number(), Fate.of(outcome));
      fate = fates.get(line.number());
    }
    results.outcome(line.number(), outcome);
    leftovers.keep(line, fate);
    open.release(weight);
  }

  /**
   * Closes the publisher, and waits until every outcome is kept.
   *
   * @return whether they are, in time
   */
  boolean finish(Duration timeout) {
    publisher.close();
    long deadline = System.nanoTime() + timeout.toNanos();
    while (open.availablePermits() < OPEN_KIB) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      boolean unused = Thread.interrupted(); // asked to end while ending: the deadline holds
      LockSupport.parkNanos(1_000_000);
    }
    return true;
  }

  /** Returns whether the input was read to its end. */
  boolean readAll() {
    return all;
  }

  /** Returns how many lines were read so far. */
  long linesRead() {
    return linesRead;
  }

  /** Counts the lines seen so far by their fate. */
  Tally tally() {
    synchronized (fates) {
      return fates.tally();
    }
  }
}
