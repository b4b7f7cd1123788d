package io.floatvalve.rabbit;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A process that publishes until its standard input says so, and says what became of each message.
 * On standard output: {@code confirmed N} at each 500th confirm, {@code VERDICT MILLIS TEXT} for
 * each outcome, {@code open N} at the end.
 */
final class PublishingClient {
  private PublishingClient() {}

  /** Publishes; the arguments are a URI and a queue. */
  public static void main(String[] args) throws IOException {
    AtomicInteger confirmed = new AtomicInteger();
    try (Messaging messaging = Messaging.over(RabbitBroker.connect(args[0]));
        Publisher publisher =
            messaging.publisher(
                PublisherSettings.to(Address.queue(args[1]))
                    .withConfirmTimeout(Duration.ofSeconds(2))
                    .withMaxWait(Duration.ofSeconds(4)))) {
      for (int i = 0; System.in.available() == 0; i++) {
        String text = "m-" + i;
        long began = System.nanoTime();
        var unused =
            publisher
                .publish(Message.of(text.getBytes(UTF_8)))
                .thenAccept(
                    end -> {
                      long millis = (System.nanoTime() - began) / 1_000_000;
                      System.out.println(end.verdict() + " " + millis + " " + text);
                      if (end.verdict() == Verdict.CONFIRMED
                          && confirmed.incrementAndGet() % 500 == 0) {
                        System.out.println("confirmed " + confirmed);
                      }
                    });
        LockSupport.parkNanos(500_000);
      }
      long open = publisher.drain(Duration.ofSeconds(30));
      System.out.println("open " + open);
    }
  }
}
