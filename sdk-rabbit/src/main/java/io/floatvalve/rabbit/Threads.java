package io.floatvalve.rabbit;

import java.time.Duration;

/** Daemon threads for what may hang. */
final class Threads {
  private Threads() {}

  static Thread start(String name, Runnable work) {
    Thread thread = daemon(work);
    thread.setName(name);
    thread.start();
    return thread;
  }

  /** The client's threads; it names them. None keeps an application alive. */
  static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "floatvalve-rabbit");
    thread.setDaemon(true);
    return thread;
  }

  /** Waits for a thread to end; false if it has not, also when interrupted. */
  static boolean join(Thread thread, Duration timeout) {
    long millis = timeout.toMillis();
    if (millis > 0) { // 0 would mean for ever
      try {
        thread.join(millis);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    return !thread.isAlive();
  }
}
