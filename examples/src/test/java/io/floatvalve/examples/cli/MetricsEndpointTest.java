package io.floatvalve.examples.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class MetricsEndpointTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  private static HttpResponse<String> get(URI uri) throws IOException, InterruptedException {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(uri).timeout(LONG).build(),
            HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void health_isUpWhereNothingIsShown() throws Exception {
    try (MetricsEndpoint endpoint = MetricsEndpoint.at("127.0.0.1", 0)) {
      assertThat(get(endpoint.uri().resolve("/health")))
          .returns(200, HttpResponse::statusCode)
          .returns("up\n", HttpResponse::body);
    }
  }

  @Test
  @NeedsRabbit
  void health_isDownWithTheReason_whereAConsumerIsClosed() throws Exception {
    try (MetricsEndpoint endpoint = MetricsEndpoint.at("127.0.0.1", 0);
        Messaging messaging = RabbitAtHand.messaging(RabbitNode.shared().uri(), event -> {})) {
      Consumer consumer = messaging.consumer(ConsumerSettings.from(Address.queue(queue())));
      endpoint.watch("invoices", consumer);

      assertThat(get(endpoint.uri().resolve("/health")).statusCode()).isEqualTo(200);
      consumer.close();

      HttpResponse<String> down = get(endpoint.uri().resolve("/health"));
      assertThat(down.statusCode()).isEqualTo(503);
      assertThat(down.body()).startsWith("down\n").contains("invoices: down, it is closed");
    }
  }

  private static String queue() throws Exception {
    var factory = new com.rabbitmq.client.ConnectionFactory();
    factory.setUri(RabbitNode.shared().uri());
    try (var connection = factory.newConnection();
        var channel = connection.createChannel()) {
      String name = "health-" + UUID.randomUUID();
      channel.queueDeclare(name, true, false, false, java.util.Map.of("x-expires", 60_000));
      return name;
    }
  }
}
