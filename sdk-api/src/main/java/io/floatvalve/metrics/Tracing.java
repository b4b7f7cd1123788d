package io.floatvalve.metrics;

import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.MessageHandler;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Follows messages from publisher to handler by OpenTelemetry. What is not wrapped by this is not
 * traced, and costs nothing.
 *
 * <p>Spans follow the <a
 * href="https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/">conventions for
 * messaging</a>, which are not stable yet. The context travels in the message's headers, under the
 * names that the propagator of the {@code OpenTelemetry} gives them: {@code traceparent} by W3C. So
 * it is in the headers of AMQP and in the properties of Pulsar, where other clients find it, and is
 * kept by copies for a retry and to the dead letters.
 *
 * <p>Needs {@code opentelemetry-api}, which is optional. Thread-safe.
 */
public final class Tracing {
  static final String SCOPE = "io.floatvalve";

  private static final TextMapGetter<Map<String, Object>> HEADERS =
      new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(Map<String, Object> headers) {
          return headers.keySet();
        }

        @Override
        public @Nullable String get(@Nullable Map<String, Object> headers, String name) {
          return headers != null && headers.get(name) instanceof String text ? text : null;
        }
      };

  private final Tracer tracer;
  private final TextMapPropagator propagator;

  private Tracing(OpenTelemetry telemetry) {
    this.tracer = telemetry.getTracer(SCOPE);
    this.propagator = telemetry.getPropagators().getTextMapPropagator();
  }

  /**
   * Begins to trace what is wrapped.
   *
   * @param telemetry without a propagator, publisher and handler are in traces of their own
   */
  public static Tracing by(OpenTelemetry telemetry) {
    return new Tracing(Objects.requireNonNull(telemetry, "telemetry"));
  }

  /**
   * Wraps a publisher: each message gets a span, from the call to its outcome, and carries its
   * context. The span is a child of the one that is current at the call. {@code publishAll} gets
   * one span for all, linked to one for each message.
   *
   * <p>A message that carries a context already keeps it; its span is linked to that. What is
   * published, and so what is in an outcome, is a copy with further headers. The span of a message
   * that is not confirmed says so in {@code error.type}: the verdict, and the cause or reason.
   *
   * @param settings that the publisher was opened with
   */
  public Publisher publisher(Publisher publisher, PublisherSettings settings) {
    return new TracedPublisher(this, Objects.requireNonNull(publisher), settings.address());
  }

  /**
   * Wraps a handler: each message gets a span while it is handled, which is current in the handler.
   * It is a child of the span that the message carries, and linked to it. The attribute {@code
   * floatvalve.settlement} says what the handler returned; what it throws is recorded.
   *
   * @param settings that the consumer was opened with
   */
  public MessageHandler handler(ConsumerSettings settings, MessageHandler handler) {
    Objects.requireNonNull(handler, "handler");
    return delivery -> {
      Span span = processing(settings, delivery);
      try {
        Settlement settlement = in(span).wrap(() -> handler.handle(delivery)).call();
        handled(span, settlement);
        return settlement;
      } catch (Throwable e) { // whatever it is, it goes on; this only notes it
        failed(span, e);
        throw e;
      } finally {
        span.end();
      }
    };
  }

  /**
   * Wraps a handler that returns before it is done: as {@link #handler}, and the span ends with the
   * stage. It is current while the handler is called, not afterwards.
   *
   * @param settings that the consumer was opened with
   */
  public Function<Delivery, CompletionStage<Settlement>> asyncHandler(
      ConsumerSettings settings, Function<Delivery, CompletionStage<Settlement>> handler) {
    Objects.requireNonNull(handler, "handler");
    return delivery -> {
      Span span = processing(settings, delivery);
      CompletionStage<Settlement> stage;
      try {
        stage = in(span).wrapSupplier(() -> handler.apply(delivery)).get();
      } catch (Throwable e) { // whatever it is, it goes on; this only notes it
        failed(span, e);
        span.end();
        throw e;
      }
      return stage.whenComplete(
          (settlement, error) -> {
            if (error == null) {
              handled(span, settlement);
            } else {
              failed(span, error);
            }
            span.end();
          });
    };
  }

  /**
   * Handles several messages of a pull consumer in one span, which is current meanwhile, and linked
   * to what each message carries. It is a child of the span that is current at the call.
   *
   * @param settings that the consumer was opened with
   * @param deliveries to be settled by the work
   * @return what the work returns
   * @throws Exception what the work throws
   */
  public <T> T batch(ConsumerSettings settings, List<Delivery> deliveries, Callable<T> work)
      throws Exception {
    SpanBuilder builder =
        start("process", SpanKind.CONSUMER, address(settings), "process")
            .setAttribute("messaging.batch.message_count", (long) deliveries.size());
    subscription(builder, settings);
    for (Delivery each : deliveries) {
      SpanContext created =
          Span.fromContext(carried(each.message(), Context.root())).getSpanContext();
      if (created.isValid()) {
        builder.addLink(created);
      }
    }
    Span span = builder.startSpan();
    try {
      return in(span).wrap(work).call();
    } catch (Throwable e) { // whatever it is, it goes on; this only notes it
      failed(span, e);
      throw e;
    } finally {
      span.end();
    }
  }

  private Span processing(ConsumerSettings settings, Delivery delivery) {
    Message message = delivery.message();
    SpanBuilder builder = start("process", SpanKind.CONSUMER, address(settings), "process");
    subscription(builder, settings);
    ids(builder, message);
    Context carried = carried(message, Context.current());
    SpanContext created = Span.fromContext(carried(message, Context.root())).getSpanContext();
    if (created.isValid()) {
      builder.addLink(created);
    }
    return builder.setParent(carried).startSpan();
  }

  private static void subscription(SpanBuilder builder, ConsumerSettings settings) {
    String group = settings.group();
    if (group != null) {
      builder.setAttribute("messaging.destination.subscription.name", group);
    }
  }

  /** Returns the one place, or null where there are several: they have no name in common. */
  private static @Nullable Address address(ConsumerSettings settings) {
    List<Address> all = settings.addresses();
    return all.size() == 1 ? all.get(0) : null;
  }

  private static Context in(Span span) {
    return Context.current().with(span);
  }

  private static void handled(Span span, @Nullable Settlement settlement) {
    if (settlement != null) {
      span.setAttribute("floatvalve.settlement", word(settlement.kind()));
    }
  }

  private static void failed(Span span, Throwable error) {
    span.recordException(error);
    span.setStatus(StatusCode.ERROR);
    span.setAttribute("error.type", error.getClass().getName());
  }

  /** Begins a span: what all have in common. */
  SpanBuilder start(String name, SpanKind kind, @Nullable Address address, String type) {
    String place = address == null ? "" : destination(address);
    SpanBuilder builder =
        tracer
            .spanBuilder(place.isEmpty() ? name : name + " " + place)
            .setSpanKind(kind)
            .setAttribute("messaging.operation.name", name)
            .setAttribute("messaging.operation.type", type);
    if (address != null) {
      boolean pulsar = address.kind() == Address.Kind.TOPIC;
      builder.setAttribute("messaging.system", pulsar ? "pulsar" : "rabbitmq");
      builder.setAttribute("messaging.destination.name", place);
      if (address.kind() == Address.Kind.EXCHANGE && !address.routingKey().isEmpty()) {
        builder.setAttribute("messaging.rabbitmq.destination.routing_key", address.routingKey());
      }
    }
    return builder;
  }

  static void ids(SpanBuilder builder, Message message) {
    String id = message.messageId();
    if (id != null) {
      builder.setAttribute("messaging.message.id", id);
    }
    String conversation = message.correlationId();
    if (conversation != null) {
      builder.setAttribute("messaging.message.conversation_id", conversation);
    }
  }

  /** Returns a place's name as the conventions want it. */
  private static String destination(Address address) {
    if (address.kind() != Address.Kind.EXCHANGE) {
      return address.name();
    }
    if (address.routingKey().isEmpty()) {
      return address.name().isEmpty() ? "amq.default" : address.name();
    }
    return address.name().isEmpty()
        ? address.routingKey()
        : address.name() + ":" + address.routingKey();
  }

  /** Returns the context that a message carries, on top of another. */
  Context carried(Message message, Context on) {
    return propagator.extract(on, message.headers(), HEADERS);
  }

  /** Returns the message with a span's context in its headers. */
  Message with(Span span, Message message) {
    if (!span.getSpanContext().isValid()) {
      return message;
    }
    Message.Builder copy = message.toBuilder();
    propagator.inject(
        in(span),
        copy,
        (builder, name, value) -> {
          if (builder != null && !value.isEmpty()) {
            builder.header(name, value);
          }
        });
    return copy.build();
  }

  static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
