package io.floatvalve.rabbit;

import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.BlockedListener;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Consumer;
import com.rabbitmq.client.ExceptionHandler;
import com.rabbitmq.client.TopologyRecoveryException;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.SocketFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection, the socket under it, and the links that share it. Never mended: once gone, gone.
 */
final class Trunk {
  private static final Logger LOG = LoggerFactory.getLogger(Trunk.class);

  /** A way that runs over it, and what it is told. Neither blocks nor throws. */
  interface Link {
    /** The broker reads no more from the connection. */
    void blocked(String reason);

    /** The broker reads again. */
    void unblocked();
  }

  private static final int MOST_SHOWN = 60;

  private final Connection connection;
  private final Wire wire;
  private final Endpoint endpoint;
  private final List<Link> links = new CopyOnWriteArrayList<>(); // changed under lock
  private final Object lock = new Object();
  private @Nullable String blocked; // guarded by lock: why, or null
  private @Nullable AckWriter acks; // guarded by lock

  private Trunk(Connection connection, Wire wire, Endpoint endpoint) {
    this.connection = connection;
    this.wire = wire;
    this.endpoint = endpoint;
    connection.addBlockedListener(
        new BlockedListener() {
          @Override
          public void handleBlocked(@Nullable String reason) {
            tellBlocked(reason == null ? "" : reason);
          }

          @Override
          public void handleUnblocked() {
            tellUnblocked();
          }
        });
  }

  /**
   * Connects to one endpoint. Waits for TCP, TLS and the broker.
   *
   * @param wire not connected yet; whoever cuts it meanwhile ends this
   */
  static Trunk connect(
      RabbitBroker.Settings settings,
      RabbitBroker.Credentials credentials,
      Endpoint endpoint,
      String name,
      Wire wire)
      throws IOException, TimeoutException {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setAutomaticRecoveryEnabled(false);
    factory.setTopologyRecoveryEnabled(false);
    factory.setUsername(credentials.username());
    factory.setPassword(credentials.password());
    factory.setVirtualHost(settings.virtualHost());
    factory.setConnectionTimeout((int) settings.connectTimeout().toMillis());
    factory.setChannelRpcTimeout((int) settings.rpcTimeout().toMillis());
    factory.setHandshakeTimeout((int) settings.rpcTimeout().toMillis() * 2); // halved for each step
    factory.setRequestedHeartbeat((int) settings.heartbeat().toSeconds());
    factory.setMaxInboundMessageBodySize(settings.maxInboundBytes()); // and of each frame
    factory.setThreadFactory(Threads::daemon);
    factory.setExceptionHandler(new Onlooker(wire));
    factory.setSocketFactory(new Given(wire));
    AddressResolver only =
        () -> List.of(new com.rabbitmq.client.Address(endpoint.host(), endpoint.port()));
    return new Trunk(factory.newConnection(new OnReader(), only, name), wire, endpoint);
  }

  Connection connection() {
    return connection;
  }

  Wire wire() {
    return wire;
  }

  boolean isUsable() {
    return connection.isOpen() && !wire.isClosed();
  }

  /** Tells a link from here on what concerns the whole connection; at once if it is blocked. */
  void join(Link link) {
    synchronized (lock) {
      links.add(link);
      if (blocked != null) {
        link.blocked(blocked);
      }
    }
  }

  /** Tells a link no more. */
  void leave(Link link) {
    synchronized (lock) {
      links.remove(link);
    }
  }

  /**
   * Takes back a link that could not be opened in time. A connection that does not answer, without
   * being blocked, and that nobody else uses is given up, so that the next link finds another.
   */
  void leaveUnanswered(Link link) {
    boolean useless;
    synchronized (lock) {
      links.remove(link);
      useless = links.isEmpty() && blocked == null;
    }
    if (useless) {
      wire.cut();
    }
  }

  /** Returns why the broker reads no more from this connection, or null if it reads. */
  @Nullable String blocked() {
    synchronized (lock) {
      return blocked;
    }
  }

  private void tellBlocked(String reason) {
    synchronized (lock) {
      blocked = reason;
      links.forEach(link -> link.blocked(reason));
    }
  }

  private void tellUnblocked() {
    synchronized (lock) {
      blocked = null;
      links.forEach(Link::unblocked);
    }
  }

  /** Closes in order; what has not happened when the timeout is over is cut. */
  void close(Duration timeout) {
    int millis = (int) Math.min(Math.max(1, timeout.toMillis()), Integer.MAX_VALUE);
    Thread closer = Threads.start("floatvalve-rabbit-close", () -> abort(millis));
    if (!Threads.join(closer, timeout)) {
      wire.cut();
    }
  }

