package io.floatvalve.pulsar;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Resizes the receive queue of a live consumer. The only class that knows what the client is made
 * of: it names the client's inner classes and members as text and reaches them by method handles,
 * so that another version is found out when it is linked, and nothing of ours lies in the client's
 * packages.
 */
final class PermitBridge implements ReceiveQueue {
  private static final Logger LOG = LoggerFactory.getLogger(PermitBridge.class);
  private static final String CONSUMER = "org.apache.pulsar.client.impl.ConsumerImpl";
  private static final String ZERO_QUEUE = "org.apache.pulsar.client.impl.ZeroQueueConsumerImpl";
  private static final String BASE = "org.apache.pulsar.client.impl.ConsumerBase";
  private static final String STATE = "org.apache.pulsar.client.impl.HandlerState";
  private static final String GROUPING =
      "org.apache.pulsar.client.impl.AcknowledgmentsGroupingTracker";

  /*
   * A constant, so that the handles in it are folded into the code that calls them. The guards:
   *
   * 1. Subscribing completes before the initial permits are added. Until they are there (the
   *    consumer is started paused, so they stay unsent) nothing may be resized: `primed`.
   * 2. A shrink takes at most what is here, waiting or unsent. So `unsent + depth >= 0` always
   *    holds, which can be seen to be broken without asking the broker.
   * 3. Where it is broken for a while, permits were lost and are granted again: `repair`.
   *
   * The consumer's own monitor is what the client holds while it resets the permits of a new
   * connection and while it counts a message as taken.
   */
  private static final @Nullable Links LINKS = link(Consumer.class.getClassLoader());

  private final Consumer<?> consumer;

  private PermitBridge(Consumer<?> consumer) {
    this.consumer = consumer;
  }

  /** Returns whether consumers of this client can be bridged at all. */
  static boolean links() {
    return LINKS != null;
  }

  /** Returns a bridge to this consumer, or null if there can be none. */
  static @Nullable PermitBridge to(Consumer<?> consumer) {
    Links links = LINKS;
    return links != null
            && links.consumer.isInstance(consumer)
            && !links.zeroQueue.isInstance(consumer)
        ? new PermitBridge(consumer)
        : null;
  }

  @Override
  public boolean resizable() {
    return true;
  }

