package io.floatvalve.pulsar;

import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Changes the last byte of every third message that the broker sends. */
final class BatchCorrupter implements FaultProxy.Tap {
  private static final int MESSAGE = 9; // BaseCommand.Type.MESSAGE

  final AtomicInteger corrupted = new AtomicInteger();
  private final Map<Integer, Frame> frames = new HashMap<>(); // guarded by this
  private int messages; // guarded by this

  @Override
  public synchronized void bytes(int connection, Direction direction, ByteBuffer bytes) {
    if (direction != Direction.FROM_BROKER) {
      return;
    }
    Frame frame = frames.computeIfAbsent(connection, c -> new Frame());
    for (int i = bytes.position(); i < bytes.limit(); i++) {
      if (frame.add(bytes.get(i)) && ++messages % 3 == 0) {
        bytes.put(i, (byte) (bytes.get(i) ^ 1));
        corrupted.incrementAndGet();
      }
    }
  }

  /** Four bytes of length, four of the command's length, a tag, and the command's type. */
  private static final class Frame {
    private long length;
    private int at;
    private int type;

    /** Returns whether this byte is the last one of a message. */
    boolean add(byte next) {
      if (at < 4) {
        length = at == 0 ? next & 0xff : length << 8 | (next & 0xff);
      } else if (at == 9) {
        type = next;
      }
      at++;
      boolean last = at >= 4 && at == length + 4;
      if (last) {
        at = 0;
      }
      return last && type == MESSAGE;
    }
  }
}
