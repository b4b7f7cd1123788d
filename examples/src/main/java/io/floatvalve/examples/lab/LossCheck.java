package io.floatvalve.examples.lab;

import io.floatvalve.examples.cli.RabbitAtHand;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.PublishOutcome;
import io.floatvalve.publish.PublishOutcome.Verdict;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Cut;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Cuts the connection while messages are in flight, refuses a new one for a while, and then holds
 * the outcomes against what lies in the queue.
 */
final class LossCheck {
  private static final int CUTS = 3;

  private final Lab lab;

  LossCheck(Lab lab) {
    this.lab = lab;
  }

  void run() throws IOException {
    lab.doing("C8: connection cut in flight, then held against the queue");
    String queue = lab.queues().classic("cut");
    List<CompletableFuture<PublishOutcome>> futures = new ArrayList<>();
    try (FaultProxy proxy = FaultProxy.to(lab.rabbit().host(), lab.rabbit().port());
        var messaging =
            RabbitAtHand.messaging(lab.rabbit().uriAt(proxy.host(), proxy.port()), event -> {});
        Publisher publisher =
            messaging.publisher(
                PublisherSettings.to(Address.queue(queue))
                    .withMaxInFlight(200)
                    .withMaxQueued(100)
                    .withMaxWait(Duration.ofMillis(300)))) {
      int each = lab.amount(3_000, 800);
      for (int cut = 0; cut < CUTS; cut++) {
        publish(publisher, futures, each);
        proxy.refuse();
        proxy.cut(Cut.RESET);
        publish(publisher, futures, 100);
        await(futures, Duration.ofSeconds(5)); // until what waited is given up, or sent after all
        proxy.accept();
        awaitOpen(publisher);
      }
      publish(publisher, futures, each);
      Lab.drain(publisher);
    }
    reconcile(futures, lab.queues().readAllIds(queue));
  }

  private static void publish(
      Publisher publisher, List<CompletableFuture<PublishOutcome>> futures, int messages) {
    for (int i = 0; i < messages; i++) {
      String id = id(futures.size());
      futures.add(
          publisher.publish(
              Message.builder(id.getBytes(StandardCharsets.UTF_8)).messageId(id).build()));
    }
  }

  private static String id(int index) {
    return "m" + index;
  }

  private static void await(List<CompletableFuture<PublishOutcome>> futures, Duration timeout)
      throws IOException {
    try {
      CompletableFuture.allOf(futures.toArray(CompletableFuture<?>[]::new))
          .get(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (java.util.concurrent.TimeoutException e) {
      return; // they come later; nothing depends on when
    } catch (java.util.concurrent.ExecutionException e) {
      throw new IOException("a publish ended in an exception", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  /* One message after the other until one is confirmed: the publisher is there again. */
  private static void awaitOpen(Publisher publisher) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (publisher.status().state() != io.floatvalve.publish.PublisherStatus.State.OPEN
        && System.nanoTime() < deadline) {
      java.util.concurrent.locks.LockSupport.parkNanos(5_000_000);
    }
  }

  private void reconcile(
      List<CompletableFuture<PublishOutcome>> futures, Collection<String> stored) {
    Set<String> distinct = new HashSet<>(stored);
    Map<Verdict, Integer> all = new EnumMap<>(Verdict.class);
    Map<Verdict, Integer> found = new EnumMap<>(Verdict.class);
    int open = 0;
    for (int i = 0; i < futures.size(); i++) {
      PublishOutcome outcome = futures.get(i).getNow(null);
      if (outcome == null) {
        open++;
        continue;
      }
      all.merge(outcome.verdict(), 1, Integer::sum);
      found.merge(outcome.verdict(), distinct.contains(id(i)) ? 1 : 0, Integer::sum);
    }
    int confirmed = all.getOrDefault(Verdict.CONFIRMED, 0);
    int confirmedFound = found.getOrDefault(Verdict.CONFIRMED, 0);
    int unknown = all.getOrDefault(Verdict.UNKNOWN, 0);
    int notSent = all.getOrDefault(Verdict.NOT_SENT, 0);
    int notSentFound = found.getOrDefault(Verdict.NOT_SENT, 0);
    lab.check(
        "C8-cut",
        CUTS + " cuts in flight, then the queue read back",
        "left unverified",
        "every message one outcome; every CONFIRMED and no NOT_SENT in the queue; some UNKNOWN and"
            + " some NOT_SENT; nothing twice",
        String.format(
            "%d messages: %d of %d CONFIRMED, %d of %d UNKNOWN, %d of %d NOT_SENT in the queue; %d"
                + " twice",
            futures.size(),
            confirmedFound,
            confirmed,
            found.getOrDefault(Verdict.UNKNOWN, 0),
            unknown,
            notSentFound,
            notSent,
            stored.size() - distinct.size()),
        open == 0
            && confirmed + unknown + notSent == futures.size()
            && confirmedFound == confirmed
            && notSentFound == 0
            && unknown > 0
            && notSent > 0
            && stored.size() == distinct.size());
    lab.findings().figure("cut_unknown", unknown);
    lab.findings().figure("cut_unknown_in_queue", found.getOrDefault(Verdict.UNKNOWN, 0));
    lab.findings().figure("cut_not_sent", notSent);
  }
}
