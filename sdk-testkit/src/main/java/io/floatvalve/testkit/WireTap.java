package io.floatvalve.testkit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.impl.AMQImpl;
import com.rabbitmq.client.impl.Frame;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Records the AMQP 0-9-1 frames that go by a {@link FaultProxy}, in both directions, as events.
 *
 * <p>Events of one connection and direction are recorded in wire order; a frame is recorded before
 * its last byte is passed on, so that an answer follows its question. A frame of body is recorded
 * by its size alone. The oldest events are dropped once there are more than the bound; {@link
 * #dropped} counts them. Thread-safe.
 *
 * <p>Decodes by amqp-client, which must be on the class path, and understands no TLS.
 */
public final class WireTap implements FaultProxy.Tap {
  /** What kind of frame an event is. */
  public enum Kind {
    /** The eight bytes with which a client opens. */
    PROTOCOL_HEADER,
    /** A method, such as {@code basic.publish}. */
    METHOD,
    /** The properties of a message and the size of its body. */
    HEADER,
    /** A part of the body of a message. */
    BODY,
    /** A heartbeat. */
    HEARTBEAT,
    /** Bytes that are no AMQP frame: nothing of this connection and direction is decoded after. */
    UNDECODABLE
  }

  /**
   * One frame.
   *
   * @param nanoTime {@link System#nanoTime} when it went by
   * @param connection the number of the connection at the proxy, from 1
   * @param direction which way it went
   * @param kind what kind of frame it is
   * @param channel the channel's number, 0 for the connection itself
   * @param method the protocol's name of the method, as {@code basic.publish}; empty if it is none
   * @param arguments all arguments of a method by their names in the protocol with hyphens, as
   *     {@code delivery-tag}, in text; empty if it is no method. The answers to the login challenge
   *     are left out
   * @param properties the properties, of a header
   * @param size the size of the whole body for a header, of the part for a body, else of the frame,
   *     in bytes
   */
  public record Event(
      long nanoTime,
      int connection,
      Direction direction,
      Kind kind,
      int channel,
      String method,
      Map<String, String> arguments,
      Optional<BasicProperties> properties,
      long size) {
    /** Tells whether this is a method of that name, as {@code basic.ack}. */
    public boolean is(String name) {
      return kind == Kind.METHOD && method.equals(name);
    }

    /** Returns the delivery tag of a method that has one. */
    public OptionalLong deliveryTag() {
      String tag = arguments.get("delivery-tag");
      return tag == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(tag));
    }

    /** Tells whether the multiple bit is set. */
    public boolean multiple() {
      return "true".equals(arguments.get("multiple"));
    }

    /** Tells whether the requeue bit is set. */
    public boolean requeue() {
      return "true".equals(arguments.get("requeue"));
    }

    /** Returns the reply code of a return or a close. */
    public OptionalInt replyCode() {
      String code = arguments.get("reply-code");
      return code == null ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(code));
    }

    /** Describes the frame in one line, as {@code <- 1/1 basic.ack {delivery-tag=3, ...}}. */
    @Override
    public String toString() {
      StringBuilder line = new StringBuilder();
      line.append(direction == Direction.TO_BROKER ? "-> " : "<- ");
      line.append(connection).append('/').append(channel).append(' ');
      switch (kind) {
        case METHOD -> line.append(method).append(' ').append(arguments);
        case HEADER -> line.append("header size=").append(size);
        case BODY -> line.append("body size=").append(size);
        default -> line.append(kind.name().toLowerCase(Locale.ROOT).replace('_', '-'));
      }
      return line.toString();
    }
  }

  private static final int USUAL_BOUND = 100_000;

  private final int bound;
  private final Map<StreamName, Stream> streams = new ConcurrentHashMap<>();
  private final Object lock = new Object();
  // guarded by lock
  private final Deque<Event> events = new ArrayDeque<>();
  private long dropped;

  private WireTap(int bound) {
    if (bound < 1) {
      throw new IllegalArgumentException("a bound from 1 event on, not " + bound);
    }
    this.bound = bound;
  }

  /** Attaches a tap that keeps up to 100,000 events. */
  public static WireTap on(FaultProxy proxy) {
    return on(proxy, USUAL_BOUND);
  }

  /**
   * Attaches a tap. Attach it before the first connection: a stream is understood only from its
   * first byte on.
   *
   * @param bound how many events it keeps, from 1
   */
  public static WireTap on(FaultProxy proxy, int bound) {
    WireTap tap = new WireTap(bound);
    proxy.tap(tap);
    return tap;
  }

  /** Returns what was recorded and not dropped, oldest first. */
  public List<Event> events() {
    synchronized (lock) {
      return List.copyOf(events);
    }
  }

  /** Returns the events that match, oldest first. */
  public List<Event> events(Predicate<Event> which) {
    return events().stream().filter(which).toList();
  }

  /** Returns the methods of a name, as {@code basic.ack}, oldest first, both directions. */
  public List<Event> methods(String name) {
    return events(event -> event.is(name));
  }

  /** Returns how many events were dropped because there were too many. */
  public long dropped() {
    synchronized (lock) {
      return dropped;
    }
  }

  /** Forgets what was recorded so far. */
  public void clear() {
    synchronized (lock) {
      events.clear();
      dropped = 0;
    }
  }

  @Override
  public void bytes(int connection, Direction direction, ByteBuffer bytes) {
    streams
        .computeIfAbsent(new StreamName(connection, direction), Stream::new)
        .feed(bytes, this::record);
  }

  private void record(Event event) {
    synchronized (lock) {
      if (events.size() == bound) {
        events.remove();
        dropped++;
      }
      events.add(event);
    }
  }

  private record StreamName(int connection, Direction direction) {}

  private interface Sink {
    void accept(Event event);
  }

  /** Cuts the bytes of one connection and direction into frames. One thread at a time. */
  private static final class Stream {
    private static final int PROTOCOL_HEADER_BYTES = 8;
    private static final int FRAME_OVERHEAD_BYTES = 8;

    private final StreamName name;
    private byte[] pending = new byte[1024];
    private int length;
    private boolean opened;
    private boolean lost;

    Stream(StreamName name) {
      this.name = name;
      opened = name.direction() == Direction.FROM_BROKER;
    }

    synchronized void feed(ByteBuffer bytes, Sink sink) {
      if (lost) {
        return;
      }
      append(bytes);
      int start = 0;
      try {
        while (true) {
          int size = nextSize(start);
          if (size > length - start) {
            break;
          }
          sink.accept(decode(start, size));
          start += size;
        }
      } catch (IOException | RuntimeException e) {
        lost = true;
        sink.accept(event(Kind.UNDECODABLE, 0, "", Map.of(), null, length - start));
      }
      System.arraycopy(pending, start, pending, 0, length - start);
      length -= start;
    }

    private void append(ByteBuffer bytes) {
      int more = bytes.remaining();
      if (length + more > pending.length) {
        pending = Arrays.copyOf(pending, Math.max(2 * pending.length, length + more));
      }
      bytes.get(pending, length, more);
      length += more;
    }

    /** Returns the size of the next frame, or more than there is while that is not known. */
    private int nextSize(int start) throws IOException {
      if (!opened) {
        return PROTOCOL_HEADER_BYTES;
      }
      if (length - start < FRAME_OVERHEAD_BYTES) {
        return Integer.MAX_VALUE;
      }
      int type = pending[start];
      if (type != 1 && type != 2 && type != 3 && type != 8) {
        throw new IOException("a frame of type " + type);
      }
      int payload = ByteBuffer.wrap(pending, start + 3, 4).getInt();
      if (payload < 0 || payload > Integer.MAX_VALUE - FRAME_OVERHEAD_BYTES) {
        throw new IOException("a frame of " + payload + " bytes");
      }
      return payload + FRAME_OVERHEAD_BYTES;
    }

    private Event decode(int start, int size) throws IOException {
      if (!opened) {
        opened = true;
        return event(Kind.PROTOCOL_HEADER, 0, "", Map.of(), null, size);
      }
      Frame frame =
          Frame.readFrom(
              new DataInputStream(new ByteArrayInputStream(pending, start, size)),
              () -> Integer.MAX_VALUE);
      int channel = frame.getChannel();
      return switch (frame.getType()) {
        case 1 -> {
          var method = AMQImpl.readMethodFrom(frame.getInputStream());
          yield event(
              Kind.METHOD, channel, method.protocolMethodName(), AmqpText.of(method), null, size);
        }
        case 2 -> {
          var header = AMQImpl.readContentHeaderFrom(frame.getInputStream());
          var properties = header instanceof BasicProperties basic ? basic : null;
          yield event(Kind.HEADER, channel, "", Map.of(), properties, header.getBodySize());
        }
        case 3 -> event(Kind.BODY, channel, "", Map.of(), null, frame.getPayload().length);
        case 8 -> event(Kind.HEARTBEAT, channel, "", Map.of(), null, size);
        default -> throw new IOException("a frame of type " + frame.getType());
      };
    }

    private Event event(
        Kind kind,
        int channel,
        String method,
        Map<String, String> arguments,
        @Nullable BasicProperties properties,
        long size) {
      return new Event(
          System.nanoTime(),
          name.connection(),
          name.direction(),
          kind,
          channel,
          method,
          arguments,
          Optional.ofNullable(properties),
          size);
    }
  }
}
