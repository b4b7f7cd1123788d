package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.pulsar.client.api.PulsarClientException;
import org.junit.jupiter.api.Test;

class FailuresTest {
  private static final int MOST = 500;

  @Test
  void words_areOneLine_withTheKindOfFailure() {
    assertThat(Failures.words(new PulsarClientException("gone:\n  for good ")))
        .isEqualTo("PulsarClientException: gone: for good");
    assertThat(Failures.words(new IllegalStateException())).isEqualTo("IllegalStateException");
    assertThat(Failures.words(new IllegalStateException(" "))).isEqualTo("IllegalStateException");
    assertThat(Failures.words(null)).isEqualTo("unknown cause");
  }

  /** A peer may say as much as it likes. */
  @Test
  void words_haveAnEnd_whateverWasSaid() {
    String name = "IllegalStateException: ";
    String fits = "x".repeat(MOST - name.length());

    assertThat(Failures.words(new IllegalStateException(fits))).isEqualTo(name + fits);
    assertThat(Failures.words(new IllegalStateException(fits + "xx"))).isEqualTo(name + fits + "…");
  }

  @Test
  void cause_isWhatIsBehindTheWrappersOfFutures() {
    Exception cause = new IllegalStateException("it");

    assertThat(Failures.cause(new CompletionException(new ExecutionException(cause))))
        .isSameAs(cause);
    assertThat(Failures.cause(cause)).isSameAs(cause);
    assertThat(Failures.cause(null)).hasMessage("neither an answer nor a failure");
  }
}
