package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.examples.cli.PulsarAtHand;
import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.BrokerView.Member;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.PulsarStats;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/** Pulsar: a topic with a subscription. */
final class PulsarGround implements Ground {
  /** The subscription of every scene. */
  static final String GROUP = "lab";

  private final PulsarAtHand pulsar;
  private int places;

  /** What the admin interface said last, by topic: the scenes ask it, explanations only look. */
  private final Map<String, PulsarStats> seen = new ConcurrentHashMap<>();

  PulsarGround(PulsarAtHand pulsar) {
    this.pulsar = pulsar;
  }

  @Override
  public String name() {
    return "pulsar";
  }

  PulsarAtHand pulsar() {
    return pulsar;
  }

  @Override
  public Messaging messaging() {
    return pulsar.messaging(event -> {});
  }

  @Override
  public FaultProxy proxy() {
    return pulsar.proxy();
  }

  @Override
  public Messaging messaging(FaultProxy proxy) {
    return pulsar.messaging(proxy, event -> {});
  }

  @Override
  public String place(String what) {
    String topic = pulsar.topic(what + "-" + ++places);
    pulsar.rest().createTopic(topic);
    pulsar.rest().createSubscriptionFromFirst(topic, GROUP);
    return topic;
  }

  @Override
  public ConsumerSettings from(String place) {
    return ConsumerSettings.from(Address.topic(place))
        .withGroup(GROUP)
        .withNative(
            PulsarBroker.ConsumeSettings.defaults()
                .withInitialPosition(SubscriptionInitialPosition.Earliest));
  }

  @Override
  public PublisherSettings to(String place) {
    return PublisherSettings.to(Address.topic(place));
  }

  /** Asks the admin interface about a topic; a second's work at most. */
  void ask(String topic) {
    seen.put(topic, pulsar.rest().topicStats(topic));
  }

  /** Returns what it said last of a topic. */
  BrokerView view(String topic, String name, long unackedLimit) {
    PulsarStats stats = seen.get(topic);
    if (stats == null || !stats.has("subscriptions", GROUP)) {
      return BrokerView.from("Pulsar admin", Duration.ZERO);
    }
    List<Member> members = new ArrayList<>();
    int count = stats.size("subscriptions", GROUP, "consumers");
    for (int i = 0; i < count; i++) {
      String[] at = {"subscriptions", GROUP, "consumers", Integer.toString(i), ""};
      String called = stats.text(with(at, "consumerName"));
      members.add(
          new Member(
              called,
              called.equals(name),
              OptionalLong.of(stats.number(with(at, "availablePermits"))),
              OptionalLong.of(stats.number(with(at, "unackedMessages"))),
              stats.flag(with(at, "blockedConsumerOnUnackedMsgs"))));
    }
    BrokerView view =
        BrokerView.from("Pulsar admin at " + pulsar.uri(), Duration.ofMillis(100))
            .withBacklog(
                stats.number("subscriptions", GROUP, "msgBacklog"),
                stats.number("subscriptions", GROUP, "unackedMessages"))
            .withConsumers(members);
    if (unackedLimit > 0) {
      view = view.withUnackedLimit(unackedLimit);
    }
    if (stats.has("subscriptions", GROUP, "drainingHashesCount")) {
      view =
          view.withDraining(
              stats.number("subscriptions", GROUP, "drainingHashesCount"),
              stats.number("subscriptions", GROUP, "drainingHashesUnackedMessages"),
              "");
    }
    return view;
  }

  private static String[] with(String[] path, String last) {
    String[] all = path.clone();
    all[all.length - 1] = last;
    return all;
  }

  @Override
  public void close() throws IOException {
    // the broker is closed by whoever opened it
  }
}
