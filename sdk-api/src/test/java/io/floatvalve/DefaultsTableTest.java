package io.floatvalve;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublisherSettings;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Holds {@code docs/defaults.md} to what the code does. */
final class DefaultsTableTest {
  private static final Path TABLE = Path.of("..", "docs", "defaults.md");
  private static final Pattern ROW = Pattern.compile("^\\| `(\\w+)` \\| ([^|]+) \\| [^|]+ \\|$");

  @Test
  void publisherTable_holdsEverySettingAndItsDefault() throws Exception {
    assertThat(rows("Publisher")).isEqualTo(defaults(PublisherSettings.to(Address.queue("any"))));
  }

  @Test
  void consumerTable_holdsEverySettingAndItsDefault() throws Exception {
    assertThat(rows("Consumer")).isEqualTo(defaults(ConsumerSettings.from(Address.topic("any"))));
  }

  private static Map<String, String> defaults(Object settings) throws Exception {
    Map<String, String> code = new TreeMap<>();
    for (Method method : settings.getClass().getMethods()) {
      if (method.getName().startsWith("with")) {
        String name = method.getName().substring("with".length());
        String getter = name.equals("Native") ? "nativeSettings" : uncapitalized(name);
        code.put(getter, shown(settings.getClass().getMethod(getter).invoke(settings), getter));
      }
    }
    return code;
  }

  @Test
  void messageTable_holdsItsDefaults() throws Exception {
    Message message = Message.of(new byte[0]);
    Map<String, String> code = new TreeMap<>();
    for (String name : rows("Message").keySet()) {
      code.put(name, shown(Message.class.getMethod(name).invoke(message), name));
    }

    assertThat(code).containsKeys("persistent", "mandatory");
    assertThat(rows("Message")).isEqualTo(code);
  }

  /** Returns setting and default of each row below a heading. */
  private static Map<String, String> rows(String heading) throws IOException {
    Map<String, String> rows = new TreeMap<>();
    String now = "";
    for (String line : Files.readAllLines(TABLE)) {
      if (line.startsWith("## ")) {
        now = line.substring("## ".length());
      }
      Matcher row = ROW.matcher(line);
      if (now.equals(heading) && row.matches()) {
        rows.put(row.group(1), row.group(2).strip());
      }
    }
    return rows;
  }

  private static String shown(@Nullable Object value, String name) {
    if (value == null) {
      return "none";
    }
    if (value instanceof Duration time) {
      return time.toMillis() % 1_000 == 0 ? time.toSeconds() + " s" : time.toMillis() + " ms";
    }
    if (value instanceof List<?> all) {
      return all.stream().map(each -> shown(each, name)).collect(Collectors.joining(", "));
    }
    if (value instanceof Number number && name.endsWith("Bytes")) {
      return number.longValue() / (1 << 20) + " MiB";
    }
    return value instanceof Number number
        ? String.format(Locale.ROOT, "%,d", number.longValue())
        : value.toString();
  }

  private static String uncapitalized(String name) {
    return Character.toLowerCase(name.charAt(0)) + name.substring(1);
  }
}