  private void abort(int millis) {
    try {
      connection.abort(millis);
    } catch (RuntimeException e) {
      LOG.debug("closing {} failed", this, e);
    }
  }

  /** Closes a channel, and waits for the broker; failures do not matter any more. */
  static void abort(Channel channel) {
    try {
      channel.abort();
    } catch (IOException | RuntimeException e) {
      LOG.debug("closing {} failed", channel, e);
    }
  }

  /** Returns what it is and where, such as {@code RabbitMQ 3.10.8 at localhost:5672}. */
  @Override
  public String toString() {
    Object product = connection.getServerProperties().getOrDefault("product", "RabbitMQ");
    Object version = connection.getServerProperties().get("version");
    return shown(product) + (version == null ? "" : " " + shown(version)) + " at " + endpoint;
  }

  /** What a peer says of itself may be anything: little of it is enough. */
  private static String shown(Object said) {
    String text = said.toString();
    String some = text.substring(0, Math.min(text.length(), MOST_SHOWN));
    return Failures.printable(some);
  }

  /**
   * Returns what tells the broker the ends of deliveries on this connection; it has a thread from
   * the first call on, which ends with the connection.
   */
  AckWriter acks() throws IOException {
    AckWriter fresh;
    synchronized (lock) {
      if (acks != null) {
        return acks;
      }
      fresh = new AckWriter(wire.output());
      acks = fresh;
    }
    connection.addShutdownListener(signal -> fresh.end());
    Threads.start("floatvalve-rabbit-acks", fresh);
    return fresh;
  }

  /**
   * Has the client call its consumers on the thread that reads, without a hand-over: ours put what
   * they are given into a queue, and never block. The client's own pool would stop that thread as
   * soon as a thousand deliveries of one channel waited for it.
   */
  private static final class OnReader extends AbstractExecutorService {
    @Override
    public void execute(Runnable task) {
      task.run();
    }

    @Override
    public void shutdown() {}

    @Override
    public List<Runnable> shutdownNow() {
      return List.of();
    }

    @Override
    public boolean isShutdown() {
      return false;
    }

    @Override
    public boolean isTerminated() {
      return false;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
      return true;
    }
  }

  /** Gives the client the one socket that was made for it. */
  private static final class Given extends SocketFactory {
    private final Wire wire;

    Given(Wire wire) {
      this.wire = wire;
    }

    @Override
    public Socket createSocket() {
      return wire;
    }

    @Override
    public Socket createSocket(String host, int port) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(
        String host, int port, java.net.InetAddress localHost, int localPort) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(java.net.InetAddress host, int port) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(
        java.net.InetAddress address, int port, java.net.InetAddress localAddress, int localPort) {
      throw new UnsupportedOperationException();
    }
  }

  /** Hears of failures, and closes nothing in return: the links are told by the shutdown. */
  private static final class Onlooker implements ExceptionHandler {
    private final Wire wire;

    Onlooker(Wire wire) {
      this.wire = wire;
    }

    @Override
    public void handleUnexpectedConnectionDriverException(Connection connection, Throwable e) {
      /*
       * The client is about to shut its channels down, for which it takes the lock of each: a lock
       * that a sender holds while its write hangs. Only the cut ends that write.
       */
      wire.cut();
      LOG.debug("connection to port {} failed", connection.getPort(), e);
    }

    @Override
    public void handleReturnListenerException(Channel channel, Throwable e) {
      unexpected("return", e);
    }

    @Override
    public void handleConfirmListenerException(Channel channel, Throwable e) {
      unexpected("confirm", e);
    }

    @Override
    public void handleBlockedListenerException(Connection connection, Throwable e) {
      unexpected("blocked", e);
    }

    @Override
    public void handleConsumerException(
        Channel channel, Throwable e, Consumer consumer, String tag, String method) {
      unexpected("consumer", e);
    }

    @Override
    public void handleConnectionRecoveryException(Connection connection, Throwable e) {
      unexpected("recovery", e);
    }

    @Override
    public void handleChannelRecoveryException(Channel channel, Throwable e) {
      unexpected("recovery", e);
    }

    @Override
    public void handleTopologyRecoveryException(
        Connection connection, Channel channel, TopologyRecoveryException e) {
      unexpected("recovery", e);
    }

    private static void unexpected(String what, Throwable e) {
      LOG.error("the {} callback failed", what, e);
    }
  }
}
