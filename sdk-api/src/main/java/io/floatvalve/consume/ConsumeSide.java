package io.floatvalve.consume;

import io.floatvalve.event.Event;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.explain.Explanation;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Ordering;
import io.floatvalve.spi.Broker;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;

/** All consumers over one broker. {@code Messaging} holds it; applications use that. */
public final class ConsumeSide {
  private static final int THREADS = 256;
  private static final int OPENERS = 4;
  private static final int CLOSERS = 16;

  /** A consumer, as this closes it. */
  interface Member extends AutoCloseable {
    /** Lets nothing more be taken; returns at once. */
    void endIntake();

    Explanation explain();

    /** The first half of closing: gives back what was not begun and waits for handlers. */
    void finish();

    @Override
    void close();
  }

  private final Broker broker;
  private final java.util.function.Consumer<Event> events;
  private final PermitLoop loop = new PermitLoop();
  private final SharedThreads threads = new SharedThreads("floatvalve-handler", THREADS);
  private final SharedThreads openers = new SharedThreads("floatvalve-open", OPENERS);
  private final Set<Member> members = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  /** Makes a side without consumers; it has no thread yet. */
  public ConsumeSide(Broker broker, java.util.function.Consumer<Event> events) {
    this.broker = broker;
    this.events = events;
  }

  /** Has what the broker says at hand; see {@code Messaging.viewedBy}. */
  public void viewedBy(BrokerViews views) {
    loop.viewedBy(views);
  }

  /** Explains all consumers that are open. */
  public List<Explanation> explain() {
    List<Explanation> all = new ArrayList<>();
    members.forEach(each -> all.add(each.explain()));
    return all;
  }

  /** Opens a consumer; see {@code Messaging.consumer}. */
  public Consumer open(ConsumerSettings settings) {
    int slots = settings.ordering() == Ordering.TOTAL ? 1 : settings.workers();
    Reception reception = reception(settings, slots);
    Executor given = settings.executor();
    if (given == null) {
      threads.raiseTo(slots);
    }
    HandledConsumer consumer =
        new HandledConsumer(
            this,
            reception,
            slots,
            given == null ? threads : given,
            given == null ? threads : null);
    return admitted(consumer);
  }

  /** Opens a pull consumer; see {@code Messaging.pullConsumer}. */
  public PullConsumer openPull(ConsumerSettings settings) {
    Reception reception = reception(settings, settings.maxUnsettled());
    PulledConsumer consumer = new PulledConsumer(this, reception);
    reception.start(consumer);
    return admitted(consumer);
  }

  private Reception reception(ConsumerSettings settings, int slots) {
    if (closed) {
      throw closed();
    }
    Reception reception = new Reception(broker, settings, slots, events, loop, openers);
    reception.open();
    return reception;
  }

  private <M extends Member> M admitted(M member) {
    members.add(member);
    if (closed) {
      member.close();
      throw closed();
    }
    return member;
  }

  private static MessagingException closed() {
    return new MessagingException(MessagingException.Kind.CLOSED, "messaging is closed", null);
  }

  void forget(Member member) {
    members.remove(member);
  }

  /**
   * The first half of closing: all consumers, at the same time, take no more, give back what was
   * not begun, and wait for their handlers, each for its {@code closeTimeout}. Deliveries can be
   * settled until {@link #close}.
   */
  public void finish() {
    closed = true;
    forEach(Member::finish);
  }

  /** Closes all consumers at the same time, and ends the threads. Closing again does nothing. */
  public void close() {
    closed = true;
    forEach(Member::close);
    loop.close();
    openers.close();
    threads.close();
  }

  /** Many wait for the broker, or for handlers, at the same time: on threads for that alone. */
  private void forEach(java.util.function.Consumer<Member> task) {
    List<Member> all = new ArrayList<>(members);
    all.forEach(Member::endIntake);
    var left = new ConcurrentLinkedQueue<>(all);
    Runnable work =
        () -> {
          for (Member each = left.poll(); each != null; each = left.poll()) {
            task.accept(each);
          }
        };
    List<Thread> helpers = new ArrayList<>();
    for (int i = 1; i < Math.min(CLOSERS, all.size()); i++) {
      Thread thread = new Thread(work, "floatvalve-close-" + i);
      thread.setDaemon(true);
      thread.start();
      helpers.add(thread);
    }
    work.run();
    try {
      for (Thread each : helpers) {
        each.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
