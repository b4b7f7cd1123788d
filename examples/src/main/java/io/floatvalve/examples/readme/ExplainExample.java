package io.floatvalve.examples.readme;

import io.floatvalve.consume.Consumer;
import io.floatvalve.explain.Explanation;
import org.slf4j.Logger;

/** The example of the page on explanations. */
final class ExplainExample {
  private ExplainExample() {}

  static void explain(Consumer consumer, Logger log) {
    // tag::explain
    Explanation why = consumer.explain();
    if (!why.isHealthy()) {
      log.warn("{}", why.line()); // one line, for a log
      System.out.println(why.text()); // all of it, for a support ticket
    }
    // end::explain
  }
}
