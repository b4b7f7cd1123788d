package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.metrics.Tracing;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.rabbit.RabbitBroker.Topology;
import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.RabbitNode;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Sees one trace from publish to handler, through a real broker. */
class TracingTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  private final InMemorySpanExporter spans = InMemorySpanExporter.create();
  private final OpenTelemetrySdk telemetry =
      OpenTelemetrySdk.builder()
          .setTracerProvider(
              SdkTracerProvider.builder()
                  .addSpanProcessor(SimpleSpanProcessor.create(spans))
                  .build())
          .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
          .build();
  private final Tracing tracing = Tracing.by(telemetry);

  @AfterEach
  void close() {
    telemetry.close();
  }

  private void seesOneTrace(Messaging messaging, PublisherSettings to, ConsumerSettings from) {
    try (messaging;
        Consumer consumer = messaging.consumer(from);
        Publisher publisher = tracing.publisher(messaging.publisher(to), to)) {
      consumer.handle(tracing.handler(from, delivery -> Settlement.accept()));
      Message message = Message.builder(new byte[10]).header("of", "the user's").build();

      assertThat(publisher.publish(message).join().verdict()).isEqualTo(Verdict.CONFIRMED);
      await().atMost(LONG).until(() -> spans.getFinishedSpanItems().size() == 2);
    }
    List<SpanData> both = spans.getFinishedSpanItems();
    SpanData published = named(both, "publish " + to.address().name());
    SpanData processed = named(both, "process " + to.address().name());
    assertThat(processed.getTraceId()).isEqualTo(published.getTraceId());
    assertThat(processed.getParentSpanId()).isEqualTo(published.getSpanId());
  }

  private static SpanData named(List<SpanData> spans, String name) {
    return spans.stream()
        .filter(span -> span.getName().equals(name))
        .findAny()
        .orElseThrow(() -> new AssertionError(name + " is not among " + spans));
  }

  @Test
  @NeedsRabbit
  void overRabbit_aMessageIsOneTrace() {
    Address queue = Address.queue("traced-" + UUID.randomUUID());
    seesOneTrace(
        Messaging.over(RabbitBroker.connect(RabbitNode.shared().uri())),
        PublisherSettings.to(queue),
        ConsumerSettings.from(queue)
            .withNative(ConsumeSettings.defaults().withTopology(Topology.quorum())));
  }

  @Test
  @NeedsPulsar
  void overPulsar_aMessageIsOneTrace() {
    Address topic = Address.topic("traced-" + UUID.randomUUID());
    seesOneTrace(
        Messaging.over(PulsarBroker.connect(PulsarNode.shared().serviceUrl())),
        PublisherSettings.to(topic),
        ConsumerSettings.from(topic).withGroup("traced"));
  }
}
