package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.model.Ordering;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker.Settings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A token's file that gives no token is refused by its name, before anybody is asked. */
@Timeout(60)
final class TokenFileTest {
  private static final String SECRET = "s3cret";
  private static final Settings NOBODY =
      Settings.at("pulsar://127.0.0.1:1").withOperationTimeout(Duration.ofMillis(500));

  @TempDir private Path folder = Path.of("");

  private static MessagingException failure(ThrowingCallable opening) {
    MessagingException e = catchThrowableOfType(MessagingException.class, opening);
    assertThat(e).isNotNull();
    StringWriter trace = new StringWriter();
    e.printStackTrace(new PrintWriter(trace));
    assertThat(trace.toString()).doesNotContain(SECRET);
    return e;
  }

  private static MessagingException consuming(Settings settings) {
    PulsarBroker broker = PulsarBroker.connect(settings);
    try {
      return failure(
          () ->
              broker.openReceive(
                  LinkRig.request("t", Ordering.NONE, LinkRig.earliest()), new LinkRig.Heard()));
    } finally {
      broker.close(Duration.ofSeconds(5));
    }
  }

  private static MessagingException publishing(Settings settings) {
    try (Messaging messaging = Messaging.over(PulsarBroker.connect(settings))) {
      return failure(() -> messaging.publisher(PublisherSettings.to(Address.topic("t"))));
    }
  }

  private static void isRefused(Path file, String reason) {
    Settings settings = NOBODY.withTokenFile(file);
    for (MessagingException each : List.of(consuming(settings), publishing(settings))) {
      assertThat(each.kind()).isEqualTo(Kind.INVALID);
      assertThat(each).hasMessageContainingAll(file.toString(), reason);
    }
  }

  @Test
  void aFileThatIsNotThere_isRefused() {
    isRefused(folder.resolve("none"), "cannot be read: there is none");
  }

  @Test
  void aFolder_isRefused() {
    isRefused(folder, "cannot be read");
  }

  @Test
  void anEmptyFile_isRefused() throws IOException {
    isRefused(Files.writeString(folder.resolve("empty"), " \n"), "is empty");
  }

  @Test
  void aFileWithoutEnd_isRefused() throws IOException {
    isRefused(
        Files.writeString(folder.resolve("large"), SECRET.repeat(200_000)),
        "has more than 1048576 bytes");
  }

  @Test
  void anotherTokenInItsPlace_forgetsTheFile() {
    Settings settings = NOBODY.withTokenFile(folder.resolve("none")).withToken(() -> SECRET);

    assertThat(consuming(settings).kind()).isEqualTo(Kind.UNREACHABLE);
  }
}
