package io.floatvalve.examples.consume;

import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A plain producer of a broker's client library, which confirms. Used by one thread. */
interface Spout extends AutoCloseable {
  /**
   * Sends a message, and does not wait for its answer.
   *
   * @param headers all text
   * @param answered called once, on any thread: with null if it is confirmed, else with why not
   */
  void send(
      String key, Map<String, String> headers, byte[] payload, Consumer<@Nullable String> answered)
      throws IOException;

  @Override
  void close() throws IOException;
}
