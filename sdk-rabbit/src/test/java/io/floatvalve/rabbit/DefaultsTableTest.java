package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Holds the tables of RabbitMQ's settings in {@code docs/defaults.md} to what the code does. */
final class DefaultsTableTest {
  private static final Path TABLE = Path.of("..", "docs", "defaults.md");
  private static final Pattern ROW = Pattern.compile("^\\| `(\\w+)` \\| ([^|]+) \\| [^|]+ \\|$");

  @Test
  void connectionTable_holdsEverySettingAndItsDefault() throws Exception {
    RabbitBroker.Settings settings = RabbitBroker.Settings.at("amqp://localhost");
    Map<String, String> code = defaults(settings);
    RabbitBroker.Credentials who = settings.credentials();
    code.put("credentials", who.username() + ", " + who.password());
    code.put("sslContext", "none"); // it has no getter: a context can hold keys

    assertThat(rows("RabbitMQ connection")).isEqualTo(code);
  }

  @Test
  void publisherTable_holdsEverySettingAndItsDefault() throws Exception {
    Map<String, String> code = defaults(RabbitBroker.PublishSettings.defaults());

    assertThat(rows("RabbitMQ publisher")).isEqualTo(code);
  }

  @Test
  void consumerTable_holdsEverySettingAndItsDefault() throws Exception {
    RabbitBroker.ConsumeSettings settings = RabbitBroker.ConsumeSettings.defaults();
    Map<String, String> code = new TreeMap<>();
    for (String name : defaults(settings).keySet()) {
      Field field = settings.getClass().getDeclaredField(name);
      field.setAccessible(true);
      Object value = field.get(settings);
      code.put(name, value == null || value.equals(Map.of()) ? "none" : shown(value));
    }

    assertThat(rows("RabbitMQ consumer")).isEqualTo(code);
  }

  /** Returns each setting there is, with its value where it has a getter. */
  private static Map<String, String> defaults(Object settings) throws Exception {
    Map<String, String> defaults = new TreeMap<>();
    for (Method method : settings.getClass().getMethods()) {
      String name = method.getName();
      if (name.startsWith("with") && !name.endsWith("From")) {
        defaults.put(Character.toLowerCase(name.charAt(4)) + name.substring(5), "?");
      }
    }
    for (Method method : settings.getClass().getMethods()) {
      if (method.getParameterCount() == 0
          && !Modifier.isStatic(method.getModifiers())
          && defaults.containsKey(method.getName())) {
        defaults.put(method.getName(), shown(method.invoke(settings)));
      }
    }
    return defaults;
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

  private static String shown(Object value) {
    if (value instanceof Duration time) {
      return time.toMillis() < 1_000 ? time.toMillis() + " ms" : time.toSeconds() + " s";
    }
    if (value instanceof Integer number && number > 0 && number % (1 << 20) == 0) {
      return (number >> 20) + " MiB";
    }
    return value.toString();
  }
}
