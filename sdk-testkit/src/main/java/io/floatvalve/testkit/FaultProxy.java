package io.floatvalve.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A bad network between a client and a broker: a TCP proxy on 127.0.0.1 that delays, throttles,
 * stalls, cuts and refuses, as told, at any time, and shows the bytes to taps as they go by.
 *
 * <p>Settings are per direction and hold for all connections through the proxy, present and to
 * come. Without any, bytes, the end of a stream (FIN) and a reset (RST) pass through as they are.
 * Thread-safe. No method waits for the network.
 */
public final class FaultProxy implements AutoCloseable {
  /** Which way bytes go. */
  public enum Direction {
    /** From the client to the broker. */
    TO_BROKER,
    /** From the broker to the client. */
    FROM_BROKER
  }

  /** How a connection is cut. */
  public enum Cut {
    /** At once, with a reset: a read or write at either end fails. */
    RESET,
    /** In an orderly way: either end reads the end of the stream. */
    END
  }

  /**
   * Sees bytes as they go by. Called on threads of the proxy, one at a time per connection and
   * direction, before the bytes are written on; until it returns they are not. A tap that throws is
   * removed, and the exception is rethrown by {@link FaultProxy#close}.
   */
  public interface Tap {
    /**
     * Called with the next bytes of a connection in one direction.
     *
     * @param connection the number of the connection, from 1 in the order they were accepted
     * @param bytes to be read before this returns, not kept
     */
    void bytes(int connection, Direction direction, ByteBuffer bytes);
  }

  static final int SOCKET_BUFFER_BYTES = 64 * 1024;

  private static final int CHUNK_BYTES = 16 * 1024;
  private static final int STILL_LIMIT_BYTES = 64 * 1024;
  private static final int DELAYED_LIMIT_BYTES = 32 * 1024 * 1024;
  private static final int CONNECT_MILLIS = 5_000;
  private static final int SLICES_PER_SECOND = 50;

  private final InetSocketAddress target;
  private final int port;
  private final Map<Direction, Way> ways = new EnumMap<>(Direction.class);
  private final Set<Link> links = ConcurrentHashMap.newKeySet();
  // cut in an orderly way; the peers have not closed yet
  private final Set<Link> ending = ConcurrentHashMap.newKeySet();
  private final List<Tap> taps = new CopyOnWriteArrayList<>();
  private final AtomicInteger accepted = new AtomicInteger();
  private final Object lock = new Object();
  // guarded by lock; null while connections are refused
  private @Nullable ServerSocket server;
  private volatile boolean closed;
  private volatile @Nullable RuntimeException tapFailure;

  private FaultProxy(InetSocketAddress target, ServerSocket socket) {
    this.target = target;
    for (Direction direction : Direction.values()) {
      ways.put(direction, new Way());
    }
    port = socket.getLocalPort();
    listenOn(socket);
  }

  /**
   * Opens a proxy before a broker. The broker is connected to once per connection accepted; if that
   * fails, the client's is reset.
   *
   * @throws IOException if no port can be listened on
   */
  public static FaultProxy to(String host, int port) throws IOException {
    return new FaultProxy(new InetSocketAddress(host, port), FreePorts.listen());
  }

