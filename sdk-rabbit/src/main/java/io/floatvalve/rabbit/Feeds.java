package io.floatvalve.rabbit;

import com.rabbitmq.client.Channel;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The consumers of one channel: one, and a second one while the prefetch is being changed.
 *
 * <p>Methods are called with the link's lock held unless they say otherwise. The client is called
 * on threads of our own, one at a time, without it.
 */
final class Feeds {
  /*
   * The prefetch of a live consumer cannot be changed. So a second one with the new prefetch begins
   * on the same channel, and then the first is cancelled; what that one delivered can be
   * acknowledged all the same, since tags are the channel's.
   *
   * What a quorum queue has on its way to a consumer when it is cancelled comes back as a failure
   * and out of order. So acknowledgements to the old one are held until as much is outstanding as
   * its prefetch: nothing can be on its way then. If that does not come about soon, both stay, and
   * it is tried again once messages have come. A classic queue has nothing on its way, and where a
   * queue is known to be one there is nothing to wait for.
   *
   * For the same reason nothing is cancelled when delivery is to end, unless the queue is known to
   * be one that has nothing on its way: what comes is left alone, and all that is not settled goes
   * back, in order, by the end of the channel. Before that end comes the cancel after all, once as
   * much is outstanding as may be. For a quorum queue keeps acknowledgements back in the channel's
   * process while 32 commands of the channel are under way in its log, and forgets them when the
   * channel ends. A cancel is answered when all those commands are through, and by then it has sent
   * on what it kept.
   *
   * Where no order is kept and what waits is given back, since handlers turned slow, none of this
   * matters: what is on its way comes back as what waits does.
   *
   * A queue with a single active consumer gives the second one nothing, and a classic one of 3.10
   * breaks when the active one is cancelled for it. So the old one is only cancelled when the new
   * one was seen to get something. If it gets nothing while the old one gets more than could have
   * been on its way, it is the new one that goes, and the prefetch stays as it is.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Feeds.class);
  private static final long FULL_NANOS = 200_000_000L;
  private static final long FIRST_PAUSE_NANOS = 500_000_000L;
  private static final long LAST_PAUSE_NANOS = 10_000_000_000L;
  private static final long DRAINING_NANOS = 20_000_000L;
  private static final int SURELY = 8;
  private static final int FEW = 8;

  /** How a queue is consumed from. */
  record Plan(
      String queue,
      boolean exclusive,
      Map<String, Object> arguments,
      boolean classic,
      boolean stream,
      boolean resizable) {}

  private final RabbitReceiveLink link;
  private final Channel channel;
  private final Plan plan;
  private final String tagPrefix;
  private final int slots;
  private final Object lock;
  private final Unsettled unsettled;

  private @Nullable Feed current;
  private @Nullable Feed old; // live as well, to be cancelled
  private final List<Feed> draining = new ArrayList<>(1);
  private int number;
  private int wanted;
  private long oldDeliveredAtChange;
  private boolean resizable;
  private boolean busy; // a thread calls the client
  private boolean stirred; // something came since the last try
  private boolean hasty; // the old one goes, and what was on its way to it may come back
  private boolean stopped;
  private long notBefore;
  private long pauseNanos = FIRST_PAUSE_NANOS;

  Feeds(
      RabbitReceiveLink link,
      Channel channel,
      Plan plan,
      String tagPrefix,
      int slots,
      Object lock,
      Unsettled unsettled) {
    this.link = link;
    this.channel = channel;
    this.plan = plan;
    this.tagPrefix = tagPrefix;
    this.slots = slots;
    this.lock = lock;
    this.unsettled = unsettled;
    this.resizable = plan.resizable();
  }

  /** Returns the prefetch of the newest consumer, or what the first is to have. */
  int prefetch() {
    Feed now = current;
    return now == null ? wanted : now.prefetch();
  }

  /** Returns what the broker may have outstanding here now, by all limits that hold at a time. */
  int limit() {
    int limit = 0;
    for (Feed each : live()) {
      limit += each.prefetch();
    }
    for (Feed each : draining) {
      limit += each.source().outstanding();
    }
    return limit;
  }

