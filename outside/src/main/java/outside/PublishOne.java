package outside;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker;
import java.util.List;

/** Publishes to a queue that exists and to one that does not, and prints what became of it. */
public final class PublishOne {
  private PublishOne() {}

  /** Runs it; the one argument is the broker's address. */
  public static void main(String[] args) {
    try (Messaging messaging = Messaging.over(RabbitBroker.connect(args[0]))) {
      for (String queue : List.of("outside", "outside-missing")) {
        Publisher publisher = messaging.publisher(PublisherSettings.to(Address.queue(queue)));
        PublishOutcome outcome = publisher.publish(Message.of("hello".getBytes(UTF_8))).join();
        System.out.println("queue " + queue + ": " + outcome.verdict());
      }
    } catch (MessagingException e) {
      System.out.println("could not open: " + e.kind());
      System.out.println("  " + e.getMessage());
    }
  }
}
