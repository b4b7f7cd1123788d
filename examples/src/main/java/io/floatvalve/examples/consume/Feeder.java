package io.floatvalve.examples.consume;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.floatvalve.examples.cli.Metronome;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Sends numbered messages at a steady rate by a plain producer, on a thread of its own. */
final class Feeder implements AutoCloseable {
  private static final int MOST_OPEN = 10_000;
  private static final int MOST = Integer.MAX_VALUE - 8;
  private static final String RUN = "feeder";
  private static final String NUMBER = "number";

  private final Spout spout;
  private final String run;
  private final Metronome metronome;
  private final int keys;
  private final byte[] payload;
  private final Account account;
  private final Semaphore open = new Semaphore(MOST_OPEN);
  private final Thread thread = new Thread(this::feed, "floatvalve-feeder");
  private volatile boolean stopped;
  private volatile int sent;
  private volatile String failure = "";

  /**
   * Begins with {@link #start}.
   *
   * @param spout closed in the end
   * @param run what tells its messages from those of others
   * @param keys how many keys the messages have, one after the other
   */
  Feeder(Spout spout, String run, double perSecond, int keys, int bytes, Account account) {
    this.spout = spout;
    this.run = run;
    this.metronome = new Metronome(perSecond);
    this.keys = keys;
    this.payload = "x".repeat(bytes).getBytes(UTF_8);
    this.account = account;
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  /** Returns the number of a message that this feeder sent, or -1 for one of another's. */
  static int number(String run, Map<String, ?> headers) {
    Object number = headers.get(NUMBER);
    return number != null && run.equals(String.valueOf(headers.get(RUN)))
        ? Integer.parseInt(number.toString())
        : -1;
  }

  /** Returns how many were sent so far, answered or not. */
  int sent() {
    return sent;
  }

  /** Returns why a message was last not confirmed, or empty. */
  String failure() {
    return failure;
  }

  private void feed() {
    try {
      for (int number = 0; number < MOST && !stopped; number++) {
        long wait = metronome.waitNanos(System.nanoTime());
        if (wait > 0) {
          TimeUnit.NANOSECONDS.sleep(wait);
        }
        open.acquire();
        send(number);
        sent = number + 1;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      failure = String.valueOf(e.getMessage());
    }
  }

  private void send(int number) throws IOException {
    spout.send(
        "key-" + number % keys,
        Map.of(RUN, run, NUMBER, Integer.toString(number)),
        payload,
        error -> answered(number, error));
  }

  private void answered(int number, @Nullable String error) {
    if (error == null) {
      account.stored(number);
    } else {
      account.doubted(number);
      failure = error;
    }
    open.release();
  }

  /** Sends no more, and waits for the answers so far. */
  void stop() throws InterruptedException {
    stopped = true;
    thread.interrupt();
    thread.join();
    if (!open.tryAcquire(MOST_OPEN, 35, TimeUnit.SECONDS)) {
      failure = (MOST_OPEN - open.availablePermits()) + " messages have no answer";
    } else {
      open.release(MOST_OPEN);
    }
  }

  @Override
  public void close() throws IOException {
    stopped = true;
    thread.interrupt();
    spout.close();
  }
}
