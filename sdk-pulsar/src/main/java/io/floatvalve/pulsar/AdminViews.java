package io.floatvalve.pulsar;

import io.floatvalve.explain.BrokerView;
import io.floatvalve.explain.BrokerView.Member;
import io.floatvalve.explain.BrokerView.Spread;
import io.floatvalve.explain.BrokerViews;
import io.floatvalve.model.Address;
import io.floatvalve.spi.AdminHttp;
import io.floatvalve.spi.Json;
import io.floatvalve.spi.LastKnown;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What Pulsar's admin interface says of topics and subscriptions. */
final class AdminViews implements BrokerViews {
  private static final int OLD = 4;
  private static final List<String> THROTTLED =
      List.of(
          "dispatchThrottledMsgEventsBySubscriptionLimit",
          "dispatchThrottledBytesEventsBySubscriptionLimit",
          "dispatchThrottledMsgEventsByTopicLimit",
          "dispatchThrottledBytesEventsByTopicLimit",
          "dispatchThrottledMsgEventsByBrokerLimit",
          "dispatchThrottledBytesEventsByBrokerLimit");

  /*
   * The broker counts in `publishRateLimitedTimes` each time it stopped reading from a connection,
   * at every topic that has a producer on it, for whatever reason: a rate limit of any of them, too
   * many unanswered publishes (1,000, by its defaults), too many bytes of them. So that alone is no
   * word of a limit. It is one for a topic that has a limit and was nearly given that much meanwhile.
   * The count begins anew about once a minute.
   */
  private static final double NEAR_THE_LIMIT = 0.8;

  /** What one topic said. */
  private record Topic(Json stats, OptionalLong unackedLimit, Limit limit) {}

  /** What may be published to a topic a second; 0 for any amount. */
  private record Limit(double messages, double bytes) {
    static final Limit NONE = new Limit(0, 0);

    static Limit of(Json json) {
      return new Limit(
          positive(json.at("publishThrottlingRateInMsg")),
          positive(json.at("publishThrottlingRateInByte")));
    }

    private static double positive(Json number) {
      return Math.max(0, number.number().orElse(0));
    }

    /** Returns that of so many partitions together. */
    Limit times(long partitions) {
      return new Limit(messages * partitions, bytes * partitions);
    }

    boolean isNone() {
      return messages == 0 && bytes == 0;
    }

    boolean isNear(long count, long size, double seconds) {
      return (messages > 0 && count >= NEAR_THE_LIMIT * messages * seconds)
          || (bytes > 0 && size >= NEAR_THE_LIMIT * bytes * seconds);
    }
  }

  private record Place(List<Address> addresses, @Nullable String group) {}

  /** What all topics of a place said, and how often limits held something back until then. */
  private record Said(List<Topic> topics, Counted before, Counted now) {}

  /** The counts of all topics of a place; those of publishing of each of them. */
  private record Counted(long dispatch, List<Published> publish) {}

  private record Published(long pauses, long messages, long bytes, long nanos) {
    /** Returns how often a limit held publishing back since then. */
    long throttledSince(Published before, Limit limit) {
      long more = pauses < before.pauses ? pauses : pauses - before.pauses;
      double seconds = (nanos - before.nanos) / 1e9;
      boolean near = limit.isNear(messages - before.messages, bytes - before.bytes, seconds);
      return seconds > 0 && near ? more : 0;
    }
  }

  private final AdminHttp http;
  private final LastKnown<Place, Said> known;
  private final Map<Place, Counted> counted = new HashMap<>(); // guarded by itself

  AdminViews(AdminHttp http, Duration interval) {
    this.http = http;
    this.known = new LastKnown<>(interval, interval.multipliedBy(OLD), this::ask);
  }

  @Override
  public Optional<BrokerView> of(List<Address> addresses, @Nullable String group, String name) {
    if (addresses.stream().anyMatch(each -> each.kind() != Address.Kind.TOPIC)) {
      return Optional.empty();
    }
    return known
        .of(new Place(List.copyOf(addresses), group))
        .map(heard -> view(heard.value(), heard.age(), group, name));
  }

  private CompletableFuture<Said> ask(Place place) {
    CompletableFuture<List<Topic>> all = CompletableFuture.completedFuture(List.of());
    for (Address each : place.addresses()) {
      all =
          all.thenCombine(
              topic(path(each.name()), place.group() == null),
              (before, topic) -> {
                List<Topic> sum = new ArrayList<>(before);
                sum.add(topic);
                return sum;
              });
    }
    return all.thenApply(
        topics -> {
          Counted now = counted(topics, place.group());
          synchronized (counted) {
            Counted before = counted.put(place, now);
            return new Said(topics, before == null ? now : before, now);
          }
        });
  }

