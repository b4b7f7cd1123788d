package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.ShutdownSignalException;
import io.floatvalve.model.Ordering;
import io.floatvalve.rabbit.Unsettled.Words;
import io.floatvalve.spi.Broker.ReceiveRequest;
import io.floatvalve.spi.ReceiveLink;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A channel with a consumer on it. What it delivered waits here until the engine takes it. */
final class RabbitReceiveLink implements ReceiveLink, AckWriter.Teller {
  /*
   * `lock` guards what arrived, what waits and what is settled. It is held for memory work only:
   * never over a call of the client, and never over one of the listener's. The client's reader puts
   * deliveries in, the engine takes them, any thread settles, and the writer of the connection
   * collects what is to be told and then writes it without the lock.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RabbitReceiveLink.class);
  private static final long ACK_DELAY_NANOS = 20_000_000L;
  private static final Duration PATIENCE = Duration.ofMillis(500);

  private final Trunk trunk;
  private final Channel channel;
  private final Herald herald;
  private final ReceiveRequest request;
  private final AckWriter acks;
  private final Traits traits;
  private final String queue;
  private final Feed stray; // for what comes by a tag that the client no longer knows

  private final Object lock = new Object();
  private final Unsettled unsettled = new Unsettled(); // guarded by lock
  private final ArrayDeque<Taken> waiting = new ArrayDeque<>(); // guarded by lock
  private long waitingBytes; // guarded by lock
  private long received; // guarded by lock
  private boolean armed; // guarded by lock: poll found nothing
  private boolean hurry; // guarded by lock: all that is settled is to be told now
  private boolean writing; // guarded by lock: collected and not yet written
  private boolean stopped; // guarded by lock
  private boolean gone; // guarded by lock
  private @Nullable Feed feed; // guarded by lock
  private int permits; // guarded by lock; 0 before the first window
  private int batch = 1; // guarded by lock

  private volatile int waitingNow;
  private volatile long dueNanos = AckWriter.NEVER; // written under lock
  private final Words words = new Words(); // the writer's

  RabbitReceiveLink(Trunk trunk, Channel channel, Herald herald, ReceiveRequest request)
      throws IOException {
    this.trunk = trunk;
    this.channel = channel;
    this.herald = herald;
    this.request = request;
    this.queue = request.addresses().get(0).name();
    // A quorum queue without a delivery limit puts at its end what is given back singly, and at its
    // head, in order, what comes back by the end of the channel.
    boolean ordered = request.ordering() != Ordering.NONE;
    this.traits = new Traits(false, Duration.ofMillis(500), 0.25, !ordered, false, false, "");
    this.stray = new Feed(this, "", 0);
    this.acks = trunk.acks();
    acks.add(this);
    channel.setDefaultConsumer(stray);
    channel.addShutdownListener(this::shutDown); // calls at once if that has happened
  }

  String where() {
    return "queue '" + queue + "'";
  }

  @Override
  public Traits traits() {
    return traits;
  }

  // What comes

  /** On the client's reader. */
  void arrived(Feed by, Envelope envelope, BasicProperties properties, byte[] body) {
    Taken taken = new Taken(this, by.source(), envelope, properties, body, System.nanoTime());
    boolean wake;
    synchronized (lock) {
      if (gone) {
        return; // the broker delivers it again
      }
      unsettled.arrived(taken);
      waiting.add(taken);
      waitingBytes += body.length;
      waitingNow = waiting.size();
      received++;
      wake = armed;
      armed = false;
    }
    if (wake) {
      herald.available();
    }
  }

  @Override
  public @Nullable Received poll() {
    synchronized (lock) {
      Taken next = waiting.poll();
      if (next == null) {
        armed = true;
        hurryIfStarved();
        return null;
      }
      waitingBytes -= next.size();
      waitingNow = waiting.size();
      return next;
    }
  }

  @Override
  public int waiting() {
    return waitingNow;
  }

