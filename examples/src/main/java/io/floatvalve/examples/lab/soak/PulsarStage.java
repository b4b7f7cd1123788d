package io.floatvalve.examples.lab.soak;

import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.PulsarLimits;
import io.floatvalve.testkit.PulsarLimits.Rate;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.PulsarRest;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Pulsar: a topic with partitions that drops duplicates, with a subscription for the witness. */
final class PulsarStage implements Stage {
  private static final String NAMESPACE = "public/floatvalve-soak";
  private static final String GROUP = "soak";
  private static final String WITNESSED = "witness";
  private static final int PARTITIONS = 4;

  private final PulsarAtHand pulsar;
  private final PulsarNode node;
  private final String topic;
  private final FaultProxy proxy;
  private final Network network;

  /**
   * Makes what is needed.
   *
   * @param pulsar of a node of its own, and not closed by this
   */
  PulsarStage(PulsarAtHand pulsar) {
    this.pulsar = pulsar;
    this.node = pulsar.node().orElseThrow();
    PulsarRest rest = pulsar.rest();
    rest.createNamespace(NAMESPACE);
    rest.send("POST", "namespaces/" + NAMESPACE + "/deduplication", "true");
    topic = "persistent://" + NAMESPACE + "/" + pulsar.topic("soak");
    rest.createPartitionedTopic(topic, PARTITIONS);
    rest.createSubscriptionFromFirst(topic, GROUP);
    rest.createSubscriptionFromFirst(topic, WITNESSED);
    proxy = pulsar.proxy();
    network = new Network(List.of(proxy));
  }

  @Override
  public Book.Terms terms() {
    return new Book.Terms(SoakClient.KEYS, Soak.LONGEST.toMillis(), true, true, 0);
  }

  @Override
  public Map<String, String> forClient() {
    Map<String, String> given = new LinkedHashMap<>();
    given.put("broker", "pulsar");
    given.put("uris", "pulsar://" + proxy.host() + ":" + proxy.port());
    given.put("to", topic);
    given.put("from", topic);
    given.put("group", GROUP);
    given.put("unroutable", "0");
    return given;
  }

  @Override
  public List<Fault> faults() {
    List<Fault> faults = new ArrayList<>(network.faults());
    faults.add(new Fault("kill", this::kill));
    faults.add(new Fault("unload", soak -> pulsar.rest().unloadTopic(topic)));
    faults.add(new Fault("quota", this::quota));
    return faults;
  }

  /** What one subscription has seen is with the bookie: a kill takes it from no other. */
  private void kill(Soak soak) throws InterruptedException {
    node.kill();
    soak.pass(Duration.ofMillis(soak.upTo(2_000)));
    node.restart();
  }

  private void quota(Soak soak) throws InterruptedException {
    PulsarLimits limits = pulsar.rest().topicLimits(topic);
    Rate rate = Rate.ofMessages(10 + soak.upTo(200));
    if (soak.upTo(2) == 0) {
      limits.setPublishRate(rate);
    } else {
      limits.setDispatchRate(rate);
    }
    try {
      soak.pass(Duration.ofMillis(1_000 + soak.upTo(3_000)));
    } finally {
      limits.removeAll();
    }
  }

  @Override
  public Witness witness(Book book) throws IOException {
    return new PulsarWitness(pulsar.client(), topic, WITNESSED, book, () -> backlog(WITNESSED));
  }

  private long backlog(String subscription) {
    return pulsar
        .rest()
        .partitionedStats(topic)
        .number("subscriptions", subscription, "msgBacklog");
  }

  @Override
  public long left() {
    return backlog(GROUP);
  }

  @Override
  public void close() {
    network.close();
  }
}
