package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Message;
import org.junit.jupiter.api.Test;

final class ArrivalStampsTest {
  private final ArrivalStamps stamps = new ArrivalStamps();

  /** A message of one byte, which can do nothing else. */
  private static Message<?> message() {
    return (Message<?>)
        Proxy.newProxyInstance(
            Message.class.getClassLoader(),
            new Class<?>[] {Message.class},
            (message, method, arguments) -> method.getName().equals("size") ? 1 : null);
  }

  @Test
  void eachMessage_hasItsOwnStamp_alsoWhereTheRingGrows() {
    for (int round = 0; round < 5; round++) {
      Message<?>[] all = new Message<?>[100];
      for (int i = 0; i < all.length; i++) {
        all[i] = message();
        stamps.put(all[i], 1_000 + i);
      }
      assertThat(stamps.bytes()).isEqualTo(100);
      for (int i = 0; i < all.length; i++) {
        assertThat(stamps.take(all[i])).isEqualTo(1_000 + i);
      }
      assertThat(stamps.isEmpty()).isTrue();
      assertThat(stamps.bytes()).isZero();
    }
  }

  @Test
  void whatTheClientThrewAway_isPassedOver() {
    Message<?> kept = message();
    stamps.put(message(), 1);
    stamps.put(kept, 2);

    assertThat(stamps.take(kept)).isEqualTo(2);
    assertThat(stamps.isEmpty()).isTrue();
    assertThat(stamps.bytes()).isZero();
  }

  @Test
  void forgotten_isEmpty_andTheNextOneIsNot() {
    stamps.put(message(), 1);
    assertThat(stamps.isEmpty()).isFalse();
    stamps.forget();
    assertThat(stamps.isEmpty()).isTrue();

    Message<?> next = message();
    stamps.put(next, 3);
    assertThat(stamps.isEmpty()).isFalse();
    assertThat(stamps.take(next)).isEqualTo(3);
  }

  @Test
  void twoThreads_loseNoStamp() throws Exception {
    LinkedBlockingQueue<Message<?>> queue = new LinkedBlockingQueue<>();
    CompletableFuture<Void> putting =
        CompletableFuture.runAsync(
            () -> {
              for (int i = 0; i < 200_000; i++) {
                Message<?> next = message();
                stamps.put(next, -i - 1L);
                queue.add(next);
              }
            });
    for (int i = 0; i < 200_000; i++) {
      Message<?> next = queue.poll(60, TimeUnit.SECONDS);
      assertThat(next).isNotNull();
      assertThat(stamps.take(next)).isEqualTo(-i - 1L);
    }
    putting.get(60, TimeUnit.SECONDS);
    assertThat(stamps.isEmpty()).isTrue();
  }
}