  /** Tells at once what is settled if the broker may hardly send any more for want of it. */
  private void hurryIfStarved() {
    int unsent = unsettled.unsent();
    if (unsent > 0 && !hurry && 2 * (capacity() - unsettled.outstanding()) < permits) {
      hurry = true;
      due(0);
    }
  }

  private int capacity() {
    Feed now = feed;
    return now == null ? 0 : now.prefetch();
  }

  @Override
  public Observation observe() {
    synchronized (lock) {
      int capacity = capacity();
      int slots = request.slots() + batch;
      int outstanding = capacity - unsettled.outstanding();
      int window = capacity == 0 ? 0 : Math.max(1, capacity - slots);
      return new Observation(
          !gone,
          window,
          waiting.size(),
          waitingBytes,
          outstanding,
          window - outstanding - waiting.size(),
          received,
          0,
          -1);
    }
  }

  // Asking for more

  @Override
  public void window(int permits, int parked) {
    Feed first;
    synchronized (lock) {
      if (gone || stopped || this.permits != 0) {
        return;
      }
      this.permits = permits;
      this.batch = batch(permits);
      first = new Feed(this, tag(1), prefetch());
      feed = first;
    }
    Threads.start("floatvalve-rabbit-consume", () -> consume(first));
  }

  private String tag(int number) {
    return "floatvalve-" + request.epoch() + "-" + number;
  }

  /** Returns how many acknowledgements may be kept back to be told by one word. */
  private int batch(int permits) {
    int most = Math.max(32, Math.min(256, 4 * request.slots()));
    return Math.max(1, Math.min(most, (permits + request.slots()) / 5));
  }

  private int prefetch() {
    return Math.min(0xFFFF, permits + request.slots() + batch);
  }

  private void consume(Feed first) {
    try {
      channel.basicQos(first.prefetch(), false);
      channel.basicConsume(queue, false, first.tag(), false, false, null, first);
    } catch (IOException | RuntimeException e) {
      lose(false, Failures.detail(e));
    }
  }

  // Settling

  @Override
  public boolean ack(Received message) {
    Taken taken = (Taken) message;
    synchronized (lock) {
      if (gone) {
        return false;
      }
      if (unsettled.ack(taken)) {
        boolean enough = unsettled.run() >= batch || unsettled.unsent() >= 2 * batch;
        due(enough ? 0 : ACK_DELAY_NANOS);
      }
    }
    return true;
  }

  @Override
  public boolean reject(Received message) {
    synchronized (lock) {
      if (gone) {
        return false;
      }
      if (unsettled.reject((Taken) message)) {
        due(0);
      }
    }
    return true;
  }

  @Override
  public void giveBack(List<Received> messages) {
    synchronized (lock) {
      if (gone || !traits.givesBack()) {
        return; // closing gives them back
      }
      for (Received each : messages) {
        unsettled.giveBack((Taken) each);
      }
      due(0);
    }
  }

  @Override
  public int giveBackWaiting(int keep) {
    synchronized (lock) {
      if (gone || !traits.givesBack()) {
        return 0;
      }
      int back = Math.max(0, waiting.size() - keep);
      ArrayDeque<Taken> given = new ArrayDeque<>(back);
      for (int i = 0; i < back; i++) {
        given.addFirst(waiting.removeLast());
      }
      for (Taken each : given) {
        waitingBytes -= each.size();
        unsettled.giveBack(each);
      }
      waitingNow = waiting.size();
      due(0);
      return back;
    }
  }

  @Override
  public void copy(Received original, Copy copy, CopyDone done) {
    done.done("no copies here");
  }

  /** Has what is settled told after a while. The lock is held. */
  private void due(long delayNanos) {
    long at = delayNanos == 0 ? 0 : acks.now() + delayNanos;
    if (at < dueNanos) {
      dueNanos = at;
      acks.dueAt(at);
    }
  }

  @Override
  public long dueNanos() {
    return dueNanos;
  }

