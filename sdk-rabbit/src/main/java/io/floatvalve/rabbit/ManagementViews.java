package io.floatvalve.rabbit;

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
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What RabbitMQ's management interface says of queues, and of alarms. */
final class ManagementViews implements BrokerViews {
  private static final int OLD = 4;

  /** What the broker said of a queue, which may be none, and of its nodes. */
  private record Said(@Nullable Json queue, String alarm) {}

  private final AdminHttp http;
  private final String virtualHost;
  private final LastKnown<Address, Said> known;

  ManagementViews(AdminHttp http, String virtualHost, Duration interval) {
    this.http = http;
    this.virtualHost = virtualHost;
    this.known = new LastKnown<>(interval, interval.multipliedBy(OLD), this::ask);
  }

  @Override
  public Optional<BrokerView> of(List<Address> addresses, @Nullable String group, String name) {
    if (addresses.size() != 1 || addresses.get(0).kind() == Address.Kind.TOPIC) {
      return Optional.empty();
    }
    return known.of(addresses.get(0)).map(heard -> view(heard.value(), heard.age(), name));
  }

  private CompletableFuture<Said> ask(Address address) {
    CompletableFuture<String> alarm =
        http.get("/api/nodes")
            .handle(
                (nodes, error) -> error == null ? alarm(nodes) : ""); // needs a right of its own
    if (address.kind() != Address.Kind.QUEUE) {
      return alarm.thenApply(raised -> new Said(null, raised));
    }
    return http.get(
            "/api/queues/"
                + AdminHttp.encoded(virtualHost)
                + "/"
                + AdminHttp.encoded(address.name()))
        .thenCombine(alarm, Said::new);
  }

  private static String alarm(Json nodes) {
    List<String> raised = new ArrayList<>();
    for (Json each : nodes.elements()) {
      if (each.at("mem_alarm").isTrue() && !raised.contains("memory")) {
        raised.add("memory");
      }
      if (each.at("disk_free_alarm").isTrue() && !raised.contains("disk")) {
        raised.add("disk");
      }
    }
    return String.join(", ", raised);
  }

  private BrokerView view(Said said, Duration age, String name) {
    BrokerView view =
        BrokerView.from("RabbitMQ management at " + http, age).withAlarm(said.alarm());
    Json queue = said.queue();
    if (queue == null) {
      return view;
    }
    OptionalLong messages = queue.at("messages").number();
    OptionalLong unacked = queue.at("messages_unacknowledged").number();
    if (messages.isPresent() && unacked.isPresent()) { // else the node has no statistics yet
      view = view.withBacklog(messages.getAsLong(), unacked.getAsLong());
    }
    OptionalLong bytes = queue.at("message_bytes").number();
    if (bytes.isPresent()) {
      view = view.withStoredBytes(bytes.getAsLong());
    }
    if (!queue.at("type").text().equals("stream")) {
      boolean single = queue.at("arguments").at("x-single-active-consumer").isTrue();
      view = view.withSpread(single ? Spread.ONE : Spread.SHARED);
    }
    List<Member> members = new ArrayList<>();
    boolean ownKnown = false;
    for (Json each : queue.at("consumer_details").elements()) {
      String tag = each.at("consumer_tag").text();
      boolean own = !name.isEmpty() && tag.startsWith(name);
      if (!own || !ownKnown) { // while its prefetch changes one of ours is two of theirs
        members.add(new Member(tag, own, OptionalLong.empty(), OptionalLong.empty(), false));
      }
      ownKnown |= own;
    }
    return queue.at("consumer_details").exists() ? view.withConsumers(members) : view;
  }

  @Override
  public String toString() {
    String failure = known.lastFailure();
    return "RabbitMQ management at " + http + (failure.isEmpty() ? "" : " (" + failure + ")");
  }
}
