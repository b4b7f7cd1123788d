package io.floatvalve.rabbit;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What AMQP 0-9-1 can carry, and how many bytes it takes. Pure. */
final class Limits {
  /** The most bytes of a short string: names, routing keys, most properties. */
  static final int SHORT_STRING = 255;

  /** How deep tables and lists may lie in each other. */
  static final int DEEPEST = 32;

  private static final long MOST_SECONDS = Long.MAX_VALUE / 1_000;

  private Limits() {}

  /** Says why a text is no short string, or null if it is one or absent. */
  static @Nullable String shortString(String what, @Nullable String text) {
    /*
     * A char is at most three bytes and at least one, so most texts are judged by their length alone
     * and nothing is ever encoded here.
     */
    if (text == null || text.length() <= SHORT_STRING / 3) {
      return null;
    }
    long bytes = utf8Bytes(text);
    return bytes <= SHORT_STRING
        ? null
        : what + " must be at most 255 bytes in UTF-8, has " + bytes + ": " + shortened(text);
  }

  /** Returns how many bytes a text takes in UTF-8. Allocates nothing. */
  static long utf8Bytes(String text) {
    long bytes = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < 0x80) {
        bytes++;
      } else if (c < 0x800) {
        bytes += 2;
      } else if (!Character.isSurrogate(c)) {
        bytes += 3;
      } else if (Character.isHighSurrogate(c)
          && i + 1 < text.length()
          && Character.isLowSurrogate(text.charAt(i + 1))) {
        bytes += 4;
        i++;
      } else {
        bytes++; // half a pair, which no message may hold, would be sent as a question mark
      }
    }
    return bytes;
  }

  /** Says why a table cannot be sent, or null if it can. The values are of {@code Message}'s. */
  static @Nullable String table(String where, Map<?, ?> table) {
    return table(where, table, 0);
  }

  private static @Nullable String table(String where, Map<?, ?> table, int depth) {
    for (Map.Entry<?, ?> entry : table.entrySet()) {
      String name = (String) entry.getKey();
      String refusal = shortString("the name of a " + where, name);
      if (refusal == null) {
        refusal = value(where, name, entry.getValue(), depth);
      }
      if (refusal != null) {
        return refusal;
      }
    }
    return null;
  }

  private static @Nullable String value(String where, String name, Object value, int depth) {
    if (value instanceof BigDecimal number) {
      if (number.scale() < 0 || number.scale() > 255 || number.unscaledValue().bitLength() > 31) {
        return where
            + " '"
            + name
            + "': a decimal must have a scale from 0 to 255 and an unscaled value of 32 bits, has "
            + number.scale()
            + " and "
            + (number.unscaledValue().bitLength() + 1);
      }
    } else if (value instanceof Instant time) {
      return instant(where + " '" + name + "'", time);
    } else if ((value instanceof Double || value instanceof Float)
        && !Double.isFinite(((Number) value).doubleValue())) {
      // the broker closes the whole connection on one
      return where + " '" + name + "': a number must be finite, was " + value;
    } else if (depth == DEEPEST && (value instanceof Map<?, ?> || value instanceof List<?>)) {
      return inside(where, name) + ": tables and lists must be nested at most 32 deep";
    } else if (value instanceof Map<?, ?> table) {
      return table(inside(where, name), table, depth + 1);
    } else if (value instanceof List<?> list) {
      for (Object element : list) {
        String refusal = value(where, name, element, depth + 1);
        if (refusal != null) {
          return refusal;
        }
      }
    }
    return null;
  }

  /** Names the header alone, however deep the key lies. */
  private static String inside(String where, String name) {
    return where.startsWith("key in ") ? where : "key in " + where + " '" + name + "'";
  }

  /** Says why a time cannot be sent, or null if it can or is absent. */
  static @Nullable String instant(String what, @Nullable Instant time) {
    if (time == null || Math.abs(time.getEpochSecond()) < MOST_SECONDS) {
      return null;
    }
    return what + " must be within 292 million years of 1970, was " + time;
  }

  /** Returns how many bytes the entries of a table take, without the four of its length. */
  static long tableBytes(Map<?, ?> table) {
    long bytes = 0;
    for (Map.Entry<?, ?> entry : table.entrySet()) {
      bytes += 1 + utf8Bytes((String) entry.getKey()) + valueBytes(entry.getValue());
    }
    return bytes;
  }

  /** Returns how many bytes a value takes, with the one of its type. */
  static long valueBytes(Object value) {
    if (value instanceof String text) {
      return 5 + utf8Bytes(text);
    }
    if (value instanceof byte[] bytes) {
      return 5L + bytes.length;
    }
    if (value instanceof Map<?, ?> table) {
      return 5 + tableBytes(table);
    }
    if (value instanceof List<?> list) {
      long bytes = 5;
      for (Object element : list) {
        bytes += valueBytes(element);
      }
      return bytes;
    }
    if (value instanceof Boolean || value instanceof Byte) {
      return 2;
    }
    if (value instanceof Short) {
      return 3;
    }
    if (value instanceof Integer || value instanceof Float) {
      return 5;
    }
    if (value instanceof BigDecimal) {
      return 6;
    }
    return 9; // Long, Double, Instant
  }

  private static String shortened(String text) {
    return "'" + text.substring(0, 40) + "…'";
  }
}