  /** Returns how many more the broker may send before anything is settled. */
  int unused() {
    int unused = 0;
    Feed now = current;
    if (now != null) {
      unused += Math.max(0, now.prefetch() - now.source().outstanding());
    }
    Feed before = old;
    if (before != null) {
      unused += Math.max(0, before.prefetch() - before.source().outstanding());
    }
    return unused;
  }

  private List<Feed> live() {
    List<Feed> live = new ArrayList<>(2);
    if (old != null) {
      live.add(old);
    }
    if (current != null) {
      live.add(current);
    }
    return live;
  }

  /** Whether the broker fills up again at once what is given back of this. */
  boolean isRefilled(Unsettled.Source source) {
    return isOf(current, source) || isOf(old, source);
  }

  private static boolean isOf(@Nullable Feed feed, Unsettled.Source source) {
    return feed != null && feed.source() == source;
  }

  /**
   * Has the old one cancelled as soon as it can be: what waits is to be given back, so it is no
   * matter that some more comes back, too.
   *
   * @return how many to give back although its consumer is live: the new one has to be seen to get
   *     something, and the queue may be empty
   */
  int hasten() {
    Feed before = old;
    Feed next = current;
    if (before == null || next == null) {
      return 0;
    }
    hasty = true;
    stirred = true;
    notBefore = link.now();
    unsettled.release(before.source());
    lock.notifyAll();
    return next.delivered() == 0 ? FEW : 0;
  }

  /** Whether a smaller prefetch is wanted and nothing is done about it yet. */
  private boolean isShrinkingLater() {
    return !busy && old == null && resizable && wanted < prefetch();
  }

  /** Whether a cancel is safe at any time: nothing is on its way, or nothing has to come back. */
  boolean isCancellable() {
    return plan.classic() || plan.stream();
  }

  /** Whether the broker may send nothing before something is settled. */
  boolean isFull() {
    return live().stream().allMatch(Feeds::isFull);
  }

  /** Whether some acknowledgements are held. */
  boolean isChanging() {
    return busy;
  }

  /** Sets what the prefetch is to be; the first call begins to consume. */
  void want(int prefetch) {
    wanted = prefetch;
    look(link.now());
  }

  /** Lets the prefetch be as it is from here on: the queue turned out to be a stream. */
  void fix() {
    resizable = false;
  }

  /** Something came by a consumer. */
  void arrived(Feed by) {
    by.countDelivery();
    if (!stirred) {
      stirred = true;
    }
    Feed before = old;
    if (busy && before != null && (by.delivered() == 1 || isFull(before))) {
      lock.notifyAll();
    }
  }

  private static boolean isFull(Feed feed) {
    return feed.source().outstanding() >= feed.prefetch();
  }

  /** Returns when {@link #look} is to be called again at the latest, or never. */
  long lookAgain() {
    boolean open = !busy && !stopped && resizable && stirred;
    return open && (old != null || isShrinkingLater()) ? notBefore : AckWriter.NEVER;
  }

  /** Begins what is to be done and can be. */
  void look(long now) {
    draining.removeIf(each -> each.source().outstanding() == 0);
    if (busy || stopped || link.isGone()) {
      return;
    }
    Feed newest = current;
    if (newest == null) {
      if (wanted > 0) {
        Feed first = next();
        current = first;
        work("floatvalve-rabbit-consume", () -> consume(first));
      }
      return;
    }
    if (!resizable || now < notBefore) {
      return;
    }
    Feed before = old;
    if (before != null) {
      if (stirred) {
        if (!hasty) {
          unsettled.hold(before.source());
        }
        work("floatvalve-rabbit-resize", () -> retire(before, newest));
      }
      return;
    }
    int outstanding = 0;
    for (Feed each : draining) {
      outstanding += each.source().outstanding();
    }
    if (wanted == newest.prefetch()) {
      return;
    }
    if (!Prefetch.mayChange(newest.prefetch(), wanted, outstanding, slots)) {
      notBefore = now + DRAINING_NANOS;
    } else {
      Feed next = next();
      old = newest;
      current = next;
      oldDeliveredAtChange = newest.delivered();
      unsettled.hold(newest.source());
      work(
          "floatvalve-rabbit-resize",
          () -> {
            if (consume(next)) {
              retire(newest, next);
            }
          });
    }
  }