  /** Opens a proxy before a broker on 127.0.0.1 that tells clients the proxy's port. */
  static FaultProxy announced(int port, int proxyPort) throws IOException {
    return new FaultProxy(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), port), FreePorts.listen(proxyPort));
  }

  /** Returns the host to connect to: 127.0.0.1. */
  public String host() {
    return "127.0.0.1";
  }

  /** Returns the port to connect to. */
  public int port() {
    return port;
  }

  /** Returns how many connections are open through the proxy now. */
  public int connections() {
    return links.size();
  }

  /** Returns how many connections the proxy has accepted in its life. */
  public int accepted() {
    return accepted.get();
  }

  /** Adds a tap, which sees the bytes from now on. */
  public FaultProxy tap(Tap tap) {
    taps.add(tap);
    return this;
  }

  /**
   * Delays bytes. The delay is pipelined: it adds to the time under way and takes nothing from the
   * throughput, up to 32 MiB under way. A change holds for the bytes under way as well.
   *
   * @param delay zero for none
   */
  public FaultProxy delay(Direction direction, Duration delay) {
    if (delay.isNegative()) {
      throw new IllegalArgumentException("a delay from zero on, not " + delay);
    }
    way(direction).delayNanos = delay.toNanos();
    wakeAll();
    return this;
  }

  /** Limits what each connection moves, in slices of a fiftieth of a second. */
  public FaultProxy rate(Direction direction, long bytesPerSecond) {
    if (bytesPerSecond < 1) {
      throw new IllegalArgumentException("a rate from 1 byte/s on, not " + bytesPerSecond);
    }
    way(direction).bytesPerSecond = bytesPerSecond;
    wakeAll();
    return this;
  }

  /** Takes a limit set by {@link #rate} off. */
  public FaultProxy unlimited(Direction direction) {
    return rate(direction, Long.MAX_VALUE);
  }

  /**
   * Stops moving bytes, and ends of streams, while connections stay open: a network that has died
   * without a word. The proxy stops reading as well, so that the sender's writes block once the
   * buffers are full: some 200 KiB here, and what the sender's system buffers by itself. A slice
   * being written at this moment may still pass.
   */
  public FaultProxy stall(Direction direction) {
    way(direction).stalled = true;
    wakeAll();
    return this;
  }

  /** Stalls both directions. */
  public FaultProxy stall() {
    return stall(Direction.TO_BROKER).stall(Direction.FROM_BROKER);
  }

  /** Lets bytes move again; none has been lost. */
  public FaultProxy unstall(Direction direction) {
    way(direction).stalled = false;
    wakeAll();
    return this;
  }

  /** Lets bytes move again in both directions. */
  public FaultProxy unstall() {
    return unstall(Direction.TO_BROKER).unstall(Direction.FROM_BROKER);
  }

  /**
   * Cuts every connection now, stalled or not; bytes under way are lost. New ones are accepted as
   * before.
   *
   * @return how many there were
   */
  public int cut(Cut how) {
    int count = 0;
    for (Link link : List.copyOf(links)) {
      if (links.remove(link)) {
        if (how == Cut.END) {
          ending.add(link);
        }
        link.cut(how);
        count++;
      }
    }
    return count;
  }

  /**
   * Resets the client's end of every connection, and leaves the broker's end open and silent until
   * the broker ends it: a client that went away without the broker's hearing of it. New connections
   * are accepted as before.
   *
   * @return how many there were
   */
  public int abandon() {
    int count = 0;
    for (Link link : List.copyOf(links)) {
      if (links.remove(link)) {
        ending.add(link);
        link.abandon();
        count++;
      }
    }
    return count;
  }

  /**
   * Refuses new connections, as a machine does where nothing listens on the port, until {@link
   * #accept}; in a moment, when the system has closed the listener. Open ones go on.
   */
  public FaultProxy refuse() {
    synchronized (lock) {
      ServerSocket socket = server;
      if (socket != null) {
        server = null;
        closeQuietly(socket);
      }
    }
    return this;
  }

  /**
   * Accepts connections again after {@link #refuse}, on the same port.
   *
   * @throws IOException if another process has taken the port meanwhile
   */
  public FaultProxy accept() throws IOException {
    synchronized (lock) {
      if (server == null && !closed) {
        listenOn(FreePorts.listen(port));
      }
    }
    return this;
  }

  /**
   * Closes the listener and resets every connection. Closing again does nothing.
   *
   * @throws RuntimeException what a tap threw first, if one did
   */
  @Override
  public void close() {
    closed = true;
    refuse();
    cut(Cut.RESET);
    ending.forEach(link -> link.cut(Cut.RESET));
    ending.clear();
    RuntimeException failure = tapFailure;
    tapFailure = null;
    if (failure != null) {
      throw failure;
    }
  }

  private Way way(Direction direction) {
    Way way = ways.get(direction);
    if (way == null) {
      throw new AssertionError(direction);
    }
    return way;
  }

  private void wakeAll() {
    links.forEach(Link::wake);
  }

  private void listenOn(ServerSocket socket) {
    synchronized (lock) {
      server = socket;
    }
    spawn("accept", () -> acceptFrom(socket));
  }

  private void acceptFrom(ServerSocket socket) {
    while (true) {
      Socket client;
      try {
        client = socket.accept();
      } catch (IOException e) {
        return; // the listener was closed
      }
      int number = accepted.incrementAndGet();
      spawn("connect-" + number, () -> open(number, client));
    }
  }

  private void open(int number, Socket client) {
    Socket broker = new Socket();
    Link link = new Link(number, client, broker);
    links.add(link);
    try {
      client.setTcpNoDelay(true);
      client.setSendBufferSize(SOCKET_BUFFER_BYTES);
      broker.setReceiveBufferSize(SOCKET_BUFFER_BYTES);
      broker.setSendBufferSize(SOCKET_BUFFER_BYTES);
      broker.setTcpNoDelay(true);
      broker.connect(target, CONNECT_MILLIS);
      if (!closed) {
        link.start();
        return;
      }
    } catch (IOException e) {
      // nothing answers there: the client learns it by the reset
    }
    links.remove(link);
    link.cut(Cut.RESET);
  }

  private void show(int connection, Direction direction, ByteBuffer bytes) {
    for (Tap tap : taps) {
      try {
        tap.bytes(connection, direction, bytes.slice());
      } catch (RuntimeException e) {
        dismiss(tap, e);
      }
    }
  }

  private void dismiss(Tap tap, RuntimeException failure) {
    taps.remove(tap);
    if (tapFailure == null) {
      tapFailure = failure;
    }
  }

  private static void spawn(String name, Runnable work) {
    Thread thread = new Thread(work, "fault-proxy-" + name);
    thread.setDaemon(true);
    thread.start();
  }

  private static void closeQuietly(AutoCloseable socket) {
    try {
      socket.close();
    } catch (Exception e) {
      // it is gone either way
    }
  }

  /** What holds for one direction of all connections. */
  private static final class Way {
    volatile long delayNanos;
    volatile long bytesPerSecond = Long.MAX_VALUE;
    volatile boolean stalled;
  }

  /** One connection: two flows, which end together. */
  private final class Link {
    final int number;
    final Socket client;
    final Socket broker;
    final Flow up;
    final Flow down;
    private final AtomicInteger flowing = new AtomicInteger(2);

    Link(int number, Socket client, Socket broker) {
      this.number = number;
      this.client = client;
      this.broker = broker;
      this.up = new Flow(this, Direction.TO_BROKER, client, broker);
      this.down = new Flow(this, Direction.FROM_BROKER, broker, client);
    }

    void start() {
      for (Flow flow : List.of(up, down)) {
        spawn(number + "-" + flow.direction + "-read", flow::read);
        spawn(number + "-" + flow.direction + "-write", flow::write);
      }
    }

    void wake() {
      up.wake();
      down.wake();
    }

    void cut(Cut how) {
      up.cut();
      down.cut();
      for (Socket socket : List.of(client, broker)) {
        try {
          if (how == Cut.RESET || !socket.isConnected()) {
            socket.setSoLinger(true, 0);
            socket.close();
          } else {
            socket.shutdownOutput(); // closing with unread bytes would send a reset instead
          }
        } catch (IOException e) {
          closeQuietly(socket);
        }
      }
    }

    void abandon() {
      up.cut();
      down.cut();
      try {
        client.setSoLinger(true, 0);
        client.close();
      } catch (IOException e) {
        closeQuietly(client);
      }
    }

    /** Called when either end reset its connection, or went away with bytes unread. */
    void broken() {
      links.remove(this);
      cut(Cut.RESET);
    }

    /** Called when a peer has ended its stream, or broken it, after the connection was cut. */
    void peerGone(Socket peer) {
      closeQuietly(peer);
      if (client.isClosed() && broker.isClosed()) {
        ending.remove(this);
      }
    }

    /** Called when a flow has passed on the end of its stream. */
    void flowEnded() {
      if (flowing.decrementAndGet() == 0) {
        links.remove(this);
        closeQuietly(client);
        closeQuietly(broker);
      }
    }
  }

  /** What was read at once, and when. */
  private static final class Chunk {
    final byte[] bytes;
    final long readNanos;

    Chunk(byte[] bytes, long readNanos) {
      this.bytes = bytes;
      this.readNanos = readNanos;
    }
  }

  /**
   * One direction of one connection: a thread that reads and a thread that writes, with a bounded
   * line of chunks between them.
   */
  private final class Flow {
    /*
     * The line is short, so that a receiver who does not read is felt by the sender; only a delay
     * makes it long, because what is under way must lie somewhere. While stalled the reader does
     * not even fill the short line. No lock is held while reading or writing, and closing the
     * sockets ends both, so that cutting never waits for a blocked peer.
     */
    final Direction direction;
    private final Link link;
    private final Socket from;
    private final Socket to;
    private final Way way;
    private final ReentrantLock flowLock = new ReentrantLock();
    private final Condition changed = flowLock.newCondition();
    // the rest is guarded by flowLock
    private final Deque<Chunk> line = new ArrayDeque<>();
    private long lineBytes;
    private boolean streamEnded;
    private boolean cut;

    Flow(Link link, Direction direction, Socket from, Socket to) {
      this.link = link;
      this.direction = direction;
      this.from = from;
      this.to = to;
      this.way = way(direction);
    }

    void wake() {
      flowLock.lock();
      try {
        changed.signalAll();
      } finally {
        flowLock.unlock();
      }
    }

    void cut() {
      flowLock.lock();
      try {
        cut = true;
        line.clear();
        changed.signalAll();
      } finally {
        flowLock.unlock();
      }
    }

    void read() {
      byte[] buffer = new byte[CHUNK_BYTES];
      try {
        InputStream in = from.getInputStream();
        for (int count; (count = in.read(buffer)) > 0; ) {
          put(new Chunk(Arrays.copyOf(buffer, count), System.nanoTime()));
        }
        end();
      } catch (IOException | InterruptedException e) {
        if (awaitUnstalled()) {
          link.broken();
        }
      }
      if (isCut()) {
        link.peerGone(from);
      }
    }

    private void put(Chunk chunk) throws InterruptedException {
      flowLock.lock();
      try {
        while (!cut && (way.stalled || lineBytes >= limitBytes())) {
          changed.await();
        }
        if (!cut) {
          line.add(chunk);
          lineBytes += chunk.bytes.length;
          changed.signalAll();
        }
      } finally {
        flowLock.unlock();
      }
    }

    private int limitBytes() {
      return way.delayNanos == 0 ? STILL_LIMIT_BYTES : DELAYED_LIMIT_BYTES;
    }

    private void end() {
      flowLock.lock();
      try {
        streamEnded = true;
        changed.signalAll();
      } finally {
        flowLock.unlock();
      }
    }

    private boolean isCut() {
      flowLock.lock();
      try {
        return cut;
      } finally {
        flowLock.unlock();
      }
    }

    void write() {
      try {
        OutputStream out = to.getOutputStream();
        Pace pace = new Pace();
        for (Chunk chunk; (chunk = awaitDue()) != null; ) {
          for (int offset = 0; offset < chunk.bytes.length; ) {
            int length = awaitSlice(pace, chunk.bytes.length - offset);
            if (length == 0) {
              return; // cut
            }
            show(link.number, direction, ByteBuffer.wrap(chunk.bytes, offset, length));
            out.write(chunk.bytes, offset, length);
            offset += length;
          }
        }
        if (awaitUnstalled()) {
          to.shutdownOutput();
          link.flowEnded();
        }
      } catch (IOException | InterruptedException e) {
        if (!isCut()) {
          link.broken();
        }
      }
    }

    /** Waits for a chunk whose time has come; null at the end of the stream or when cut. */
    private @Nullable Chunk awaitDue() throws InterruptedException {
      flowLock.lock();
      try {
        while (!cut) {
          Chunk head = line.peek();
          if (head == null) {
            if (streamEnded) {
              return null;
            }
            changed.await();
            continue;
          }
          long waitNanos = head.readNanos + way.delayNanos - System.nanoTime();
          if (waitNanos <= 0) {
            line.remove();
            lineBytes -= head.bytes.length;
            changed.signalAll();
            return head;
          }
          changed.awaitNanos(waitNanos);
        }
        return null;
      } finally {
        flowLock.unlock();
      }
    }

    /** Waits until bytes may move and returns how many; 0 when cut. */
    private int awaitSlice(Pace pace, int wanted) throws InterruptedException {
      flowLock.lock();
      try {
        while (!cut) {
          long waitNanos = pace.waitNanos(way.bytesPerSecond, System.nanoTime());
          if (way.stalled) {
            changed.await();
          } else if (waitNanos > 0) {
            changed.awaitNanos(waitNanos);
          } else {
            return pace.take(way.bytesPerSecond, wanted, System.nanoTime());
          }
        }
        return 0;
      } finally {
        flowLock.unlock();
      }
    }

    /** Waits until the end of a stream may pass; false when cut. */
    private boolean awaitUnstalled() {
      flowLock.lock();
      try {
        while (!cut && way.stalled) {
          changed.awaitUninterruptibly();
        }
        return !cut;
      } finally {
        flowLock.unlock();
      }
    }
  }

  /** The pace of one flow: when the bytes that went by have been paid for in time. */
  private static final class Pace {
    private long owedBytes;
    private long sinceNanos;

    /** Returns how long to wait for the next slice at this rate, which may have changed. */
    long waitNanos(long bytesPerSecond, long nowNanos) {
      if (bytesPerSecond == Long.MAX_VALUE || owedBytes == 0) {
        return 0;
      }
      double seconds = (double) owedBytes / bytesPerSecond;
      return (long) (seconds * 1e9) - (nowNanos - sinceNanos);
    }

    /** Takes a slice, to be paid for before the next. */
    int take(long bytesPerSecond, int wanted, long nowNanos) {
      int slice = (int) Math.min(wanted, Math.max(1, bytesPerSecond / SLICES_PER_SECOND));
      owedBytes = slice;
      sinceNanos = nowNanos;
      return slice;
    }
  }
}
