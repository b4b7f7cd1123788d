package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.Seeds;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** Arguments that no command takes: refused in one sentence, and no secret is repeated. */
final class RandomArgumentsTest {
  private static final String[] GARBAGE = {
    "",
    " ",
    "x",
    "-",
    "1e9x",
    "0x10",
    "99999999999999999999",
    "é\uD83D",
    "\0",
    "@nowhere",
    "1s2m",
    "-5parsecs",
    "amqp://me:s3cret@host",
    "pulsar://me:s3cret@host",
    "%s%n",
    "'\"",
    "a=b"
  };

  private record Command(List<String> path, CommandLine line) {}

  static LongStream seeds() {
    return Seeds.of(2);
  }

  private static List<Command> commands() {
    List<Command> all = new ArrayList<>();
    collect(new CommandLine(new Main()), List.of(), all);
    return all;
  }

  private static void collect(CommandLine line, List<String> path, List<Command> into) {
    into.add(new Command(path, line));
    for (Map.Entry<String, CommandLine> each : line.getSubcommands().entrySet()) {
      List<String> deeper = new ArrayList<>(path);
      deeper.add(each.getKey());
      collect(each.getValue(), deeper, into);
    }
  }

  /** Whether picocli itself reads the value, so that garbage is refused before anything runs. */
  private static boolean isTyped(OptionSpec option) {
    Class<?> type = option.type();
    return type == int.class
        || type == long.class
        || type == double.class
        || type == Duration.class
        || type.isEnum();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void garbageForAnOption_isRefusedByItsName(long seed) {
    Random random = new Random(seed);
    int tried = 0;
    for (Command command : commands()) {
      for (OptionSpec option : command.line().getCommandSpec().options()) {
        if (!isTyped(option)) {
          continue;
        }
        tried++;
        List<String> arguments = new ArrayList<>(command.path());
        arguments.add(option.longestName() + "=" + garbage(random));

        assertRefused(arguments, option.longestName());
      }
    }
    assertThat(tried).isGreaterThan(10);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void argumentsAtRandom_withOneThatDoesNotExist_areRefused(long seed) {
    Random random = new Random(seed);
    List<Command> commands = commands();
    for (int i = 0; i < 40; i++) {
      Command command = commands.get(random.nextInt(commands.size()));
      List<String> arguments = new ArrayList<>(command.path());
      List<OptionSpec> options =
          command.line().getCommandSpec().options().stream()
              .filter(o -> !o.usageHelp() && !o.versionHelp())
              .toList();
      for (int n = random.nextInt(4); n > 0 && !options.isEmpty(); n--) {
        arguments.add(options.get(random.nextInt(options.size())).longestName());
        if (random.nextInt(3) > 0) {
          arguments.add(garbage(random));
        }
      }
      arguments.add("--no-such-option=1"); // perhaps the value of what stands before
      arguments.add("--no-such-option=2");

      assertRefused(arguments, "");
    }
  }

  private static String garbage(Random random) {
    return GARBAGE[random.nextInt(GARBAGE.length)];
  }

  private static void assertRefused(List<String> arguments, String name) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();

    int exit =
        Main.run(new PrintWriter(out), new PrintWriter(err), arguments.toArray(new String[0]));

    assertThat(exit).as("%s: %s", arguments, err).isEqualTo(2);
    assertThat(err.toString())
        .as("%s", arguments)
        .startsWith("floatvalve: ")
        .contains(name)
        .contains("--help")
        .doesNotContain("\tat ")
        .doesNotContain("s3cret");
    assertThat(out.toString()).as("%s", arguments).isEmpty();
  }
}
