package io.floatvalve.consume;

import io.floatvalve.latency.LatencyRecorder;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.spi.ReceiveLink.Received;
import java.time.Instant;
import java.util.List;

/**
 * The latencies of a consumer, stage by stage. What begins at another machine is taken by the wall
 * clock, the rest by the monotonic one. Guarded by the reception's lock, but for {@link #snapshot}.
 */
final class ConsumeLatency {
  private static final long MOST_BETWEEN_NANOS = 1_000_000;

  private final LatencyRecorder publishedArrived = new LatencyRecorder("published-arrived");
  private final LatencyRecorder storedArrived = new LatencyRecorder("stored-arrived");
  private final LatencyRecorder arrivedStarted = new LatencyRecorder("arrived-started");
  private final LatencyRecorder startedHandled = new LatencyRecorder("started-handled");
  private final LatencyRecorder handledSettled = new LatencyRecorder("handled-settled");
  private final LatencyRecorder publishedHandled = new LatencyRecorder("published-handled");
  private final List<LatencyRecorder> all =
      List.of(
          publishedArrived,
          storedArrived,
          arrivedStarted,
          startedHandled,
          handledSettled,
          publishedHandled);
  private final List<LatencyRecorder> watched =
      List.of(publishedArrived, storedArrived, arrivedStarted, startedHandled);
  private long wallMinusNanoTime;

  ConsumeLatency() {
    lookAtTheClock();
  }

  /** Sets the wall clock that messages are measured by. Some times a second. */
  void lookAtTheClock() {
    long before = System.nanoTime();
    Instant wall = Instant.now();
    boolean prompt = System.nanoTime() - before < MOST_BETWEEN_NANOS; // else it was held up
    if (prompt || wallMinusNanoTime == 0) {
      wallMinusNanoTime = nanos(wall) - before; // rather late than before it was published
    }
  }

  private static long nanos(Instant at) {
    return at.getEpochSecond() * 1_000_000_000L + at.getNano();
  }

  /** A handler gets a message. */
  void started(Received message, long now) {
    long arrived = message.arrivedNanos();
    arrivedStarted.recordAlone(Math.max(0, now - arrived)); // now was read before it was taken
    long published = message.publishedMillis();
    if (published > 0) {
      publishedArrived.recordAlone(since(published, arrived));
    }
    long stored = message.storedMillis();
    if (stored > 0) {
      storedArrived.recordAlone(since(stored, arrived));
    }
  }

  /** A handler is through with a message. */
  void handled(Received message, long startedNanos, long now) {
    startedHandled.recordAlone(now - startedNanos);
    long published = message.publishedMillis();
    if (published > 0) {
      publishedHandled.recordAlone(since(published, now));
    }
  }

  /** What became of a message is on its way to the broker. */
  void settled(long nanosSinceHandled) {
    handledSettled.recordAlone(nanosSinceHandled);
  }

  /** Returns the time from a wall clock's to a monotonic one's; negative if the former is ahead. */
  private long since(long millis, long nanoTime) {
    return nanoTime + wallMinusNanoTime - millis * 1_000_000;
  }

  /** Returns what was recorded so far of the stages that are looked at once a second. */
  LatencySnapshot watched() {
    return LatencyRecorder.snapshot(watched);
  }

  /**
   * Returns what was recorded so far.
   *
   * @param oldestNanos the age of the oldest message that is not settled; 0 if there is none
   */
  LatencySnapshot snapshot(long oldestNanos) {
    return LatencyRecorder.snapshot(all, oldestNanos);
  }
}
