package io.floatvalve.pulsar;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Headers of stated types as Pulsar properties, which are text.
 *
 * <p>A string is a property of its own. A value of another type is a property with the value in
 * words that any reader understands ({@code 42}, {@code 2026-01-01T00:00:00Z}, base64 for bytes),
 * and a second property, {@code floatvalve-type-} and the name, says the type. A list or map is a
 * run of elements, each a type, a length and as much text: {@code int 2:42}.
 */
final class HeaderText {
  /** What begins the name of every property of ours. */
  static final String PREFIX = "floatvalve-";

  private static final String TYPE = PREFIX + "type-";
  private static final String STRING = "string";

  /** As deep as a {@code Message} can hold them. */
  private static final int DEEPEST = 32;

  private HeaderText() {}

  /** Adds a header to properties. */
  static void put(Map<String, String> properties, String name, Object value) {
    String type = type(value);
    properties.put(name, text(value));
    if (!type.equals(STRING)) {
      properties.put(TYPE + name, type);
    }
  }

  /** Returns the headers among properties; those of ours are not. */
  static Map<String, Object> headers(Map<String, String> properties) {
    Map<String, Object> headers = new LinkedHashMap<>();
    properties.forEach(
        (name, text) -> {
          if (!name.startsWith(PREFIX) && !name.isEmpty() && text != null) {
            headers.put(name, value(properties.get(TYPE + name), text));
          }
        });
    return headers;
  }

  private static Object value(@Nullable String type, String text) {
    if (type == null) {
      return text;
    }
    try {
      return parse(type, text, 1);
    } catch (RuntimeException e) {
      return text; // somebody else changed one of the two: the text is all that is sure
    }
  }

  private static String type(Object value) {
    if (value instanceof String) {
      return STRING;
    } else if (value instanceof Boolean) {
      return "boolean";
    } else if (value instanceof Byte) {
      return "byte";
    } else if (value instanceof Short) {
      return "short";
    } else if (value instanceof Integer) {
      return "int";
    } else if (value instanceof Long) {
      return "long";
    } else if (value instanceof Float) {
      return "float";
    } else if (value instanceof Double) {
      return "double";
    } else if (value instanceof BigDecimal) {
      return "decimal";
    } else if (value instanceof Instant) {
      return "instant";
    } else if (value instanceof byte[]) {
      return "bytes";
    } else if (value instanceof List<?>) {
      return "list";
    } else if (value instanceof Map<?, ?>) {
      return "map";
    }
    throw new IllegalArgumentException("a header cannot be a " + value.getClass().getName());
  }

  private static String text(Object value) {
    if (value instanceof byte[] bytes) {
      return Base64.getEncoder().encodeToString(bytes);
    } else if (value instanceof List<?> list) {
      StringBuilder run = new StringBuilder();
      list.forEach(element -> append(run, element));
      return run.toString();
    } else if (value instanceof Map<?, ?> map) {
      StringBuilder run = new StringBuilder();
      map.forEach(
          (key, element) -> {
            append(run, key);
            append(run, element);
          });
      return run.toString();
    }
    return value.toString();
  }

  private static void append(StringBuilder run, Object element) {
    String text = text(element);
    run.append(type(element)).append(' ').append(text.length()).append(':').append(text);
  }

  private static Object parse(String type, String text, int depth) {
    if (depth > DEEPEST) {
      throw new IllegalArgumentException("nested too deep");
    }
    return switch (type) {
      case STRING -> text;
      case "boolean" -> bool(text);
      case "byte" -> Byte.valueOf(text);
      case "short" -> Short.valueOf(text);
      case "int" -> Integer.valueOf(text);
      case "long" -> Long.valueOf(text);
      case "float" -> Float.valueOf(text);
      case "double" -> Double.valueOf(text);
      case "decimal" -> new BigDecimal(text);
      case "instant" -> Instant.parse(text);
      case "bytes" -> Base64.getDecoder().decode(text);
      case "list" -> elements(text, depth);
      case "map" -> map(elements(text, depth));
      default -> throw new IllegalArgumentException("unknown type " + type);
    };
  }

  private static Boolean bool(String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("no boolean");
    };
  }

  private static List<Object> elements(String run, int depth) {
    List<Object> elements = new ArrayList<>();
    int at = 0;
    while (at < run.length()) {
      int space = run.indexOf(' ', at);
      int colon = run.indexOf(':', space);
      int end = colon + 1 + Integer.parseInt(run.substring(space + 1, colon));
      elements.add(parse(run.substring(at, space), run.substring(colon + 1, end), depth + 1));
      at = end;
    }
    return elements;
  }

  private static Map<String, Object> map(List<Object> pairs) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < pairs.size(); i += 2) {
      map.put((String) pairs.get(i), pairs.get(i + 1));
    }
    return map;
  }
}
