package io.floatvalve.spi;

import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Finds text that holds half of a surrogate pair. UTF-8 has no such thing: encoders write a
 * question mark in its place, so another text would arrive, and two keys might become one.
 */
public final class Unicode {
  private Unicode() {}

  /**
   * Says which text of a message would arrive as another, or null if none would. Looks at all text
   * but the payload: ids, key, address, names and values of headers. Allocates nothing if all is
   * well.
   */
  public static @Nullable String refusal(Message message) {
    String where = null;
    if (isBroken(message.key())) {
      where = "key";
    } else if (isBroken(message.messageId())) {
      where = "message id";
    } else if (isBroken(message.correlationId())) {
      where = "correlation id";
    } else if (isBroken(message.contentType())) {
      where = "content type";
    } else if (isBroken(message.replyTo())) {
      where = "reply-to";
    } else if (isBroken(message.address())) {
      where = "address";
    } else if (!message.headers().isEmpty()) {
      for (Map.Entry<String, Object> header : message.headers().entrySet()) {
        if (isBroken(header.getKey()) || isBroken(header.getValue())) {
          where = "header '" + header.getKey() + "'";
          break;
        }
      }
    }
    return where == null ? null : where + ": its text holds half of a surrogate pair";
  }

  private static boolean isBroken(@Nullable Address address) {
    return address != null && (isBroken(address.name()) || isBroken(address.routingKey()));
  }

  private static boolean isBroken(@Nullable Object value) {
    if (value instanceof String text) {
      return isBroken(text);
    }
    if (value instanceof List<?> list) {
      for (Object element : list) {
        if (isBroken(element)) {
          return true;
        }
      }
    } else if (value instanceof Map<?, ?> map) {
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        if (isBroken(entry.getKey()) || isBroken(entry.getValue())) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean isBroken(@Nullable String text) {
    if (text == null) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (Character.isSurrogate(c)) {
        boolean pair =
            Character.isHighSurrogate(c)
                && i + 1 < text.length()
                && Character.isLowSurrogate(text.charAt(i + 1));
        if (!pair) {
          return true;
        }
        i++;
      }
    }
    return false;
  }
}
