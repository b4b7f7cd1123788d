package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MainTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final Socket closed = new Socket(); // bound where needed; nobody listens
  @TempDir private Path folder = Path.of("");
  private Path file = Path.of("");

  @BeforeEach
  void aFileOfTwoLines() throws IOException {
    file = folder.resolve("lines.txt");
    Files.writeString(file, "one\ntwo\n");
  }

  @AfterEach
  void freeThePort() throws IOException {
    closed.close();
  }

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @ParameterizedTest
  @CsvSource({
    "--rate,            fast",
    "--rate,            0",
    "--rate,            -1",
    "--rate,            NaN",
    "--confirm,         0",
    "--confirm,         many",
    "--confirm,         2000000",
    "--format,          xml",
    "--broker,          kafka",
    "--max-wait,        soon",
    "--max-wait,        0s",
    "--confirm-timeout, 99999999h",
    "--max-message-bytes, 0",
    "--repeat,          unknown",
    "--declare,         foo",
    "--declare,         Quorum",
    "--json,            /nonexistent/x.json",
    "--json,            /tmp",
    "--uri,             http://",
    "--uri,             amqp://",
  })
  void badValue_isRefusedByNameAndValue(String option, String value) {
    int exit = run("publish", "--to", "q", "--from", file.toString(), option, value);

    assertThat(exit).isEqualTo(2);
    assertThat(err.toString()).contains(option).contains(value).doesNotContain("\tat ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "s3cret",
        "http://s3cret",
        "amqp://me:s3cret",
        "amqp://me:s3 cret",
        "amqp://me:s3cret/",
        "amqp://host?password=s3cret",
        "amqp://host#s3cret",
      })
  void uriThatIsNotUnderstood_isRefusedWithoutItsSecret(String uri) {
    assertThat(run("publish", "--to", "q", "--from", file.toString(), "--uri", uri)).isEqualTo(2);
    assertThat(err.toString()).contains("--uri").doesNotContain("s3cret").doesNotContain("cret");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--version", "-V"})
  void version_isThereForEveryCommand(String option) {
    assertThat(run(option)).isZero();
    assertThat(run("lab", "confirms", option)).isZero();
    assertThat(out.toString().lines())
        .hasSize(2)
        .allSatisfy(line -> assertThat(line).matches("floatvalve \\S+"));
  }

  @Test
  void declare_saysWhatIsAllowed() {
    run("publish", "--to", "q", "--from", file.toString(), "--declare", "foo");

    assertThat(err.toString()).contains("--declare 'foo': must be classic or quorum or stream");
  }

  @Test
  void missingAddress_isSaid() {
    assertThat(run("publish", "--from", file.toString())).isEqualTo(2);
    assertThat(err.toString()).contains("--to");
  }

  @Test
  void missingFile_isNamed() {
    assertThat(run("publish", "--to", "q", "--from", folder.resolve("nothing").toString()))
        .isEqualTo(2);
    assertThat(err.toString()).contains("--from").contains("nothing").contains("no such file");
  }

  @Test
  void existingResults_areNeverOverwritten() throws IOException {
    Path results = folder.resolve("results");
    Files.writeString(results, "evidence");

    int exit =
        run("publish", "--to", "q", "--from", file.toString(), "--results", results.toString());

    assertThat(exit).isEqualTo(2);
    assertThat(err.toString()).contains("--results").contains("--resume");
    assertThat(results).hasContent("evidence");
  }

  @Test
  void unknownOption_isNamed() {
    assertThat(run("publish", "--tow", "q")).isEqualTo(2);
    assertThat(err.toString()).contains("--tow").doesNotContain("\tat ");
  }

  @Test
  void unknownCommand_isNamed() {
    assertThat(run("polish")).isEqualTo(2);
    assertThat(err.toString()).contains("polish");
  }

  @Test
  void unreachableBroker_saysWhatWasTriedAndWhy_withoutTheSecret() throws IOException {
    closed.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    int port = closed.getLocalPort();

    int exit =
        run(
            "publish",
            "--to",
            "q",
            "--from",
            file.toString(),
            "--results",
            folder.resolve("r").toString(),
            "--uri",
            "amqp://me:s3cret@127.0.0.1:" + port);

    assertThat(exit).isEqualTo(3);
    assertThat(err.toString())
        .contains("127.0.0.1:" + port)
        .containsIgnoringCase("refused")
        .doesNotContain("\tat ")
        .doesNotContain("s3cret");
    assertThat(out.toString()).doesNotContain("s3cret");
    assertThat(folder.resolve("r")).doesNotExist();
  }

  @Test
  void verbose_showsTheTrace_stillWithoutTheSecret() {
    int exit =
        run(
            "tour",
            "--verbose",
            "--uri",
            "amqp://me:s3cret@127.0.0.1:1",
            "--from",
            file.toString());

    assertThat(exit).isEqualTo(3);
    assertThat(err.toString()).contains("\tat ").doesNotContain("s3cret");
  }

  @Test
  void secretInAMisplacedUri_isNotEchoed() {
    assertThat(run("publish", "amqp://me:s3cret@host")).isEqualTo(2);
    assertThat(err.toString()).doesNotContain("s3cret");
  }

  @Test
  void credentialsFile_isUsedAndNotEchoed() throws IOException {
    Path credentials = folder.resolve("credentials");
    Files.writeString(credentials, "me:s3cr/et\n");

    int exit = run("tour", "--uri", "amqp://127.0.0.1:1", "--credentials", credentials.toString());

    assertThat(exit).isEqualTo(3);
    assertThat(err.toString()).contains("***@127.0.0.1:1").doesNotContain("s3cr");
  }

  @Test
  void help_isThereForEveryCommand() {
    assertThat(run("--help")).isZero();
    assertThat(run("tour", "--help")).isZero();
    assertThat(run("publish", "--help")).isZero();
    assertThat(run("lab", "confirms", "--help")).isZero();
    assertThat(out.toString()).contains("tour", "publish", "--resume", "--quick");
  }
}
