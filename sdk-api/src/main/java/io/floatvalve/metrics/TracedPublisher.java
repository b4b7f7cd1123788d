package io.floatvalve.metrics;

import io.floatvalve.explain.Explanation;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Confirmed;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Unknown;
import io.floatvalve.publish.PublishSummary;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherStatus;
import io.floatvalve.rate.Usage;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Context;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A publisher whose messages are traced; see {@link Tracing#publisher}. */
final class TracedPublisher implements Publisher {
  private static final String PUBLISH = "publish";
  private static final String SEND = "send";
  private static final String ERROR_TYPE = "error.type";

  private final Tracing tracing;
  private final Publisher publisher;
  private final Address address;

  TracedPublisher(Tracing tracing, Publisher publisher, Address address) {
    this.tracing = tracing;
    this.publisher = publisher;
    this.address = address;
  }

  @Override
  public CompletableFuture<PublishOutcome> publish(Message message) {
    return traced(message, publisher::publish);
  }

  @Override
  public CompletableFuture<PublishOutcome> publish(Message message, long dueNanos) {
    return traced(message, copy -> publisher.publish(copy, dueNanos));
  }

  @Override
  public CompletableFuture<PublishOutcome> tryPublish(Message message) {
    return traced(message, publisher::tryPublish);
  }

  private CompletableFuture<PublishOutcome> traced(
      Message message, Function<Message, CompletableFuture<PublishOutcome>> publish) {
    SpanContext given = given(message);
    boolean own = !given.isValid();
    SpanBuilder builder =
        tracing.start(PUBLISH, own ? SpanKind.PRODUCER : SpanKind.CLIENT, place(message), SEND);
    Tracing.ids(builder, message);
    if (!own) {
      builder.addLink(given);
    }
    Span span = builder.startSpan();
    CompletableFuture<PublishOutcome> outcome;
    try {
      outcome = publish.apply(own ? tracing.with(span, message) : message);
    } catch (Throwable e) { // whatever it is, it goes on; this only notes it
      ended(span, null, e);
      throw e;
    }
    var unused = outcome.whenComplete((end, error) -> ended(span, end, error));
    return outcome;
  }

  private Address place(Message message) {
    Address own = message.address();
    return own == null ? address : own;
  }

  /** Returns the context that the user has given a message; not valid if there is none. */
  private SpanContext given(Message message) {
    return message.headers().isEmpty()
        ? SpanContext.getInvalid()
        : Span.fromContext(tracing.carried(message, Context.root())).getSpanContext();
  }

  private static void ended(
      Span span, @Nullable PublishOutcome outcome, @Nullable Throwable error) {
    if (outcome == null) {
      span.setStatus(StatusCode.ERROR);
      span.setAttribute(ERROR_TYPE, error == null ? "_OTHER" : error.getClass().getName());
    } else {
      if (outcome.attempts() > 1) {
        span.setAttribute("floatvalve.attempts", (long) outcome.attempts());
      }
      if (outcome instanceof Confirmed confirmed) {
        span.setAttribute("floatvalve.receipt", confirmed.receipt());
      } else {
        span.setStatus(StatusCode.ERROR);
        span.setAttribute(ERROR_TYPE, why(outcome));
      }
    }
    span.end();
  }

  private static String why(PublishOutcome outcome) {
    String verdict = Tracing.word(outcome.verdict());
    if (outcome instanceof Unknown unknown) {
      return verdict + "." + Tracing.word(unknown.cause());
    }
    return outcome instanceof NotSent notSent
        ? verdict + "." + Tracing.word(notSent.reason())
        : verdict;
  }

  @Override
  public CompletableFuture<PublishSummary> publishAll(Iterable<Message> messages) {
    Span all = tracing.start(PUBLISH, SpanKind.CLIENT, address, SEND).startSpan();
    CompletableFuture<PublishSummary> summary;
    try {
      summary = publisher.publishAll(() -> created(messages.iterator(), all));
    } catch (Throwable e) { // whatever it is, it goes on; this only notes it
      ended(all, null, e);
      throw e;
    }
    var unused =
        summary.whenComplete(
            (sum, error) -> {
              if (sum == null) {
                ended(all, null, error);
                return;
              }
              all.setAttribute("messaging.batch.message_count", sum.total());
              if (!sum.allConfirmed()) {
                all.setStatus(StatusCode.ERROR);
                all.setAttribute(ERROR_TYPE, why(sum.failures().get(0).outcome()));
              }
              all.end();
            });
    return summary;
  }

  /** Gives each message a span of its own, which the one for all is linked to. */
  private Iterator<Message> created(Iterator<Message> messages, Span all) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return messages.hasNext();
      }

      @Override
      public Message next() {
        Message message = messages.next();
        SpanContext given = given(message);
        if (given.isValid()) {
          all.addLink(given);
          return message;
        }
        SpanBuilder builder = tracing.start("create", SpanKind.PRODUCER, place(message), "create");
        Tracing.ids(builder, message);
        Span span = builder.startSpan();
        span.end();
        all.addLink(span.getSpanContext());
        return tracing.with(span, message);
      }
    };
  }

  @Override
  public long drain(Duration timeout) {
    return publisher.drain(timeout);
  }

  @Override
  public Usage usage() {
    return publisher.usage();
  }

  @Override
  public Explanation explain() {
    return publisher.explain();
  }

  @Override
  public PublisherStatus status() {
    return publisher.status();
  }

  @Override
  public LatencySnapshot latency() {
    return publisher.latency();
  }

  @Override
  public void close() {
    publisher.close();
  }
}
