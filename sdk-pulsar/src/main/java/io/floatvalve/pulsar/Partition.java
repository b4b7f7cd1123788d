package io.floatvalve.pulsar;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerInterceptor;
import org.apache.pulsar.client.api.ConsumerStats;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.PulsarClientException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One topic, or one partition of it, with a client consumer of its own and a share of the window.
 *
 * <p>The client's own consumer of several topics is not used: it moves messages from the queues of
 * its parts to one of its own, and permits return when they move, not when they are taken.
 */
final class Partition {
  private static final Logger LOG = LoggerFactory.getLogger(Partition.class);
  private static final long STEADY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long STARVED_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final int REPAIR_TICKS = 4;

  /** Makes a client consumer, started paused. */
  interface Subscriber {
    CompletableFuture<Consumer<byte[]>> subscribe(
        String topic, int size, ConsumerInterceptor<byte[]> interceptor);

    ReceiveQueue queueOf(Consumer<byte[]> consumer, int size, ArrivalStamps stamps);

    /** Returns after which time the client asks for an unsettled message again; zero for never. */
    Duration ackTimeout();
  }

  /** Hears what happens here, on any thread but that of a caller. */
  interface Home {
    /** Something arrived; called on the client's thread before it can be taken. */
    void arriving(ReceiveQueue queue);
  }

  private final String topic;
  private final Subscriber subscriber;
  private final Home home;
  private final boolean ordered;
  private final boolean counted;
  private final BatchAcks batches = new BatchAcks();
  private final AtomicLong received = new AtomicLong();
  private final AtomicLong taken = new AtomicLong(); // written by whoever takes
  private final AtomicLong settled = new AtomicLong();
  private final @Nullable AckTimeoutWatch ackTimeouts; // null without one
  private final AtomicInteger receiptsDue = new AtomicInteger();

  private volatile @Nullable Consumer<byte[]> consumer;
  private volatile @Nullable ReceiveQueue queue;
  private volatile ArrivalStamps stamps = new ArrivalStamps(); // of this consumer
  private volatile boolean mending;
  private volatile long lastArrivalNanos;
  private volatile boolean reconnected;
  private volatile @Nullable String ended;
  private volatile boolean up;

  // All guarded by this.
  private final List<MessageId> late = new ArrayList<>();
  private int target;
  private boolean begun;
  private boolean primed;
  private boolean resumed;
  private boolean stopped;
  private boolean closed;
  private long disconnectedAtMillis; // as the client says
  private long steadyFromNanos;
  private long brokenBefore; // by consumers that are gone
  private long brokenMended; // by this consumer, of which the permits are back
  private int repairTicks;

  /**
   * Makes one that is not subscribed yet.
   *
   * @param ordered whether giving a message back may take away its order
   * @param counted whether the broker counts deliveries
   * @param target its first share of the window
   */
  Partition(
      String topic,
      Subscriber subscriber,
      Home home,
      boolean ordered,
      boolean counted,
      int target) {
    this.topic = topic;
    this.subscriber = subscriber;
    this.home = home;
    this.ordered = ordered;
    this.counted = counted;
    this.target = target;
    Duration ackTimeout = subscriber.ackTimeout();
    this.ackTimeouts = ackTimeout.isZero() ? null : new AckTimeoutWatch(ackTimeout.toNanos());
  }

  String topic() {
    return topic;
  }

  /** Returns what the broker calls its consumer, or empty while there is none. */
  String name() {
    Consumer<byte[]> c = consumer;
    return c == null ? "" : c.getConsumerName();
  }

  boolean isUp() {
    return up;
  }

  boolean resizable() {
    ReceiveQueue q = queue;
    return q != null && q.resizable();
  }

  /** Returns why it has ended by itself, or null while it has not. */
  @Nullable String ended() {
    return ended;
  }

  /** Subscribes. The broker is asked for nothing yet. */
  CompletableFuture<Void> open() {
    int size;
    synchronized (this) {
      size = target;
    }
    ArrivalStamps arriving = new ArrivalStamps();
    return subscriber
        .subscribe(topic, size, new Interceptor(arriving))
        .thenAccept(made -> install(made, size, arriving));
  }

