package io.floatvalve.examples.lab.explain;

import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import java.util.concurrent.locks.LockSupport;

/** Publishes at a rate that can be changed, on a thread of its own. */
final class Feeder implements AutoCloseable {
  private static final long STEP_NANOS = 10_000_000;

  private final Publisher to;
  private final Thread thread;
  private volatile int perSecond;
  private volatile int bytes = 100;
  private volatile boolean keyed = true;
  private volatile boolean closed;

  Feeder(Publisher to, int perSecond) {
    this.to = to;
    this.perSecond = perSecond;
    this.thread = new Thread(this::feed, "lab-feeder");
    thread.setDaemon(true);
    thread.start();
  }

  void rate(int messagesPerSecond) {
    perSecond = messagesPerSecond;
  }

  Feeder size(int payloadBytes) {
    bytes = payloadBytes;
    return this;
  }

  /** Sends no keys from now on. */
  void withoutKeys() {
    keyed = false;
  }

  private void feed() {
    long last = System.nanoTime();
    double due = 0;
    long number = 0;
    while (!closed) {
      LockSupport.parkNanos(STEP_NANOS);
      long now = System.nanoTime();
      due = Math.min(perSecond, due + (now - last) / 1e9 * perSecond);
      last = now;
      while (due >= 1 && !closed) {
        due--;
        Message.Builder message = Message.builder(new byte[bytes]);
        if (keyed) {
          message.key("key-" + number % 40);
        }
        number++;
        var unused = to.tryPublish(message.build());
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    try {
      thread.join(1_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
