package io.floatvalve.examples;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.testkit.NeedsPulsar;
import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Looks through everything that a run leaves, with all libraries logging at DEBUG. */
@Timeout(180)
final class SecretsTest {
  private static final byte[] SIGNING = "another secret of thirty-two bytes".getBytes(UTF_8);
  private static final String PASSWORD = "Pa55word: of/the+user@%7";
  private static final String WRONG = "Wr0ng: word/of+nobody@%8";
  private static final String STORE = "K3ystore: word/of+ours@%9";

  @TempDir private Path folder = Path.of("");

  @Test
  @NeedsRabbit(ownProcess = true)
  @NeedsPulsar(ownProcess = true)
  void nothingThatARunLeaves_holdsASecret() throws Exception {
    String token = token("root");
    String refused = token("root") + "WRONG0signature";
    Path left = Files.createDirectory(folder.resolve("left"));
    try (PulsarNode pulsar = startPulsar()) {
      RabbitNode rabbit = RabbitNode.shared();
      rabbit.ctl(
          "eval",
          "rabbit_auth_backend_internal:add_user(<<\"secretive\">>, <<\"%s\">>, <<\"t\">>), "
                  .formatted(PASSWORD)
              + "rabbit_auth_backend_internal:set_permissions(<<\"secretive\">>, <<\"/\">>,"
              + " <<\".*\">>, <<\".*\">>, <<\".*\">>, <<\"t\">>).");
      Properties given = new Properties();
      String place = "127.0.0.1:" + rabbit.port();
      given.setProperty("rabbit.address", "amqp://" + place);
      given.setProperty("rabbit.port", Integer.toString(rabbit.port()));
      given.setProperty("rabbit.user", "secretive");
      given.setProperty("rabbit.password", PASSWORD);
      given.setProperty("rabbit.encoded", encoded(WRONG));
      given.setProperty("rabbit.uri", "amqp://secretive:" + encoded(PASSWORD) + "@" + place);
      given.setProperty("rabbit.wrong", "amqp://secretive:" + encoded(WRONG) + "@" + place);
      given.setProperty("rabbit.malformed", "amqp://secretive:" + WRONG + "@" + place);
      given.setProperty("keystore.password", STORE);
      given.setProperty("pulsar.url", pulsar.serviceUrl());
      given.setProperty("pulsar.admin", pulsar.adminUrl());
      given.setProperty("pulsar.token", token);
      given.setProperty("pulsar.wrong", refused);
      run(given, left);
    }

    String log = Files.readString(left.resolve("log"));
    String out = Files.readString(left.resolve("out"));
    assertThat(log)
        .as("is a log at DEBUG of us and of the libraries")
        .contains("DEBUG io.floatvalve", "DEBUG org.apache.pulsar", "INFO org.apache.pulsar");
    assertThat(out)
        .as("is a run that came to its end")
        .contains("handled: true", "perf-rabbit ended with 0", "ACCESS_REFUSED", "REFUSED")
        .doesNotContain("handled: false", "perf-wrong ended with 0", "opened: ");
    assertThat(left.resolve("perf-rabbit.json")).exists();
    assertThat(files(left)).anyMatch(file -> file.toString().endsWith(".hlog"));
    assertThat(files(left)).anyMatch(file -> file.toString().endsWith(".html"));
    assertThat(leaks(left, List.of(PASSWORD, WRONG, STORE, token, refused))).isEmpty();
  }

  /** What the test above relies on: a secret is found however it is written. */
  @Test
  void aLeak_isFound_howeverItIsWritten() throws IOException {
    byte[] login = ("\0secretive\0" + PASSWORD).getBytes(UTF_8);
    List<String> written =
        List.of(
            "password=" + PASSWORD + ",",
            "amqp://u:" + encoded(PASSWORD) + "@h",
            Base64.getEncoder().encodeToString(login),
            Base64.getUrlEncoder().encodeToString(("u:" + PASSWORD).getBytes(UTF_8)),
            "amqp://u:" + PASSWORD.replace("%", "%25").replace("/", "%2f") + "@h");
    for (String each : written) {
      Path left = Files.createTempDirectory(folder, "leak");
      Files.writeString(left.resolve("log"), "DEBUG " + each + " was used");

      assertThat(leaks(left, List.of(PASSWORD))).as(each).isNotEmpty();
      assertThat(leaks(left, List.of(WRONG))).as(each).isEmpty();
    }
  }

