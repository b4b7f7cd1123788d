package io.floatvalve.examples.readme;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.MessageHandler;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.metrics.FloatvalveMetrics;
import io.floatvalve.metrics.Health;
import io.floatvalve.metrics.HealthCheck;
import io.floatvalve.metrics.Tracing;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.rabbit.RabbitBroker.Credentials;
import io.micrometer.core.instrument.MeterRegistry;
import io.opentelemetry.api.OpenTelemetry;
import java.time.Duration;
import java.util.List;

/** The examples of the page on operation. */
final class OperationsExample {
  private OperationsExample() {}

  static FloatvalveMetrics metrics(MeterRegistry registry, Publisher orders, Consumer invoices) {
    // tag::metrics
    FloatvalveMetrics metrics = FloatvalveMetrics.on(registry);
    metrics.watch("orders", orders);
    metrics.watch("invoices", invoices);
    // end::metrics
    return metrics;
  }

  static boolean ready(Publisher orders, Consumer invoices) {
    // tag::health
    HealthCheck check = HealthCheck.withPatience(Duration.ofMinutes(1));
    check.watch("orders", orders).watch("invoices", invoices);
    Health health = check.health(); // at each probe
    boolean ready = health.state() != Health.State.DOWN;
    // end::health
    return ready;
  }

  static Publisher traced(
      Messaging messaging,
      OpenTelemetry telemetry,
      PublisherSettings to,
      ConsumerSettings from,
      MessageHandler handler) {
    // tag::tracing
    Tracing tracing = Tracing.by(telemetry);
    Publisher traced = tracing.publisher(messaging.publisher(to), to);
    Consumer consumer = messaging.consumer(from);
    consumer.handle(tracing.handler(from, handler));
    // end::tracing
    return traced;
  }

  static List<BrokerViews> views() {
    // tag::views
    BrokerViews pulsar =
        PulsarBroker.Admin.at("http://localhost:8080").withToken(() -> token()).views();
    BrokerViews rabbit =
        RabbitBroker.Management.at("http://localhost:15672")
            .withCredentials(() -> new Credentials("monitor", password()))
            .views();
    // end::views
    return List.of(pulsar, rabbit);
  }

  private static String token() {
    return String.valueOf(System.getenv("PULSAR_TOKEN"));
  }

  private static String password() {
    return String.valueOf(System.getenv("RABBIT_PASSWORD"));
  }
}
