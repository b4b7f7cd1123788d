package io.floatvalve.testkit;

import io.floatvalve.testkit.FaultProxy.Direction;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Records the commands of Pulsar's protocol that go through a {@link FaultProxy}.
 *
 * <p>Add it before the first connection: it has to see each from its first byte. It keeps what it
 * saw until {@link #clear}. Needs pulsar-client on the class path, and connections without TLS.
 * Thread-safe.
 */
public final class PulsarTap implements FaultProxy.Tap {
  private final List<PulsarFrame> frames = new CopyOnWriteArrayList<>();
  private final Map<Stream, PulsarFrames> streams = new ConcurrentHashMap<>();

  private record Stream(int connection, Direction direction) {}

  @Override
  public void bytes(int connection, Direction direction, ByteBuffer bytes) {
    streams
        .computeIfAbsent(
            new Stream(connection, direction), s -> new PulsarFrames(connection, direction))
        .read(bytes, System.nanoTime(), frames::add);
  }

  /** Returns the commands seen so far; those of one connection and direction are in order. */
  public List<PulsarFrame> frames() {
    return List.copyOf(frames);
  }

  /** Returns the commands of one type seen so far, in the order of {@link #frames()}. */
  public <F extends PulsarFrame> List<F> frames(Class<F> type) {
    return frames.stream().filter(type::isInstance).map(type::cast).toList();
  }

  /** Returns the permits that consumers have granted on all connections together so far. */
  public long permitsGranted() {
    return frames(PulsarFrame.Flow.class).stream().mapToLong(PulsarFrame.Flow::permits).sum();
  }

  /** Returns how many messages, batches counted by their content, the broker has sent so far. */
  public long messagesSent() {
    return frames(PulsarFrame.Message.class).stream()
        .mapToLong(PulsarFrame.Message::messages)
        .sum();
  }

  /** Forgets the commands seen so far. */
  public void clear() {
    frames.clear();
  }
}
