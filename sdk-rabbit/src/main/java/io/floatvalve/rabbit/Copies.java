package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ShutdownSignalException;
import io.floatvalve.model.MessagingException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Sends copies of messages, each confirmed by the broker, on a channel of the connection that
 * publishes: the one that consumes must not wait for a broker that is short of memory. Thread-safe.
 */
final class Copies {
  private static final long IDLE_MILLIS = 5_000;

  private final SharedTrunk trunks;
  private final Duration timeout;

  private final Object lock = new Object();
  private final ArrayDeque<Job> jobs = new ArrayDeque<>(); // guarded by lock
  private boolean working; // guarded by lock: there is a thread
  private boolean closed; // guarded by lock
  private @Nullable Sending sending; // the thread's; written under lock

  /**
   * Makes it.
   *
   * @param timeout for one copy
   */
  Copies(SharedTrunk trunks, Duration timeout) {
    this.trunks = trunks;
    this.timeout = timeout;
  }

  /** A copy to be sent. */
  private static final class Job {
    final String exchange;
    final String routingKey;
    final BasicProperties properties;
    final byte[] body;
    final CompletableFuture<Void> end;

    Job(
        String exchange,
        String routingKey,
        BasicProperties properties,
        byte[] body,
        CompletableFuture<Void> end) {
      this.exchange = exchange;
      this.routingKey = routingKey;
      this.properties = properties;
      this.body = body;
      this.end = end;
    }

    void fail(String why) {
      end.completeExceptionally(new IOException(why));
    }
  }

  /** Sends a copy. Does not wait; ends when the broker has it, after at most the timeout. */
  CompletableFuture<Void> send(
      String exchange, String routingKey, BasicProperties properties, byte[] body) {
    CompletableFuture<Void> end =
        new CompletableFuture<Void>().orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS);
    Job job = new Job(exchange, routingKey, properties, body, end);
    synchronized (lock) {
      if (closed) {
        job.fail("the consumer was closed");
        return end;
      }
      jobs.add(job);
      lock.notifyAll();
      if (!working) {
        working = true;
        Threads.start("floatvalve-rabbit-copies", this::work);
      }
    }
    return end;
  }

  private void work() {
    for (Job job = next(); job != null; job = next()) {
      if (job.end.isDone()) {
        continue; // timed out: it will be asked for again
      }
      try {
        ready().send(job);
      } catch (IOException | RuntimeException e) {
        job.fail(
            e instanceof MessagingException ? String.valueOf(e.getMessage()) : Failures.detail(e));
        retire();
      }
    }
  }

  /** Returns the next one; null when there has been none for a while, and the thread is to end. */
  private @Nullable Job next() {
    Sending idle;
    synchronized (lock) {
      if (!jobs.isEmpty()) {
        return jobs.poll();
      }
      idle = sending;
    }
    if (idle != null) {
      idle.flush();
    }
    long deadline = System.nanoTime() + IDLE_MILLIS * 1_000_000;
    synchronized (lock) {
      while (jobs.isEmpty() && !closed) {
        long millis = (deadline - System.nanoTime()) / 1_000_000;
        if (millis <= 0) {
          break;
        }
        try {
          lock.wait(millis);
        } catch (InterruptedException e) {
          break; // nobody interrupts it; end, and begin again with the next one
        }
      }
      Job next = jobs.poll();
      working = next != null;
      return next;
    }
  }

  private Sending ready() throws IOException {
    Sending now;
    synchronized (lock) {
      now = sending;
    }
    if (now != null && now.isOpen()) {
      return now;
    }
    Sending fresh = new Sending(trunks.get(timeout));
    boolean late;
    synchronized (lock) {
      late = closed;
      sending = fresh;
    }
    if (late) {
      retire();
      throw new IOException("the consumer was closed");
    }
    return fresh;
  }

  private void retire() {
    Sending last;
    synchronized (lock) {
      last = sending;
      sending = null;
    }
    if (last != null) {
      last.close();
    }
  }

  /** Ends it; what is under way ends as not confirmed. Does not wait. */
  void close() {
    ArrayDeque<Job> left;
    synchronized (lock) {
      closed = true;
      left = new ArrayDeque<>(jobs);
      jobs.clear();
      lock.notifyAll();
    }
    left.forEach(job -> job.fail("the consumer was closed"));
    retire();
  }

  /** One channel in confirm mode. */
  private static final class Sending {
    private final Channel channel;
    private final Coalescer out;
    private final ConcurrentSkipListMap<Long, Job> open = new ConcurrentSkipListMap<>();
    private final AtomicBoolean ended = new AtomicBoolean();
    private long sequence; // the thread's

    Sending(Trunk trunk) throws IOException {
      out = trunk.wire().output();
      Channel made = trunk.connection().createChannel();
      if (made == null) {
        throw new IOException("the connection has no channel left");
      }
      channel = made;
      try {
        channel.addConfirmListener(this::confirmed, this::refused);
        channel.addReturnListener(
            (code, text, exchange, key, properties, body) -> returned(code, text, key, properties));
        channel.addShutdownListener(this::gone);
        channel.rpc(new AMQP.Confirm.Select.Builder().build());
      } catch (IOException | RuntimeException e) {
        close(); // nobody else knows of the channel
        throw e;
      }
    }

    boolean isOpen() {
      return channel.isOpen() && !ended.get();
    }

    void send(Job job) throws IOException {
      long mine = ++sequence;
      ByteBuffer.wrap((byte[]) job.properties.getHeaders().get(PropertyMap.MARK)).putLong(mine);
      open.put(mine, job);
      out.gather();
      try {
        channel.basicPublish(job.exchange, job.routingKey, true, job.properties, job.body);
      } finally {
        out.release();
      }
      if (ended.get()) {
        failAll("connection lost"); // by a shutdown that did not see this one
      }
    }

    void flush() {
      try {
        out.flushAll();
      } catch (IOException e) {
        gone(null);
      }
    }

    private void confirmed(long tag, boolean multiple) {
      settle(tag, multiple, null);
    }

    private void refused(long tag, boolean multiple) {
      settle(tag, multiple, "a queue refused it");
    }

    private void settle(long tag, boolean multiple, @Nullable String failure) {
      Map<Long, Job> settled =
          multiple ? open.headMap(tag, true) : open.subMap(tag, true, tag, true);
      for (var each = settled.entrySet().iterator(); each.hasNext(); ) {
        Job job = each.next().getValue();
        each.remove();
        if (failure == null) {
          job.end.complete(null);
        } else {
          job.fail(failure);
        }
      }
    }

    private void returned(int code, String text, String key, BasicProperties properties) {
      Map<String, Object> headers = properties.getHeaders();
      if (headers != null
          && headers.get(PropertyMap.MARK) instanceof byte[] mark
          && mark.length == Long.BYTES) {
        Job job = open.remove(ByteBuffer.wrap(mark).getLong());
        if (job != null) {
          job.fail(code + " " + text + ", routing key '" + key + "'");
        }
      }
    }

    private void gone(@Nullable ShutdownSignalException signal) {
      ended.set(true);
      failAll(signal == null ? "connection lost" : Failures.detail(signal));
    }

    private void failAll(String why) {
      for (Job job = poll(); job != null; job = poll()) {
        job.fail(why);
      }
    }

    private @Nullable Job poll() {
      var first = open.pollFirstEntry();
      return first == null ? null : first.getValue();
    }

    void close() {
      ended.set(true);
      Threads.start("floatvalve-rabbit-close", () -> Trunk.abort(channel));
      failAll("closed");
    }
  }
}
