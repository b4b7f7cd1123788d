package io.floatvalve.testkit;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An answer of a Pulsar broker's admin REST.
 *
 * <p>A path names the fields from the outside in, and elements of a list by their index: {@code
 * number("subscriptions", "billing", "consumers", "0", "availablePermits")}. Immutable.
 */
public final class PulsarStats {
  private final String json;
  private final @Nullable Object tree;

  PulsarStats(String json) {
    this.json = json;
    this.tree = Json.read(json);
  }

  /** Returns the answer as the broker sent it. */
  public String json() {
    return json;
  }

  /** Tells whether the path leads to something other than null. */
  public boolean has(String... path) {
    return find(path) != null;
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
    Object found = find(path);
    if (!type.isInstance(found)) {
      throw new IllegalStateException(
          "no " + type.getSimpleName() + " at " + String.join("/", path) + " in " + json);
    }
    return type.cast(found);
  }

  private @Nullable Object find(String... path) {
    Object at = tree;
    for (String step : path) {
      if (at instanceof Map<?, ?> fields) {
        at = fields.get(step);
      } else if (at instanceof List<?> list && step.matches("\\d{1,9}")) {
        int index = Integer.parseInt(step);
        at = index < list.size() ? list.get(index) : null;
      } else {
        return null;
      }
    }
    return at;
  }
}
