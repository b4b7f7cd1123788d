package io.floatvalve.pulsar;

import io.floatvalve.spi.ReceiveLink;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One subscription: all partitions of all its topics, as one way to receive. */
final class PulsarLink implements ReceiveLink {
  private static final Logger LOG = LoggerFactory.getLogger(PulsarLink.class);
  private static final Duration TICK = Duration.ofMillis(50);
  private static final int RETRIES_EVERY = 10;
  private static final long STOP_QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Nobody waits for a message. */
  private static final int NOT = 0;

  /** A poll has found nothing: the next message is to be told. */
  private static final int WANTED = 1;

  /** It has arrived, and is told when it can be taken. */
  private static final int ARRIVING = 2;

  private static final long WAIT_STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private final Subscription subscription;
  private final Listener listener;
  private final ScheduledExecutorService ticker;
  private final Copies copies;
  private final Traits traits;

  private final Object takes = new Object();
  private final Deque<Taken> kept = new ArrayDeque<>(); // guarded by takes
  private int next; // guarded by takes
  private final AtomicInteger wanted = new AtomicInteger(NOT);

  private final Object change = new Object();
  private int permits; // guarded by change; 0 before the first call
  private int parked; // guarded by change
  private volatile int keptNow;
  private int keptSpread; // guarded by change
  private volatile Partition[] partitions = {};
  private volatile boolean connected = true; // written by the ticker
  private volatile boolean gone;
  private volatile boolean stopped;
  private @Nullable ScheduledFuture<?> ticking; // guarded by change
  private long nextWatchNanos; // the ticker's
  private int watches; // the ticker's
  private boolean watching; // guarded by change

  PulsarLink(
      Subscription subscription,
      Listener listener,
      ScheduledExecutorService ticker,
      Copies copies) {
    this.subscription = subscription;
    this.listener = listener;
    this.ticker = ticker;
    this.copies = copies;
    this.traits = subscription.traits();
  }

  /** Subscribes to these topics, each a whole one or a partition. */
  CompletableFuture<Void> open(List<String> topics) {
    List<CompletableFuture<Void>> opening = new ArrayList<>();
    int share = Math.max(1, subscription.firstWindow() / Math.max(1, topics.size()));
    Partition[] all = new Partition[topics.size()];
    for (int i = 0; i < all.length; i++) {
      all[i] = partition(topics.get(i), share, false);
    }
    partitions = all;
    for (Partition each : all) {
      opening.add(each.open());
    }
    return CompletableFuture.allOf(opening.toArray(CompletableFuture[]::new));
  }

  /** Returns whether the initial permits of all partitions are there. */
  boolean prime() {
    boolean all = true;
    for (Partition each : partitions) {
      all &= each.prime();
    }
    return all;
  }

  void start() {
    synchronized (change) {
      nextWatchNanos = System.nanoTime() + subscription.watchEvery().toNanos();
      ticking =
          ticker.scheduleWithFixedDelay(
              this::tick, TICK.toNanos(), TICK.toNanos(), TimeUnit.NANOSECONDS);
    }
  }

  private Partition partition(String topic, int share, boolean added) {
    return new Partition(
        topic,
        added ? subscription.fromEarliest() : subscription,
        this::arriving,
        subscription.ordered(),
        subscription.countsDeliveries(),
        share);
  }

  @Override
  public Traits traits() {
    return traits;
  }

  @Override
  public void window(int permits, int parked) {
    synchronized (change) {
      this.permits = permits;
      this.parked = parked;
      spread();
    }
  }

  /** Gives each partition its share. Called with {@link #change} held. */
  private void spread() {
    if (permits == 0) {
      return;
    }
    keptSpread = keptNow;
    int total = Math.max(1, permits - parked - keptSpread);
    Partition[] all = partitions;
    for (int i = 0; i < all.length; i++) {
      int share = total / all.length + (i < total % all.length ? 1 : 0);
      all[i].window(Math.max(1, share));
    }
  }

  @Override
  public @Nullable Received poll() {
    synchronized (takes) {
      if (gone) {
        return null;
      }
      Taken first = kept.poll();
      if (first != null) {
        keptNow = kept.size();
        return first;
      }
      Taken taken = takeAny();
      if (taken != null) {
        return taken;
      }
      wanted.set(WANTED);
      taken = takeAny(); // what came before that
      if (taken != null) {
        wanted.set(NOT);
        return taken;
      }
      for (Partition each : partitions) {
        each.chase(this::wake);
      }
      return null;
    }
  }

  private @Nullable Taken takeAny() {
    Partition[] all = partitions;
    for (int i = 0; i < all.length; i++) {
      int at = (next + i) % all.length;
      if (all[at].depth() > 0) {
        Taken taken = all[at].take();
        if (taken != null) {
          next = at + 1;
          return taken;
        }
      }
    }
    return null;
  }

  private void arriving(ReceiveQueue queue) {
    if (wanted.get() == WANTED && wanted.compareAndSet(WANTED, ARRIVING)) {
      queue.afterArrival(this::wake);
    }
  }

