package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConsumeTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final Socket closed = new Socket(); // bound where needed; nobody listens
  @TempDir private Path folder = Path.of("");

  @AfterEach
  void freeThePort() throws IOException {
    closed.close();
  }

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @ParameterizedTest
  @CsvSource({
    "--broker,       kafka",
    "--order,        sometimes",
    "--workers,      0",
    "--workers,      many",
    "--permits,      0",
    "--permits,      plenty",
    "--feed,         0",
    "--feed,         NaN",
    "--feed-size,    -1",
    "--feed-keys,    0",
    "--handler-time, soon",
    "--time,         5",
    "--group,        ''",
    "--uri,          pulsar://",
    "--admin-uri,    localhost",
  })
  void badValue_isRefusedByNameAndValue(String option, String value) {
    int exit = run("consume", "--from", "t", option, value);

    assertThat(exit).isEqualTo(2);
    assertThat(err.toString()).contains(option).contains(value).doesNotContain("\tat ");
  }

  @ParameterizedTest
  @CsvSource({
    "--group,     g",
    "--admin-uri, http://localhost:8080",
    "--from,      exchange:e/k",
    "--from,      queue:",
    "--uri,       pulsar://localhost",
  })
  void onRabbit_whatOnlyPulsarHas_isRefused(String option, String value) {
    int exit = run("consume", "--broker", "rabbit", "--feed", "1", option, value);

    assertThat(exit).isEqualTo(2);
    assertThat(err.toString()).contains(option).doesNotContain("\tat ");
  }

  @Test
  void addressOfAnotherBroker_isRefused() {
    assertThat(run("consume", "--from", "t", "--uri", "amqp://localhost")).isEqualTo(2);
    assertThat(err.toString()).contains("--uri").contains("must begin with pulsar://");
  }

  @Test
  void missingTopic_isSaid() {
    assertThat(run("consume")).isEqualTo(2);
    assertThat(err.toString()).contains("--from");
  }

  @Test
  void unreachableBroker_saysWhatWasTried_withoutTheSecret() throws IOException {
    closed.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    int port = closed.getLocalPort();
    Path token = folder.resolve("token");
    Files.writeString(token, "s3cret\n");

    int exit =
        run(
            "consume",
            "--from",
            "t",
            "--uri",
            "pulsar://127.0.0.1:" + port,
            "--credentials",
            token.toString());

    assertThat(exit).isEqualTo(3);
    assertThat(err.toString()).contains("127.0.0.1:" + port).doesNotContain("s3cret");
  }

  @Test
  void userInTheUri_isRefusedWithoutBeingEchoed() {
    assertThat(run("consume", "--from", "t", "--uri", "pulsar://me:s3cret@host:6650")).isEqualTo(2);
    assertThat(err.toString()).contains("--uri").doesNotContain("s3cret");
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "key", "total"})
  @NeedsPulsar
  void everyMessageFed_isAccountedFor(String order) throws IOException {
    PulsarNode node = PulsarNode.shared();
    Path json = folder.resolve("found.json");

    int exit =
        run(
            "consume",
            "--feed",
            "200",
            "--order",
            order,
            "--handler-time",
            "1ms",
            "--time",
            "4s",
            "--uri",
            node.serviceUrl(),
            "--admin-uri",
            node.adminUrl(),
            "--json",
            json.toString());

    assertThat(exit).describedAs("%s%s", out, err).isZero();
    assertThat(json)
        .content()
        .contains("\"lost_msgs\" : 0", "\"unsettled_msgs\" : 0", "\"in_doubt_msgs\" : 0")
        .doesNotContain("\"handled_msgs\" : 0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "key", "total"})
  @NeedsRabbit
  void onRabbit_everyMessageFed_isAccountedFor(String order) throws IOException {
    Path json = folder.resolve("found.json");

    int exit =
        run(
            "consume",
            "--broker",
            "rabbit",
            "--feed",
            "200",
            "--order",
            order,
            "--handler-time",
            "1ms",
            "--time",
            "2s",
            "--uri",
            RabbitNode.shared().uri(),
            "--json",
            json.toString());

    assertThat(exit).describedAs("%s%s", out, err).isZero();
    assertThat(json)
        .content()
        .contains("\"lost_msgs\" : 0", "\"unsettled_msgs\" : 0", "\"in_doubt_msgs\" : 0")
        .contains("\"kind\" : \"rabbitmq\"")
        .doesNotContain("\"handled_msgs\" : 0");
  }
}
