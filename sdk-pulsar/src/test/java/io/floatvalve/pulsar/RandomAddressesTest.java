package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.Seeds;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Addresses that are nearly one: taken or refused, and no refusal repeats a secret. */
final class RandomAddressesTest {
  private static final String SECRET = "s3cret";
  private static final String[] PIECES = {
    "pulsar://",
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
    "6650",
    "99999",
    " ",
    "é",
    "\0",
    "\uD83D",
    SECRET,
    "+",
    "//",
    ",",
    "?token=" + SECRET
  };

  static LongStream seeds() {
    return Seeds.of(4);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whateverIsGiven_isTakenOrRefusedWithoutItsSecret(long seed) {
    Random random = new Random(seed);
    int refused = 0;
    int taken = 0;
    for (int i = 0; i < 2_000; i++) {
      String address = address(random);
      try {
        PulsarBroker.Settings settings = PulsarBroker.Settings.at(address);
        taken++;
        assertThat(settings.serviceUrl())
            .matches("pulsar(\\+ssl)?://[^/?#@\\s]+/?"); // nothing where a secret could stand
      } catch (IllegalArgumentException e) {
        refused++;
        StringWriter all = new StringWriter();
        e.printStackTrace(new PrintWriter(all));
        assertThat(all.toString()).as(address).doesNotContain(SECRET);
      }
    }
    assertThat(refused).isGreaterThan(100);
    assertThat(taken).isGreaterThan(100);
  }

  private static String address(Random random) {
    StringBuilder address =
        new StringBuilder(
            switch (random.nextInt(4)) {
              case 0 -> "pulsar://user:" + SECRET + "@host:6650";
              case 1 -> "pulsar+ssl://one:6651,two:6651";
              case 2 -> "pulsar://host:6650/";
              default -> "pulsar://host";
            });
    for (int n = random.nextInt(4); n > 0; n--) {
      int at = random.nextInt(address.length() + 1);
      if (random.nextInt(3) > 0 || at == address.length()) {
        address.insert(at, PIECES[random.nextInt(PIECES.length)]);
      } else {
        address.deleteCharAt(at);
      }
    }
    return address.toString();
  }
}
