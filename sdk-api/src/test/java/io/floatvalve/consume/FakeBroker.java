package io.floatvalve.consume;

import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.spi.ReceiveLink;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * One queue and its consumers, in memory. Counts a permit until its message is taken. What it has
 * to say it says on a thread of its own, as a client library does.
 */
final class FakeBroker implements Broker {
  private final ExecutorService client =
      Executors.newSingleThreadExecutor(
          task -> {
            Thread thread = new Thread(task, "fake-client");
            thread.setDaemon(true);
            return thread;
          });

  // All guarded by this.
  private final TreeMap<Integer, Stored> backlog = new TreeMap<>();
  final List<FakeLink> links = new ArrayList<>();
  final List<Integer> acked = new ArrayList<>();
  final List<Integer> rejected = new ArrayList<>();
  final List<Integer> returned = new ArrayList<>();
  final List<Sent> copies = new ArrayList<>();
  final List<String> wrongs = new ArrayList<>();
  @Nullable MessagingException refusal;
  @Nullable String copyFailure;
  boolean copiesWait;
  boolean copyable = true;
  boolean deadLetters = true;
  boolean namesMessages = true;
  boolean countsDeliveries = true;
  long aheadMillis; // the publisher's clock
  Duration resizeEvery = Duration.ZERO;
  volatile Duration longestHold = Duration.ofMinutes(30);
  private int fed;

  private volatile @Nullable CountDownLatch untilTicks;
  private final CountDownLatch ticksStopped = new CountDownLatch(1);

  /** A copy, and the message it was made of. */
  record Sent(int id, ReceiveLink.Copy copy, ReceiveLink.CopyDone done) {}

  @Override
  public String describe() {
    return "a fake";
  }

  @Override
  public PublishLink openPublish(PublishRequest request, PublishLink.Listener listener) {
    throw new UnsupportedOperationException();
  }

  @Override
  public synchronized ReceiveLink openReceive(
      ReceiveRequest request, ReceiveLink.Listener listener) {
    if (refusal != null) {
      throw refusal;
    }
    FakeLink link = new FakeLink(listener);
    links.add(link);
    return link;
  }

  @Override
  public void close(Duration timeout) {
    client.shutdown();
  }

  /** Adds messages with ids that go on from the last; a null key for none. */
  void feed(int count, int bytes, IntFunction<@Nullable String> keyOf) {
    synchronized (this) {
      for (int i = 0; i < count; i++) {
        int id = fed++;
        backlog.put(id, new Stored(id, new byte[bytes], keyOf.apply(id)));
      }
    }
    deliver();
  }

  void feed(int count) {
    feed(count, 100, id -> null);
  }

  /**
   * Stops the ticks of all consumers, until {@link #goOnTicking}: the loop hangs where it looks how
   * a link stands, which it does within a second.
   */
  void stopTicks() throws InterruptedException {
    untilTicks = new CountDownLatch(1);
    ticksStopped.await();
  }

  void goOnTicking() {
    CountDownLatch until = untilTicks;
    if (until != null) {
      until.countDown();
    }
  }

