package io.floatvalve.examples.cli;

import io.floatvalve.model.Address;

/** Reads addresses as they are given on the command line. */
public final class Addresses {
  private Addresses() {}

  /**
   * Returns the address that a text names: {@code queue:NAME}, {@code exchange:NAME/KEY}, or in
   * short {@code NAME} for a queue and {@code EXCHANGE/KEY}. The key is what follows the first
   * slash.
   *
   * @throws CannotRun if it names nothing
   */
  public static Address rabbit(String option, String text) {
    if (text.startsWith("queue:")) {
      return queue(option, text, text.substring("queue:".length()));
    }
    boolean named = text.startsWith("exchange:");
    String rest = named ? text.substring("exchange:".length()) : text;
    int slash = rest.indexOf('/');
    if (slash < 0 && named) {
      throw CannotRun.badInput(option, text, "needs a routing key: exchange:NAME/KEY");
    }
    return slash < 0
        ? queue(option, text, rest)
        : Address.exchange(rest.substring(0, slash), rest.substring(slash + 1));
  }

  /**
   * Returns the topic that a text names: {@code NAME}, or {@code
   * persistent://TENANT/NAMESPACE/NAME}.
   *
   * @throws CannotRun if it names nothing
   */
  public static Address pulsar(String option, String text) {
    if (text.isBlank()) {
      throw CannotRun.badInput(option, text, "names no topic");
    }
    return Address.topic(text);
  }

  private static Address queue(String option, String text, String name) {
    if (name.isBlank()) {
      throw CannotRun.badInput(option, text, "names no queue");
    }
    return Address.queue(name);
  }
}
