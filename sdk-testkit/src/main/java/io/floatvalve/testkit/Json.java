package io.floatvalve.testkit;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads JSON into maps, lists, strings, numbers, truth values and null. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /**
   * Reads one value.
   *
   * @throws IllegalArgumentException if the text is anything else
   */
  static @Nullable Object read(String text) {
    Json reader = new Json(text);
    Object value = reader.value();
    reader.skipSpace();
    if (reader.at < text.length()) {
      throw reader.unexpected();
    }
    return value;
  }

  private @Nullable Object value() {
    skipSpace();
    return switch (peek()) {
      case '{' -> object();
      case '[' -> list();
      case '"' -> string();
      case 't' -> word("true", true);
      case 'f' -> word("false", false);
      case 'n' -> word("null", null);
      default -> number();
    };
  }

  private Map<String, @Nullable Object> object() {
    Map<String, @Nullable Object> fields = new LinkedHashMap<>();
    at++;
    skipSpace();
    if (!took('}')) {
      do {
        skipSpace();
        String name = string();
        skipSpace();
        take(':');
        fields.put(name, value());
        skipSpace();
      } while (took(','));
      take('}');
    }
    return Collections.unmodifiableMap(fields);
  }

  private List<@Nullable Object> list() {
    List<@Nullable Object> elements = new ArrayList<>();
    at++;
    skipSpace();
    if (!took(']')) {
      do {
        elements.add(value());
        skipSpace();
      } while (took(','));
      take(']');
    }
    return Collections.unmodifiableList(elements);
  }

  private String string() {
    take('"');
    StringBuilder characters = new StringBuilder();
    while (!took('"')) {
      char c = next();
      characters.append(c == '\\' ? escaped() : c);
    }
    return characters.toString();
  }

  private char escaped() {
    char c = next();
    return switch (c) {
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> {
        if (at + 4 > text.length()) {
          throw unexpected();
        }
        at += 4;
        yield (char) Integer.parseInt(text.substring(at - 4, at), 16);
      }
      default -> c;
    };
  }

  private Number number() {
    int start = at;
    while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
    if (start == at) {
      throw unexpected();
    }
    return new BigDecimal(text.substring(start, at));
  }

  private @Nullable Object word(String word, @Nullable Object value) {
    if (!text.startsWith(word, at)) {
      throw unexpected();
    }
    at += word.length();
    return value;
  }

  private void skipSpace() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private char peek() {
    if (at == text.length()) {
      throw unexpected();
    }
    return text.charAt(at);
  }

  private char next() {
    char c = peek();
    at++;
    return c;
  }

  private boolean took(char wanted) {
    boolean there = peek() == wanted;
    if (there) {
      at++;
    }
    return there;
  }

  private void take(char wanted) {
    if (!took(wanted)) {
      throw unexpected();
    }
  }

  private IllegalArgumentException unexpected() {
    return new IllegalArgumentException("not JSON at character " + at + ": " + text);
  }
}