  @Override
  public int size() {
    try {
      return (int) linked().size.invokeExact((Object) consumer);
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  @Override
  public int depth() {
    try {
      return (int) linked().depth.invokeExact((Object) consumer);
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  @Override
  public long bytes() {
    try {
      return (long) linked().bytes.invokeExact((Object) consumer);
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  @Override
  public int unsent() {
    try {
      return (int) linked().unsent.invokeExact((Object) consumer);
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  @Override
  public boolean primed() {
    synchronized (consumer) {
      return unsent() >= size();
    }
  }

  @Override
  public boolean ended() {
    try {
      String state = String.valueOf(linked().state.invokeExact((Object) consumer));
      return state.equals("Closed") || state.equals("Failed") || state.equals("Terminated");
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  @Override
  public void resize(int target) {
    synchronized (consumer) {
      if (!consumer.isConnected()) {
        return; // a new connection is granted the size at that time
      }
      int old = size();
      int next = target >= old ? target : Math.max(target, old - Math.max(0, depth() + unsent()));
      if (next != old) {
        try {
          linked().resize.invokeExact((Object) consumer, next);
        } catch (Throwable e) {
          throw broken(e);
        }
      }
    }
  }

  @Override
  public int repair() {
    synchronized (consumer) {
      int lost = -(unsent() + depth());
      if (lost <= 0 || !consumer.isConnected()) {
        return 0;
      }
      int grant = lost + size();
      try {
        linked().grant.invokeExact((Object) consumer, grant);
      } catch (Throwable e) {
        throw broken(e);
      }
      return grant;
    }
  }

  @Override
  public void flushAcknowledgements() {
    try {
      linked().flush.invokeExact(linked().grouping.invokeExact((Object) consumer));
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  @Override
  public void redeliver(Set<MessageId> entries, Iterable<Message<byte[]>> messages) {
    try {
      linked().redeliver.invokeExact((Object) consumer, entries);
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  @Override
  public void afterArrival(Runnable next) {
    try {
      ((Executor) linked().arrivals.invokeExact((Object) consumer)).execute(next);
    } catch (RejectedExecutionException e) {
      LOG.debug("the client is closed: nothing arrives any more", e);
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  private static Links linked() {
    Links links = LINKS;
    if (links == null) {
      throw new IllegalStateException("not linked");
    }
    return links;
  }

  private static RuntimeException broken(Throwable e) {
    if (e instanceof RuntimeException unchecked) {
      return unchecked;
    }
    if (e instanceof Error error) {
      throw error;
    }
    return new IllegalStateException("the client's receive queue failed", e);
  }

  /** Returns what is reached in the client of a class loader, or null if that is another one. */
  static @Nullable Links link(ClassLoader loader) {
    try {
      Class<?> consumer = Class.forName(CONSUMER, false, loader);
      Class<?> base = Class.forName(BASE, false, loader);
      Class<?> state = Class.forName(STATE, false, loader);
      Class<?> grouping = Class.forName(GROUPING, false, loader);
      MethodHandles.Lookup in = MethodHandles.privateLookupIn(consumer, MethodHandles.lookup());
      MethodHandles.Lookup inBase = MethodHandles.privateLookupIn(base, MethodHandles.lookup());
      MethodHandles.Lookup inState = MethodHandles.privateLookupIn(state, MethodHandles.lookup());
      MethodType count = MethodType.methodType(int.class);
      MethodType of = MethodType.methodType(int.class, Object.class);
      MethodType change = MethodType.methodType(void.class, int.class);
      MethodType changeOf = MethodType.methodType(void.class, Object.class, int.class);
      MethodType part = MethodType.methodType(Object.class, Object.class);
      return new Links(
          consumer,
          Class.forName(ZERO_QUEUE, false, loader),
          inBase.findVirtual(base, "getCurrentReceiverQueueSize", count).asType(of),
          in.findVirtual(consumer, "numMessagesInQueue", count).asType(of),
          inBase
              .findVirtual(base, "getIncomingMessageSize", MethodType.methodType(long.class))
              .asType(MethodType.methodType(long.class, Object.class)),
          in.findVirtual(consumer, "getAvailablePermits", count).asType(of),
          in.findVirtual(consumer, "setCurrentReceiverQueueSize", change).asType(changeOf),
          in.findVirtual(consumer, "increaseAvailablePermits", change).asType(changeOf),
          inState
              .findVirtual(
                  state, "getState", MethodType.methodType(Class.forName(STATE + "$State")))
              .asType(part),
          in.findGetter(consumer, "acknowledgmentsGroupingTracker", grouping).asType(part),
          MethodHandles.privateLookupIn(grouping, MethodHandles.lookup())
              .findVirtual(grouping, "flush", MethodType.methodType(void.class))
              .asType(MethodType.methodType(void.class, Object.class)),
          in.findVirtual(
                  consumer,
                  "redeliverUnacknowledgedMessages",
                  MethodType.methodType(void.class, Set.class))
              .asType(MethodType.methodType(void.class, Object.class, Set.class)),
          inBase
              .findGetter(
                  base, "internalPinnedExecutor", java.util.concurrent.ExecutorService.class)
              .asType(MethodType.methodType(Executor.class, Object.class)));
    } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
      LOG.warn(
          "The receive queue of this Pulsar client cannot be resized: consumers use a small queue of"
              + " fixed size instead ({})",
          e.toString());
      return null;
    }
  }

  /** What is reached in the client; every handle takes and returns erased types. */
  record Links(
      Class<?> consumer,
      Class<?> zeroQueue,
      MethodHandle size,
      MethodHandle depth,
      MethodHandle bytes,
      MethodHandle unsent,
      MethodHandle resize,
      MethodHandle grant,
      MethodHandle state,
      MethodHandle grouping,
      MethodHandle flush,
      MethodHandle redeliver,
      MethodHandle arrivals) {}
}
