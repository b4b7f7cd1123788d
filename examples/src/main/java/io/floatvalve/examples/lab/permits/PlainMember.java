package io.floatvalve.examples.lab.permits;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.ConsumerInterceptor;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.PulsarClientException;

/** Pulsar's own consumer as it is commonly used: threads that receive, handle, acknowledge. */
final class PlainMember implements Member {
  private final Consumer<byte[]> consumer;
  private final Work work;
  private final List<Thread> threads = new ArrayList<>();
  private final Arrivals arrivals = new Arrivals();
  private final AtomicInteger inHandlers = new AtomicInteger();
  private volatile boolean closed;

  @SuppressWarnings("unchecked") // one interceptor as an array of its type
  PlainMember(ConsumerBuilder<byte[]> builder, int workers, Work work)
      throws PulsarClientException {
    this.work = work;
    this.consumer = builder.intercept(arrivals).subscribe();
    for (int i = 0; i < workers; i++) {
      Thread thread = new Thread(this::run, "lab-plain-" + i);
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
  }

  private void run() {
    try {
      while (!closed) {
        Message<byte[]> message = consumer.receive(100, TimeUnit.MILLISECONDS);
        if (message != null) {
          arrivals.taken(message);
          inHandlers.incrementAndGet();
          work.on(message);
          inHandlers.decrementAndGet();
          var unused = consumer.acknowledgeAsync(message);
        }
      }
    } catch (PulsarClientException | InterruptedException e) {
      // It is being closed.
    }
  }

  @Override
  public int held() {
    return (int) arrivals.waiting.get() + inHandlers.get();
  }

  @Override
  public long waitingBytes() {
    return arrivals.bytes.get();
  }

  @Override
  public void close() {
    closed = true;
    threads.forEach(Thread::interrupt);
    try {
      consumer.close();
    } catch (PulsarClientException e) {
      // The client is shut down afterwards; the broker then lets go of it.
    }
  }

  /** Counts what has arrived and was not taken. */
  private static final class Arrivals implements ConsumerInterceptor<byte[]> {
    private final AtomicLong waiting = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();

    @Override
    public Message<byte[]> onArrival(Consumer<byte[]> consumer, Message<byte[]> message) {
      waiting.incrementAndGet();
      bytes.addAndGet(message.size());
      return message;
    }

    private void taken(Message<byte[]> message) {
      waiting.decrementAndGet();
      bytes.addAndGet(-message.size());
    }

    @Override
    public Message<byte[]> beforeConsume(Consumer<byte[]> consumer, Message<byte[]> message) {
      return message;
    }

    @Override
    public void onAcknowledge(
        Consumer<byte[]> consumer,
        MessageId id,
        @org.jspecify.annotations.Nullable Throwable error) {}

    @Override
    public void onAcknowledgeCumulative(
        Consumer<byte[]> consumer,
        MessageId id,
        @org.jspecify.annotations.Nullable Throwable error) {}

    @Override
    public void onNegativeAcksSend(
        Consumer<byte[]> consumer, java.util.Set<MessageId> messageIds) {}

    @Override
    public void onAckTimeoutSend(Consumer<byte[]> consumer, java.util.Set<MessageId> messageIds) {}

    @Override
    public void close() {}
  }
}
