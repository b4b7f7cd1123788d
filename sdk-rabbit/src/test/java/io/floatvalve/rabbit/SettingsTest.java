package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.floatvalve.rabbit.RabbitBroker.Credentials;
import io.floatvalve.rabbit.RabbitBroker.Settings;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;

class SettingsTest {
  private final Settings settings = Settings.at("amqp://localhost");

  @Test
  void defaults_areTheDocumentedOnes() {
    assertThat(settings.virtualHost()).isEqualTo("/");
    assertThat(settings.credentials()).isEqualTo(new Credentials("guest", "guest"));
    assertThat(settings.hostNameVerification()).isTrue();
    assertThat(settings.connectTimeout()).isEqualTo(Duration.ofSeconds(5));
    assertThat(settings.heartbeat()).isEqualTo(Duration.ofSeconds(30));
    assertThat(settings.rpcTimeout()).isEqualTo(Duration.ofSeconds(10));
    assertThat(settings.connectionName()).isEqualTo("floatvalve");
  }

  @Test
  void eachChange_keepsAllOthers() throws NoSuchAlgorithmException {
    Settings all =
        Settings.at("amqps://one/vh", "amqps://two")
            .withSslContext(SSLContext.getDefault())
            .withCredentials("user", "password")
            .withHostNameVerification(false)
            .withConnectTimeout(Duration.ofSeconds(1))
            .withHeartbeat(Duration.ofSeconds(2))
            .withRpcTimeout(Duration.ofSeconds(3))
            .withConnectionName("orders")
            .withVirtualHost("other");

    assertThat(all.where()).isEqualTo("one:5671, two:5671");
    assertThat(all.virtualHost()).isEqualTo("other");
    assertThat(all.credentials()).isEqualTo(new Credentials("user", "password"));
    assertThat(all.hostNameVerification()).isFalse();
    assertThat(all.connectTimeout()).isEqualTo(Duration.ofSeconds(1));
    assertThat(all.heartbeat()).isEqualTo(Duration.ofSeconds(2));
    assertThat(all.rpcTimeout()).isEqualTo(Duration.ofSeconds(3));
    assertThat(all.connectionName()).isEqualTo("orders");
  }

  @Test
  void valueOutOfRange_isRefusedWithTheRangeAndTheValue() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withHeartbeat(Duration.ZERO))
        .withMessage("heartbeat must be from PT1S to PT1H, was PT0S");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withHeartbeat(Duration.ofMillis(1_500)))
        .withMessage("heartbeat must be in whole seconds, was PT1.5S");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withConnectTimeout(Duration.ofHours(2)))
        .withMessage("connectTimeout must be from PT0.001S to PT1H, was PT2H");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withRpcTimeout(Duration.ofNanos(1)))
        .withMessage("rpcTimeout must be from PT0.001S to PT1H, was PT0.000000001S");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withVirtualHost("v".repeat(256)))
        .withMessageStartingWith("virtualHost must be at most 255 bytes in UTF-8, has 256");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withConnectionName("c".repeat(256)))
        .withMessageStartingWith("connectionName must be at most 255 bytes in UTF-8, has 256");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withCredentials("ü".repeat(128), "p"))
        .withMessage("username must be at most 255 bytes in UTF-8, has 256");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withCredentials("u", "p".repeat(7_001)))
        .withMessage("password must be at most 7000 bytes in UTF-8, has 7001");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Settings.at("amqp://" + "u".repeat(256) + "@localhost"))
        .withMessage("username must be at most 255 bytes in UTF-8, has 256");
  }

  @Test
  void trustWithoutTls_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withSslContext(SSLContext.getDefault()))
        .withMessageContaining("amqps://");
  }

  @Test
  void addressesThatContradictEachOther_areRefusedWithoutAnyPassword() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Settings.at("amqp://a/one", "amqp://b/two"))
        .withMessageContaining("'one' and 'two'");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Settings.at("amqp://u:s3cret1@a", "amqp://u:s3cret2@b"))
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("s3cret"));
  }

  @Test
  void oneAddress_maySpeakForAll() {
    Settings several = Settings.at("amqp://a", "amqp://u:p@b/vh", "amqp://c");

    assertThat(several.credentials()).isEqualTo(new Credentials("u", "p"));
    assertThat(several.virtualHost()).isEqualTo("vh");
    assertThat(several.where()).isEqualTo("a:5672, b:5672, c:5672");
  }

  @Test
  void nothing_showsThePassword() {
    Settings secret = Settings.at("amqp://user:s3cret@localhost");

    assertThat(secret.toString()).doesNotContain("s3cret");
    assertThat(secret.credentials().toString()).doesNotContain("s3cret");
  }
}
