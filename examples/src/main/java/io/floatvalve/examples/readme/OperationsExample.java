package io.floatvalve.examples.readme;

import io.floatvalve.consume.Consumer;
import io.floatvalve.metrics.FloatvalveMetrics;
import io.floatvalve.publish.Publisher;
import io.micrometer.core.instrument.MeterRegistry;

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
}
