package io.floatvalve.pulsar;

import io.floatvalve.model.Message;
import io.floatvalve.spi.PublishLink;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A way to send to one topic: one producer of the client's. */
final class ProducerLink implements PublishLink {
  /*
   * The client has no bound of its own here (no queue limit, no memory limit, no send timeout): the
   * engine's window and its confirm timeout are the bounds. It makes a lost connection again by
   * itself and sends what is unanswered again, in order and with the same sequence ids. So a
   * failure, or a receipt that names no place (the broker took the message for one it has), means
   * one thing for a message that was there before the connection was last lost, and another for one
   * that came after:
   *
   *                      sent before the loss                  sent after it
   *   no place named     stored the first time: confirmed      somebody else's number: unclear
   *   broker refuses     the first may be stored: unclear      refused
   *   client refuses     the first may be stored: unclear      not sent
   *
   * The answers to a batch come one by one, as fast as the client's thread can tell them, and it
   * does not say which is the last. Passed on like that, each would meet the engine's lock, and wait
   * there for its sender and its callers. So they are gathered and told of together by the ticker's
   * thread; all else that is told comes after what was gathered.
   *
   * The client says of a connection only whether it is there and when it was last lost, so it is
   * asked again and again.
   */
  private static final Logger LOG = LoggerFactory.getLogger(ProducerLink.class);
  private static final long WATCH_MILLIS = 50;
  private static final long LAST_WORDS_MILLIS = 50;
  private static final int LUMP = 64;
  private static final long GIVE_UP_IDLE_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final long GIVE_UP_NANOS = TimeUnit.SECONDS.toNanos(60);

  private final Producer<byte[]> producer;
  private final Routing routing;
  private final Outgoing outgoing;
  private final boolean batching;
  private final Listener listener;
  private final ScheduledExecutorService ticker;
  private final Future<?> watching;
  private final AtomicBoolean lost = new AtomicBoolean();
  private final AtomicLong answered = new AtomicLong();
  private final Object telling = new Object(); // taken before the next
  private final Object gathering = new Object();
  private long[] sequences = new long[LUMP]; // guarded by gathering, as the next three
  private Object[] receipts = new Object[LUMP];
  private int gathered;
  private boolean due;
  private long[] toldSequences = new long[LUMP]; // guarded by telling
  private @Nullable Object[] toldReceipts = new Object[LUMP]; // guarded by telling
  private final Runnable tell = this::tell;
  private volatile long sent;
  private volatile boolean closed;
  private boolean connected = true; // of the ticker's, as below
  private long lostAtMillis;
  private long disconnectedNanos;

  ProducerLink(
      Producer<byte[]> producer,
      PulsarBroker.PublishSettings settings,
      Routing routing,
      Listener listener,
      ScheduledExecutorService ticker) {
    this.producer = producer;
    this.routing = routing;
    this.outgoing = new Outgoing(settings.sequenceHeader());
    this.batching = settings.batches();
    this.listener = listener;
    this.ticker = ticker;
    this.lostAtMillis = producer.getLastDisconnectedTimestamp();
    this.watching =
        ticker.scheduleWithFixedDelay(
            this::watch, WATCH_MILLIS, WATCH_MILLIS, TimeUnit.MILLISECONDS);
  }

  // ------------------------------------------------------------------------------------ sending

  @Override
  public @Nullable String refusal(Message message) {
    return outgoing.refusal(message);
  }

  @Override
  public void send(long sequence, Message message) {
    long sentMillis = System.currentTimeMillis();
    sent = sequence;
    var unused =
        outgoing
            .fill(producer.newMessage(), message)
            .sendAsync()
            .whenComplete((id, failure) -> answered(sequence, sentMillis, id, failure));
  }

  @Override
  public int partition(Message message) {
    int partitions = producer.getNumOfPartitions();
    return partitions > 0 ? routing.pick(message.key(), partitions, System.nanoTime()) : -1;
  }

  @Override
  public void sendTo(int partition, long sequence, Message message) {
    routing.to(partition);
    try {
      send(sequence, message);
    } finally {
      routing.done();
    }
  }

  /** The client writes on threads of its own, and refuses rather than waits when it is full. */
  @Override
  public boolean sendsAtOnce() {
    return true;
  }

  /** Nothing to do: what is kept back goes when its time is over, or with {@link #hurry}. */
  @Override
  public void flush() {}

  @Override
  public void hurry() {
    if (batching && !closed) {
      var unused = producer.flushAsync();
    }
  }

  // ------------------------------------------------------------------------------------ answers

  /** On a client thread, or the one that sends. What it threw would be lost in the future. */
  private void answered(
      long sequence, long sentMillis, @Nullable MessageId id, @Nullable Throwable failure) {
    answered.incrementAndGet();
    if (closed) {
      return;
    }
    try {
      if (failure != null || id == null) {
        tell();
        failed(sequence, mayHaveArrived(sentMillis), Failures.cause(failure));
      } else if (!namesNoPlace(id)) {
        if (batching) {
          gather(sequence, id);
        } else {
          listener.confirmed(sequence, false, id);
        }
      } else if (sentMillis < producer.getLastDisconnectedTimestamp()) {
        tell();
        listener.confirmed(sequence, false, id);
      } else {
        tell();
        listener.unclear(
            sequence, "the broker took it for a duplicate: its sequence id is not above the last");
      }
    } catch (Throwable e) {
      LOG.error("a fault of ours, on hearing of message {}", sequence, e);
    }
  }

