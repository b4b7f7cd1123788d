package io.floatvalve.examples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.PulsarNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PublishPulsarTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final String topic = "publish-" + UUID.randomUUID();
  @TempDir private Path folder = Path.of("");

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  private Path file(String name, List<String> lines) throws IOException {
    return Files.write(folder.resolve(name), lines);
  }

  private List<String> stored(PulsarNode node) throws IOException {
    List<String> texts = new ArrayList<>();
    try (PulsarClient plain = PulsarClient.builder().serviceUrl(node.serviceUrl()).build();
        Reader<byte[]> reader =
            plain.newReader().topic(topic).startMessageId(MessageId.earliest).create()) {
      while (reader.hasMessageAvailable()) {
        texts.add(new String(reader.readNext().getData(), UTF_8));
      }
    }
    return texts;
  }

  @Test
  @NeedsPulsar
  void everyLine_isConfirmedAndStoredInItsOrder() throws IOException {
    PulsarNode node = PulsarNode.shared();
    List<String> lines = IntStream.range(0, 2_000).mapToObj(i -> "line " + i).toList();
    Path json = folder.resolve("found.json");

    int exit =
        run(
            "publish",
            "--broker",
            "pulsar",
            "--to",
            topic,
            "--from",
            file("lines.txt", lines).toString(),
            "--results",
            folder.resolve("results").toString(),
            "--uri",
            node.serviceUrl(),
            "--admin-uri",
            node.adminUrl(),
            "--json",
            json.toString());

    assertThat(exit).describedAs("%s%s", out, err).isZero();
    assertThat(json)
        .content()
        .contains("\"kind\" : \"pulsar\"", "\"lines_confirmed\" : 2000", "\"lines_total\" : 2000");
    assertThat(stored(node)).isEqualTo(lines);
  }

  @Test
  @NeedsPulsar
  void lineThatPulsarCannotCarry_isUnfit_andResumingGoesOnAtTheSameBroker() throws IOException {
    PulsarNode node = PulsarNode.shared();
    Path file =
        file(
            "lines.ndjson",
            List.of(
                "{\"payload\":\"a\"}",
                "{\"payload\":\"b\",\"ttlMillis\":5}",
                "{\"payload\":\"c\"}"));
    Path results = folder.resolve("results");

    int first =
        run(
            "publish",
            "--broker",
            "pulsar",
            "--to",
            topic,
            "--from",
            file.toString(),
            "--results",
            results.toString(),
            "--uri",
            node.serviceUrl());
    int second = run("publish", "--resume", results.toString(), "--uri", node.serviceUrl());

    assertThat(first).describedAs("%s%s", out, err).isEqualTo(1);
    assertThat(second).describedAs("%s%s", out, err).isEqualTo(1);
    assertThat(results).content().contains("time to live").doesNotContain("\"broker\":\"rabbit\"");
    assertThat(stored(node)).containsExactly("a", "c");
  }

  @Test
  void declaringATopic_isRefused() throws IOException {
    Path file = file("lines.txt", List.of("one"));

    assertThat(
            run(
                "publish",
                "--broker",
                "pulsar",
                "--to",
                topic,
                "--from",
                file.toString(),
                "--declare",
                "quorum"))
        .isEqualTo(2);
    assertThat(err.toString()).contains("--declare").contains("RabbitMQ");
  }

  @Test
  void addressOfAnotherBroker_isRefused() throws IOException {
    Path file = file("lines.txt", List.of("one"));

    assertThat(
            run(
                "publish",
                "--broker",
                "pulsar",
                "--to",
                topic,
                "--from",
                file.toString(),
                "--uri",
                "amqp://localhost"))
        .isEqualTo(2);
    assertThat(err.toString()).contains("--uri").contains("must begin with pulsar://");
  }
}
