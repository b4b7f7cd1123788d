package io.floatvalve.examples.consume;

import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.examples.cli.Console;
import org.jspecify.annotations.Nullable;

/** Says once a second how it stands. */
final class Progress implements Runnable {
  private final Console console;
  private final Consumer consumer;
  private final @Nullable Feeder feeder;
  private final long began = System.nanoTime();
  private long handledBefore;
  private long nanosBefore = began;

  Progress(Console console, Consumer consumer, @Nullable Feeder feeder) {
    this.console = console;
    this.consumer = consumer;
    this.feeder = feeder;
  }

  @Override
  public void run() {
    ConsumerStatus now = consumer.status();
    long nanos = System.nanoTime();
    long handled = now.accepted() + now.retried() + now.rejected();
    double rate = (handled - handledBefore) * 1e9 / Math.max(1, nanos - nanosBefore);
    handledBefore = handled;
    nanosBefore = nanos;
    console.progress(
        String.format(
            "  %.0f s, %s%,d handled, %,.0f/s, waiting %,d, permits %,d, unsettled %,d,"
                + " oldest %,d ms%s",
            (nanos - began) / 1e9,
            feeder == null ? "" : String.format("%,d sent, ", feeder.sent()),
            handled,
            rate,
            now.waiting(),
            now.permits(),
            now.parked() + now.inHandlers() + now.settling(),
            now.oldestUnsettled().toMillis(),
            now.state() == ConsumerStatus.State.RUNNING ? "" : ", " + now.state()));
  }
}
