package io.floatvalve.examples.lab.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Reader;

/** A topic of Pulsar that drops duplicates: the client sends again what has no answer. */
final class PulsarScene extends Scene {
  private static final String NAMESPACE = "public/floatvalve-crash";

  private final PulsarAtHand pulsar;
  private final String topic;

  private PulsarScene(PulsarAtHand pulsar, String topic, FaultProxy proxy) {
    super(Address.topic(topic), proxy, listener -> pulsar.messaging(proxy, listener));
    this.pulsar = pulsar;
    this.topic = topic;
  }

  /** Makes the namespace of the topics, once. */
  static void prepare(PulsarAtHand pulsar) {
    pulsar.rest().createNamespace(NAMESPACE);
    pulsar.rest().send("POST", "namespaces/" + NAMESPACE + "/deduplication", "true");
  }

  static PulsarScene open(PulsarAtHand pulsar, String fault) {
    String topic = "persistent://" + NAMESPACE + "/" + pulsar.topic(fault);
    pulsar.rest().createTopic(topic);
    // Without a subscription the broker drops whole ledgers that are closed, as unloading does.
    pulsar.rest().createSubscription(topic, "keeps");
    return new PulsarScene(pulsar, topic, pulsar.proxy());
  }

  void unload() {
    pulsar.rest().unloadTopic(topic);
  }

  @Override
  Collection<String> takeIds() throws IOException {
    List<String> ids = new ArrayList<>();
    try (Reader<byte[]> reader =
        pulsar.client().newReader().topic(topic).startMessageId(MessageId.earliest).create()) {
      while (reader.hasMessageAvailable()) {
        ids.add(new String(reader.readNext().getData(), UTF_8));
      }
    }
    return ids;
  }
}
