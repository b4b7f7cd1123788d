package io.floatvalve.examples.perf;

import java.util.LinkedHashMap;
import java.util.Map;

/** What was seen in one interval: numbers by name, each with its unit in the name. */
final class Sample {
  private final Map<String, Number> numbers = new LinkedHashMap<>();

  Sample put(String name, Number value) {
    numbers.put(name, value);
    return this;
  }

  Map<String, Number> numbers() {
    return numbers;
  }

  double number(String name) {
    Number value = numbers.get(name);
    return value == null ? 0 : value.doubleValue();
  }
}
