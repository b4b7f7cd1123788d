package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import io.floatvalve.model.Address;
import io.floatvalve.model.Ordering;
import io.floatvalve.rabbit.RabbitBroker.ConsumeSettings;
import io.floatvalve.rabbit.RabbitBroker.StreamOffset;
import io.floatvalve.rabbit.RabbitBroker.Topology;
import io.floatvalve.spi.Broker.ReceiveRequest;
import io.floatvalve.spi.ReceiveLink;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The opening of a channel to consume on. Declares what is to be; nothing is consumed yet. */
final class ReceiveOpening extends Opening<RabbitReceiveLink> {
  private static final String SINGLE_ACTIVE = "x-single-active-consumer";

  private final SharedTrunk publishing;
  private final ReceiveRequest request;
  private final ConsumeSettings settings;
  private final Herald herald;
  private final String queue;

  ReceiveOpening(
      SharedTrunk consuming,
      SharedTrunk publishing,
      ReceiveRequest request,
      ConsumeSettings settings,
      ReceiveLink.Listener listener) {
    this(consuming, publishing, request, settings, new Herald(listener, request.epoch()));
  }

  private ReceiveOpening(
      SharedTrunk consuming,
      SharedTrunk publishing,
      ReceiveRequest request,
      ConsumeSettings settings,
      Herald herald) {
    super(consuming, herald, "consume from " + request.addresses().get(0), request.timeout());
    this.publishing = publishing;
    this.request = request;
    this.settings = settings;
    this.herald = herald;
    this.queue = request.addresses().get(0).name();
  }

  @Override
  RabbitReceiveLink open(Trunk used) throws IOException {
    Channel channel = channel(used);
    try {
      Topology topology = settings.topology();
      if (topology == null) {
        channel.queueDeclarePassive(queue);
      } else {
        declare(channel, topology);
      }
      List<String> notes = new ArrayList<>();
      RetryQueues retries = retryQueues(used, notes);
      Address deadLetter = request.deadLetter();
      if (deadLetter != null) {
        readyDeadLetters(used, deadLetter);
      } else if (topology == null || !topology.arguments().containsKey("x-dead-letter-exchange")) {
        notes.add(
            "a rejected message goes where a policy or argument of the queue says, and else is"
                + " dropped by the broker: withDeadLetter keeps it");
      }
      Copies copies =
          retries == null && deadLetter == null ? null : new Copies(publishing, request.timeout());
      return new RabbitReceiveLink(
          used, channel, herald, request, settings, plan(notes), retries, copies, notes);
    } catch (IOException | RuntimeException e) {
      herald.end();
      Trunk.abort(channel);
      throw e;
    }
  }

  private void declare(Channel channel, Topology topology) throws IOException {
    channel.queueDeclare(
        queue,
        !topology.isExclusive(),
        topology.isExclusive(),
        topology.isExclusive(),
        PropertyMap.toAmqp(topology.arguments()));
    for (Topology.Binding each : topology.bindings()) {
      String type = each.type();
      if (type != null) {
        channel.exchangeDeclare(each.exchange(), type, true);
      }
      channel.queueBind(queue, each.exchange(), each.routingKey());
    }
  }

  private Feeds.Plan plan(List<String> notes) {
    Topology topology = settings.topology();
    Map<String, Object> declared = topology == null ? Map.of() : topology.arguments();
    String fixed = null;
    if (isStream()) {
      fixed = "a second consumer of a stream would read it again";
    } else if (settings.exclusive()) {
      fixed = "an exclusive consumer can have no second one beside it";
    } else if (Boolean.TRUE.equals(declared.get(SINGLE_ACTIVE))) {
      fixed = "a second consumer of a queue with a single active one would get nothing";
    }
    if (fixed != null) {
      notes.add("the prefetch is fixed, whatever the size of messages, since " + fixed);
    }
    boolean classic =
        topology != null && declared.getOrDefault("x-queue-type", "classic").equals("classic");
    return new Feeds.Plan(
        queue, settings.exclusive(), consumerArguments(), classic, isStream(), fixed == null);
  }

  private Map<String, Object> consumerArguments() {
    Map<String, Object> arguments = new HashMap<>(PropertyMap.toAmqp(settings.arguments()));
    if (settings.priority() != 0) {
      arguments.put("x-priority", settings.priority());
    }
    StreamOffset offset = settings.streamOffset();
    Long next = request.previous() instanceof RabbitReceiveLink before ? before.nextOffset() : null;
    if (next != null) {
      arguments.put("x-stream-offset", next);
    } else if (offset != null) {
      arguments.put("x-stream-offset", offset.value());
    }
    return arguments;
  }

  private boolean isStream() {
    Topology topology = settings.topology();
    return settings.streamOffset() != null
        || (topology != null && "stream".equals(topology.arguments().get("x-queue-type")));
  }

  /** Declares where retries wait; null if they wait here. */
  private @Nullable RetryQueues retryQueues(Trunk used, List<String> notes) throws IOException {
    Topology topology = settings.topology();
    if (request.ordering() != Ordering.NONE
        || !settings.retryQueues()
        || isStream()
        || (topology != null && topology.isExclusive())) {
      return null;
    }
    RetryQueues retries =
        RetryQueues.of(
            queue, request.retryDelays(), PropertyMap.toAmqp(settings.retryQueueArguments()));
    for (Duration step : retries.steps()) {
      String name = retries.name(step);
      String refusal = Limits.shortString("the name of a retry queue", name);
      if (refusal != null) {
        notes.add("retries wait here, since " + refusal);
        return null;
      }
    }
    Channel probe = channel(used);
    try {
      for (Duration step : retries.steps()) {
        probe.queueDeclare(retries.name(step), true, false, false, retries.arguments(step));
      }
      return retries;
    } catch (IOException e) {
      Failures.Closing closing = Failures.closing(e);
      if (closing != null && closing.code() == AMQP.ACCESS_REFUSED) {
        notes.add("retries wait here, since their queues may not be declared: " + closing);
        return null;
      }
      throw e;
    } finally {
      Trunk.abort(probe);
    }
  }

  /** Makes sure that dead letters are kept. An exchange must be there; a queue is made if not. */
  private void readyDeadLetters(Trunk used, Address to) throws IOException {
    String exchange = PublishChannel.exchange(to);
    Channel probe = channel(used);
    try {
      if (exchange.isEmpty()) {
        probe.queueDeclarePassive(to.routingKey());
      } else {
        probe.exchangeDeclarePassive(exchange);
      }
      return;
    } catch (IOException e) {
      Failures.Closing closing = Failures.closing(e);
      if (!exchange.isEmpty() || closing == null || closing.code() != AMQP.NOT_FOUND) {
        throw failed(Failures.opening(e), "dead letters: " + Failures.detail(e), e);
      }
    } finally {
      Trunk.abort(probe);
    }
    Channel maker = channel(used);
    try {
      maker.queueDeclare(to.routingKey(), true, false, false, null);
    } catch (IOException e) {
      throw failed(Failures.opening(e), "dead letters: " + Failures.detail(e), e);
    } finally {
      Trunk.abort(maker);
    }
  }

  @Override
  void end() {
    herald.end();
  }

  @Override
  void discard(RabbitReceiveLink late) {
    late.close(Duration.ZERO);
  }
}
