package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.ShutdownSignalException;
import io.floatvalve.model.Address;
import io.floatvalve.model.Ordering;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.rabbit.RabbitBroker.Topology;
import io.floatvalve.rabbit.Unsettled.Words;
import io.floatvalve.spi.Broker.ReceiveRequest;
import io.floatvalve.spi.ReceiveLink;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
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
  /*
   * No broker has more outstanding at a consumer than its prefetch. The distance is for ways of
   * counting that we do not know of; what matters is that there is an end.
   */
  private static final long FLOOD_TIMES = 4;
  private static final long FLOOD_MORE = 1_000;

  private static final Duration RESIZE_EVERY = Duration.ofMillis(500);
  private static final double RESIZE_BY = 0.25;
  private static final Duration PATIENCE = Duration.ofMillis(500);
  private static final long QUIET_NANOS = 200_000_000L;
  private static final String TIMEOUT_ARGUMENT = "x-consumer-timeout"; // milliseconds; from 3.12 on
  private static final Duration USUAL_TIMEOUT = Duration.ofMinutes(30);

  private final Trunk trunk;
  private final Channel channel;
  private final Herald herald;
  private final ReceiveRequest request;
  private final AckWriter acks;
  private final Traits traits;
  private final String queue;
  private final long ackDelayNanos;
  private final Duration longestHold;
  private final @Nullable RetryQueues retries;
  private final @Nullable Copies copies;

  private final Object lock = new Object();
  private final Unsettled unsettled = new Unsettled(); // guarded by lock
  private final String name;
  private final Feeds feeds; // guarded by lock
  private final ArrayDeque<Taken> waiting = new ArrayDeque<>(); // guarded by lock
  private long waitingBytes; // guarded by lock
  private double peakBytes; // guarded by lock; 0 before the first message
  private boolean weighed; // guarded by lock: the size of a message is known
  private long received; // guarded by lock
  private boolean armed; // guarded by lock: poll found nothing
  private boolean hurry; // guarded by lock: all that is settled is to be told now
  private int writing; // guarded by lock: ends collected and not yet written
  private boolean stopped; // guarded by lock
  private boolean gone; // guarded by lock
  private boolean ending; // guarded by lock: who closes waits until nothing is on its way
  private long stirredNanos = System.nanoTime() - QUIET_NANOS; // guarded by lock: last told or came
  private int permits; // guarded by lock; 0 before the first window
  private int wanted; // guarded by lock: the prefetch for them
  private boolean stream; // guarded by lock: told, or seen by what came
  private @Nullable Long nextOffset; // guarded by lock: in a stream, behind what came

  private volatile int waitingNow;
  private volatile long dueNanos = AckWriter.NEVER; // written under lock
  private final Words words = new Words(); // the writer's

  RabbitReceiveLink(
      Trunk trunk,
      Channel channel,
      Herald herald,
      ReceiveRequest request,
      ConsumeSettings settings,
      Feeds.Plan plan,
      @Nullable RetryQueues retries,
      @Nullable Copies copies,
      List<String> notes)
      throws IOException {
    this.trunk = trunk;
    this.channel = channel;
    this.herald = herald;
    this.request = request;
    this.queue = plan.queue();
    this.stream = plan.stream();
    this.ackDelayNanos = settings.acknowledgementDelay().toNanos();
    this.longestHold = longestHold(settings.topology());
    this.retries = retries;
    this.copies = copies;
    if (request.previous() instanceof RabbitReceiveLink before) {
      synchronized (before.lock) {
        nextOffset = before.nextOffset;
        peakBytes = before.peakBytes;
        weighed = before.weighed;
      }
    }
    // While its prefetch changes it is two consumers at the broker: they have a name in common.
    this.name =
        String.format(
            "floatvalve-%08x-%d-", ThreadLocalRandom.current().nextInt(), request.epoch());
    this.feeds = new Feeds(this, channel, plan, name, request.slots(), lock, unsettled);
    // A quorum queue without a delivery limit puts at its end what is given back singly, and at its
    // head, in order, what comes back by the end of the channel.
    this.traits =
        new Traits(
            plan.resizable(),
            RESIZE_EVERY,
            RESIZE_BY,
            request.ordering() == Ordering.NONE && !plan.stream(),
            retries != null,
            request.deadLetter() != null,
            String.join("; ", notes));
    this.acks = trunk.acks();
    acks.add(this);
    channel.setDefaultConsumer(new Feed(this, "", 0)); // for what comes by a tag of no consumer
    channel.addShutdownListener(this::shutDown); // calls at once if that has happened
  }

  /**
   * What a queue that is declared says of it, or what a broker does if nobody told it otherwise.
   */
  private static Duration longestHold(@Nullable Topology topology) {
    return topology != null && topology.arguments().get(TIMEOUT_ARGUMENT) instanceof Number millis
        ? Duration.ofMillis(millis.longValue())
        : USUAL_TIMEOUT;
  }

  String where() {
    return "queue '" + queue + "'";
  }

  /** Returns a time to be compared with those of {@link #dueNanos}. */
  long now() {
    return acks.now();
  }

  /** Whether it is lost or closed. The lock is held. */
  boolean isGone() {
    return gone;
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
    boolean flood;
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
      if (received == 1 && taken.streamOffset() >= 0) {
        stream = true;
        feeds.fix();
      }
      if (stream) {
        nextOffset = taken.streamOffset() + 1;
      }
      feeds.arrived(by);
      stirredNanos = taken.arrivedNanos();
      if (ending) {
        lock.notifyAll();
      }
      weigh(body.length);
      long again = feeds.lookAgain();
      if (again != AckWriter.NEVER) {
        dueAt(again);
      }
      flood = by.source().outstanding() > by.prefetch() * FLOOD_TIMES + FLOOD_MORE;
    }
    if (flood) {
      lose(true, "the peer sends more than the prefetch of " + by.prefetch() + " allows");
      trunk.wire().cut();
      return;
    }
    if (wake) {
      herald.available();
    }
  }

  /**
   * Lowers the prefetch when messages turn out to be larger than the budget allows for, and raises
   * it when the first is smaller than was feared.
   */
  private void weigh(int size) {
    boolean first = !weighed;
    double before = peakBytes;
    weighed = true;
    peakBytes = Prefetch.peak(before, size);
    if ((first || peakBytes > before) && permits > 0 && traits.resizable()) {
      int fitting = prefetch();
      if (fitting < (1 - RESIZE_BY) * wanted || (first && fitting > (1 + RESIZE_BY) * wanted)) {
        want(fitting);
      }
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
    if (!hurry && unsettled.unsent() > 0 && 2 * feeds.unused() < permits) {
      hurry = true;
      dueAt(0);
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Observation observe() {
    synchronized (lock) {
      int beside = request.slots() + batch();
      int limit = feeds.limit();
      int window = limit == 0 ? 0 : Math.max(1, limit - beside);
      int outstanding = feeds.unused();
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
    synchronized (lock) {
      if (gone
          || stopped
          || permits == this.permits
          || (this.permits != 0 && !traits.resizable())) {
        return;
      }
      this.permits =
          traits.resizable()
              ? permits
              : Prefetch.fixedPermits(permits, request.maxPermits(), request.slots());
      want(prefetch());
    }
  }

  private int prefetch() {
    // What cannot be raised again is not lowered for fear of what may come.
    double bytes = weighed || !traits.resizable() ? peakBytes : Prefetch.UNSEEN_BYTES;
    return Prefetch.of(permits, request.slots(), request.maxBytes(), bytes);
  }

  private void want(int prefetch) {
    wanted = prefetch;
    stirredNanos = System.nanoTime();
    feeds.want(prefetch);
  }

  /** Returns how many acknowledgements are told together, of the prefetch that holds now. */
  private int batch() {
    return Prefetch.batch(feeds.prefetch(), request.slots());
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
        int batch = batch();
        boolean enough =
            !feeds.isChanging() && (unsettled.run() >= batch || unsettled.unsent() >= 2 * batch);
        dueAt(enough ? 0 : acks.now() + ackDelayNanos);
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
      Taken taken = (Taken) message;
      boolean first = stream ? unsettled.ack(taken) : unsettled.reject(taken); // a stream keeps it
      if (first) {
        dueAt(0);
      }
    }
    return true;
  }

  @Override
  public void giveBack(List<Received> messages) {
    synchronized (lock) {
      if (isGivenBackByClosing()) {
        return;
      }
      for (Received each : messages) {
        unsettled.giveBack((Taken) each);
      }
      dueAt(0);
    }
  }

  @Override
  public int giveBackWaiting(int keep) {
    /*
     * What came by a consumer that stays would come again at once. And a queue with a delivery limit
     * counts what is given back as a failure, too: what has come back before, for whatever reason,
     * is not given back to please a sibling.
     */
    synchronized (lock) {
      if (isGivenBackByClosing()) {
        return 0;
      }
      int few = stopped ? 0 : feeds.hasten();
      ArrayDeque<Taken> kept = new ArrayDeque<>();
      int back = 0;
      while (!waiting.isEmpty()) {
        Taken next = waiting.poll();
        if (kept.size() < keep
            || (!stopped
                && (next.deliveryCount() > 1 || (feeds.isRefilled(next.source()) && --few < 0)))) {
          kept.add(next);
        } else {
          waitingBytes -= next.size();
          unsettled.giveBack(next);
          back++;
        }
      }
      waiting.addAll(kept);
      waitingNow = waiting.size();
      dueAt(0);
      return back;
    }
  }

  /** Whether the end of the channel gives back what is not settled, and no word of ours does. */
  private boolean isGivenBackByClosing() {
    return gone || stream || !traits.givesBack() || (stopped && !feeds.isCancellable());
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // it ends in `done`
  public void copy(Received original, Copy copy, CopyDone done) {
    Taken taken = (Taken) original;
    Copies sender = Objects.requireNonNull(copies);
    String exchange = "";
    String key;
    Address deadLetter = request.deadLetter();
    if (copy.deadLetter() && deadLetter != null) {
      exchange = PublishChannel.exchange(deadLetter);
      key = deadLetter.routingKey();
    } else {
      key = Objects.requireNonNull(retries).queue(copy.delay());
    }
    String to = exchange.isEmpty() ? "queue '" + key + "'" : "exchange '" + exchange + "'";
    sender
        .send(
            exchange,
            key,
            CopyProperties.of(taken.properties(), taken.envelope(), queue, copy),
            taken.body())
        .whenComplete(
            (nothing, failure) ->
                done.done(
                    failure == null ? null : "copy to " + to + ": " + Failures.detail(failure)));
  }

  @Override
  public Duration longestDelay() {
    return retries == null ? Duration.ZERO : retries.longest();
  }

  @Override
  public Duration longestHold() {
    return longestHold;
  }

  /** Has what is settled told at this time at the latest. The lock is held. */
  private void dueAt(long nanos) {
    if (nanos < dueNanos) {
      dueNanos = nanos;
      acks.dueAt(nanos);
    }
  }

  /** Has what is settled told, and what is to be changed looked at, at once. */
  void settleSoon() {
    synchronized (lock) {
      if (!gone) {
        dueAt(0);
      }
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
      boolean all = hurry || unsettled.run() == 0 || unsettled.unsent() >= 2 * batch();
      hurry = false;
      int before = unsettled.unsent();
      unsettled.tell(all, words);
      writing = before - unsettled.unsent();
      if (writing > 0) {
        stirredNanos = System.nanoTime();
      }
      feeds.look(acks.now());
      if (unsettled.unsent() > 0) {
        dueAt(acks.now() + ackDelayNanos);
      }
      if (feeds.lookAgain() != AckWriter.NEVER) {
        dueAt(Math.max(acks.now() + 1_000_000, feeds.lookAgain()));
      }
    }
    boolean written = words.count() == 0 || write(out);
    synchronized (lock) {
      if (written) {
        writing = 0;
      }
      lock.notifyAll();
    }
  }

  /** Returns whether all was written; if not, the link is about to be lost. */
  private boolean write(Coalescer out) {
    boolean written = true;
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
      written = false;
    } finally {
      words.clear();
      out.release();
    }
    try {
      out.flushAll();
    } catch (IOException e) {
      LOG.debug("{} is gone: {}", this, Failures.detail(e));
      written = false;
    }
    return written;
  }

  @Override
  public int flush(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    synchronized (lock) {
      hurry = true;
      dueAt(0);
      while (!gone && unsettled.unsent() + writing > 0) {
        long millis = (deadline - System.nanoTime() + 999_999) / 1_000_000;
        if (millis <= 0) {
          break;
        }
        try {
          lock.wait(millis);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          break;
        }
      }
      return unsettled.unsent() + writing;
    }
  }

  // Ending

  @Override
  public void stop(Duration timeout) {
    synchronized (lock) {
      if (stopped || gone) {
        return;
      }
      stopped = true;
    }
    feeds.stop(timeout);
  }

  @Override
  public void close(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    herald.end();
    flush(timeout);
    boolean cancels = isToBeCancelled(deadline);
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
    Thread closer =
        Threads.start(
            "floatvalve-rabbit-close",
            () -> {
              if (cancels) {
                feeds.cancelAll();
              }
              Trunk.abort(channel);
            });
    Threads.join(closer, Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
  }

  /**
   * Waits until the broker can have nothing on its way to us, or nothing has stirred for a while.
   *
   * @return whether a cancel is to come before the end of the channel; not where it could bring
   *     something back out of order, and that matters
   */
  private boolean isToBeCancelled(long deadline) {
    synchronized (lock) {
      if (stream || feeds.isCancellable()) {
        return false;
      }
      ending = true;
      while (!gone && !feeds.isFull()) {
        long now = System.nanoTime();
        long nanos = Math.min(deadline - now, stirredNanos + QUIET_NANOS - now);
        if (nanos <= 0) {
          break;
        }
        try {
          lock.wait(nanos / 1_000_000 + 1);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          break;
        }
      }
      return request.ordering() == Ordering.NONE || feeds.isFull();
    }
  }

  /** On the client's reader: the queue is gone, or has moved. */
  void cancelledByBroker() {
    lose(false, "the broker cancelled the consumer: " + where() + " was deleted or has moved");
  }

  /** On the client's reader, or on whoever closes. */
  private void shutDown(ShutdownSignalException signal) {
    String detail = Failures.detail(signal);
    if (!signal.isHardError()) {
      Taken oldest;
      synchronized (lock) {
        oldest = (Taken) unsettled.oldestOpen();
      }
      if (oldest != null) {
        long seconds = (System.nanoTime() - oldest.arrivedNanos()) / 1_000_000_000;
        detail += "; unsettled for longest, " + seconds + " s: " + oldest.describe();
      }
    }
    lose(signal.isHardError(), detail);
  }

  /** It cannot go on; the engine opens another. Without the lock. */
  void lose(boolean connection, String detail) {
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
      if (stream && unsettled.oldestOpen() instanceof Taken open) {
        nextOffset = open.streamOffset();
      }
      waiting.clear();
      waitingBytes = 0;
      waitingNow = 0;
      dueNanos = AckWriter.NEVER;
      lock.notifyAll();
    }
    acks.remove(this);
    trunk.leave(herald);
    if (copies != null) {
      copies.close();
    }
    return true;
  }

  /** Returns where to go on in a stream when this is gone; null if that is not known. */
  @Nullable Long nextOffset() {
    synchronized (lock) {
      return nextOffset;
    }
  }

  @Override
  public String toString() {
    return "RabbitReceiveLink[" + queue + ", epoch " + request.epoch() + "]";
  }
}
