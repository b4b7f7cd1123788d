package io.floatvalve.rate;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BrokersWordTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "channel closed: 530 NOT_ALLOWED, denied for too many requests",
        "reply-code=530, reply-text=NOT_ALLOWED - denied: 200 of 100",
        "Cannot create producer on topic with backlog quota exceeded",
        "org.apache.pulsar.client.api.PulsarClientException$ProducerBlockedQuotaExceededException",
        "low on memory",
        "low on disk & memory",
        "Too Many Requests",
        "rate-limited by the broker",
        "throttled",
      })
  void wordsOfALimit_areKnown(String words) {
    assertThat(BrokersWord.isLimit(words)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "connection reset by peer",
        "530 NOT_ALLOWED - vhost not found",
        "404 NOT_FOUND - no exchange 'orders'",
        "message 5301 refused",
        "x-max-length",
      })
  void otherWords_areNone(String words) {
    assertThat(BrokersWord.isLimit(words)).isFalse();
  }
}
