package io.floatvalve.publish;

import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.PublishLink;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** A broker in memory that answers when a test says so. */
final class FakeBroker implements Broker {
  final BlockingQueue<Link> opened = new LinkedBlockingQueue<>();
  final List<Link> links = new CopyOnWriteArrayList<>();
  volatile boolean refuse;
  volatile boolean confirmAtOnce;
  volatile boolean sendsAtOnce; // of the links opened from then on

  @Override
  public String describe() {
    return "a broker in memory";
  }

  @Override
  public PublishLink openPublish(PublishRequest request, PublishLink.Listener listener) {
    if (refuse) {
      throw new MessagingException(
          MessagingException.Kind.UNREACHABLE, "refused by the test", null);
    }
    Link link = new Link(request, listener);
    links.add(link);
    opened.add(link);
    return link;
  }

  @Override
  public void close(Duration timeout) {}

  /** Waits for the next link that is opened. */
  Link nextLink() throws InterruptedException {
    Link link = opened.poll(10, TimeUnit.SECONDS);
    if (link == null) {
      throw new AssertionError("no link was opened");
    }
    return link;
  }

  final class Link implements PublishLink {
    final PublishRequest request;
    final Listener listener;
    final boolean atOnce = sendsAtOnce;
    final BlockingQueue<Message> sent = new LinkedBlockingQueue<>();
    final List<Message> all = new CopyOnWriteArrayList<>();
    final List<Integer> sentTo = new CopyOnWriteArrayList<>(); // partitions
    volatile int partitions;
    private int routed; // by the thread that sends
    volatile long lastSequence;
    volatile @Nullable IOException failure;
    volatile long failsFrom; // with that failure; the sequence
    volatile @Nullable CountDownLatch hang;
    volatile @Nullable LongConsumer answer; // called with each sequence once it is sent
    volatile int hurried;
    volatile boolean closed;
    volatile boolean aborted;

    Link(PublishRequest request, Listener listener) {
      this.request = request;
      this.listener = listener;
    }

    @Override
    public @Nullable String refusal(Message message) {
      if ("overflow".equals(message.messageId())) {
        throw new StackOverflowError("by the test");
      }
      return "unsendable".equals(message.messageId()) ? "its id is 'unsendable'" : null;
    }

    @Override
    public void send(long sequence, Message message) throws Exception {
      CountDownLatch latch = hang;
      if (latch != null) {
        latch.await();
      }
      IOException e = failure;
      if (e != null && sequence >= failsFrom) {
        throw e;
      }
      if (sequence != lastSequence + 1) {
        throw new AssertionError("sequence " + sequence + " after " + lastSequence);
      }
      lastSequence = sequence;
      all.add(message);
      sent.add(message);
      if (confirmAtOnce) {
        listener.confirmed(sequence, false, null);
      }
      LongConsumer now = answer;
      if (now != null) {
        now.accept(sequence);
      }
    }

    @Override
    public int partition(Message message) {
      return partitions == 0 ? -1 : routed++ % partitions;
    }

    @Override
    public void sendTo(int partition, long sequence, Message message) throws Exception {
      sentTo.add(partition);
      send(sequence, message);
    }

    @Override
    public boolean sendsAtOnce() {
      return atOnce;
    }

    @Override
    public void flush() {}

    @Override
    public synchronized void hurry() {
      hurried++;
    }

    @Override
    public void close(Duration timeout) {
      closed = true;
    }

    @Override
    public void abort() {
      aborted = true;
      CountDownLatch latch = hang;
      if (latch != null) {
        failure = new IOException("aborted");
        latch.countDown();
      }
    }

    /** Waits until so many more messages were sent. */
    void awaitSent(int count) throws InterruptedException {
      for (int i = 0; i < count; i++) {
        if (sent.poll(10, TimeUnit.SECONDS) == null) {
          throw new AssertionError("only " + i + " of " + count + " were sent");
        }
      }
    }
  }
}
