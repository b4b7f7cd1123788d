package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome.NotSent;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.DelayGuard;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.OnExceed;
import io.floatvalve.rate.QuotaPolicy.Scope;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A publisher and its quotas; what may pass when is {@code PacerTest}'s matter. */
@Timeout(120)
final class PacedPublisherTest {
  private final FakeBroker broker = new FakeBroker();
  private final PublishSide side = new PublishSide(broker, event -> {});

  @AfterEach
  void close() {
    side.close();
  }

  private static PublisherSettings settings(QuotaPolicy quota) {
    return PublisherSettings.to(Address.queue("q"))
        .withCloseTimeout(Duration.ofMillis(100))
        .withQuota(quota);
  }

  private static QuotaPolicy messages(long perSecond) {
    return QuotaPolicy.none()
        .withHeadroom(1)
        .withPublish(Scope.CLUSTER, Quota.messagesPerSecond(perSecond));
  }

  /** Admits one message, and the next not while a test runs. */
  private static QuotaPolicy one() {
    return messages(1).withShare(0.001);
  }

  private static Message text(String text) {
    return Message.of(text.getBytes(StandardCharsets.UTF_8));
  }

  private static PublishOutcome outcome(CompletableFuture<PublishOutcome> future) throws Exception {
    return future.get(60, TimeUnit.SECONDS);
  }

  private static NotSent.Reason reason(CompletableFuture<PublishOutcome> future) throws Exception {
    return ((NotSent) outcome(future)).reason();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatAQuotaHolds_isSentInItsOrder_withoutAThreadForIt(boolean atOnce) throws Exception {
    broker.confirmAtOnce = true;
    broker.sendsAtOnce = atOnce;
    var policy = messages(100);
    var publisher = side.open(settings(policy));
    var link = broker.nextLink();
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    long start = System.nanoTime();
    for (int i = 0; i < 100; i++) {
      futures.add(publisher.tryPublish(text("" + i))); // never waits
    }
    assertThat(publisher.status().queued()).isPositive();

    for (CompletableFuture<PublishOutcome> each : futures) {
      assertThat(outcome(each).verdict()).isEqualTo(Verdict.CONFIRMED);
    }

    assertThat(System.nanoTime() - start).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(900));
    assertThat(link.all)
        .extracting(m -> new String(m.payload(), StandardCharsets.UTF_8))
        .containsExactlyElementsOf(IntStream.range(0, 100).mapToObj(i -> "" + i).toList());
    assertThat(policy.status().scopes().get(0).messages()).isEqualTo(100);
    assertThat(policy.status().waits()).isPositive();
    assertThat(policy.status().waiting()).isZero();
  }

  @Test
  void whatWaitsTooLongForAQuota_isNotSent() throws Exception {
    broker.confirmAtOnce = true;
    var policy = one();
    var publisher = side.open(settings(policy).withMaxWait(Duration.ofMillis(300)));

    assertThat(outcome(publisher.publish(text("a"))).verdict()).isEqualTo(Verdict.CONFIRMED);
    NotSent late = (NotSent) outcome(publisher.publish(text("b")));

    assertThat(late.reason()).isEqualTo(NotSent.Reason.RATE_LIMITED);
    assertThat(late.retry()).isEqualTo(PublishOutcome.Retry.SAFE);
    assertThat(late.detail()).contains("PT0.3S").contains("quota");
    assertThat(policy.status().refused()).isEqualTo(1);
    assertThat(policy.status().scopes().get(0).messages()).isEqualTo(1);
  }