  private void wake() {
    if (wanted.getAndSet(NOT) != NOT && !gone) {
      listener.available();
    }
  }

  @Override
  public int waiting() {
    int waiting = keptNow;
    for (Partition each : partitions) {
      waiting += each.depth();
    }
    return gone ? 0 : waiting;
  }

  @Override
  public Observation observe() {
    int window = keptNow;
    int waiting = keptNow;
    int unsent = 0;
    int partly = 0;
    long bytes = 0;
    long received = 0;
    long broken = 0;
    for (Partition each : partitions) {
      window += each.size();
      waiting += each.depth();
      unsent += each.unsent();
      bytes += each.bytes();
      received += each.received();
      broken += each.broken();
      partly += each.partlyAcked();
    }
    return new Observation(
        connected && !gone,
        window,
        waiting,
        bytes,
        window - unsent - waiting,
        unsent,
        received,
        broken,
        partly);
  }

  @Override
  public Duration ackTimeout() {
    return subscription.ackTimeout();
  }

  @Override
  public String name() {
    Partition[] all = partitions;
    return all.length == 1 ? all[0].name() : "";
  }

  @Override
  public boolean ack(Received message) {
    Taken taken = (Taken) message;
    if (gone) {
      return false;
    }
    if (taken.settle()) {
      taken.from().ack(taken, subscription.receipts());
    }
    return true;
  }

  @Override
  public boolean reject(Received message) {
    return false; // dead letters are copies
  }

  @Override
  public void giveBack(List<Received> messages) {
    if (!traits.givesBack() || gone) {
      return;
    }
    Map<BatchAcks.Batch, Integer> listed = new HashMap<>();
    for (Received each : messages) {
      BatchAcks.Batch batch = ((Taken) each).batch();
      if (batch != null) {
        listed.merge(batch, 1, Integer::sum);
      }
    }
    Map<Partition, List<Taken>> back = new LinkedHashMap<>();
    for (Received each : messages) {
      Taken taken = (Taken) each;
      BatchAcks.Batch batch = taken.batch();
      // Others of the batch would come back too, out of the hands of handlers that run.
      if (batch == null || batch.inHand() == listed.getOrDefault(batch, 0)) {
        back.computeIfAbsent(taken.from(), from -> new ArrayList<>()).add(taken);
      }
    }
    back.forEach(
        (from, all) -> {
          Set<MessageId> entries = new HashSet<>();
          Set<Place> places = new HashSet<>();
          List<Message<byte[]>> raw = new ArrayList<>();
          for (Taken each : all) {
            if (each.settle()) {
              from.uncount(1);
              BatchAcks.Batch batch = each.batch();
              if (batch != null) {
                batch.giveBack(1);
              }
              raw.add(each.nativeMessage());
              if (places.add(Place.of(each.id()))) {
                entries.add(each.id());
              }
            }
          }
          from.redeliver(entries, raw);
        });
  }

  @Override
  public int giveBackWaiting(int keep) {
    if (!traits.givesBack() || gone) {
      return 0;
    }
    synchronized (takes) {
      int wanted = keep - kept.size();
      if (wanted > 0) {
        keptNow = keep;
        synchronized (change) {
          spread(); // what is kept is in hand here and no longer in the client's queue
        }
      }
      int back = 0;
      Partition[] all = partitions;
      for (int i = 0; i < all.length; i++) {
        Partition from = all[(next + i) % all.length];
        Set<MessageId> entries = new HashSet<>();
        Set<Place> places = new HashSet<>();
        List<Message<byte[]>> raw = new ArrayList<>();
        for (int left = from.depth(); left > 0; left--) {
          Message<byte[]> message = from.receive();
          if (message == null) {
            break;
          }
          if (kept.size() < keep || from.isOfBatchBegun(message)) {
            Taken taken = from.wrap(message);
            if (taken != null) {
              kept.add(taken);
            }
          } else {
            raw.add(message);
            if (places.add(Place.of(message.getMessageId()))) {
              entries.add(message.getMessageId());
            }
          }
        }
        back += raw.size();
        from.redeliver(entries, raw);
      }
      keptNow = kept.size();
      return back;
    }
  }

  /** An entry of a topic: a message, or a batch. */
  private record Place(long ledger, long entry) {
    static Place of(MessageId id) {
      MessageIdAdv at = (MessageIdAdv) id;
      return new Place(at.getLedgerId(), at.getEntryId());
    }
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // it ends in `done`
  public void copy(Received original, Copy copy, CopyDone done) {
    String topic = copy.deadLetter() ? subscription.deadLetters() : subscription.retries();
    copies
        .send(
            topic,
            copy.deadLetter() ? subscription::readyDeadLetters : this::readyRetries,
            ((Taken) original).nativeMessage(),
            copy)
        .whenComplete(
            (nothing, failure) ->
                done.done(
                    failure == null
                        ? null
                        : "copy to " + topic + ": " + Failures.words(Failures.cause(failure))));
  }

  /** Subscribes to the topic of retries before the first message goes there. */
  private CompletableFuture<Void> readyRetries(String topic) {
    return subscription.partitionsOf(topic, true).thenCompose(this::add);
  }

