package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.model.Message;
import io.floatvalve.spi.PublishLink;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What each answer of the client's means, with and without a connection lost since. */
final class ProducerLinkTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final ScheduledExecutorService ticker = Executors.newSingleThreadScheduledExecutor();
  private final FakeProducer producer = new FakeProducer();
  private final List<String> heard = new CopyOnWriteArrayList<>();

  @AfterEach
  void stop() {
    ticker.shutdownNow();
  }

  /** The client's producer, as far as a link uses it. */
  private static final class FakeProducer {
    final Queue<CompletableFuture<MessageId>> sent = new ConcurrentLinkedQueue<>();
    volatile boolean connected = true;
    volatile long lostAtMillis;
    volatile boolean closed;

    void lose() {
      connected = false;
      lostAtMillis = System.currentTimeMillis();
    }

    @SuppressWarnings("unchecked")
    Producer<byte[]> made() {
      return (Producer<byte[]>)
          Proxy.newProxyInstance(
              FakeProducer.class.getClassLoader(),
              new Class<?>[] {Producer.class},
              (self, method, arguments) ->
                  switch (method.getName()) {
                    case "newMessage" -> message();
                    case "isConnected" -> connected;
                    case "getLastDisconnectedTimestamp" -> lostAtMillis;
                    case "getTopic", "getProducerName" -> "fake";
                    case "closeAsync" -> {
                      closed = true;
                      yield CompletableFuture.completedFuture(null);
                    }
                    default -> throw new UnsupportedOperationException(method.getName());
                  });
    }

    private Object message() {
      return Proxy.newProxyInstance(
          FakeProducer.class.getClassLoader(),
          new Class<?>[] {TypedMessageBuilder.class},
          (self, method, arguments) -> {
            if (!method.getName().equals("sendAsync")) {
              return self;
            }
            CompletableFuture<MessageId> answer = new CompletableFuture<>();
            sent.add(answer);
            return answer;
          });
    }
  }

  private ProducerLink link() {
    PulsarBroker.PublishSettings settings = PulsarBroker.PublishSettings.defaults();
    return new ProducerLink(producer.made(), settings, settings.routes(), new Heard(), ticker);
  }

  /** Writes down what it is told. */
  private final class Heard implements PublishLink.Listener {
    @Override
    public void confirmed(long sequence, boolean upTo, @Nullable Object receipt) {
      heard.add("confirmed " + sequence);
    }

    @Override
    public void nacked(long sequence, boolean upTo, @Nullable String reason) {
      heard.add("nacked " + sequence + " " + reason);
    }

    @Override
    public void returned(
        long sequence,
        int replyCode,
        String replyText,
        String exchange,
        String routingKey,
        boolean failure) {
      heard.add("returned");
    }

    @Override
    public void strayReturn(String detail) {
      heard.add("stray");
    }

    @Override
    public void blocked(String reason) {
      heard.add("blocked");
    }

    @Override
    public void unblocked() {
      heard.add("unblocked");
    }

    @Override
    public void notSent(long sequence, PublishLink.Unsent why, String detail) {
      heard.add("not sent " + sequence + " " + why);
    }

    @Override
    public void unclear(long sequence, String detail) {
      heard.add("unclear " + sequence);
    }

    @Override
    public void disconnected(String detail) {
      heard.add("disconnected");
    }

    @Override
    public void reconnected() {
      heard.add("reconnected");
    }

    @Override
    public void lost(boolean connection, String detail) {
      heard.add("lost");
    }
  }

  /** A way in which sending can fail, and what it means to a message that went out once. */
  private enum Failure {
    QUOTA(new PulsarClientException.ProducerBlockedQuotaExceededException("quota"), "nacked 1 "),
    NOT_ALLOWED(new PulsarClientException.NotAllowedException("no"), "nacked 1 "),
    AUTHORIZATION(new PulsarClientException.AuthorizationException("no"), "nacked 1 "),
    FENCED(new PulsarClientException.ProducerFencedException("fenced"), "nacked 1 "),
    TERMINATED(new PulsarClientException.TopicTerminatedException("ended"), "nacked 1 "),
    TOO_LARGE(new PulsarClientException.InvalidMessageException("large"), "not sent 1 TOO_LARGE"),
    CRYPTO(new PulsarClientException.CryptoException("no key"), "not sent 1 INVALID"),
    QUEUE(new PulsarClientException.ProducerQueueIsFullError("full"), "not sent 1 NO_ROOM"),
    MEMORY(new PulsarClientException.MemoryBufferIsFullError("full"), "not sent 1 NO_ROOM"),
    TIMEOUT(new PulsarClientException.TimeoutException("late"), "unclear 1"),
    UNHEARD_OF(new IllegalStateException("what"), "unclear 1");

    @SuppressWarnings("ImmutableEnumChecker") // read alone
    private final Exception cause;

    private final String meaning;

    Failure(Exception cause, String meaning) {
      this.cause = cause;
      this.meaning = meaning;
    }
  }

  private CompletableFuture<MessageId> sent(ProducerLink link) {
    link.send(1, Message.of(new byte[1]));
    return producer.sent.remove();
  }

  /** The next message is sent in another millisecond than what was lost before. */
  private static void awaitNextMillisecond() {
    long now = System.currentTimeMillis();
    await().atMost(PATIENCE).until(() -> System.currentTimeMillis() > now);
  }

  @ParameterizedTest
  @EnumSource(Failure.class)
  void failure_ofWhatWentOutOnce_isTold(Failure failure) {
    CompletableFuture<MessageId> answer = sent(link());

    answer.completeExceptionally(failure.cause);

    assertThat(heard.get(0)).startsWith(failure.meaning);
    assertThat(heard.get(0)).matches(told -> !told.startsWith("nacked") || told.length() > 12);
  }

  @ParameterizedTest
  @EnumSource(Failure.class)
  void failure_ofWhatMayHaveArrivedBeforeTheConnectionWasLost_isUnclear(Failure failure) {
    CompletableFuture<MessageId> answer = sent(link());
    producer.lose();

    answer.completeExceptionally(failure.cause);

    assertThat(heard).contains("unclear 1").noneMatch(told -> told.startsWith("nacked"));
  }

  @ParameterizedTest
  @EnumSource(Failure.class)
  void failure_ofWhatWasSentAfterTheLoss_isTold(Failure failure) {
    ProducerLink link = link();
    producer.lose();
    awaitNextMillisecond();
    CompletableFuture<MessageId> answer = sent(link);

    answer.completeExceptionally(failure.cause);

    assertThat(heard).anyMatch(told -> told.startsWith(failure.meaning));
  }

  @ParameterizedTest
  @EnumSource(names = {"FENCED", "TERMINATED"})
  void refusedForGood_losesTheLink_whenTheOthersAreTold(Failure failure) {
    ProducerLink link = link();
    CompletableFuture<MessageId> answer = sent(link);
    link.send(2, Message.of(new byte[1]));

    answer.completeExceptionally(failure.cause);
    producer.sent.remove().completeExceptionally(failure.cause);

    await().atMost(PATIENCE).until(() -> producer.closed);
    assertThat(heard).hasSize(3).last().isEqualTo("lost");
    assertThat(heard.get(1)).startsWith("nacked 2");
  }

  @Test
  void producerThatIsGone_losesTheLink() {
    CompletableFuture<MessageId> answer = sent(link());

    answer.completeExceptionally(new PulsarClientException.AlreadyClosedException("gone"));

    assertThat(heard).containsExactly("lost");
    assertThat(producer.closed).isTrue();
  }

  private static MessageId place(long entry) {
    return (MessageIdAdv)
        Proxy.newProxyInstance(
            ProducerLinkTest.class.getClassLoader(),
            new Class<?>[] {MessageIdAdv.class},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "getEntryId" -> entry;
                  case "toString" -> "1:" + entry;
                  default -> throw new UnsupportedOperationException(method.getName());
                });
  }

  @Test
  void receiptThatNamesNoPlace_confirmsOnlyWhatTheClientSentAgain() {
    ProducerLink link = link();
    CompletableFuture<MessageId> named = sent(link);
    named.complete(place(7));
    CompletableFuture<MessageId> another = sent(link);
    another.complete(place(-1));
    CompletableFuture<MessageId> again = sent(link);
    awaitNextMillisecond();
    producer.lose();
    again.complete(place(-1));
    awaitNextMillisecond();
    CompletableFuture<MessageId> after = sent(link);
    after.complete(place(-1));

    assertThat(heard)
        .filteredOn(told -> !told.equals("disconnected"))
        .containsExactly("confirmed 1", "unclear 1", "confirmed 1", "unclear 1");
  }

  @Test
  void lostConnection_isToldOnce_andThatItIsThereAgain() {
    ProducerLink unused = link();
    producer.lose();
    await().atMost(PATIENCE).until(() -> heard.contains("disconnected"));

    producer.connected = true;

    await().atMost(PATIENCE).until(() -> heard.contains("reconnected"));
    assertThat(heard).containsExactly("disconnected", "reconnected");
  }

  @Test
  void lossBetweenTwoLooks_isToldToo() {
    ProducerLink unused = link();

    producer.lostAtMillis = System.currentTimeMillis(); // and it is there again

    await().atMost(PATIENCE).until(() -> heard.contains("reconnected"));
    assertThat(heard).containsExactly("disconnected", "reconnected");
  }

  @Test
  void closedLink_saysNothing() throws Exception {
    ProducerLink link = link();
    CompletableFuture<MessageId> answer = sent(link);

    link.close(Duration.ofSeconds(1));
    answer.completeExceptionally(new PulsarClientException.AlreadyClosedException("closed"));
    producer.lose();
    ticker.shutdown();

    assertThat(ticker.awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(heard).isEmpty();
  }
}