  @Test
  void confirmTimeout_beginsWithTheSend() throws Exception {
    broker.confirmAtOnce = true;
    var publisher = side.open(settings(messages(1)).withConfirmTimeout(Duration.ofMillis(700)));

    var first = publisher.publish(text("a"));
    var second = publisher.publish(text("b")); // waits for a second

    assertThat(outcome(first).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(outcome(second).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(publisher.usage().held()).isGreaterThan(Duration.ofMillis(500));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void failFast_isNotSentAtOnce(boolean atOnce) throws Exception {
    broker.confirmAtOnce = true;
    broker.sendsAtOnce = atOnce;
    var policy = one().withOnExceed(OnExceed.FAIL);
    var publisher = side.open(settings(policy));

    assertThat(outcome(publisher.publish(text("a"))).verdict()).isEqualTo(Verdict.CONFIRMED);

    assertThat(reason(publisher.publish(text("b")))).isEqualTo(NotSent.Reason.RATE_LIMITED);
    assertThat(policy.status().refused()).isEqualTo(1);
    assertThat(policy.status().waiting()).isZero();
  }

  @ParameterizedTest
  @EnumSource(OnExceed.class)
  void refusals_areCountedAlike_whateverHappensAtAQuota(OnExceed onExceed) throws Exception {
    broker.confirmAtOnce = true;
    var policy = one().withOnExceed(onExceed);
    var publisher =
        side.open(
            settings(policy)
                .withMaxBlock(Duration.ofMillis(50))
                .withMaxWait(Duration.ofMillis(50))
                .withMaxQueued(1));
    assertThat(outcome(publisher.publish(text("a"))).verdict()).isEqualTo(Verdict.CONFIRMED);

    int refused = 0;
    for (int i = 0; i < 4; i++) {
      refused += outcome(publisher.publish(text("b"))).verdict() == Verdict.NOT_SENT ? 1 : 0;
    }

    assertThat(refused).isEqualTo(4);
    assertThat(policy.status().refused()).isEqualTo(4);
    assertThat(publisher.usage().refused()).isEqualTo(4);
  }

  @Test
  void block_letsCallersWaitWhileOneMessageDoes() throws Exception {
    broker.confirmAtOnce = true;
    var publisher =
        side.open(settings(one().withOnExceed(OnExceed.BLOCK)).withMaxBlock(Duration.ofMillis(50)));
    assertThat(outcome(publisher.publish(text("a"))).verdict()).isEqualTo(Verdict.CONFIRMED);
    var held = publisher.publish(text("b"));
    await().until(() -> reason(publisher.tryPublish(text("x"))) == NotSent.Reason.RATE_LIMITED);

    assertThat(reason(publisher.publish(text("c")))).isEqualTo(NotSent.Reason.RATE_LIMITED);

    assertThat(held).isNotDone();
    assertThat(publisher.status().queued()).isEqualTo(1);
  }

  @Test
  void fullQueue_saysThatAQuotaHoldsIt() throws Exception {
    broker.confirmAtOnce = true;
    var publisher = side.open(settings(one()).withMaxQueued(1));
    assertThat(outcome(publisher.publish(text("a"))).verdict()).isEqualTo(Verdict.CONFIRMED);

    var held = publisher.publish(text("b"));

    await().until(() -> reason(publisher.tryPublish(text("c"))) == NotSent.Reason.RATE_LIMITED);
    publisher.close();
    assertThat(reason(held)).isEqualTo(NotSent.Reason.CLOSED);
  }

  @Test
  void largerThanASecondsBytes_isRefused_andTheNextOneIsNot() throws Exception {
    broker.confirmAtOnce = true;
    var policy =
        QuotaPolicy.none().withHeadroom(1).withPublish(Scope.TOPIC, Quota.bytesPerSecond(100));
    var publisher = side.open(settings(policy));

    NotSent large = (NotSent) outcome(publisher.publish(Message.of(new byte[101])));

    assertThat(large.reason()).isEqualTo(NotSent.Reason.MESSAGE_TOO_LARGE);
    assertThat(large.detail()).contains("101 bytes");
    var fits = publisher.publish(Message.of(new byte[100]));
    assertThat(outcome(fits).verdict()).isEqualTo(Verdict.CONFIRMED);
  }

  @Test
  void costOutOfRange_orThatThrows_isAnInvalidMessage() throws Exception {
    broker.confirmAtOnce = true;
    var policy =
        messages(100)
            .withCost(
                message -> {
                  if (message.payload().length == 3) {
                    throw new IllegalStateException("by the test");
                  }
                  return message.payload().length - 1;
                });
    var publisher = side.open(settings(policy));

    NotSent zero = (NotSent) outcome(publisher.publish(text("a")));
    NotSent thrown = (NotSent) outcome(publisher.publish(text("abc")));

    assertThat(zero.reason()).isEqualTo(NotSent.Reason.INVALID_MESSAGE);
    assertThat(zero.detail()).contains("from 1 to 10000, was 0");
    assertThat(thrown.detail()).contains("by the test");
    assertThat(outcome(publisher.publish(text("12345"))).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(policy.status().scopes().get(0).cost()).isEqualTo(4);
    assertThat(publisher.status().outcomes().get(Verdict.NOT_SENT)).isEqualTo(2);
  }

  @Test
  void fullWindow_takesNothingFromTheQuota() throws Exception {
    var policy = messages(1_000);
    var publisher = side.open(settings(policy).withMaxInFlight(2));
    var link = broker.nextLink();
    for (int i = 0; i < 5; i++) {
      var unused = publisher.publish(text("" + i));
    }
    link.awaitSent(2);

    assertThat(policy.status().scopes().get(0).messages()).isEqualTo(2);
    link.listener.confirmed(1, false, null);
    link.awaitSent(1);
    assertThat(policy.status().scopes().get(0).messages()).isEqualTo(3);
  }

  @Test
  void severalPublishers_shareOnePolicy() throws Exception {
    broker.confirmAtOnce = true;
    var policy = messages(200);
    var one = side.open(settings(policy));
    var two = side.open(settings(policy));
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    long start = System.nanoTime();
    for (int i = 0; i < 100; i++) {
      futures.add(one.publish(text("a")));
      futures.add(two.publish(text("b")));
    }

    for (CompletableFuture<PublishOutcome> each : futures) {
      assertThat(outcome(each).verdict()).isEqualTo(Verdict.CONFIRMED);
    }

    assertThat(System.nanoTime() - start).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(900));
    assertThat(policy.status().scopes().get(0).messages()).isEqualTo(200);
  }

  @Test
  void partitions_areCountedByThemselves_andEachMessageGoesToItsOwn() throws Exception {
    broker.confirmAtOnce = true;
    var policy =
        QuotaPolicy.none()
            .withHeadroom(1)
            .withPublish(Scope.PARTITION, Quota.messagesPerSecond(20));
    var publisher = side.open(settings(policy));
    FakeBroker.Link link = broker.nextLink();
    link.partitions = 2;
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      futures.add(publisher.publish(text("a"))); // held for some time, and picked once
    }

    for (CompletableFuture<PublishOutcome> each : futures) {
      assertThat(outcome(each).verdict()).isEqualTo(Verdict.CONFIRMED);
    }
    assertThat(link.sentTo).containsExactly(0, 1, 0, 1, 0, 1, 0, 1, 0, 1);
    assertThat(policy.status().scopes())
        .allSatisfy(each -> assertThat(each.messages()).isEqualTo(5))
        .extracting(each -> each.name().replaceFirst(".*, ", ""))
        .containsExactlyInAnyOrder("partition 0", "partition 1");
  }

  @Test
  void raisedLimit_letsWhatWaitsPass() throws Exception {
    broker.confirmAtOnce = true;
    var policy = messages(1);
    var publisher = side.open(settings(policy));
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      futures.add(publisher.publish(text("a")));
    }

    policy.changeTo(messages(10_000));

    for (CompletableFuture<PublishOutcome> each : futures) {
      assertThat(outcome(each).verdict()).isEqualTo(Verdict.CONFIRMED);
    }
    assertThat(policy.inForce().quota(Kind.PUBLISH, Scope.CLUSTER))
        .isEqualTo(Quota.messagesPerSecond(10_000));
  }

  @Test
  void delayThatIsOver_isStripped_refused_orLeft() throws Exception {
    broker.confirmAtOnce = true;
    Message never = text("a").toBuilder().delay(Duration.ZERO).build();
    Message later = text("b").toBuilder().delay(Duration.ofHours(1)).build();
    QuotaPolicy quotas =
        messages(1_000).withDelayedPublish(Scope.CLUSTER, Quota.messagesPerSecond(1_000));

    var stripping = side.open(settings(quotas));
    var stripped = broker.nextLink();
    assertThat(outcome(stripping.publish(never)).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(outcome(stripping.publish(later)).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(stripped.all.get(0).delay()).isNull();
    assertThat(stripped.all.get(1).delay()).isBetween(Duration.ofMinutes(59), Duration.ofHours(1));
    assertThat(quotas.status().delaysStripped()).isEqualTo(1);
    assertThat(quotas.status().scopes())
        .allSatisfy(s -> assertThat(s.messages()).isEqualTo(1))
        .extracting(s -> s.kind())
        .containsExactlyInAnyOrder(Kind.PUBLISH, Kind.DELAYED_PUBLISH);

    var refusing = side.open(settings(quotas.withDelayGuard(DelayGuard.REJECT)));
    assertThat(reason(refusing.publish(never))).isEqualTo(NotSent.Reason.INVALID_MESSAGE);

    broker.opened.clear();
    var leaving = side.open(settings(quotas.withDelayGuard(DelayGuard.ALLOW)));
    var left = broker.nextLink();
    assertThat(outcome(leaving.publish(never)).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(left.all.get(0).delay()).isEqualTo(Duration.ZERO);
  }

  @Test
  void delayThatPassesInTheQueue_isStrippedWhenItIsSent() throws Exception {
    broker.confirmAtOnce = true;
    var policy = messages(1);
    var publisher = side.open(settings(policy));
    var link = broker.nextLink();
    var first = publisher.publish(text("a"));

    // sent after a second at the earliest
    var second = publisher.publish(text("b").toBuilder().delay(Duration.ofMillis(200)).build());

    assertThat(outcome(first).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(outcome(second).verdict()).isEqualTo(Verdict.CONFIRMED);
    assertThat(link.all.get(1).delay()).isNull();
    assertThat(policy.status().delaysStripped()).isEqualTo(1);
  }

  @Test
  void rl06_callbackThatPublishes_neverSleeps_andOthersAreNotHeld() throws Exception {
    broker.confirmAtOnce = true;
    var slow = side.open(settings(messages(50)).withMaxInFlight(1));
    var quick = side.open(settings(QuotaPolicy.none()));
    AtomicInteger rounds = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(1);
    Runnable[] next = new Runnable[1];
    next[0] =
        () ->
            slow.publish(text("a"))
                .thenAccept(
                    outcome -> {
                      if (outcome.verdict() == Verdict.CONFIRMED && rounds.incrementAndGet() < 50) {
                        next[0].run();
                      } else {
                        done.countDown();
                      }
                    });
    long start = System.nanoTime();
    next[0].run();

    while (done.getCount() > 0) { // each is done at once, whatever the other waits for
      assertThat(outcome(quick.publish(text("b"))).verdict()).isEqualTo(Verdict.CONFIRMED);
    }

    assertThat(rounds).hasValue(50);
    assertThat(System.nanoTime() - start).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(750));
    assertThat(quick.status().outcomes().get(Verdict.CONFIRMED)).isGreaterThan(50);
  }
}
