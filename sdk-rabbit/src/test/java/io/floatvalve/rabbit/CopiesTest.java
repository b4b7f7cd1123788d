package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.AMQP.BasicProperties;
import io.floatvalve.testkit.ScriptedAmqpPeer;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CopiesTest {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final ScriptedAmqpPeer peer;
  private final SharedTrunk trunks;
  private final Copies copies;

  CopiesTest() throws IOException {
    peer = ScriptedAmqpPeer.start();
    trunks =
        new SharedTrunk(
            RabbitBroker.Settings.at(peer.uri()).withRpcTimeout(Duration.ofSeconds(3)), "test");
    copies = new Copies(trunks, LIMIT);
  }

  @AfterEach
  void close() {
    copies.close();
    trunks.close(Duration.ofSeconds(1));
    peer.close();
  }

  private CompletableFuture<Void> send() {
    BasicProperties properties =
        new BasicProperties.Builder().headers(Map.of(PropertyMap.MARK, new byte[8])).build();
    return copies.send("", "q", properties, new byte[1]);
  }

  @Test
  void channelThatCannotConfirm_isClosed_andTheNextCopyHasAnother() {
    peer.answerConfirmSelects(false);
    await() // a connection may come late, too
        .atMost(LIMIT)
        .until(
            () -> {
              assertThat(send()).failsWithin(LIMIT);
              return peer.confirmSelects() > 0;
            });
    await().atMost(LIMIT).until(() -> peer.channels() == 0);

    peer.answerConfirmSelects(true);
    assertThat(send()).succeedsWithin(LIMIT);
    assertThat(peer.channels()).isEqualTo(1);
  }
}
