package io.floatvalve.rabbit;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.rabbit.RabbitBroker.Credentials;
import io.floatvalve.rabbit.RabbitBroker.Settings;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Passwords that are changed, and tokens that expire, while publisher and consumer run. */
@NeedsRabbit(ownProcess = true)
@Timeout(120)
class CredentialsTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String USER = "rotated";

  private static boolean confirmed(Publisher publisher) throws Exception {
    return publisher
            .publish(Message.of(new byte[] {1}))
            .get(LIMIT.toSeconds(), TimeUnit.SECONDS)
            .verdict()
        == Verdict.CONFIRMED;
  }

  /**
   * As with an OAuth 2.0 token that expires: the broker ends the connections, and takes the old
   * secret no more. While the supplier still gives that, opening fails and is tried again.
   */
  @Test
  void aPasswordThatWasChanged_isUsedByTheNextConnection(RabbitNode node) throws Exception {
    node.ctl(
        "eval",
        "rabbit_auth_backend_internal:add_user(<<\"rotated\">>, <<\"first\">>, <<\"t\">>),"
            + " rabbit_auth_backend_internal:set_permissions(<<\"rotated\">>, <<\"/\">>,"
            + " <<\".*\">>, <<\".*\">>, <<\".*\">>, <<\"t\">>).");
    AtomicReference<String> password = new AtomicReference<>("first");
    AtomicInteger refused = new AtomicInteger();
    List<String> events = new CopyOnWriteArrayList<>();
    AtomicInteger handled = new AtomicInteger();
    try (FaultProxy proxy = FaultProxy.to(node.host(), node.port());
        Messaging messaging =
            Messaging.over(
                RabbitBroker.connect(
                    Settings.at("amqp://127.0.0.1:" + proxy.port())
                        .withCredentialsFrom(
                            () -> new Credentials(USER, requireNonNull(password.get())))),
                event -> {
                  events.add(event.toString());
                  if (event.toString().contains("ACCESS_REFUSED")) {
                    refused.incrementAndGet();
                  }
                });
        Consumer consumer =
            messaging.consumer(
                ConsumerSettings.from(Address.queue("rotated"))
                    .withNative(
                        RabbitBroker.ConsumeSettings.defaults()
                            .withTopology(RabbitBroker.Topology.classic())))) {
      consumer.handle(
          delivery -> {
            handled.incrementAndGet();
            return Settlement.accept();
          });
      Publisher publisher = messaging.publisher(PublisherSettings.to(Address.queue("rotated")));
      assertThat(confirmed(publisher)).isTrue();
      await().atMost(LIMIT).until(() -> handled.get() >= 1);

      node.ctl("change_password", USER, "second");
      proxy.cut(FaultProxy.Cut.RESET);
      await().atMost(LIMIT).until(() -> refused.get() >= 1);
      password.set("second");

      await().atMost(LIMIT).until(() -> confirmed(publisher));
      int before = handled.get();
      await().atMost(LIMIT).until(() -> confirmed(publisher) && handled.get() > before);
      assertThat(events).noneMatch(event -> event.contains("first") || event.contains("second"));
    }
  }
}
