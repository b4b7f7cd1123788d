package io.floatvalve.examples.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class CannotRunTest {
  private static final String WORDS = "NOT_FOUND - no queue 'q' in vhost '/'";

  private final ShutdownSignalException closed =
      new ShutdownSignalException(
          false,
          false,
          new AMQP.Channel.Close.Builder().replyCode(404).replyText(WORDS).build(),
          null);

  @Test
  void brokersWords_areSaidOnce() {
    IOException wrapped = new IOException(null, closed);

    assertThat(CannotRun.inWords(wrapped)).isEqualTo("404 " + WORDS);
    assertThat(
            CannotRun.inWords(new IllegalStateException("cannot publish: 404 " + WORDS, wrapped)))
        .isEqualTo("cannot publish: 404 " + WORDS);
  }

  @Test
  void causeThatSaysMore_isAdded() {
    assertThat(CannotRun.inWords(new IOException("first", new IOException())))
        .isEqualTo("first: IOException");
    assertThat(CannotRun.inWords(new IOException("first", new IOException("second"))))
        .isEqualTo("first: second");
  }
}