  private synchronized void install(Consumer<byte[]> made, int size, ArrivalStamps arriving) {
    if (closed) {
      closeQuietly(made);
      return;
    }
    stamps = arriving;
    queue = subscriber.queueOf(made, size, arriving);
    consumer = made;
    disconnectedAtMillis = made.getLastDisconnectedTimestamp();
    steadyFromNanos = System.nanoTime();
    lastArrivalNanos = steadyFromNanos;
    primed = false;
    resumed = false;
    brokenMended = 0;
    mending = false;
    up = true;
    late.forEach(id -> acknowledge(made, id, false));
    late.clear();
  }

  /** Lets the initial permits go, once they are there. Returns whether they are. */
  synchronized boolean prime() {
    ReceiveQueue q = queue;
    Consumer<byte[]> c = consumer;
    if (q == null || c == null || mending) {
      return false;
    }
    if (!primed && q.primed()) {
      primed = true;
    }
    if (primed && begun && !resumed && !stopped) {
      q.resize(target);
      resumed = true;
      c.resume();
    }
    return primed;
  }

  /** Sets what may be on its way and waiting, at least 1; the first call starts delivery. */
  synchronized void window(int share) {
    target = share;
    begun = true;
    if (!prime()) {
      return;
    }
    steer();
  }

  /** Moves the size towards the target; a shrink may take several calls. */
  private synchronized void steer() {
    ReceiveQueue q = queue;
    Consumer<byte[]> c = consumer;
    if (q == null || c == null || !resumed || mending) {
      return;
    }
    int size = q.size();
    if (target < size || (target > size && isSteady(c))) {
      q.resize(target);
    }
  }

  /** A new connection is granted its permits a moment after it is there: growing waits for them. */
  private boolean isSteady(Consumer<byte[]> c) {
    return up
        && c.getLastDisconnectedTimestamp() == disconnectedAtMillis
        && System.nanoTime() - steadyFromNanos >= (reconnected ? STEADY_NANOS : 0);
  }

  int depth() {
    ReceiveQueue q = queue;
    return q == null || mending ? 0 : q.depth();
  }

  /** Takes the next message, or returns null. Called by one thread at a time. */
  @Nullable Taken take() {
    while (true) {
      Message<byte[]> next = receive();
      if (next == null) {
        return null;
      }
      Taken taken = wrap(next);
      if (taken != null) {
        return taken;
      }
    }
  }

