package io.floatvalve.examples.lab.soak;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;

/** Reads a topic by a subscription of its own. */
final class PulsarWitness implements Witness {
  private static final int WAIT_MILLIS = 200;

  private final Consumer<byte[]> consumer;
  private final Book book;
  private final LongSupplier backlog;
  private final Thread thread;
  private int[] places = new int[1 << 16]; // where each message lies, as a hash
  private volatile boolean closed;

  PulsarWitness(
      PulsarClient client, String topic, String subscription, Book book, LongSupplier backlog)
      throws PulsarClientException {
    this.book = book;
    this.backlog = backlog;
    consumer =
        client
            .newConsumer()
            .topic(topic)
            .subscriptionName(subscription)
            .subscriptionType(SubscriptionType.Exclusive)
            .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
            .subscribe();
    thread = new Thread(this::readOn, "soak-witness");
    thread.setDaemon(true);
    thread.start();
  }

  private void readOn() {
    while (!closed) {
      try {
        Message<byte[]> message = consumer.receive(WAIT_MILLIS, TimeUnit.MILLISECONDS);
        if (message != null) {
          saw(ByteBuffer.wrap(message.getData()).getInt(), message.getMessageId().hashCode());
          var unused = consumer.acknowledgeAsync(message);
        }
      } catch (PulsarClientException e) {
        if (!consumer.isConnected() && closed) {
          return;
        }
      }
    }
  }

  private void saw(int id, int place) {
    if (id >= places.length) {
      places = Arrays.copyOf(places, Math.max(id + 1, places.length + (places.length >> 1)));
    }
    int known = places[id];
    int here = place == 0 ? 1 : place;
    if (known != 0 && known != here) {
      book.storedAgain(id);
    }
    places[id] = here;
    book.stored(id);
  }

  @Override
  public boolean awaitAll(Duration limit) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (backlog.getAsLong() > 0) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(WAIT_MILLIS);
    }
    return true;
  }

  @Override
  public void close() {
    closed = true;
    try {
      thread.join(TimeUnit.SECONDS.toMillis(5));
      consumer.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (PulsarClientException e) {
      // the client it belongs to is closed next
    }
  }
}