  private CompletableFuture<Topic> topic(String path, boolean publishing) {
    CompletableFuture<Limit> limit =
        publishing ? limit(path) : CompletableFuture.completedFuture(Limit.NONE);
    return http.get(path + "/partitions")
        .thenCompose(
            answer -> {
              long partitions = answer.at("partitions").number().orElse(0);
              String stats = partitions > 0 ? "/partitioned-stats?perPartition=false" : "/stats";
              return http.get(path + stats)
                  .thenCombine(
                      limit,
                      (said, known) ->
                          new Topic(
                              said, OptionalLong.empty(), known.times(Math.max(1, partitions))));
            })
        .thenCombine(
            http.get(path + "/maxUnackedMessagesOnConsumer?applied=true")
                .handle((most, error) -> error == null ? most.number() : OptionalLong.empty()),
            (topic, most) -> new Topic(topic.stats(), most, topic.limit()));
  }

  /**
   * Asks for the limit of a topic, or each of its partitions, else for that of its namespace; who
   * may not ask knows none.
   */
  private CompletableFuture<Limit> limit(String path) {
    String namespace = path.replaceFirst("^/admin/v2/[^/]+/([^/]+/[^/]+)/.*$", "$1");
    return http.get(path + "/publishRate")
        .handle((json, error) -> error == null ? Limit.of(json) : Limit.NONE)
        .thenCompose(
            own ->
                own.isNone()
                    ? http.get("/admin/v2/namespaces/" + namespace + "/publishRate")
                        .handle((json, error) -> error == null ? Limit.of(json) : Limit.NONE)
                    : CompletableFuture.completedFuture(own));
  }

  private static String path(String topic) {
    String full = TopicNames.full(topic);
    int scheme = full.indexOf("://");
    String[] parts = full.substring(scheme + 3).split("/", 3);
    StringBuilder path = new StringBuilder("/admin/v2/").append(full, 0, scheme);
    for (String each : parts) {
      path.append('/').append(AdminHttp.encoded(each));
    }
    return path.toString();
  }

  private static Counted counted(List<Topic> topics, @Nullable String group) {
    long dispatch = 0;
    List<Published> publish = new ArrayList<>();
    for (Topic each : topics) {
      publish.add(
          new Published(
              each.stats().at("publishRateLimitedTimes").number().orElse(0),
              each.stats().at("msgInCounter").number().orElse(0),
              each.stats().at("bytesInCounter").number().orElse(0),
              System.nanoTime()));
      Json subscription = each.stats().at("subscriptions").at(group == null ? "" : group);
      for (String field : THROTTLED) {
        dispatch += subscription.at(field).number().orElse(0);
      }
    }
    return new Counted(dispatch, publish);
  }

  private BrokerView view(Said said, Duration age, @Nullable String group, String name) {
    BrokerView view = BrokerView.from("Pulsar admin at " + http, age);
    long stored = 0;
    long backlog = 0;
    long unacked = 0;
    long drainingKeys = 0;
    long drainingUnacked = 0;
    String holder = "";
    List<Member> members = new ArrayList<>();
    OptionalLong limit = OptionalLong.empty();
    boolean subscribed = false;
    for (Topic each : said.topics()) {
      stored += each.stats().at("storageSize").number().orElse(0);
      limit = each.unackedLimit().isPresent() ? each.unackedLimit() : limit;
      Json subscription = each.stats().at("subscriptions").at(group == null ? "" : group);
      if (!subscription.exists()) {
        continue;
      }
      subscribed = true;
      view = view.withSpread(spread(subscription.at("type").text()));
      backlog += subscription.at("msgBacklog").number().orElse(0);
      unacked += subscription.at("unackedMessages").number().orElse(0);
      drainingKeys += subscription.at("drainingHashesCount").number().orElse(0);
      drainingUnacked += subscription.at("drainingHashesUnackedMessages").number().orElse(0);
      for (Json consumer : subscription.at("consumers").elements()) {
        String called = consumer.at("consumerName").text();
        members.add(
            new Member(
                called,
                !name.isEmpty() && called.equals(name),
                consumer.at("availablePermits").number(),
                consumer.at("unackedMessages").number(),
                consumer.at("blockedConsumerOnUnackedMsgs").isTrue()));
        if (consumer.at("drainingHashesCount").number().orElse(0) > 0) {
          holder = called;
        }
      }
    }
    view = view.withStoredBytes(stored);
    long dispatched = Math.max(0, said.now().dispatch() - said.before().dispatch());
    long published = 0;
    for (int i = 0; i < said.topics().size(); i++) {
      Published before = said.before().publish().get(i);
      published += said.now().publish().get(i).throttledSince(before, said.topics().get(i).limit());
    }
    view = view.withThrottled(dispatched, published);
    if (subscribed) {
      view =
          view.withBacklog(backlog, unacked)
              .withConsumers(members)
              .withDraining(drainingKeys, drainingUnacked, holder);
    }
    return limit.isPresent() && limit.getAsLong() > 0
        ? view.withUnackedLimit(limit.getAsLong())
        : view;
  }

  private static Spread spread(String type) {
    return switch (type) {
      case "Shared" -> Spread.SHARED;
      case "Key_Shared" -> Spread.BY_KEY;
      case "Exclusive", "Failover" -> Spread.ONE;
      default -> Spread.UNKNOWN;
    };
  }

  @Override
  public String toString() {
    String failure = known.lastFailure();
    return "Pulsar admin at " + http + (failure.isEmpty() ? "" : " (" + failure + ")");
  }
}
