package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Holds the tables of Pulsar's settings in {@code docs/defaults.md} to what the code does. */
final class DefaultsTableTest {
  private static final Path TABLE = Path.of("..", "docs", "defaults.md");
  private static final Pattern ROW = Pattern.compile("^\\| `(\\w+)` \\| ([^|]+) \\| [^|]+ \\|$");

  @Test
  void connectionTable_holdsEverySettingAndItsDefault() throws Exception {
    assertThat(rows("Pulsar connection"))
        .isEqualTo(defaults(PulsarBroker.Settings.at("pulsar://localhost")));
  }

  @Test
  void consumerTable_holdsEverySettingAndItsDefault() throws Exception {
    assertThat(rows("Pulsar consumer"))
        .isEqualTo(defaults(PulsarBroker.ConsumeSettings.defaults()));
  }

  @Test
  void publisherTable_holdsEverySettingAndItsDefault() throws Exception {
    assertThat(rows("Pulsar publisher"))
        .isEqualTo(defaults(PulsarBroker.PublishSettings.defaults()));
  }

  /** Returns each setting there is; some have no getter, such as who we are. */
  private static Map<String, String> defaults(Object settings) throws Exception {
    Map<String, String> defaults = new TreeMap<>();
    for (Method method : settings.getClass().getMethods()) {
      String name = method.getName();
      if (name.startsWith("with") && !name.startsWith("withToken")) { // ways to authenticate
        String field = Character.toLowerCase(name.charAt(4)) + name.substring(5);
        Field value = settings.getClass().getDeclaredField(field);
        value.setAccessible(true);
        defaults.put(field, shown(value.get(settings)));
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

  private static String shown(@Nullable Object value) {
    if (value == null || Map.of().equals(value)) {
      return "none";
    }
    if (value instanceof Duration time) {
      return time.toMillis() % 1_000 == 0 ? time.toSeconds() + " s" : time.toMillis() + " ms";
    }
    if (value instanceof Integer number) {
      return number > 0 && number % 1_024 == 0
          ? number / 1_024 + " KiB"
          : String.format(Locale.ROOT, "%,d", number);
    }
    return value.toString();
  }
}