  /** Takes the next message as the client has it. */
  @Nullable Message<byte[]> receive() {
    ReceiveQueue q = queue;
    Consumer<byte[]> c = consumer;
    if (q == null || c == null || mending || q.depth() == 0) {
      return null;
    }
    boolean interrupted = Thread.interrupted(); // the client's queue would throw, not take
    try {
      Message<byte[]> message = c.receive(0, TimeUnit.MILLISECONDS);
      if (message != null && q.resizable() && q.size() > target()) {
        steer();
      }
      return message;
    } catch (PulsarClientException e) {
      if (!mending && e instanceof PulsarClientException.AlreadyClosedException) {
        ended = Failures.words(e);
      }
      return null;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @SuppressWarnings("GuardedBy") // a stale value costs one useless look
  private int target() {
    return target;
  }

  /** Counts a message as taken. Returns null if it was settled before: it is not for a handler. */
  @Nullable Taken wrap(Message<byte[]> message) {
    long arrived = stamps.take(message);
    BatchAcks.Batch batch = null;
    int index = -1;
    if (message.getMessageId() instanceof MessageIdAdv id && id.getBatchSize() > 0) {
      index = id.getBatchIndex();
      batch = batches.of(id.getLedgerId(), id.getEntryId(), id.getBatchSize());
      if (!batch.take(index)) {
        acknowledge(id);
        return null;
      }
    }
    taken.lazySet(taken.get() + 1);
    long takenNanos = ackTimeouts == null ? 0 : System.nanoTime();
    return new Taken(this, message, batch, index, arrived, takenNanos, reconnected, counted);
  }

  /**
   * Returns whether a message, received and not wrapped, is of a batch of which some were taken.
   */
  boolean isOfBatchBegun(Message<byte[]> message) {
    return message.getMessageId() instanceof MessageIdAdv id
        && id.getBatchSize() > 0
        && batches.begun(id.getLedgerId(), id.getEntryId());
  }

  void ack(Taken taken, boolean receipt) {
    BatchAcks.Batch batch = taken.batch();
    boolean complete = batch != null && batch.ack(taken.batchIndex());
    settled.incrementAndGet();
    if (ackTimeouts != null && ackTimeouts.saw(System.nanoTime() - taken.takenNanos())) {
      LOG.warn(
          "{}: messages are held for longer than the ack timeout of {}: the client asks for them"
              + " again while they are handled",
          topic,
          subscriber.ackTimeout());
    }
    MessageId id = complete && taken.redelivered() ? Entry.of(taken.id()) : taken.id();
    Consumer<byte[]> c = consumer;
    if (mending || c == null) {
      synchronized (this) {
        c = consumer;
        if (mending || c == null) {
          late.add(id);
          return;
        }
      }
    }
    acknowledge(c, id, receipt);
  }

  private void acknowledge(MessageId id) {
    Consumer<byte[]> c = consumer;
    if (c != null) {
      acknowledge(c, id, false);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what fails comes again by redelivery
  private void acknowledge(Consumer<byte[]> c, MessageId id, boolean receipt) {
    if (receipt) {
      receiptsDue.incrementAndGet();
    }
    CompletableFuture<Void> done = c.acknowledgeAsync(id);
    if (receipt) {
      done.whenComplete(
          (nothing, failure) -> {
            if (failure != null) {
              LOG.warn(
                  "{}: the broker did not confirm an acknowledgement, it may deliver again: {}",
                  topic,
                  Failures.words(Failures.cause(failure)));
            }
            receiptsDue.decrementAndGet();
          });
    }
  }

  /** Returns how many acknowledgements the broker has not confirmed, of those it shall. */
  int receiptsDue() {
    return receiptsDue.get();
  }

  void flush() {
    ReceiveQueue q = queue;
    if (q != null && !mending) {
      q.flushAcknowledgements();
    }
  }

  /** Counts messages as given back that were taken. */
  void uncount(int count) {
    settled.addAndGet(count);
  }

  void redeliver(Set<MessageId> entries, List<Message<byte[]>> messages) {
    ReceiveQueue q = queue;
    if (q != null && !entries.isEmpty()) {
      q.redeliver(entries, messages);
    }
  }

  /** Asks the broker for no more. */
  synchronized void stop() {
    stopped = true;
    Consumer<byte[]> c = consumer;
    if (c != null) {
      c.pause();
    }
  }

  CompletableFuture<Void> close() {
    Consumer<byte[]> c;
    synchronized (this) {
      closed = true;
      stopped = true;
      up = false;
      c = consumer;
    }
    return c == null ? CompletableFuture.completedFuture(null) : c.closeAsync();
  }

  @SuppressWarnings("FutureReturnValueIgnored") // nobody waits for it
  private static void closeQuietly(Consumer<byte[]> c) {
    c.closeAsync()
        .whenComplete(
            (nothing, failure) -> {
              if (failure != null) {
                LOG.debug("closing a consumer failed: {}", Failures.words(failure));
              }
            });
  }

  /**
   * Looks after it: called some 20 times a second, never waits.
   *
   * @return what to tell of a connection that was lost since the last look, or null
   */
  synchronized @Nullable String tick(long nowNanos) {
    ReceiveQueue q = queue;
    Consumer<byte[]> c = consumer;
    if (q == null || c == null || mending || closed) {
      return null;
    }
    if (q.ended()) {
      ended = "the client ended the consumer of " + topic;
      up = false;
      return null;
    }
    String lost = null;
    boolean connected = c.isConnected();
    long last = c.getLastDisconnectedTimestamp();
    if (last != disconnectedAtMillis || (up && !connected)) {
      lost = "connection of " + topic + " lost";
      disconnectedAtMillis = last;
      reconnected = true;
      brokenMended = failed(c); // a new connection is granted the whole window
      repairTicks = 0;
      steadyFromNanos = nowNanos;
    }
    if (connected && !up) {
      steadyFromNanos = nowNanos;
    }
    up = connected;
    if (!connected) {
      return lost;
    }
    prime();
    steer();
    if (stopped) {
      return lost;
    }
    repair(q);
    return mend(q, c, nowNanos) ? "resubscribed to " + topic + ": corrupt messages" : lost;
  }

  private void repair(ReceiveQueue q) {
    repairTicks = resumed && q.unsent() + q.depth() < 0 ? repairTicks + 1 : 0;
    if (repairTicks >= REPAIR_TICKS) {
      repairTicks = 0;
      int granted = q.repair();
      if (granted > 0) {
        LOG.warn("{}: permits were lost; granted {} again", topic, granted);
      }
    }
  }

  /**
   * A batch that cannot be read takes its permits with it, but for one. How many is not known, so a
   * new consumer begins to count anew: where nothing is in hand, or where nothing comes any more.
   */
  @SuppressWarnings("FutureReturnValueIgnored") // it ends in `install` or `ended`
  private boolean mend(ReceiveQueue q, Consumer<byte[]> c, long nowNanos) {
    if (!resumed || failed(c) == brokenMended || q.depth() > 0) {
      return false;
    }
    long quiet = nowNanos - lastArrivalNanos;
    boolean nothingInHand = taken.get() == settled.get();
    if (quiet < QUIET_NANOS || (!nothingInHand && (ordered || quiet < STARVED_NANOS))) {
      return false;
    }
    LOG.warn("{}: {} entries could not be read; subscribing anew", topic, failed(c));
    brokenBefore += failed(c);
    mending = true;
    up = false;
    reconnected = true;
    c.closeAsync()
        .handle((nothing, failure) -> failure)
        .thenCompose(failure -> open())
        .whenComplete(
            (nothing, failure) -> {
              if (failure != null) {
                ended = Failures.words(Failures.cause(failure));
              }
            });
    return true;
  }

  @SuppressWarnings("deprecation") // the only public word on it; it has no successor
  private static long failed(Consumer<byte[]> c) {
    ConsumerStats stats = c.getStats();
    return stats.getTotalReceivedFailed() + stats.getNumReceiveFailed();
  }

  synchronized long broken() {
    Consumer<byte[]> c = consumer;
    return brokenBefore + (c == null || mending ? 0 : failed(c));
  }

  long received() {
    return received.get();
  }

  int partlyAcked() {
    return batches.partly();
  }

  int size() {
    ReceiveQueue q = queue;
    return q == null ? 0 : q.size();
  }

  int unsent() {
    ReceiveQueue q = queue;
    return q == null ? 0 : q.unsent();
  }

  long bytes() {
    ReceiveQueue q = queue;
    return q == null ? 0 : q.bytes();
  }

  /**
   * Sees to it that the link hears of what is about to be put in the queue: it has arrived and
   * cannot be taken yet.
   */
  void chase(Runnable wake) {
    ReceiveQueue q = queue;
    ArrivalStamps of = stamps;
    if (q != null && !mending && !of.isEmpty()) {
      q.afterArrival(
          () -> {
            if (q.depth() == 0) {
              of.forget(); // the client has thrown these messages away
            } else {
              wake.run();
            }
          });
    }
  }

  /**
   * A whole batch. The client counts anew what is acknowledged of a batch that comes again, and
   * drops what it has acknowledged a moment before without counting it: it would never find the
   * batch complete.
   */
  private record Entry(long getLedgerId, long getEntryId, int getPartitionIndex)
      implements MessageIdAdv {
    private static final long serialVersionUID = 1L;

    static Entry of(MessageId part) {
      MessageIdAdv at = (MessageIdAdv) part;
      return new Entry(at.getLedgerId(), at.getEntryId(), at.getPartitionIndex());
    }

    @Override
    public byte[] toByteArray() {
      throw new UnsupportedOperationException("stays within this process");
    }
  }

  /** Stamps what arrives; the client's threads do no more here. */
  private final class Interceptor implements ConsumerInterceptor<byte[]> {
    private final ArrivalStamps arriving;

    private Interceptor(ArrivalStamps arriving) {
      this.arriving = arriving;
    }

    @Override
    public Message<byte[]> onArrival(Consumer<byte[]> c, Message<byte[]> message) {
      long now = System.nanoTime();
      arriving.put(message, now);
      lastArrivalNanos = now;
      received.lazySet(received.get() + 1); // one thread writes
      ReceiveQueue q = queue;
      if (q != null) {
        home.arriving(q);
      }
      return message;
    }

    @Override
    public Message<byte[]> beforeConsume(Consumer<byte[]> c, Message<byte[]> message) {
      return message;
    }

    @Override
    public void onAcknowledge(Consumer<byte[]> c, MessageId id, @Nullable Throwable exception) {}

    @Override
    public void onAcknowledgeCumulative(
        Consumer<byte[]> c, MessageId id, @Nullable Throwable exception) {}

    @Override
    public void onNegativeAcksSend(Consumer<byte[]> c, Set<MessageId> ids) {}

    @Override
    public void onAckTimeoutSend(Consumer<byte[]> c, Set<MessageId> ids) {}

    @Override
    public void close() {}
  }
}
