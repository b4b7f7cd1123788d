package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EndpointTest {
  @ParameterizedTest
  @CsvSource({
    "amqp://localhost, localhost, 5672, false",
    "amqps://localhost, localhost, 5671, true",
    "AMQP://rabbit_1:1, rabbit_1, 1, false",
    "amqp://user:p%40ss@host:65535/vh, host, 65535, false",
    "amqp://[::1]:5673/, ::1, 5673, false",
    "amqps://[fe80::1], fe80::1, 5671, true",
  })
  void uri_namesHostPortAndTls(String uri, String host, int port, boolean tls) {
    assertThat(Endpoint.parse(uri).endpoint()).isEqualTo(new Endpoint(host, port, tls));
  }

  @Test
  void userPasswordAndVirtualHost_arePercentDecoded() {
    Endpoint.Parsed parsed = Endpoint.parse("amqp://us%2Fer:p%40s+s%3A@host/a%2Fb");

    assertThat(parsed.username()).isEqualTo("us/er");
    assertThat(parsed.password()).isEqualTo("p@s+s:");
    assertThat(parsed.virtualHost()).isEqualTo("a/b");
  }

  @ParameterizedTest
  @ValueSource(strings = {"amqp://host", "amqp://host/"})
  void uriWithoutPath_saysNothingOfTheVirtualHost(String uri) {
    assertThat(Endpoint.parse(uri).virtualHost()).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "user:s3cret@host",
        "http://user:s3cret@host",
        "amqp://user:s3cret@",
        "amqp://user:s3cret@:5672",
        "amqp://user:s3cret@host:0",
        "amqp://user:s3cret@host:65536",
        "amqp://user:s3cret@host:port",
        "amqp://user:s3cret@[::1",
        "amqp://user:s3cret@[::1]x",
        "amqp://user:s3cret%zz@host",
        "amqp://user:s3cret@host/a/b",
        "amqp://user:s3cret@host?heartbeat=10",
        "amqp://user:s3cret@host/v#x",
        "amqp://user:s3cret/@host/a/b",
        "amqp://user:s3cret@s3cret@host:",
        "amqp://user:s3cret",
        "amqp://user:s3cret/vhost",
        "amqp://h?password=s3cret",
        "amqp://user@h?password=s3cret",
        "amqp://user@h:s3cret",
        "http://h/s3cret",
        "s3cret",
        "",
      })
  void malformedUri_isRefusedWithoutItsPassword(String uri) {
    assertThatThrownBy(() -> Endpoint.parse(uri))
        .isInstanceOf(IllegalArgumentException.class)
        .hasNoCause()
        .hasMessageStartingWith("address '")
        .hasMessageNotContaining("s3cret");
  }

  @Test
  void malformedUri_showsItsSchemeAlone() {
    assertThatThrownBy(() -> Endpoint.parse("amqp://user:99999"))
        .hasMessage("address 'amqp://***' must have a port from 1 to 65535, or none");
    assertThatThrownBy(() -> Endpoint.parse("amqps://"))
        .hasMessage("address 'amqps://' must name a host");
  }

  @Test
  void parsedUri_showsNoPassword() {
    assertThat(Endpoint.parse("amqp://user:s3cret@host").toString()).doesNotContain("s3cret");
  }
}