  private static PulsarNode startPulsar() throws Exception {
    return PulsarNode.start(
        List.of(
            "authenticationEnabled=true",
            "authenticationProviders="
                + "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
            "tokenSecretKey=data:;base64," + Base64.getEncoder().encodeToString(SIGNING),
            "superUserRoles=root",
            "brokerClientAuthenticationPlugin="
                + "org.apache.pulsar.client.impl.auth.AuthenticationToken",
            "brokerClientAuthenticationParameters=token:" + token("root")));
  }

  private static String token(String subject) throws Exception {
    Base64.Encoder text = Base64.getUrlEncoder().withoutPadding();
    String signed =
        text.encodeToString("{\"alg\":\"HS256\"}".getBytes(UTF_8))
            + "."
            + text.encodeToString(("{\"sub\":\"" + subject + "\"}").getBytes(UTF_8));
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(SIGNING, "HmacSHA256"));
    return signed + "." + text.encodeToString(mac.doFinal(signed.getBytes(UTF_8)));
  }

  private void run(Properties given, Path left) throws IOException, InterruptedException {
    Path secrets = folder.resolve("secrets.properties");
    try (OutputStream to = Files.newOutputStream(secrets)) {
      given.store(to, null);
    }
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=debug",
                "-Dorg.slf4j.simpleLogger.logFile=" + left.resolve("log"),
                "-cp",
                System.getProperty("java.class.path"),
                SecretRun.class.getName(),
                secrets.toString(),
                left.toString())
            .redirectOutput(left.resolve("out").toFile())
            .redirectError(left.resolve("err").toFile())
            .start();
    try {
      assertThat(process.waitFor(150, TimeUnit.SECONDS)).as("the run ends").isTrue();
    } finally {
      process.destroyForcibly();
    }
    assertThat(process.exitValue())
        .as("%s%s", Files.readString(left.resolve("out")), Files.readString(left.resolve("err")))
        .isZero();
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, UTF_8).replace("+", "%20");
  }

  private static List<Path> files(Path left) throws IOException {
    try (Stream<Path> all = Files.walk(left)) {
      return all.filter(Files::isRegularFile).toList();
    }
  }

  /** Returns where which secret stands, by file and line, without the secret. */
  private static List<String> leaks(Path left, List<String> secrets) throws IOException {
    List<String> leaks = new ArrayList<>();
    for (Path file : files(left)) {
      int number = 0;
      for (String line : Files.readString(file, ISO_8859_1).split("\n", -1)) {
        number++;
        for (String secret : secrets) {
          for (String form : forms(secret)) {
            if (line.contains(form)) {
              int at = line.indexOf(form);
              leaks.add(
                  "%s:%d holds %s… after '%s'"
                      .formatted(
                          file.getFileName(),
                          number,
                          secret.substring(0, 5),
                          line.substring(Math.max(0, at - 120), at)));
            }
          }
        }
      }
    }
    return leaks;
  }

  /**
   * A secret as it is, each part of it that has no meaning in a URI, and in Base64 wherever it
   * begins in what is encoded.
   */
  private static Set<String> forms(String secret) {
    Set<String> forms = new LinkedHashSet<>();
    forms.add(secret);
    forms.add(encoded(secret));
    for (String part : secret.split("[^A-Za-z0-9]+", -1)) {
      if (part.length() >= 8) { // of a URI that was cut, or is encoded in another way
        forms.add(part);
      }
    }
    byte[] bytes = secret.getBytes(UTF_8);
    for (int shift = 0; shift < 3; shift++) {
      byte[] shifted = new byte[shift + bytes.length];
      System.arraycopy(bytes, 0, shifted, shift, bytes.length);
      for (Base64.Encoder each : List.of(Base64.getEncoder(), Base64.getUrlEncoder())) {
        String text = each.withoutPadding().encodeToString(shifted);
        int first = shift == 0 ? 0 : shift + 1; // what the bytes before it have a part in
        forms.add(text.substring(first, text.length() - 2));
      }
    }
    return forms;
  }
}
