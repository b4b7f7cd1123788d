package io.floatvalve.publish;

import io.floatvalve.event.Event;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.explain.Explanation;
import io.floatvalve.model.MessagingException;
import io.floatvalve.spi.Broker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All publishers over one broker and the threads they share: one that sends, one timer, those that
 * complete, and those that open links again. {@code Messaging} holds it; applications use that.
 */
public final class PublishSide {
  private static final Logger LOG = LoggerFactory.getLogger(PublishSide.class);
  private static final AtomicLong EPOCHS = new AtomicLong();
  private static final int MOST_OPENERS = 32;
  private static final long MAX_EPOCH = 1 << 24;
  static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** Above this between two ticks the process stood still, and answers may lie unread. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

  private static final long PAUSE_KEPT_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Broker broker;
  private final Consumer<Event> events;
  private final Set<WindowedPublisher> publishers = ConcurrentHashMap.newKeySet();
  private final Sender sender = new Sender();
  private final Completions completions;
  private final ScheduledThreadPoolExecutor timer;
  private final ThreadPoolExecutor openers;
  private volatile boolean closed;
  private long lastTick; // of the timer's thread
  private volatile long pauseNanos;
  private volatile long pauseEndNanos;
  private volatile BrokerViews views = (addresses, group, name) -> Optional.empty();

  /**
   * Makes a side without publishers and, so far, without threads.
   *
   * @param broker opens links
   * @param events told what happens; must not block
   */
  public PublishSide(Broker broker, Consumer<Event> events) {
    this.broker = broker;
    this.events = events;
    this.completions =
        new Completions(
            thread -> tell(new Event.CallbackStuck(Instant.now(), broker.describe(), thread)));
    this.timer = new ScheduledThreadPoolExecutor(1, daemons("floatvalve-timer"));
    this.openers =
        new ThreadPoolExecutor(
            MOST_OPENERS,
            MOST_OPENERS,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            daemons("floatvalve-opener"));
    openers.allowCoreThreadTimeOut(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  private static ThreadFactory daemons(String name) {
    return task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Opens a publisher; see {@code Messaging.publisher}. */
  public Publisher open(PublisherSettings settings) {
    WindowedPublisher publisher = new WindowedPublisher(this, settings);
    synchronized (this) {
      if (closed) {
        throw new MessagingException(
            MessagingException.Kind.CLOSED, "closed: " + broker.describe(), null);
      }
      if (lastTick == 0) {
        lastTick = System.nanoTime();
        var unused =
            timer.scheduleWithFixedDelay(this::tick, TICK_NANOS, TICK_NANOS, TimeUnit.NANOSECONDS);
      }
      publishers.add(publisher);
    }
    boolean opened = false;
    try {
      publisher.open();
      opened = true;
      return publisher;
    } finally {
      if (!opened) {
        publishers.remove(publisher);
      }
    }
  }

  /** Has what the broker says at hand; see {@code Messaging.viewedBy}. */
  public void viewedBy(BrokerViews given) {
    views = given;
  }

  BrokerViews views() {
    return views;
  }

  /** Explains all publishers that are open. */
  public List<Explanation> explain() {
    List<Explanation> all = new ArrayList<>();
    publishers.forEach(each -> all.add(each.explain()));
    return all;
  }

  /** Returns the longest time the process stood still in the last seconds; 0 if it did not. */
  long longestPause(long now) {
    return now - pauseEndNanos < PAUSE_KEPT_NANOS ? pauseNanos : 0;
  }

  /** Waits for what all publishers have taken so far; see {@code Messaging.drain}. */
  public long drain(Duration timeout) {
    long deadline = deadline(timeout);
    long left = 0;
    for (WindowedPublisher publisher : publishers) {
      left += publisher.drain(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
    }
    return left;
  }

  /** Closes all publishers at the same time, then ends the threads. */
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    List<Thread> closers = new ArrayList<>();
    for (WindowedPublisher publisher : publishers) {
      Thread closer = daemons("floatvalve-closer").newThread(publisher::close);
      closer.start();
      closers.add(closer);
    }
    boolean interrupted = false;
    for (Thread closer : closers) {
      while (closer.isAlive()) { // each ends within its publisher's closeTimeout
        try {
          closer.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    timer.shutdownNow();
    openers.shutdown();
    sender.close();
    completions.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns when a wait ends that begins now; a wait of more than a century is none. */
  static long deadline(Duration timeout) {
    Duration most = Duration.ofDays(36_500);
    return System.nanoTime() + (timeout.compareTo(most) > 0 ? most : timeout).toNanos();
  }

  Broker broker() {
    return broker;
  }

  Sender sender() {
    return sender;
  }

  Completions completions() {
    return completions;
  }

  void tell(Event event) {
    events.accept(event);
  }

  /** Runs a short task that waits for nothing, after a delay, on the timer's thread. */
  void briefly(long delayNanos, Runnable task) {
    try {
      var unused = timer.schedule(() -> guarded(task), delayNanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("closed before it was due: {}", broker.describe());
    }
  }

  private static void guarded(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) { // a fault of ours: nobody looks at the future
      LOG.error("the timer failed", e);
    }
  }

  /** Runs a task that may wait for the broker, after a delay, on a thread of its own. */
  void later(long delayNanos, Runnable task) {
    try {
      var unused = timer.schedule(() -> execute(task), delayNanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("closed before it was due: {}", broker.describe());
    }
  }

  private void execute(Runnable task) {
    try {
      openers.execute(task);
    } catch (RejectedExecutionException e) {
      LOG.debug("closed before it was due: {}", broker.describe());
    } catch (Throwable e) { // no thread to be had: recovery must not end by that
      LOG.error("cannot start a thread; trying again in a second", e);
      later(TimeUnit.SECONDS.toNanos(1), task);
    }
  }

  double jitter() {
    return ThreadLocalRandom.current().nextDouble();
  }

  long nextEpoch() {
    long epoch = EPOCHS.incrementAndGet();
    if (epoch >= MAX_EPOCH) {
      throw new IllegalStateException("no more than " + MAX_EPOCH + " links in one process");
    }
    return epoch;
  }

  void closed(WindowedPublisher publisher) {
    publishers.remove(publisher);
  }

  private void tick() {
    try {
      long now = System.nanoTime();
      boolean paused = now - lastTick > PAUSE_NANOS;
      if (paused && now - lastTick >= longestPause(now)) {
        pauseNanos = now - lastTick;
        pauseEndNanos = now;
      }
      lastTick = now;
      completions.watch();
      if (!paused) { // else let the client's thread read first what came in meanwhile
        publishers.forEach(publisher -> tick(publisher, now));
      }
    } catch (Throwable e) { // what a timer's task throws ends it for ever
      LOG.error("the timer failed", e);
    }
  }

  private static void tick(WindowedPublisher publisher, long now) {
    try {
      publisher.tick(now);
    } catch (RuntimeException e) { // a fault of ours: the timer goes on for the others
      LOG.error("the timer failed at {}", publisher, e);
    }
  }
}
