package io.floatvalve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.event.Event;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MessagingTest {
  private static Event event(int number) {
    return new Event.Recovering(Instant.EPOCH, "somebody", number, "");
  }

  @Test
  void listenerThatThrows_evenAnError_hearsTheNextEvent() {
    List<Event> heard = new CopyOnWriteArrayList<>();
    EventLoop loop =
        new EventLoop(
            e -> {
              heard.add(e);
              throw new AssertionError("by the test");
            });

    for (int i = 0; i < 5; i++) {
      loop.accept(event(i));
    }

    await().until(() -> heard.size() == 5);
    loop.close();
  }

  @Test
  void slowListener_losesWhatDoesNotFit_andThatIsCounted() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    List<Event> heard = new CopyOnWriteArrayList<>();
    EventLoop loop =
        new EventLoop(
            e -> {
              try {
                assertThat(go.await(20, TimeUnit.SECONDS)).isTrue();
              } catch (InterruptedException interrupt) {
                Thread.currentThread().interrupt();
              }
              heard.add(e);
            });

    for (int i = 0; i < 2_000; i++) {
      loop.accept(event(i));
    }
    go.countDown();

    assertThat(loop.dropped()).isBetween(2_000L - 1_026, 2_000L - 1_024);
    await().until(() -> heard.size() + loop.dropped() == 2_000);
    loop.close();
  }
}
