package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.Seeds;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Addresses that are nearly one: read or refused, and no refusal repeats a secret. */
final class RandomAddressesTest {
  private static final String SECRET = "s3cret";
  private static final String[] PIECES = {
    "amqp://",
    "amqps://",
    "http://",
    "user",
    ":",
    "@",
    "/",
    "?",
    "#",
    "[",
    "]",
    "::1",
    "%",
    "%2F",
    "%zz",
    "host",
    "5672",
    "99999",
    " ",
    "é",
    "\0",
    "\uD83D",
    SECRET,
    "+",
    "//",
    ","
  };

  static LongStream seeds() {
    return Seeds.of(4);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whateverIsGiven_isReadOrRefusedWithoutItsSecret(long seed) {
    Random random = new Random(seed);
    int refused = 0;
    int read = 0;
    for (int i = 0; i < 2_000; i++) {
      String address = address(random);
      try {
        Endpoint.Parsed parsed = Endpoint.parse(address);
        read++;
        assertThat(parsed.endpoint().host()).as(address).isNotEmpty().doesNotContain("@");
        assertThat(parsed.endpoint().port()).as(address).isBetween(1, 65_535);
        if (!parsed.endpoint().host().contains(SECRET)) {
          assertThat(parsed.toString()).doesNotContain(SECRET);
        }
      } catch (IllegalArgumentException e) {
        refused++;
        StringWriter all = new StringWriter();
        e.printStackTrace(new PrintWriter(all));
        assertThat(all.toString()).as(address).doesNotContain(SECRET);
      }
    }
    assertThat(refused).isGreaterThan(100);
    assertThat(read).isGreaterThan(100);
  }

  private static String address(Random random) {
    StringBuilder address =
        new StringBuilder(
            random.nextBoolean() ? "amqp://user:" + SECRET + "@host:5672/vhost" : "amqp://host");
    for (int n = random.nextInt(4); n > 0; n--) {
      int at = random.nextInt(address.length() + 1);
      if (random.nextInt(3) > 0 || at == address.length()) {
        address.insert(at, PIECES[random.nextInt(PIECES.length)]);
      } else if (!address.substring(at).contains(SECRET) || random.nextBoolean()) {
        address.deleteCharAt(at);
      }
    }
    return address.toString();
  }
}
