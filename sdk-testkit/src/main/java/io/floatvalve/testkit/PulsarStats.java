package io.floatvalve.testkit;

import io.floatvalve.spi.Json;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * An answer of a Pulsar broker's admin REST.
 *
 * <p>A path names the fields from the outside in, and elements of a list by their index: {@code
 * number("subscriptions", "billing", "consumers", "0", "availablePermits")}. Immutable.
 */
public final class PulsarStats {
  private final String json;
  private final Json tree;

  PulsarStats(String json) {
    this.json = json;
    this.tree = Json.parse(json);
  }

  /** Returns the answer as the broker sent it. */
  public String json() {
    return json;
  }

  /** Tells whether the path leads to something other than null. */
  public boolean has(String... path) {
    return find(path).exists();
  }

  /**
   * Returns a number, without its fraction.
   *
   * @throws IllegalStateException if the path leads to no number; the answer is in the message
   */
  public long number(String... path) {
    return as(Number.class, path).longValue();
  }

  /**
   * Returns a number, with its fraction.
   *
   * @throws IllegalStateException if the path leads to no number; the answer is in the message
   */
  public double fraction(String... path) {
    return as(Number.class, path).doubleValue();
  }

  /**
   * Returns a truth value.
   *
   * @throws IllegalStateException if the path leads to none; the answer is in the message
   */
  public boolean flag(String... path) {
    return as(Boolean.class, path);
  }

  /**
   * Returns a text.
   *
   * @throws IllegalStateException if the path leads to none; the answer is in the message
   */
  public String text(String... path) {
    return as(String.class, path);
  }

  /**
   * Returns the names of the fields of an object.
   *
   * @throws IllegalStateException if the path leads to none; the answer is in the message
   */
  public Set<String> names(String... path) {
    Map<?, ?> fields = as(Map.class, path);
    return fields.keySet().stream().map(String::valueOf).collect(Collectors.toUnmodifiableSet());
  }

  /**
   * Returns how many elements a list has.
   *
   * @throws IllegalStateException if the path leads to no list; the answer is in the message
   */
  public int size(String... path) {
    return as(List.class, path).size();
  }

  @Override
  public String toString() {
    return json;
  }

  private <T> T as(Class<T> type, String... path) {
    return find(path)
        .as(type)
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "no "
                        + type.getSimpleName()
                        + " at "
                        + String.join("/", path)
                        + " in "
                        + json));
  }

  private Json find(String... path) {
    Json at = tree;
    for (String step : path) {
      List<Json> elements = at.elements();
      int index = step.matches("\\d{1,9}") ? Integer.parseInt(step) : Integer.MAX_VALUE;
      at = index < elements.size() ? elements.get(index) : at.at(step);
    }
    return at;
  }
}
