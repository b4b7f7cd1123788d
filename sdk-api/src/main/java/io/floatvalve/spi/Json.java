package io.floatvalve.spi;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What a broker's administration interface answers, as JSON (RFC 8259). Asking for what is not
 * there, or is of another type, gives nothing, never an exception. Immutable.
 */
public final class Json {
  /** How deep values may lie within each other. */
  public static final int MOST_DEPTH = 64;

  private static final Json NONE = new Json(null);
  private static final int MOST_DIGITS = 100;

  private final @Nullable Object value; // Map<String, Json>, List<Json>, String, Number, Boolean

  private Json(@Nullable Object value) {
    this.value = value;
  }

  /**
   * Reads a text.
   *
   * @throws IllegalArgumentException if it is not JSON, or deeper than {@link #MOST_DEPTH}; the
   *     message says where, not what
   */
  public static Json parse(String text) {
    Reader reader = new Reader(text);
    Json value = reader.value(1);
    reader.end();
    return value;
  }

  /** Returns a field of an object. */
  public Json at(String field) {
    return fields().getOrDefault(field, NONE);
  }

  /** Returns the fields of an object, in their order; none if it is anything else. */
  @SuppressWarnings("unchecked") // the reader puts nothing else into a map
  public Map<String, Json> fields() {
    return value instanceof Map<?, ?> map ? (Map<String, Json>) map : Map.of();
  }

  /** Returns the elements of an array; none if it is anything else. */
  @SuppressWarnings("unchecked") // the reader puts nothing else into a list
  public List<Json> elements() {
    return value instanceof List<?> list ? (List<Json>) list : List.of();
  }

  /** Returns a number without its fraction, the nearest there is; empty if it is anything else. */
  public OptionalLong number() {
    return value instanceof Number number
        ? OptionalLong.of(number.longValue())
        : OptionalLong.empty();
  }

  /** Returns a text; empty if it is anything else. */
  public String text() {
    return value instanceof String text ? text : "";
  }

  /** Returns whether it is the truth value true. */
  public boolean isTrue() {
    return Boolean.TRUE.equals(value);
  }

  /** Returns whether it is there, and not null. */
  public boolean exists() {
    return value != null;
  }

  /**
   * Returns it if it is of a type.
   *
   * @param type {@code Number}, {@code Boolean}, {@code String}, {@code Map} or {@code List}; what
   *     lies in these two is {@code Json}
   */
  public <T> Optional<T> as(Class<T> type) {
    return type.isInstance(value) ? Optional.of(type.cast(value)) : Optional.empty();
  }

  /** Reads by recursion, which the depth bounds. */
  private static final class Reader {
    private final String text;
    private int at;

    Reader(String text) {
      this.text = text;
    }

    Json value(int depth) {
      if (depth > MOST_DEPTH) {
        throw bad("deeper than " + MOST_DEPTH);
      }
      skipSpace();
      Json value =
          switch (peek()) {
            case '{' -> object(depth);
            case '[' -> array(depth);
            case '"' -> new Json(string());
            case 't' -> word("true", new Json(true));
            case 'f' -> word("false", new Json(false));
            case 'n' -> word("null", NONE);
            default -> new Json(number());
          };
      skipSpace();
      return value;
    }

    void end() {
      if (at < text.length()) {
        throw bad("more than one value");
      }
    }

    private Json object(int depth) {
      Map<String, Json> fields = new LinkedHashMap<>();
      at++;
      skipSpace();
      if (!took('}')) {
        do {
          skipSpace();
          if (peek() != '"') {
            throw bad("no name of a field");
          }
          String name = string();
          skipSpace();
          take(':');
          fields.put(name, value(depth + 1));
        } while (took(','));
        take('}');
      }
      return new Json(java.util.Collections.unmodifiableMap(fields));
    }

    private Json array(int depth) {
      List<Json> elements = new ArrayList<>();
      at++;
      skipSpace();
      if (!took(']')) {
        do {
          elements.add(value(depth + 1));
        } while (took(','));
        take(']');
      }
      return new Json(List.copyOf(elements));
    }

    private String string() {
      at++;
      StringBuilder characters = new StringBuilder();
      while (!took('"')) {
        char c = next();
        if (c < ' ') {
          throw bad("a control character");
        }
        characters.append(c == '\\' ? escaped() : c);
      }
      return characters.toString();
    }

    private char escaped() {
      char c = next();
      return switch (c) {
        case '"', '\\', '/' -> c;
        case 'b' -> '\b';
        case 'f' -> '\f';
        case 'n' -> '\n';
        case 'r' -> '\r';
        case 't' -> '\t';
        case 'u' -> (char) ((hex() << 12) | (hex() << 8) | (hex() << 4) | hex());
        default -> throw bad("no escape");
      };
    }

    private int hex() {
      char c = next();
      int digit = c < 128 ? Character.digit(c, 16) : -1;
      if (digit < 0) {
        throw bad("no hexadecimal digit");
      }
      return digit;
    }

    private Number number() {
      int start = at;
      took('-');
      if (!took('0')) {
        digits();
      }
      boolean whole = true;
      if (at < text.length() && took('.')) {
        whole = false;
        digits();
      }
      if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
        whole = false;
        at++;
        if (!took('+')) {
          took('-');
        }
        digits();
      }
      if (at - start > MOST_DIGITS) {
        throw bad("a number too long");
      }
      String number = text.substring(start, at);
      if (whole && number.length() < 19) {
        return Long.valueOf(number);
      }
      return Double.valueOf(number);
    }

    private void digits() {
      int start = at;
      while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
        at++;
      }
      if (start == at) {
        throw bad("no value");
      }
    }

    private Json word(String word, Json value) {
      if (!text.startsWith(word, at)) {
        throw bad("no value");
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
        throw bad("it ends");
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
        throw bad("no '" + wanted + "'");
      }
    }

    private IllegalArgumentException bad(String why) {
      return new IllegalArgumentException("no JSON at character " + at + ": " + why);
    }
  }
}