  private Feed next() {
    return new Feed(link, tagPrefix + ++number, wanted);
  }

  private void work(String name, Runnable calls) {
    busy = true;
    Threads.start(
        name,
        () -> {
          try {
            calls.run();
          } finally {
            synchronized (lock) {
              busy = false;
              lock.notifyAll();
            }
            link.settleSoon();
          }
        });
  }

  /** Without the lock. */
  private boolean consume(Feed next) {
    try {
      channel.basicQos(next.prefetch(), false);
      channel.basicConsume(
          plan.queue(), false, next.tag(), false, plan.exclusive(), plan.arguments(), next);
      return true;
    } catch (IOException | RuntimeException e) {
      link.lose(false, "consuming failed: " + Failures.detail(e));
      return false;
    }
  }

  /** Cancels the old one if that can be done safely before long. Without the lock. */
  private void retire(Feed before, Feed next) {
    Feed goes;
    synchronized (lock) {
      goes = awaitSafe(before, next);
      if (goes == null) {
        unsettled.release(before.source());
        stirred = false;
        notBefore = link.now() + pauseNanos;
        pauseNanos = Math.min(LAST_PAUSE_NANOS, 2 * pauseNanos);
        return;
      }
    }
    try {
      channel.basicCancel(goes.tag());
    } catch (IOException | RuntimeException e) {
      link.lose(false, "cancelling failed: " + Failures.detail(e));
      return;
    }
    synchronized (lock) {
      unsettled.release(before.source());
      draining.add(goes);
      old = null;
      hasty = false;
      pauseNanos = FIRST_PAUSE_NANOS;
      if (goes == next) {
        current = before;
        resizable = false;
        LOG.warn(
            "queue '{}' gives a second consumer nothing (a single active consumer?):"
                + " the prefetch stays {}",
            plan.queue(),
            before.prefetch());
      }
    }
  }

  /** Waits until one of the two can be cancelled safely; null if that takes too long. */
  private @Nullable Feed awaitSafe(Feed before, Feed next) {
    long deadline = System.nanoTime() + FULL_NANOS;
    long millis = FULL_NANOS / 1_000_000;
    while (millis > 0 && !stopped && !link.isGone()) {
      if (next.delivered() > 0 && (hasty || plan.classic() || isFull(before))) {
        return before;
      }
      if (next.delivered() == 0
          && before.delivered() - oldDeliveredAtChange >= before.prefetch() + SURELY) {
        return next;
      }
      try {
        lock.wait(millis);
      } catch (InterruptedException e) {
        return null; // nobody interrupts it
      }
      millis = (deadline - System.nanoTime()) / 1_000_000;
    }
    return null;
  }

  /**
   * Changes nothing any more, and cancels all where that is safe, and waits for that; what comes
   * until then has arrived. Without the lock.
   */
  void stop(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    synchronized (lock) {
      stopped = true;
      lock.notifyAll();
      long millis = timeout.toMillis();
      while (millis > 0 && busy && !link.isGone()) {
        try {
          lock.wait(millis);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          break;
        }
        millis = (deadline - System.nanoTime()) / 1_000_000;
      }
    }
    if (!isCancellable()) {
      return;
    }
    Threads.join(
        Threads.start("floatvalve-rabbit-cancel", this::cancelAll),
        Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
  }

  /** Cancels all. Waits for the broker, without the lock. */
  void cancelAll() {
    List<Feed> live;
    synchronized (lock) {
      live = live();
    }
    try {
      for (Feed each : live) {
        channel.basicCancel(each.tag());
      }
    } catch (IOException | RuntimeException e) {
      LOG.debug("cancelling on {} failed: {}", link, Failures.detail(e));
    }
  }
}
