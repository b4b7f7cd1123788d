import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.testkit.RabbitNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs a command with a broker's address as its last argument; the broker has a queue for it. */
final class WithBroker {
  private WithBroker() {}

  public static void main(String[] command) throws Exception {
    int exitCode;
    try (RabbitNode node = RabbitNode.startOrGiven()) {
      System.out.println("on " + node);
      declare(node.uri());
      List<String> line = new ArrayList<>(List.of(command));
      line.add(node.uri());
      exitCode = new ProcessBuilder(line).inheritIO().start().waitFor();
    }
    System.exit(exitCode);
  }

  /** Declares the queue; on a broker that was given it goes when it was unused for a minute. */
  private static void declare(String uri) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(uri);
    try (Connection connection = factory.newConnection();
        Channel channel = connection.createChannel()) {
      channel.queueDeclare("outside", true, false, false, Map.of("x-expires", 60_000));
    }
  }
}
