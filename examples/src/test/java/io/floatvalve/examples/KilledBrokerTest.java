package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@NeedsRabbit(ownProcess = true)
class KilledBrokerTest {
  private static final int LINES = 6_000;

  @TempDir private Path folder = Path.of("");

  private static int run(StringWriter out, String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(out), args);
  }

  @Test
  void everyLineHasItsFate_andTheRestIsFinished_whenTheBrokerIsKilledInTheMiddle()
      throws Exception {
    Path file = folder.resolve("lines.txt");
    List<String> lines = IntStream.rangeClosed(1, LINES).mapToObj(i -> "line " + i).toList();
    Files.write(file, lines);
    Path results = folder.resolve("results");
    try (RabbitNode node = RabbitNode.start()) {
      node.restart(); // a kill soon after the very first boot may lose what was declared since
      declare(node);
      StringWriter first = new StringWriter();
      FutureTask<Integer> exit =
          new FutureTask<>(
              () ->
                  run(
                      first,
                      "publish",
                      "--to",
                      "orders",
                      "--from",
                      file.toString(),
                      "--rate",
                      "1000",
                      "--results",
                      results.toString(),
                      "--uri",
                      node.uri()));
      new Thread(exit, "publishes").start();
      await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> exit.isDone() || (Files.exists(results) && Files.size(results) > 150_000));

      node.syncDeclared(); // else the kill may lose the queue
      node.kill();
      node.restart();

      assertThat(exit.get(120, TimeUnit.SECONDS)).describedAs(first.toString()).isIn(0, 1);
      assertThat(first.toString()).containsPattern("total +6,000");
      StringWriter second = new StringWriter();
      int finished =
          run(
              second,
              "publish",
              "--resume",
              results.toString(),
              "--repeat",
              "not-sent,unknown,nacked",
              "--uri",
              node.uri());
      assertThat(finished).describedAs(second.toString()).isZero();
      assertThat(stored(node)).isGreaterThanOrEqualTo(LINES);
    }
  }

  private static void declare(RabbitNode node) throws Exception {
    try (Connection connection = connect(node);
        Channel channel = connection.createChannel()) {
      channel.queueDeclare("orders", true, false, false, Map.of());
    }
  }

  private static long stored(RabbitNode node) throws Exception {
    try (Connection connection = connect(node);
        Channel channel = connection.createChannel()) {
      return channel.messageCount("orders");
    }
  }

  private static Connection connect(RabbitNode node) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(node.uri());
    return factory.newConnection();
  }
}
