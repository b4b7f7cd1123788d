package io.floatvalve.examples.lab.permits.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The client library's own consumer as it is commonly used: a fixed prefetch, threads that handle,
 * and each message acknowledged for itself.
 */
final class PlainMember implements Member {
  private final Channel channel;
  private final Work work;
  private final List<Thread> threads = new ArrayList<>();
  private final LinkedBlockingQueue<Arrived> arrived = new LinkedBlockingQueue<>();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicInteger inHandlers = new AtomicInteger();
  private volatile boolean closed;

  private static final class Arrived {
    final long tag;
    final byte[] body;

    Arrived(long tag, byte[] body) {
      this.tag = tag;
      this.body = body;
    }
  }

  PlainMember(Connection connection, String queue, int prefetch, int workers, Work work)
      throws IOException {
    this.work = work;
    this.channel = connection.createChannel();
    channel.basicQos(prefetch);
    for (int i = 0; i < workers; i++) {
      Thread thread = new Thread(this::run, "lab-plain-" + i);
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
    channel.basicConsume(
        queue,
        false,
        new DefaultConsumer(channel) {
          @Override
          public void handleDelivery(
              String tag, Envelope envelope, BasicProperties properties, byte[] body) {
            bytes.addAndGet(body.length);
            arrived.add(new Arrived(envelope.getDeliveryTag(), body));
          }
        });
  }

  private void run() {
    try {
      while (!closed) {
        Arrived next = arrived.take();
        inHandlers.incrementAndGet();
        bytes.addAndGet(-next.body.length);
        work.on(Bench.number(next.body));
        inHandlers.decrementAndGet();
        channel.basicAck(next.tag, false);
      }
    } catch (IOException | RuntimeException | InterruptedException e) {
      // It is being closed.
    }
  }

  @Override
  public int held() {
    return arrived.size() + inHandlers.get();
  }

  @Override
  public long waitingBytes() {
    return bytes.get();
  }

  @Override
  public void close() throws IOException {
    closed = true;
    threads.forEach(Thread::interrupt);
    channel.abort();
  }
}