  private void lookAfter() {
    CountDownLatch until = untilTicks;
    if (until != null && Thread.currentThread().getName().equals("floatvalve-permits")) {
      ticksStopped.countDown();
      try {
        until.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  synchronized FakeLink link() {
    return links.get(links.size() - 1);
  }

  synchronized int backlog() {
    return backlog.size();
  }

  synchronized List<Integer> acked() {
    return List.copyOf(acked);
  }

  synchronized List<Integer> returned() {
    return List.copyOf(returned);
  }

  synchronized List<Sent> copies() {
    return List.copyOf(copies);
  }

  synchronized List<Integer> rejected() {
    return List.copyOf(rejected);
  }

  synchronized List<String> wrongs() {
    return List.copyOf(wrongs);
  }

  private synchronized void deliver() {
    boolean progress = true;
    while (progress && !backlog.isEmpty()) {
      progress = false;
      for (FakeLink each : links) {
        Map.Entry<Integer, Stored> first = backlog.firstEntry();
        if (first != null && each.hasPermit()) {
          backlog.remove(first.getKey());
          each.arrive(first.getValue());
          progress = true;
        }
      }
    }
  }

  /** A message in the queue. */
  private static final class Stored {
    private final int id;
    private final byte[] payload;
    private final @Nullable String key;
    private int deliveries;

    private Stored(int id, byte[] payload, @Nullable String key) {
      this.id = id;
      this.payload = payload;
      this.key = key;
    }
  }

  /** One consumer of the queue. */
  final class FakeLink implements ReceiveLink {
    private final Listener listener;
    private final ArrayDeque<FakeReceived> waiting = new ArrayDeque<>();
    private final TreeMap<Integer, Stored> unacked = new TreeMap<>();
    private int permits;
    private boolean hungry = true;
    private boolean wasCut;
    private boolean gone;
    private boolean stopped;
    private long waitingBytes;
    private long received;
    int mostWaiting;
    private final List<Integer> permitsTold = new ArrayList<>();
    boolean flushed;
    volatile int unheard; // ends that the broker was not told

    private FakeLink(Listener listener) {
      this.listener = listener;
    }

    List<Integer> permitsTold() {
      synchronized (FakeBroker.this) {
        return List.copyOf(permitsTold);
      }
    }

    private boolean hasPermit() {
      return !gone && !stopped && waiting.size() < permits;
    }

    private void arrive(Stored stored) {
      stored.deliveries++;
      waiting.add(new FakeReceived(stored, wasCut));
      waitingBytes += stored.payload.length;
      received++;
      unacked.put(stored.id, stored);
      mostWaiting = Math.max(mostWaiting, waiting.size());
      if (hungry) {
        hungry = false;
        client.execute(listener::available);
      }
    }

    @Override
    public Traits traits() {
      synchronized (FakeBroker.this) {
        return new Traits(true, resizeEvery, 0, true, copyable, deadLetters, "");
      }
    }

    @Override
    public void window(int permits, int parked) {
      synchronized (FakeBroker.this) {
        if (permits < 1 || parked < 0) {
          wrongs.add("window " + permits + ", " + parked);
        }
        this.permits = Math.max(1, permits - parked);
        if (permitsTold.isEmpty() || permitsTold.get(permitsTold.size() - 1) != permits) {
          permitsTold.add(permits);
        }
      }
      deliver();
    }

    @Override
    public @Nullable Received poll() {
      FakeReceived next;
      synchronized (FakeBroker.this) {
        next = waiting.poll();
        if (next == null) {
          hungry = true;
          return null;
        }
        waitingBytes -= next.size();
        if (waiting.size() < permits / 2 + 1) {
          deliver();
        }
      }
      return next;
    }

    @Override
    public int waiting() {
      synchronized (FakeBroker.this) {
        return waiting.size();
      }
    }

    @Override
    public Observation observe() {
      lookAfter();
      synchronized (FakeBroker.this) {
        return new Observation(
            !gone,
            permits,
            waiting.size(),
            waitingBytes,
            permits - waiting.size(),
            0,
            received,
            0,
            -1);
      }
    }

    @Override
    public boolean ack(Received message) {
      synchronized (FakeBroker.this) {
        FakeReceived it = (FakeReceived) message;
        if (gone) {
          return false;
        }
        unacked.remove(it.stored.id);
        backlog.remove(it.stored.id);
        acked.add(it.stored.id);
        return true;
      }
    }

    @Override
    public boolean reject(Received message) {
      synchronized (FakeBroker.this) {
        if (gone) {
          return false;
        }
        int id = ((FakeReceived) message).stored.id;
        unacked.remove(id);
        rejected.add(id);
        return true;
      }
    }

    @Override
    public void giveBack(List<Received> messages) {
      synchronized (FakeBroker.this) {
        for (Received each : messages) {
          giveBack(((FakeReceived) each).stored);
        }
      }
      deliver();
    }

    private void giveBack(Stored stored) {
      unacked.remove(stored.id);
      returned.add(stored.id);
      backlog.put(stored.id, stored);
    }

    @Override
    public int giveBackWaiting(int keep) {
      int count = 0;
      synchronized (FakeBroker.this) {
        while (waiting.size() > keep) {
          FakeReceived last = waiting.removeLast();
          waitingBytes -= last.size();
          giveBack(last.stored);
          count++;
        }
      }
      deliver();
      return count;
    }

    @Override
    public void copy(Received original, Copy copy, CopyDone done) {
      String failure;
      synchronized (FakeBroker.this) {
        copies.add(new Sent(((FakeReceived) original).stored.id, copy, done));
        failure = copyFailure;
        if (copiesWait) {
          return;
        }
      }
      client.execute(() -> done.done(failure));
    }

    @Override
    public Duration longestHold() {
      return longestHold;
    }

    @Override
    public int flush(Duration timeout) {
      flushed = true;
      return unheard;
    }

    @Override
    public void stop(Duration timeout) {
      synchronized (FakeBroker.this) {
        stopped = true;
      }
    }

    @Override
    public void close(Duration timeout) {
      synchronized (FakeBroker.this) {
        if (!gone) {
          gone = true;
          waiting.clear();
          backlog.putAll(unacked);
          unacked.clear();
        }
      }
      deliver();
    }

    /** The link is lost; all that it had is delivered again, by another. */
    void lose() {
      close(Duration.ZERO);
      client.execute(() -> listener.lost(true, true, "cut"));
    }

    /** The connection is lost and comes back; all that is not acknowledged is delivered again. */
    void cut() {
      synchronized (FakeBroker.this) {
        wasCut = true;
        waiting.clear();
        waitingBytes = 0;
        for (Stored each : unacked.values()) {
          backlog.put(each.id, each);
        }
        client.execute(() -> listener.disconnected("cut"));
        client.execute(listener::reconnected);
        client.execute(FakeBroker.this::deliver);
        hungry = true;
      }
    }

    /** Delivers a message again that is still out, as a client's ack timeout would. */
    void again(int id) {
      synchronized (FakeBroker.this) {
        Stored stored = unacked.get(id);
        if (stored != null) {
          arrive(stored);
        }
      }
    }
  }

  private final class FakeReceived implements ReceiveLink.Received {
    private final Stored stored;
    private final boolean afterCut;
    private final int deliveries;
    private final long arrivedNanos = System.nanoTime();
    private final long publishedMillis = System.currentTimeMillis() + aheadMillis;

    private FakeReceived(Stored stored, boolean afterCut) {
      this.stored = stored;
      this.afterCut = afterCut;
      this.deliveries = stored.deliveries;
    }

    @Override
    public Message message() {
      return Message.builder(stored.payload)
          .messageId(Integer.toString(stored.id))
          .key(stored.key)
          .build();
    }

    @Override
    public Object nativeMessage() {
      return stored.id;
    }

    @Override
    public @Nullable String key() {
      return stored.key;
    }

    @Override
    public int size() {
      return stored.payload.length;
    }

    @Override
    public long arrivedNanos() {
      return arrivedNanos;
    }

    @Override
    public long publishedMillis() {
      return publishedMillis;
    }

    @Override
    public int attempts() {
      return 0;
    }

    @Override
    public int deliveryCount() {
      return countsDeliveries ? deliveries : 0;
    }

    @Override
    public boolean redelivered() {
      return afterCut || deliveries > 1;
    }

    @Override
    public @Nullable Object identity() {
      return namesMessages ? stored.id : null;
    }

    @Override
    public String describe() {
      return "message " + stored.id;
    }
  }
}