  private CompletableFuture<Void> add(List<String> topics) {
    List<CompletableFuture<Void>> opening = new ArrayList<>();
    synchronized (change) {
      Set<String> known = new HashSet<>();
      for (Partition each : partitions) {
        known.add(each.topic());
      }
      for (String topic : topics) {
        if (known.add(topic) && !gone) {
          Partition added = partition(topic, 1, true);
          opening.add(added.open().thenRun(() -> join(added)));
        }
      }
    }
    return CompletableFuture.allOf(opening.toArray(CompletableFuture[]::new));
  }

  private void join(Partition added) {
    synchronized (change) {
      for (Partition each : partitions) {
        if (each.topic().equals(added.topic())) {
          closeUnheard(added); // two found it at the same time
          return;
        }
      }
      if (gone) {
        closeUnheard(added);
        return;
      }
      List<Partition> all = new ArrayList<>(List.of(partitions));
      all.add(added);
      partitions = all.toArray(Partition[]::new);
      if (stopped) {
        added.stop();
      }
      spread();
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // nobody waits for it
  private static void closeUnheard(Partition partition) {
    partition
        .close()
        .whenComplete(
            (nothing, failure) -> {
              if (failure != null) {
                LOG.debug("closing {}: {}", partition.topic(), Failures.words(failure));
              }
            });
  }

  private void tick() {
    try {
      look(System.nanoTime());
    } catch (RuntimeException e) {
      LOG.error("looking after the subscription failed", e);
    }
  }

  private void look(long now) {
    if (gone) {
      return;
    }
    boolean all = true;
    String lost = null;
    for (Partition each : partitions) {
      String said = each.tick(now);
      lost = lost == null ? said : lost;
      String ended = each.ended();
      if (ended != null) {
        end(ended);
        return;
      }
      all &= each.isUp();
    }
    if (connected && (lost != null || !all)) {
      connected = false;
      listener.disconnected(lost == null ? "connection lost" : lost);
    }
    if (!connected && all) {
      connected = true;
      listener.reconnected();
    }
    synchronized (change) {
      if (keptNow != keptSpread) {
        spread();
      }
    }
    if (wanted.get() != NOT && waiting() > 0) {
      wake();
    }
    if (now - nextWatchNanos >= 0 && !stopped) {
      nextWatchNanos = now + subscription.watchEvery().toNanos();
      watch();
    }
  }

  /** Looks for partitions that were added, and for retries of a sibling's. */
  @SuppressWarnings("FutureReturnValueIgnored") // ends by itself
  private void watch() {
    synchronized (change) {
      if (watching) {
        return;
      }
      watching = true;
    }
    watches++;
    subscription
        .topics(false, watches % RETRIES_EVERY == 0)
        .thenCompose(this::add)
        .whenComplete(
            (nothing, failure) -> {
              synchronized (change) {
                watching = false;
              }
              if (failure != null) {
                LOG.debug("looking for partitions: {}", Failures.words(Failures.cause(failure)));
              }
            });
  }

  private void end(String detail) {
    gone = true;
    stopTicking();
    for (Partition each : partitions) {
      closeUnheard(each);
    }
    listener.lost(false, true, detail);
  }

  private void stopTicking() {
    synchronized (change) {
      if (ticking != null) {
        ticking.cancel(false);
      }
    }
  }

  @Override
  public int flush(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    for (Partition each : partitions) {
      each.flush();
    }
    boolean unused = await(deadline, () -> receiptsDue() == 0);
    return receiptsDue();
  }

  private int receiptsDue() {
    int due = 0;
    for (Partition each : partitions) {
      due += each.receiptsDue();
    }
    return due;
  }

  @Override
  public void stop(Duration timeout) {
    if (stopped) {
      return;
    }
    stopped = true;
    for (Partition each : partitions) {
      each.stop();
    }
    long deadline = System.nanoTime() + timeout.toNanos();
    long[] seen = {observe().received(), System.nanoTime()};
    await(
        deadline,
        () -> {
          Observation now = observe();
          if (now.received() != seen[0]) {
            seen[0] = now.received();
            seen[1] = System.nanoTime();
          }
          return now.outstanding() <= 0 || System.nanoTime() - seen[1] >= STOP_QUIET_NANOS;
        });
  }

  private static boolean await(long deadlineNanos, BooleanSupplier until) {
    while (!until.getAsBoolean()) {
      if (System.nanoTime() - deadlineNanos >= 0 || Thread.currentThread().isInterrupted()) {
        return until.getAsBoolean();
      }
      LockSupport.parkNanos(WAIT_STEP_NANOS);
    }
    return true;
  }

  @Override
  public void close(Duration timeout) {
    gone = true;
    stopTicking();
    List<CompletableFuture<Void>> closing = new ArrayList<>();
    for (Partition each : partitions) {
      closing.add(each.close());
    }
    closing.add(copies.close());
    try {
      CompletableFuture.allOf(closing.toArray(CompletableFuture[]::new))
          .get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException | RejectedExecutionException e) {
      LOG.debug("closing: {}", Failures.words(Failures.cause(e)));
    }
  }
}
