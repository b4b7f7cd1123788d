package io.floatvalve.metrics;

import static io.opentelemetry.api.common.AttributeKey.longKey;
import static io.opentelemetry.api.common.AttributeKey.stringKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.PublishSummary;
import io.floatvalve.publish.PublisherSettings;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class TracingTest {
  private static final PublisherSettings TO = PublisherSettings.to(Address.exchange("shop", "new"));
  private static final ConsumerSettings FROM =
      ConsumerSettings.from(Address.topic("orders")).withGroup("billing");

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
  private final StubPublisher stub = new StubPublisher();

  @AfterEach
  void close() {
    telemetry.close();
  }

  private SpanData only() {
    assertThat(spans.getFinishedSpanItems()).hasSize(1);
    return spans.getFinishedSpanItems().get(0);
  }

  /** A delivery of one message, that nobody settles. */
  private record Arrived(Message message) implements Delivery {
    @Override
    public int attempt() {
      return 1;
    }

    @Override
    public int deliveryCount() {
      return 1;
    }

    @Override
    public boolean redelivered() {
      return false;
    }

    @Override
    public Duration sinceArrival() {
      return Duration.ZERO;
    }

    @Override
    public Answer settle(Settlement settlement) {
      return Answer.ACCEPTED;
    }

    @Override
    public <T> T unwrap(Class<T> type) {
      throw new ClassCastException();
    }
  }

  @Test
  void publish_carriesItsSpan_whichSaysWhatBecameOfTheMessage() {
    Message message = Message.builder(new byte[3]).messageId("m1").correlationId("c1").build();

    tracing.publisher(stub, TO).publish(message);

    assertThat(spans.getFinishedSpanItems()).as("before there is an outcome").isEmpty();
    stub.futures.get(0).complete(new NotSent(NotSent.Reason.QUEUE_FULL, "", 1));
    SpanData span = only();
    assertThat(span.getName()).isEqualTo("publish shop:new");
    assertThat(span.getKind()).isEqualTo(SpanKind.PRODUCER);
    assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
    assertThat(span.getAttributes().asMap())
        .containsEntry(stringKey("messaging.system"), "rabbitmq")
        .containsEntry(stringKey("messaging.operation.name"), "publish")
        .containsEntry(stringKey("messaging.operation.type"), "send")
        .containsEntry(stringKey("messaging.destination.name"), "shop:new")
        .containsEntry(stringKey("messaging.rabbitmq.destination.routing_key"), "new")
        .containsEntry(stringKey("messaging.message.id"), "m1")
        .containsEntry(stringKey("messaging.message.conversation_id"), "c1")
        .containsEntry(stringKey("error.type"), "not_sent.queue_full");
    assertThat(String.valueOf(stub.published.get(0).headers().get("traceparent")))
        .contains(span.getTraceId(), span.getSpanId());
    assertThat(message.headers()).isEmpty();
  }

  @Test
  void contextOfTheUsers_isKeptAndLinked() {
    String given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    Message message = Message.builder(new byte[0]).header("traceparent", given).build();

    tracing.publisher(stub, TO).publish(message);
    stub.futures.get(0).complete(new NotSent(NotSent.Reason.CLOSED, "", 1));

    assertThat(stub.published.get(0)).isSameAs(message);
    assertThat(only().getKind()).isEqualTo(SpanKind.CLIENT);
    assertThat(only().getLinks())
        .extracting(link -> link.getSpanContext().getSpanId())
        .containsExactly("b7ad6b7169203331");
  }

  @Test
  void handler_goesOnWithTheTraceOfThePublisher() throws Exception {
    tracing.publisher(stub, TO).publish(Message.of(new byte[0]));
    stub.futures.get(0).complete(new NotSent(NotSent.Reason.CLOSED, "", 1));
    SpanData published = only();
    spans.reset();
    String[] current = new String[1];

    tracing
        .handler(
            FROM,
            delivery -> {
              current[0] = Span.current().getSpanContext().getSpanId();
              return Settlement.reject("no");
            })
        .handle(new Arrived(stub.published.get(0)));

    SpanData handled = only();
    assertThat(handled.getName()).isEqualTo("process orders");
    assertThat(handled.getKind()).isEqualTo(SpanKind.CONSUMER);
    assertThat(handled.getTraceId()).isEqualTo(published.getTraceId());
    assertThat(handled.getParentSpanId()).isEqualTo(published.getSpanId());
    assertThat(handled.getLinks())
        .extracting(link -> link.getSpanContext().getSpanId())
        .containsExactly(published.getSpanId());
    assertThat(current[0]).isEqualTo(handled.getSpanId());
    assertThat(handled.getAttributes().asMap())
        .containsEntry(stringKey("messaging.system"), "pulsar")
        .containsEntry(stringKey("messaging.operation.type"), "process")
        .containsEntry(stringKey("messaging.destination.name"), "orders")
        .containsEntry(stringKey("messaging.destination.subscription.name"), "billing")
        .containsEntry(stringKey("floatvalve.settlement"), "reject");
  }

  @Test
  void handlerThatFails_isRecorded_andFailsAllTheSame() {
    var handler =
        tracing.handler(
            FROM,
            delivery -> {
              throw new IOException("broken");
            });

    assertThatThrownBy(() -> handler.handle(new Arrived(Message.of(new byte[0]))))
        .isInstanceOf(IOException.class);

    assertThat(only().getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
    assertThat(only().getAttributes().get(stringKey("error.type")))
        .isEqualTo("java.io.IOException");
    assertThat(Span.current().getSpanContext().isValid()).isFalse();
  }

  @Test
  void asyncHandler_endsItsSpanWithTheStage() {
    CompletableFuture<Settlement> stage = new CompletableFuture<>();
    var result =
        tracing.asyncHandler(FROM, delivery -> stage).apply(new Arrived(Message.of(new byte[0])));
    assertThat(spans.getFinishedSpanItems()).isEmpty();

    stage.complete(Settlement.accept());

    assertThat(result.toCompletableFuture().join()).isEqualTo(Settlement.accept());
    assertThat(only().getAttributes().get(stringKey("floatvalve.settlement"))).isEqualTo("accept");
  }

  @Test
  void publishAll_isOneSpan_linkedToOneForEachMessage() {
    var publisher = tracing.publisher(stub, TO);
    Span outer = telemetry.getTracer("test").spanBuilder("outer").startSpan();
    List<Message> two = List.of(Message.of(new byte[1]), Message.of(new byte[2]));
    Context.current()
        .with(outer)
        .wrap(
            () -> {
              publisher.publishAll(two);
            })
        .run();
    List<SpanData> created = List.copyOf(spans.getFinishedSpanItems());
    spans.reset();
    stub.summary.complete(new PublishSummary(Map.of(Verdict.CONFIRMED, 2L), List.of()));

    assertThat(created).hasSize(2).allMatch(span -> span.getName().equals("create shop:new"));
    assertThat(created)
        .allMatch(span -> span.getTraceId().equals(outer.getSpanContext().getTraceId()));
    for (int i = 0; i < 2; i++) {
      assertThat(String.valueOf(stub.published.get(i).headers().get("traceparent")))
          .contains(created.get(i).getSpanId());
    }
    assertThat(only().getKind()).isEqualTo(SpanKind.CLIENT);
    assertThat(only().getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
    assertThat(only().getAttributes().get(longKey("messaging.batch.message_count"))).isEqualTo(2);
    assertThat(only().getLinks())
        .extracting(LinkData::getSpanContext)
        .containsExactlyElementsOf(created.stream().map(SpanData::getSpanContext).toList());
  }

  @Test
  void batchOfDeliveries_isOneSpan_linkedToEach() throws Exception {
    var publisher = tracing.publisher(stub, TO);
    publisher.publish(Message.of(new byte[1]));
    publisher.publish(Message.of(new byte[2]));
    List<Delivery> deliveries =
        List.of(
            new Arrived(stub.published.get(0)),
            new Arrived(stub.published.get(1)),
            new Arrived(Message.of(new byte[0])));

    int answer = tracing.batch(FROM, deliveries, () -> 42);

    assertThat(answer).isEqualTo(42);
    assertThat(only().getLinks()).hasSize(2);
    assertThat(only().getAttributes().get(longKey("messaging.batch.message_count"))).isEqualTo(3);
  }

  @Test
  void withoutTelemetry_theMessageIsTheSameObject() {
    Message message = Message.of(new byte[0]);

    Tracing.by(OpenTelemetry.noop()).publisher(stub, TO).publish(message);

    assertThat(stub.published.get(0)).isSameAs(message);
  }
}