  private void gather(long sequence, MessageId id) {
    boolean wake;
    synchronized (gathering) {
      if (gathered == sequences.length) {
        sequences = Arrays.copyOf(sequences, 2 * gathered);
        receipts = Arrays.copyOf(receipts, 2 * gathered);
      }
      sequences[gathered] = sequence;
      receipts[gathered] = id;
      gathered++;
      wake = !due;
      due = true;
    }
    if (wake) {
      try {
        ticker.execute(tell);
      } catch (RejectedExecutionException e) { // the broker is being closed
        tell();
      }
    }
  }

  /** Tells of what was gathered. */
  private void tell() {
    synchronized (telling) {
      long[] known;
      Object[] names;
      int count;
      synchronized (gathering) {
        due = false;
        count = gathered;
        gathered = 0;
        known = sequences;
        names = receipts;
        sequences = toldSequences;
        receipts = toldReceipts;
      }
      toldSequences = known;
      toldReceipts = names;
      if (count > 0 && !closed) {
        listener.confirmed(known, names, count);
      }
      Arrays.fill(toldReceipts, 0, count, null);
    }
  }

  private void failed(long sequence, boolean mayHaveArrived, Throwable cause) {
    String words = Failures.words(cause);
    switch (Failures.sending(cause)) {
      case GONE -> lose(words);
      case TOO_LARGE -> notSent(sequence, mayHaveArrived, Unsent.TOO_LARGE, words);
      case INVALID -> notSent(sequence, mayHaveArrived, Unsent.INVALID, words);
      case NO_ROOM -> notSent(sequence, mayHaveArrived, Unsent.NO_ROOM, words);
      case REFUSED -> refused(sequence, mayHaveArrived, words);
      case REFUSED_FOR_GOOD -> {
        refused(sequence, mayHaveArrived, words);
        loseSoon(words);
      }
      case UNCLEAR -> listener.unclear(sequence, words);
    }
  }

  private void notSent(long sequence, boolean mayHaveArrived, Unsent why, String words) {
    if (mayHaveArrived) {
      listener.unclear(sequence, words);
    } else {
      listener.notSent(sequence, why, words);
    }
  }

  private void refused(long sequence, boolean mayHaveArrived, String words) {
    if (mayHaveArrived) {
      listener.unclear(sequence, words);
    } else {
      listener.nacked(sequence, false, words);
    }
  }

  private static boolean namesNoPlace(MessageId id) {
    return id instanceof MessageIdAdv place && place.getEntryId() < 0;
  }

  /** Whether a connection was lost since, on which it may have gone out. */
  private boolean mayHaveArrived(long sentMillis) {
    return sentMillis <= producer.getLastDisconnectedTimestamp();
  }

  // ----------------------------------------------------------------------------- the connection

  private void watch() {
    if (closed) {
      return;
    }
    try {
      boolean now = producer.isConnected();
      long last = producer.getLastDisconnectedTimestamp();
      if (connected && (!now || last != lostAtMillis)) {
        connected = false;
        disconnectedNanos = System.nanoTime();
        listener.disconnected("the client lost its connection to " + producer.getTopic());
      }
      lostAtMillis = last;
      if (!connected && now) {
        connected = true;
        listener.reconnected();
      } else if (!connected) {
        // The client does not say when it gives up for good: the topic may have been deleted.
        long limit = answered.get() >= sent ? GIVE_UP_IDLE_NANOS : GIVE_UP_NANOS;
        if (System.nanoTime() - disconnectedNanos > limit) {
          lose("no connection to " + producer.getTopic() + " came about again");
        }
      }
    } catch (RuntimeException e) { // the next look comes all the same
      LOG.warn("watching {} failed", producer.getTopic(), e);
    }
  }

  /** The other messages that it holds for lost are told of first. */
  private void loseSoon(String words) {
    if (lost.get()) {
      return;
    }
    try {
      var unused = ticker.schedule(() -> lose(words), LAST_WORDS_MILLIS, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      lose(words);
    }
  }

  private void lose(String words) {
    if (!closed && lost.compareAndSet(false, true)) {
      tell();
      closed = true;
      listener.lost(false, words);
      var unused = end();
    }
  }

  // ------------------------------------------------------------------------------------ closing

  @Override
  public void close(Duration timeout) {
    closed = true;
    CompletableFuture<Void> closing = end();
    try {
      closing.get(Math.max(1, timeout.toNanos()), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.debug("closing {} goes on without us: {}", producer.getTopic(), Failures.words(e));
    }
  }

  @Override
  public void abort() {
    closed = true;
    var unused = end();
  }

  private CompletableFuture<Void> end() {
    watching.cancel(false);
    return producer.closeAsync();
  }

  @Override
  public String toString() {
    return "ProducerLink[" + producer.getTopic() + " as " + producer.getProducerName() + "]";
  }
}
