package io.floatvalve.examples.lines;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.floatvalve.model.Message;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** How a line is read as a message. */
public enum LineFormat {
  /** The line is the payload. */
  TEXT {
    @Override
    public Message message(byte[] line) {
      return Message.of(line);
    }
  },

  /**
   * The line is a JSON object: {@code payload} (a string as it is; other JSON as JSON) or {@code
   * payloadBase64}, and, if wanted, {@code key}, {@code headers}, {@code contentType}, {@code
   * messageId}, {@code correlationId}, {@code priority}, {@code ttlMillis}, {@code persistent},
   * {@code mandatory}.
   */
  NDJSON {
    @Override
    public Message message(byte[] line) throws BadLine {
      JsonNode object;
      try {
        object = JSON.readTree(line);
      } catch (JsonProcessingException e) {
        throw new BadLine(
            "no JSON: "
                + e.getOriginalMessage()
                + (e.getLocation() == null ? "" : ", column " + e.getLocation().getColumnNr()));
      } catch (IOException | NumberFormatException e) { // the latter of an exponent beyond all use
        throw new BadLine("no JSON: " + e.getMessage());
      }
      if (object == null || !object.isObject()) {
        throw new BadLine("no JSON object");
      }
      try {
        return read(object);
      } catch (IllegalArgumentException e) {
        throw new BadLine(e.getMessage() == null ? e.toString() : e.getMessage());
      }
    }
  };

  private static final ObjectMapper JSON =
      new ObjectMapper()
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);

  /** Says what is wrong with a line; it is not published. */
  public static final class BadLine extends Exception {
    private static final long serialVersionUID = 1L;

    private BadLine(String why) {
      super(why);
    }
  }

  /** Returns the message that a line is. */
  public abstract Message message(byte[] line) throws BadLine;

  /** Returns the format that the name of a file suggests. */
  public static LineFormat of(String fileName) {
    String name = fileName.toLowerCase(Locale.ROOT);
    return name.endsWith(".ndjson") || name.endsWith(".jsonl") ? NDJSON : TEXT;
  }

  private static Message read(JsonNode object) throws BadLine {
    Message.Builder message = Message.builder(payload(object));
    for (Map.Entry<String, JsonNode> field : object.properties()) {
      String name = field.getKey();
      JsonNode value = field.getValue();
      switch (name) {
        case "payload" -> {
          if (!value.isTextual()) {
            message.contentType("application/json");
          }
        }
        case "payloadBase64", "contentType" -> {} // the one is read before, the other after
        case "key" -> message.key(text(name, value));
        case "messageId" -> message.messageId(text(name, value));
        case "correlationId" -> message.correlationId(text(name, value));
        case "priority" -> message.priority((int) whole(name, value));
        case "ttlMillis" -> message.ttl(Duration.ofMillis(whole(name, value)));
        case "persistent" -> message.persistent(yesOrNo(name, value));
        case "mandatory" -> message.mandatory(yesOrNo(name, value));
        case "headers" -> headers(message, value);
        default -> throw new BadLine("unknown field '" + name + "'");
      }
    }
    JsonNode contentType = object.get("contentType");
    if (contentType != null) {
      message.contentType(text("contentType", contentType));
    }
    return message.build();
  }

  private static byte[] payload(JsonNode object) throws BadLine {
    JsonNode plain = object.get("payload");
    JsonNode base64 = object.get("payloadBase64");
    if ((plain == null) == (base64 == null)) {
      throw new BadLine("needs one of 'payload' and 'payloadBase64'");
    }
    if (base64 != null) {
      try {
        return Base64.getDecoder().decode(text("payloadBase64", base64));
      } catch (IllegalArgumentException e) {
        throw new BadLine("payloadBase64: " + e.getMessage());
      }
    }
    return utf8(plain.isTextual() ? plain.textValue() : plain.toString());
  }

  /** JSON can name half of a surrogate pair, which UTF-8 cannot hold: no other text is sent. */
  private static byte[] utf8(String text) throws BadLine {
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] payload = new byte[bytes.remaining()];
      bytes.get(payload);
      return payload;
    } catch (CharacterCodingException e) {
      throw new BadLine("payload: holds half of a surrogate pair");
    }
  }

  private static void headers(Message.Builder message, JsonNode value) throws BadLine {
    if (!value.isObject()) {
      throw new BadLine("headers: must be an object");
    }
    for (Map.Entry<String, JsonNode> header : value.properties()) {
      message.header(header.getKey(), header(header.getKey(), header.getValue()));
    }
  }

  private static Object header(String name, JsonNode value) throws BadLine {
    if (value.isTextual()) {
      return value.textValue();
    }
    if (value.isBoolean()) {
      return value.booleanValue();
    }
    if (value.isIntegralNumber() && value.canConvertToLong()) {
      return value.longValue();
    }
    if (value.isNumber()) {
      BigDecimal exact = value.decimalValue();
      double near = exact.doubleValue();
      if (Double.isFinite(near)) {
        return near;
      }
    }
    if (value.isArray()) {
      List<Object> list = new ArrayList<>();
      for (JsonNode element : value) {
        list.add(header(name, element));
      }
      return list;
    }
    if (value.isObject()) {
      Map<String, Object> map = new LinkedHashMap<>();
      for (Map.Entry<String, JsonNode> entry : value.properties()) {
        map.put(entry.getKey(), header(name, entry.getValue()));
      }
      return map;
    }
    throw new BadLine("headers: '" + name + "' has a value that cannot be sent: " + value);
  }

  private static String text(String name, JsonNode value) throws BadLine {
    if (!value.isTextual()) {
      throw new BadLine(name + ": must be a string, was " + value);
    }
    return value.textValue();
  }

  private static long whole(String name, JsonNode value) throws BadLine {
    if (!value.isIntegralNumber() || !value.canConvertToInt()) {
      throw new BadLine(name + ": must be a whole number, was " + value);
    }
    return value.longValue();
  }

  private static boolean yesOrNo(String name, JsonNode value) throws BadLine {
    if (!value.isBoolean()) {
      throw new BadLine(name + ": must be true or false, was " + value);
    }
    return value.booleanValue();
  }
}
