package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@NeedsPulsar(ownProcess = true)
@Timeout(300)
class PulsarNodeTest {
  @Test
  void confirmedMessages_surviveKillAndRestart() throws Exception {
    long startNanos = System.nanoTime();
    try (PulsarNode node = PulsarNode.start()) {
      print("started", startNanos);
      publish(node, "orders", List.of("a", "b", "c"));

      node.kill();
      assertThat(node.isRunning()).isFalse();
      long restartNanos = System.nanoTime();
      node.restart();
      print("restarted after SIGKILL", restartNanos);

      assertThat(consume(node, "orders", 3)).containsExactly("a", "b", "c");
    }
  }

  @Test
  void jvmOptions_takeThePlaceOfTheNodesOwn() {
    List<String> options = List.of("-Xmx512m", "-XX:-UseSerialGC", "-XX:+UseParallelGC");
    try (PulsarNode node = PulsarNode.start(List.of(), options)) {
      String[] arguments =
          ProcessHandle.of(node.pid()).orElseThrow().info().arguments().orElseThrow();

      assertThat(arguments).containsSubsequence("-Xmx384m", "-Xmx512m", "-cp");
      assertThat(arguments).containsSubsequence("-XX:+UseSerialGC", "-XX:-UseSerialGC", "-cp");
    }
  }

  @Test
  void pausedNode_answersNothingUntilResumed(PulsarNode shared) throws Exception {
    PulsarNode node = own(shared);
    node.pause();
    CompletableFuture<Integer> answer =
        CompletableFuture.supplyAsync(() -> node.rest().partitions("paused"));
    try {
      assertThatThrownBy(() -> answer.get(500, TimeUnit.MILLISECONDS))
          .isInstanceOf(TimeoutException.class);
    } finally {
      node.resume();
    }

    assertThat(answer.get(60, TimeUnit.SECONDS)).isZero();
  }

  @Test
  void sharedNode_whenStopped_comesBackWithItsMessages(PulsarNode shared) throws Exception {
    PulsarNode node = own(shared);
    publish(node, "kept", List.of("a"));
    String url = node.serviceUrl();

    node.stop();
    assertThat(node.isRunning()).isFalse();

    assertThat(PulsarNode.shared().serviceUrl()).isEqualTo(url);
    assertThat(consume(node, "kept", 1)).containsExactly("a");
  }

  private static PulsarNode own(PulsarNode shared) {
    assumeTrue(shared.how() == PulsarNode.How.OWN, "the process of a broker given is not ours");
    return shared;
  }

  private static void publish(PulsarNode node, String topic, List<String> texts) throws Exception {
    try (PulsarClient client = client(node);
        Producer<byte[]> producer = client.newProducer().topic(topic).create()) {
      for (String text : texts) {
        producer.send(text.getBytes(UTF_8));
      }
    }
  }

  private static List<String> consume(PulsarNode node, String topic, int count) throws Exception {
    List<String> texts = new ArrayList<>();
    try (PulsarClient client = client(node);
        Consumer<byte[]> consumer =
            client
                .newConsumer()
                .topic(topic)
                .subscriptionName("reader")
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                .subscribe()) {
      while (texts.size() < count) {
        Message<byte[]> message = consumer.receive(60, TimeUnit.SECONDS);
        assertThat(message).as("message %d", texts.size()).isNotNull();
        texts.add(new String(message.getValue(), UTF_8));
        consumer.acknowledge(message);
      }
    }
    return texts;
  }

  private static PulsarClient client(PulsarNode node) throws Exception {
    return PulsarClient.builder().serviceUrl(node.serviceUrl()).build();
  }

  private static void print(String what, long sinceNanos) {
    long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNanos);
    System.out.println("Pulsar node " + what + " in " + millis + " ms");
  }
}
