package io.floatvalve.benchmarks;

import io.floatvalve.model.Ordering;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;

/** The plain client: threads that receive, handle and acknowledge, over a fixed queue. */
final class PlainPulsar implements Contestant {
  static final int QUEUE = 1_000;
  private static final long END_MILLIS = 5_000;

  private final Consumer<byte[]> consumer;
  private final Work work;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicInteger handling = new AtomicInteger();
  private volatile boolean ended;

  PlainPulsar(PulsarClient client, Plan plan) throws PulsarClientException {
    work = plan.work();
    consumer =
        client
            .newConsumer()
            .topic(plan.topic())
            .subscriptionName(SUBSCRIPTION)
            .subscriptionType(type(plan.ordering()))
            .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
            .receiverQueueSize(QUEUE)
            .startPaused(true)
            .subscribe();
    int loops = plan.ordering() == Ordering.NONE ? plan.workers() : 1;
    for (int i = 0; i < loops; i++) {
      Thread thread = new Thread(this::receive, "plain-loop-" + i);
      thread.setDaemon(true);
      threads.add(thread);
    }
  }

  private static SubscriptionType type(Ordering ordering) {
    return switch (ordering) {
      case NONE -> SubscriptionType.Shared;
      case BY_KEY -> SubscriptionType.Key_Shared;
      case TOTAL -> SubscriptionType.Failover;
    };
  }

  private void receive() {
    try {
      while (!ended) {
        Message<byte[]> message = consumer.receive();
        handling.incrementAndGet();
        work.handle();
        handling.decrementAndGet();
        var unused = consumer.acknowledgeAsync(message);
      }
    } catch (InterruptedException | PulsarClientException e) {
      if (!ended) {
        throw new IllegalStateException("the plain loop failed", e);
      }
    }
  }

  @Override
  public void start() {
    threads.forEach(Thread::start);
    consumer.resume();
  }

  @Override
  @SuppressWarnings("deprecation") // the only public word on the queue's length
  public int waiting() {
    return Objects.requireNonNullElse(consumer.getStats().getMsgNumInReceiverQueue(), 0);
  }

  @Override
  public int held() {
    return waiting() + handling.get();
  }

  @Override
  public long waitingBytes() {
    return -1;
  }

  @Override
  public int permits() {
    return QUEUE;
  }

  @Override
  public boolean wasDisconnected() {
    return consumer.getLastDisconnectedTimestamp() != 0 || !consumer.isConnected();
  }

  @Override
  public void close() {
    ended = true;
    threads.forEach(Thread::interrupt);
    try {
      for (Thread each : threads) {
        each.join(END_MILLIS);
      }
      consumer.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (PulsarClientException e) {
      throw new IllegalStateException("closing the plain consumer", e);
    }
  }
}