  @Override
  public void tell(Coalescer out) {
    synchronized (lock) {
      dueNanos = AckWriter.NEVER;
      if (gone) {
        return;
      }
      boolean all = hurry || unsettled.run() == 0 || unsettled.unsent() >= 2 * batch;
      hurry = false;
      unsettled.tell(all, words);
      writing = words.count() > 0;
      if (unsettled.unsent() > 0) {
        due(ACK_DELAY_NANOS);
      }
    }
    if (words.count() > 0) {
      write(out);
    }
    synchronized (lock) {
      writing = false;
      lock.notifyAll();
    }
  }

  private void write(Coalescer out) {
    out.gather();
    try {
      for (int i = 0; i < words.count(); i++) {
        long tag = words.tag(i);
        switch (words.kind(i)) {
          case Words.ACK -> channel.basicAck(tag, false);
          case Words.ACK_UP_TO -> channel.basicAck(tag, true);
          case Words.REJECT -> channel.basicReject(tag, false);
          default -> channel.basicNack(tag, false, true);
        }
      }
    } catch (IOException | RuntimeException e) {
      LOG.debug("{} is gone: {}", this, Failures.detail(e)); // the shutdown tells the engine
    } finally {
      words.clear();
      out.release();
    }
    try {
      out.flushAll();
    } catch (IOException e) {
      LOG.debug("{} is gone: {}", this, Failures.detail(e));
    }
  }

  @Override
  public boolean flush(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    synchronized (lock) {
      hurry = true;
      due(0);
      while (!gone && (unsettled.unsent() > 0 || writing)) {
        long millis = (deadline - System.nanoTime() + 999_999) / 1_000_000;
        if (millis <= 0) {
          return false;
        }
        try {
          lock.wait(millis);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return false;
        }
      }
      return !gone;
    }
  }

  // Ending

  @Override
  public void stop(Duration timeout) {
    List<Feed> feeds = new ArrayList<>();
    synchronized (lock) {
      if (stopped || gone) {
        return;
      }
      stopped = true;
      if (feed != null) {
        feeds.add(feed);
      }
    }
    Thread canceller = Threads.start("floatvalve-rabbit-cancel", () -> cancel(feeds));
    Threads.join(canceller, timeout);
  }

  private void cancel(List<Feed> feeds) {
    try {
      for (Feed each : feeds) {
        channel.basicCancel(each.tag());
      }
    } catch (IOException | RuntimeException e) {
      LOG.debug("cancelling on {} failed: {}", this, Failures.detail(e));
    }
  }

  @Override
  public void close(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    herald.end();
    flush(timeout);
    if (!leave()) {
      return;
    }
    Threads.start(
        "floatvalve-rabbit-guard",
        () -> {
          if (!trunk.wire().isMoving(PATIENCE)) {
            trunk.wire().cut();
          }
        });
    Thread closer = Threads.start("floatvalve-rabbit-close", () -> Trunk.abort(channel));
    Threads.join(closer, Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
  }

  /** On the client's reader: the queue is gone, or has moved. */
  void cancelledByBroker() {
    lose(false, "the broker cancelled the consumer: " + where() + " was deleted or has moved");
  }

  /** On the client's reader, or on whoever closes. */
  private void shutDown(ShutdownSignalException signal) {
    lose(signal.isHardError(), Failures.detail(signal));
  }

  private void lose(boolean connection, String detail) {
    if (!leave()) {
      return;
    }
    herald.lost(connection, detail);
    if (channel.isOpen()) {
      Threads.start("floatvalve-rabbit-close", () -> Trunk.abort(channel));
    }
  }

  /** Lets nothing more be taken or settled; returns whether this was the first call. */
  private boolean leave() {
    synchronized (lock) {
      if (gone) {
        return false;
      }
      gone = true;
      waiting.clear();
      waitingBytes = 0;
      waitingNow = 0;
      dueNanos = AckWriter.NEVER;
      lock.notifyAll();
    }
    acks.remove(this);
    trunk.leave(herald);
    return true;
  }

  @Override
  public String toString() {
    return "RabbitReceiveLink[" + queue + ", epoch " + request.epoch() + "]";
  }
}
