package io.floatvalve.testkit;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.LongString;
import com.rabbitmq.client.impl.AMQContentHeader;
import com.rabbitmq.client.impl.AMQImpl;
import com.rabbitmq.client.impl.Frame;
import com.rabbitmq.client.impl.LongStringHelper;
import com.rabbitmq.client.impl.Method;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * An AMQP 0-9-1 server in this JVM that answers as a script tells it, for what no real broker shows
 * on demand: confirms late, out of order, in ranges or never, returns, closes, blocks.
 *
 * <p>By default it confirms every publish at once, singly and in order, and grants every
 * declaration. It keeps no messages: it routes nothing, and delivers only what {@link
 * PeerChannel#deliver} sends. It accepts any credentials and virtual host, sends heartbeats as
 * negotiated, and closes a connection that is silent for two of them. What it does not know it
 * answers by closing the connection with 540.
 *
 * <p>Thread-safe; what it is told takes effect at once, also for connections that are open. Needs
 * amqp-client on the class path, by which it encodes and decodes.
 */
public final class ScriptedAmqpPeer implements AutoCloseable {
  /** Decides what the peer does about a publish. */
  @FunctionalInterface
  public interface Script {
    /** Confirms every publish, in order; the default. */
    Script CONFIRM = (channel, publish) -> channel.ack(publish.sequence(), false);

    /** Says nothing: the test confirms by {@link PeerChannel#ack} and {@link PeerChannel#nack}. */
    Script SILENCE = (channel, publish) -> {};

    /**
     * Called for each publish once its body is complete, if the channel is in confirm mode, on the
     * thread that reads the connection: while it runs, nothing more is read. An exception closes
     * the connection with 541.
     */
    void onPublish(PeerChannel channel, Publish publish);
  }

  private static final int FRAME_MAX = 131_072;
  private static final int FRAME_OVERHEAD_BYTES = 8;
  private static final int CHANNEL_MAX = 2_047;
  private static final int HEARTBEAT_SECONDS = 60;
  private static final int PROTOCOL_HEADER_BYTES = 8;
  private static final LongString NOTHING = LongStringHelper.asLongString("");

  private final ServerSocket server;
  private final Set<Peer> connections = ConcurrentHashMap.newKeySet();
  private final Set<String> missing = ConcurrentHashMap.newKeySet();
  private final AtomicInteger accepted = new AtomicInteger();
  private final AtomicInteger named = new AtomicInteger();
  private volatile Script script = Script.CONFIRM;
  private volatile boolean closed;
  private volatile boolean refusing;
  private volatile boolean confirmsAnswered = true;
  private volatile String version = "0";
  private final AtomicInteger confirmSelects = new AtomicInteger();
  private final Object lock = new Object();
  // the rest is guarded by lock
  private final List<Publish> publishes = new ArrayList<>();
  private @Nullable PeerChannel lastPublisher;
  private @Nullable PeerChannel lastConsumer;
  private boolean reading = true;

  private ScriptedAmqpPeer() throws IOException {
    server = FreePorts.listen();
    spawn("accept", this::accept);
  }

  /**
   * Starts a peer on a free port of 127.0.0.1.
   *
   * @throws IOException if no port can be listened on
   */
  public static ScriptedAmqpPeer start() throws IOException {
    return new ScriptedAmqpPeer();
  }

  /** Returns the host to connect to: 127.0.0.1. */
  public String host() {
    return "127.0.0.1";
  }

  /** Returns the port to connect to. */
  public int port() {
    return server.getLocalPort();
  }

  /** Returns the address to connect to, with credentials. */
  public String uri() {
    return "amqp://guest:guest@" + host() + ":" + port();
  }

  /** Says what becomes of publishes from now on. Those received before are left as they are. */
  public ScriptedAmqpPeer script(Script next) {
    script = next;
    return this;
  }

  /**
   * Says that there is no queue and no exchange of this name: a passive declaration of it, and a
   * publish to an exchange of it, closes the channel with 404. Declaring it makes it exist again.
   */
  public ScriptedAmqpPeer missing(String name) {
    missing.add(name);
    return this;
  }

  /** Refuses logins from now on, with 403, or accepts them again. */
  public ScriptedAmqpPeer refuseLogins(boolean refuse) {
    refusing = refuse;
    return this;
  }

  /** Leaves {@code confirm.select} without an answer from now on, or answers it again. */
  public ScriptedAmqpPeer answerConfirmSelects(boolean answer) {
    confirmsAnswered = answer;
    return this;
  }

  /** Tells every connection that it is blocked. The peer itself goes on reading. */
  public void block(String reason) {
    connections.forEach(each -> each.tell(0, new AMQImpl.Connection.Blocked(reason)));
  }

  /** Tells every connection that it is no longer blocked. */
  public void unblock() {
    connections.forEach(each -> each.tell(0, new AMQImpl.Connection.Unblocked()));
  }

  /**
   * Stops reading from all connections, as a broker does to publishers while an alarm is on: the
   * client's writes hang once the buffers are full. Heartbeats are still sent. At most one more
   * frame per connection is read.
   */
  public void stopReading() {
    synchronized (lock) {
      reading = false;
    }
  }

  /** Reads on after {@link #stopReading}. */
  public void resumeReading() {
    synchronized (lock) {
      reading = true;
      lock.notifyAll();
    }
  }

  /** Closes every connection by {@code connection.close} with this code, as 320. */
  public void closeConnections(int replyCode, String replyText) {
    connections.forEach(each -> each.closeByProtocol(replyCode, replyText));
  }

  /** Resets every connection, without a word. */
  public void dropConnections() {
    connections.forEach(Peer::reset);
  }

  /** Returns how many connections are open. */
  public int connections() {
    return connections.size();
  }

  /** Returns how many {@code confirm.select} have come, answered or not. */
  public int confirmSelects() {
    return confirmSelects.get();
  }

  /** Returns how many channels are open on all connections. */
  public int channels() {
    return connections.stream()
        .filter(peer -> peer.open)
        .mapToInt(peer -> peer.channels.size())
        .sum();
  }

  /** Returns how many connections there have been. */
  public int accepted() {
    return accepted.get();
  }

  /** Returns the publishes received so far on all channels, confirm mode or not, in order. */
  public List<Publish> publishes() {
    synchronized (lock) {
      return List.copyOf(publishes);
    }
  }

  /** Forgets the publishes received so far; their sequences are not used again. */
  public void clear() {
    synchronized (lock) {
      publishes.clear();
    }
  }

  /**
   * Waits until that many publishes have been received, and returns them.
   *
   * @throws IllegalStateException if there are fewer when the time is over
   */
  public List<Publish> awaitPublishes(int count, Duration limit) throws InterruptedException {
    synchronized (lock) {
      await(() -> publishes.size() >= count, limit, count + " publishes");
      return List.copyOf(publishes);
    }
  }

  /**
   * Waits for a channel in confirm mode and returns it: the one that selected it last, if that is
   * still open.
   *
   * @throws IllegalStateException if there is none when the time is over
   */
  public PeerChannel awaitPublisher(Duration limit) throws InterruptedException {
    synchronized (lock) {
      await(() -> publisher().isPresent(), limit, "a channel in confirm mode");
      return publisher().orElseThrow();
    }
  }

  /**
   * Waits for a channel that consumes and returns it: the one that began last, if it is still open.
   *
   * @throws IllegalStateException if there is none when the time is over
   */
  public PeerChannel awaitConsumer(Duration limit) throws InterruptedException {
    synchronized (lock) {
      await(() -> consumer().isPresent(), limit, "a channel that consumes");
      return consumer().orElseThrow();
    }
  }

  private Optional<PeerChannel> consumer() {
    synchronized (lock) {
      return Optional.ofNullable(lastConsumer).filter(PeerChannel::isOpen);
    }
  }

  /** Says from now on that it is of this version, however long or odd that is. */
  public ScriptedAmqpPeer version(String text) {
    version = text;
    return this;
  }

  /** Resets every connection and closes the port. Closing again does nothing. */
  @Override
  public void close() {
    closed = true;
    resumeReading();
    try {
      server.close();
    } catch (IOException e) {
      // it accepts nothing any more either way
    }
    dropConnections();
  }

  private Optional<PeerChannel> publisher() {
    synchronized (lock) {
      return Optional.ofNullable(lastPublisher).filter(PeerChannel::isOpen);
    }
  }

  private interface Condition {
    boolean holds();
  }

  private void await(Condition condition, Duration limit, String what) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    synchronized (lock) {
      while (!condition.holds()) {
        long leftMillis = (deadline - System.nanoTime()) / 1_000_000;
        if (leftMillis <= 0) {
          throw new IllegalStateException(
              "waited " + limit + " for " + what + "; " + publishes.size() + " publishes so far");
        }
        lock.wait(leftMillis);
      }
    }
  }

  private void accept() {
    while (true) {
      try {
        Socket socket = server.accept();
        int number = accepted.incrementAndGet();
        Peer peer = new Peer(number, socket);
        connections.add(peer);
        if (closed) {
          peer.reset();
        }
        spawn("read-" + number, peer::read);
      } catch (IOException e) {
        return; // closed
      }
    }
  }

  private void awaitReading() throws InterruptedException {
    synchronized (lock) {
      while (!reading) {
        lock.wait();
      }
    }
  }

  private static void spawn(String name, Runnable work) {
    Thread thread = new Thread(work, "scripted-peer-" + name);
    thread.setDaemon(true);
    thread.start();
  }

  /** A message that a client published. Immutable. */
  public static final class Publish {
    private final int connection;
    private final int channel;
    private final long sequence;
    private final AMQImpl.Basic.Publish method;
    private final BasicProperties properties;
    private final byte[] body;

    private Publish(
        PeerChannel from,
        long sequence,
        AMQImpl.Basic.Publish method,
        BasicProperties properties,
        byte[] body) {
      this.connection = from.connection();
      this.channel = from.number();
      this.sequence = sequence;
      this.method = method;
      this.properties = properties;
      this.body = body;
    }

    /** Returns the number of the connection at the peer, from 1. */
    public int connection() {
      return connection;
    }

    /** Returns the number of the channel on its connection. */
    public int channel() {
      return channel;
    }

    /**
     * Returns the delivery tag that confirms it: the sequence since the channel was opened and in
     * confirm mode, from 1; 0 outside confirm mode.
     */
    public long sequence() {
      return sequence;
    }

    /** Returns the name of the exchange, empty for the default one. */
    public String exchange() {
      return method.getExchange();
    }

    /** Returns the routing key. */
    public String routingKey() {
      return method.getRoutingKey();
    }

    /** Tells whether the message was to be returned if no queue takes it. */
    public boolean mandatory() {
      return method.getMandatory();
    }

    /** Returns the properties as they were sent. */
    public BasicProperties properties() {
      return properties;
    }

    /** Returns a copy of the body. */
    public byte[] body() {
      return body.clone();
    }

    @Override
    public String toString() {
      return "Publish["
          + connection
          + "/"
          + channel
          + " #"
          + sequence
          + " "
          + exchange()
          + "/"
          + routingKey()
          + " "
          + body.length
          + " bytes]";
    }
  }

  /**
   * A channel that a client has opened, from one opening to its close. Its methods send at once, to
   * the letter, whether or not a broker would; they throw {@link IllegalStateException} when the
   * connection is gone. Thread-safe.
   */
  public static final class PeerChannel {
    private final Peer peer;
    private final int number;
    private volatile boolean open = true;
    private volatile boolean confirming;
    private volatile String consumerTag = "";
    // the rest belongs to the reading thread
    private long sequence;
    private AMQImpl.Basic.@Nullable Publish incoming;
    private @Nullable BasicProperties properties;
    private long bodySize;
    private final ByteArrayOutputStream body = new ByteArrayOutputStream();

    private PeerChannel(Peer peer, int number) {
      this.peer = peer;
      this.number = number;
    }

    /** Returns the number of the connection at the peer, from 1. */
    public int connection() {
      return peer.number;
    }

    /** Returns the number of the channel on its connection. */
    public int number() {
      return number;
    }

    /** Tells whether neither end has closed the channel or the connection. */
    public boolean isOpen() {
      return open && peer.open;
    }

    /** Tells whether the client has selected confirms. */
    public boolean confirming() {
      return confirming;
    }

    /**
     * Confirms publishes.
     *
     * @param tag the sequence; 0 with {@code multiple} means all so far
     * @param multiple whether all up to the tag are meant
     */
    public void ack(long tag, boolean multiple) {
      peer.send(number, new AMQImpl.Basic.Ack(tag, multiple));
    }

    /** Refuses publishes, with the requeue bit set as RabbitMQ sets it. */
    public void nack(long tag, boolean multiple) {
      peer.send(number, new AMQImpl.Basic.Nack(tag, multiple, true));
    }

    /** Returns a publish as it came. Does not confirm it: a broker does that after it. */
    public void giveBack(Publish publish, int replyCode, String replyText) {
      giveBack(publish, replyCode, replyText, publish.properties());
    }

    /** Returns a publish without its headers; the other properties are as they came. */
    public void giveBackWithoutHeaders(Publish publish, int replyCode, String replyText) {
      giveBack(publish, replyCode, replyText, publish.properties().builder().headers(null).build());
    }

    /** Returns a publish with other properties than it came with. */
    public void giveBack(
        Publish publish, int replyCode, String replyText, BasicProperties properties) {
      Method method =
          new AMQImpl.Basic.Return(replyCode, replyText, publish.exchange(), publish.routingKey());
      peer.send(number, method, properties, publish.body);
    }

    /** Returns the tag of the consumer that began last, empty if none has. */
    public String consumerTag() {
      return consumerTag;
    }

    /** Sends bytes that need be no frame. */
    public void raw(byte[] bytes) {
      peer.raw(bytes);
    }

    /** Delivers a message to a consumer, whose tag and prefetch are not looked at. */
    public void deliver(
        String consumerTag,
        long tag,
        boolean redelivered,
        String routingKey,
        BasicProperties properties,
        byte[] body) {
      Method method = new AMQImpl.Basic.Deliver(consumerTag, tag, redelivered, "", routingKey);
      peer.send(number, method, properties, body.clone());
    }

    /**
     * Closes the channel, as 406: what the client sends on it until it has answered is ignored, as
     * a broker does.
     */
    public void close(int replyCode, String replyText) {
      open = false;
      peer.send(number, new AMQImpl.Channel.Close(replyCode, replyText, 0, 0));
    }

    @Override
    public String toString() {
      return "PeerChannel[" + connection() + "/" + number + "]";
    }
  }

  /** One connection. */
  private final class Peer {
    /*
     * One thread reads. Any thread writes, under writeLock, which is held over the write: frames
     * must not mix, and a writer that waits for a client who does not read is what the test asked
     * for. The reading thread leaves its answers in the buffer until it would have to wait.
     */
    final int number;
    volatile boolean open = true;
    private final Socket socket;
    private final Map<Integer, PeerChannel> channels = new ConcurrentHashMap<>();
    private final Object writeLock = new Object();
    private volatile @Nullable DataOutputStream out;
    private volatile @Nullable Thread reader;
    private int frameMax = FRAME_MAX;
    private volatile boolean closing;

    Peer(int number, Socket socket) {
      this.number = number;
      this.socket = socket;
    }

    void read() {
      reader = Thread.currentThread();
      try {
        socket.setTcpNoDelay(true);
        DataInputStream in =
            new DataInputStream(new BufferedInputStream(socket.getInputStream(), 65_536));
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), 65_536));
        in.readFully(new byte[PROTOCOL_HEADER_BYTES]);
        send(0, greeting());
        boolean goOn = true;
        while (goOn) {
          if (in.available() == 0) {
            flush();
          }
          awaitReading();
          Frame frame = Frame.readFrom(in, () -> Integer.MAX_VALUE);
          goOn = frame != null && take(frame); // null: nothing came for two heartbeats
        }
        flush();
      } catch (IOException | Gone e) {
        // the client went away, or was reset
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } finally {
        end();
      }
    }

    private void end() {
      open = false;
      connections.remove(this);
      try {
        socket.close();
      } catch (IOException e) {
        // it is gone either way
      }
    }

    void reset() {
      open = false;
      try {
        socket.setSoLinger(true, 0);
      } catch (IOException e) {
        // it is gone already
      }
      end();
    }

    void send(int channel, Method method) {
      send(channel, method, null, new byte[0]);
    }

    void send(int channel, Method method, @Nullable AMQContentHeader header, byte[] body) {
      try {
        synchronized (writeLock) {
          DataOutputStream to = out;
          if (to == null || !open) {
            throw new Gone(number, null);
          }
          method.toFrame(channel).writeTo(to);
          if (header != null) {
            header.toFrame(channel, body.length).writeTo(to);
            int most = frameMax - FRAME_OVERHEAD_BYTES;
            for (int offset = 0; offset < body.length; offset += most) {
              int length = Math.min(most, body.length - offset);
              Frame.fromBodyFragment(channel, ByteBuffer.wrap(body), offset, length).writeTo(to);
            }
          }
          if (Thread.currentThread() != reader) {
            to.flush();
          }
        }
      } catch (IOException e) {
        throw new Gone(number, e);
      }
    }

    void raw(byte[] bytes) {
      try {
        synchronized (writeLock) {
          DataOutputStream to = out;
          if (to == null || !open) {
            throw new Gone(number, null);
          }
          to.write(bytes);
          to.flush();
        }
      } catch (IOException e) {
        throw new Gone(number, e);
      }
    }

    /** Sends to a connection that may be going away, or has not got so far. */
    void tell(int channel, Method method) {
      try {
        send(channel, method);
      } catch (Gone e) {
        // then there is nobody to tell
      }
    }

    void closeByProtocol(int replyCode, String replyText) {
      closing = true;
      tell(0, new AMQImpl.Connection.Close(replyCode, replyText, 0, 0));
    }

    private void flush() throws IOException {
      synchronized (writeLock) {
        DataOutputStream to = out;
        if (to != null) {
          to.flush();
        }
      }
    }

    private Method greeting() {
      Map<String, Object> capabilities = new HashMap<>();
      for (String each :
          List.of(
              "publisher_confirms",
              "basic.nack",
              "consumer_cancel_notify",
              "connection.blocked",
              "authentication_failure_close",
              "per_consumer_qos",
              "exchange_exchange_bindings")) {
        capabilities.put(each, true);
      }
      return new AMQImpl.Connection.Start(
          0,
          9,
          Map.of("product", "ScriptedAmqpPeer", "version", version, "capabilities", capabilities),
          LongStringHelper.asLongString("PLAIN AMQPLAIN"),
          LongStringHelper.asLongString("en_US"));
    }

    /** Takes a frame; false when the connection is at its end. */
    private boolean take(Frame frame) throws IOException {
      int id = frame.getChannel();
      if (frame.getType() == AMQP.FRAME_METHOD) {
        Method method = AMQImpl.readMethodFrom(frame.getInputStream());
        if (id == 0) {
          return takeForConnection(method);
        }
        if (!closing) {
          takeForChannel(id, method);
        }
      } else if (frame.getType() != AMQP.FRAME_HEARTBEAT) {
        PeerChannel channel = channels.get(id);
        if (!closing && channel != null && channel.open) {
          takeContent(channel, frame);
        }
      }
      return true;
    }

    private boolean takeForConnection(Method method) throws IOException {
      if (method instanceof AMQImpl.Connection.StartOk) {
        if (refusing) {
          closeByProtocol(403, "ACCESS_REFUSED - login was refused");
        } else {
          send(0, new AMQImpl.Connection.Tune(CHANNEL_MAX, FRAME_MAX, HEARTBEAT_SECONDS));
        }
      } else if (method instanceof AMQImpl.Connection.TuneOk tuned) {
        frameMax = tuned.getFrameMax() > 0 ? tuned.getFrameMax() : FRAME_MAX;
        if (tuned.getHeartbeat() > 0) {
          socket.setSoTimeout(2_000 * tuned.getHeartbeat());
          spawn("heartbeat-" + number, () -> beat(tuned.getHeartbeat()));
        }
      } else if (method instanceof AMQImpl.Connection.Open) {
        send(0, new AMQImpl.Connection.OpenOk(""));
      } else if (method instanceof AMQImpl.Connection.Close) {
        send(0, new AMQImpl.Connection.CloseOk());
        return false;
      } else {
        return !(method instanceof AMQImpl.Connection.CloseOk);
      }
      return true;
    }

    private void beat(int seconds) {
      try {
        while (open) {
          Thread.sleep(500L * seconds);
          synchronized (writeLock) {
            DataOutputStream to = out;
            if (to != null && open) {
              new Frame(AMQP.FRAME_HEARTBEAT, 0).writeTo(to);
              to.flush();
            }
          }
        }
      } catch (IOException e) {
        // the connection has ended
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private void takeForChannel(int id, Method method) {
      PeerChannel channel = channels.get(id);
      if (method instanceof AMQImpl.Channel.Open) {
        channels.put(id, new PeerChannel(this, id));
        send(id, new AMQImpl.Channel.OpenOk(NOTHING));
      } else if (channel == null) {
        closeByProtocol(504, "CHANNEL_ERROR - expected 'channel.open'");
      } else if (method instanceof AMQImpl.Channel.CloseOk) {
        channels.remove(id);
      } else if (method instanceof AMQImpl.Channel.Close) {
        channel.open = false;
        channels.remove(id);
        send(id, new AMQImpl.Channel.CloseOk());
      } else if (!channel.open) {
        return; // closed by us: ignored until the client answers
      } else if (method instanceof AMQImpl.Basic.Publish publish) {
        channel.incoming = publish;
        channel.properties = null;
        channel.body.reset();
      } else if (method instanceof AMQImpl.Confirm.Select select) {
        confirmSelects.incrementAndGet();
        if (!confirmsAnswered) {
          return;
        }
        channel.confirming = true;
        synchronized (lock) {
          lastPublisher = channel;
          lock.notifyAll();
        }
        answer(id, select.getNowait(), new AMQImpl.Confirm.SelectOk());
      } else {
        takeTopology(channel, method);
      }
    }

    private void takeTopology(PeerChannel channel, Method method) {
      int id = channel.number;
      if (method instanceof AMQImpl.Queue.Declare declare) {
        String name = declare.getQueue();
        if (name.isEmpty()) {
          name = "amq.gen-" + named.incrementAndGet();
        }
        if (exists(channel, "queue", name, declare.getPassive())) {
          answer(id, declare.getNowait(), new AMQImpl.Queue.DeclareOk(name, 0, 0));
        }
      } else if (method instanceof AMQImpl.Exchange.Declare declare) {
        if (exists(channel, "exchange", declare.getExchange(), declare.getPassive())) {
          answer(id, declare.getNowait(), new AMQImpl.Exchange.DeclareOk());
        }
      } else if (method instanceof AMQImpl.Queue.Bind bind) {
        answer(id, bind.getNowait(), new AMQImpl.Queue.BindOk());
      } else if (method instanceof AMQImpl.Queue.Unbind) {
        answer(id, false, new AMQImpl.Queue.UnbindOk());
      } else if (method instanceof AMQImpl.Queue.Purge purge) {
        answer(id, purge.getNowait(), new AMQImpl.Queue.PurgeOk(0));
      } else if (method instanceof AMQImpl.Queue.Delete delete) {
        answer(id, delete.getNowait(), new AMQImpl.Queue.DeleteOk(0));
      } else if (method instanceof AMQImpl.Exchange.Delete delete) {
        answer(id, delete.getNowait(), new AMQImpl.Exchange.DeleteOk());
      } else if (method instanceof AMQImpl.Exchange.Bind bind) {
        answer(id, bind.getNowait(), new AMQImpl.Exchange.BindOk());
      } else if (method instanceof AMQImpl.Exchange.Unbind unbind) {
        answer(id, unbind.getNowait(), new AMQImpl.Exchange.UnbindOk());
      } else {
        takeConsuming(channel, method);
      }
    }

    private void takeConsuming(PeerChannel channel, Method method) {
      int id = channel.number;
      if (method instanceof AMQImpl.Basic.Qos) {
        answer(id, false, new AMQImpl.Basic.QosOk());
      } else if (method instanceof AMQImpl.Basic.Consume consume) {
        String tag = consume.getConsumerTag();
        if (tag.isEmpty()) {
          tag = "amq.ctag-" + named.incrementAndGet();
        }
        if (exists(channel, "queue", consume.getQueue(), true)) {
          answer(id, consume.getNowait(), new AMQImpl.Basic.ConsumeOk(tag));
          channel.consumerTag = tag;
          synchronized (lock) {
            lastConsumer = channel;
            lock.notifyAll();
          }
        }
      } else if (method instanceof AMQImpl.Basic.Cancel cancel) {
        answer(id, cancel.getNowait(), new AMQImpl.Basic.CancelOk(cancel.getConsumerTag()));
      } else if (method instanceof AMQImpl.Basic.Get) {
        answer(id, false, new AMQImpl.Basic.GetEmpty(""));
      } else if (!(method instanceof AMQImpl.Basic.Ack
          || method instanceof AMQImpl.Basic.Nack
          || method instanceof AMQImpl.Basic.Reject)) {
        closeByProtocol(540, "NOT_IMPLEMENTED - " + method.protocolMethodName());
      }
    }

    private void answer(int channel, boolean nowait, Method method) {
      if (!nowait) {
        send(channel, method);
      }
    }

    private boolean exists(PeerChannel channel, String kind, String name, boolean passive) {
      if (!passive) {
        missing.remove(name);
        return true;
      }
      if (!missing.contains(name)) {
        return true;
      }
      channel.close(404, "NOT_FOUND - no " + kind + " '" + name + "' in vhost '/'");
      return false;
    }

    private void takeContent(PeerChannel channel, Frame frame) throws IOException {
      AMQImpl.Basic.Publish method = channel.incoming;
      if (method == null) {
        closeByProtocol(505, "UNEXPECTED_FRAME - content without a publish");
        return;
      }
      if (frame.getType() == AMQP.FRAME_HEADER) {
        AMQContentHeader header = AMQImpl.readContentHeaderFrom(frame.getInputStream());
        channel.properties = header instanceof BasicProperties basic ? basic : null;
        channel.bodySize = header.getBodySize();
      } else {
        channel.body.writeBytes(frame.getPayload());
      }
      BasicProperties properties = channel.properties;
      if (properties != null && channel.body.size() >= channel.bodySize) {
        channel.incoming = null;
        complete(channel, method, properties);
      }
    }

    private void complete(
        PeerChannel channel, AMQImpl.Basic.Publish method, BasicProperties properties) {
      String exchange = method.getExchange();
      if (!exchange.isEmpty() && !exists(channel, "exchange", exchange, true)) {
        return;
      }
      long sequence = channel.confirming ? ++channel.sequence : 0;
      Publish publish =
          new Publish(channel, sequence, method, properties, channel.body.toByteArray());
      synchronized (lock) {
        publishes.add(publish);
        lock.notifyAll();
      }
      if (channel.confirming) {
        try {
          script.onPublish(channel, publish);
        } catch (Gone e) {
          throw e;
        } catch (RuntimeException e) {
          closeByProtocol(541, "INTERNAL_ERROR - the script failed: " + e);
        }
      }
    }
  }

  /** The connection is gone. */
  private static final class Gone extends IllegalStateException {
    private static final long serialVersionUID = 1;

    Gone(int connection, @Nullable IOException cause) {
      super("connection " + connection + " of the scripted peer is gone", cause);
    }
  }
}
