package io.floatvalve.pulsar;

import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.spi.TlsFailure;
import io.floatvalve.spi.TlsProbe;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.apache.pulsar.client.api.Authentication;
import org.apache.pulsar.client.api.AuthenticationDataProvider;
import org.apache.pulsar.client.api.PulsarClientException;
import org.jspecify.annotations.Nullable;

/**
 * The first talk with the broker. The client takes a certificate that it refuses for a connection
 * that failed, tries again until the time is over, and then says only that. So until something was
 * opened once, we shake hands beside it, and say what is wrong as soon as we know.
 */
final class Greeting {
  private static final Duration PATIENCE = Duration.ofSeconds(1);
  private static final Duration PROBE_MOST = Duration.ofSeconds(2);
  private static final int PLAIN_PORT = 6650;
  private static final int TLS_PORT = 6651;

  /*
   * Frames of https://pulsar.apache.org/docs/developing-binary-protocol: the size of all that
   * follows, that of the command, and BaseCommand with its type and an empty body.
   */
  private static final byte[] PING = {0, 0, 0, 9, 0, 0, 0, 5, 8, 18, (byte) 0x92, 1, 0};
  private static final byte[] PONG = {0, 0, 0, 9, 0, 0, 0, 5, 8, 19, (byte) 0x9A, 1, 0};

  private static final String END_OF_NAME = "-----";
  private static final List<String> KEY_TYPES = List.of("RSA", "EC", "Ed25519");

  private final PulsarBroker.Settings settings;
  private volatile boolean done;

  Greeting(PulsarBroker.Settings settings) {
    this.settings = settings;
  }

  /**
   * Refuses a token's file that gives none. The client takes that for a connection that failed, and
   * says neither file nor reason.
   */
  void checkToken() {
    TokenFile file = settings.tokenFile();
    if (done || file == null) {
      return;
    }
    try {
      String unused = file.get();
    } catch (IllegalStateException | UncheckedIOException e) {
      throw new MessagingException(Kind.INVALID, String.valueOf(e.getMessage()), e.getCause());
    }
  }

  /** Waits for what is being opened, until the deadline or until it is known that it never will. */
  <T> T await(CompletableFuture<T> opening, long deadline)
      throws ExecutionException, TimeoutException, InterruptedException {
    if (done) {
      return opening.get(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    }
    CompletableFuture<T> either = opening.thenApply(value -> value); // ours to fail
    Thread probe = new Thread(() -> probe(either), "floatvalve-pulsar-probe");
    probe.setDaemon(true);
    probe.start();
    try {
      T value = either.get(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
      done = true;
      return value;
    } finally {
      probe.interrupt();
    }
  }

  private void probe(CompletableFuture<?> opening) {
    if (!settings.isTls() && !isLate(opening)) {
      return; // a plain port says what is wrong
    }
    List<String> refusals = new ArrayList<>();
    for (URI each : settings.addresses()) {
      String refusal = settings.isTls() ? refusal(each, opening) : spoken(each);
      if (refusal == null) {
        return; // one may do
      }
      boolean alone = settings.addresses().size() == 1; // then it is named already
      refusals.add((alone ? "" : each.getHost() + ":" + port(each) + ": ") + refusal);
    }
    var unused =
        opening.completeExceptionally(
            new MessagingException(Kind.INVALID, String.join("; ", refusals), null));
  }

  private int port(URI address) {
    return address.getPort() >= 0 ? address.getPort() : settings.isTls() ? TLS_PORT : PLAIN_PORT;
  }

  private Duration most() {
    Duration timeout = settings.connectTimeout();
    return timeout.compareTo(PROBE_MOST) < 0 ? timeout : PROBE_MOST;
  }

  private @Nullable String spoken(URI address) {
    return TlsProbe.isSpoken(address.getHost(), port(address), most())
        ? "TLS is spoken at this port, use pulsar+ssl://"
        : null;
  }

  private @Nullable String refusal(URI address, CompletableFuture<?> opening) {
    SSLContext context;
    try {
      context = context();
    } catch (GeneralSecurityException | IOException | RuntimeException e) {
      String words = TlsFailure.words(e);
      return words == null
          ? "the files for TLS cannot be used: " + Failures.words(e)
          : "the files for TLS cannot be used: " + words;
    }
    if (context == null) {
      return null;
    }
    String refusal =
        TlsProbe.refusal(
            context, address.getHost(), port(address), settings.hostNameVerification(), most());
    return refusal == null && isLate(opening) && isPlain(address)
        ? "no TLS is spoken at this port, use pulsar://"
        : refusal;
  }

  private static boolean isLate(CompletableFuture<?> opening) {
    try {
      opening.get(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
      return false;
    } catch (TimeoutException e) {
      return true;
    } catch (ExecutionException | InterruptedException e) {
      return false;
    }
  }

  /**
   * Whether a broker answers without TLS. It ends a handshake without a word; but any broker
   * answers a ping, before it knows who asks.
   */
  private boolean isPlain(URI address) {
    int millis = (int) Math.max(1, most().toMillis());
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(address.getHost(), port(address)), millis);
      socket.setSoTimeout(millis);
      socket.getOutputStream().write(PING);
      return Arrays.equals(socket.getInputStream().readNBytes(PONG.length), PONG);
    } catch (IOException e) {
      return false;
    }
  }

  /** Trusts and shows what the client does; null where the key is of a kind that we cannot read. */
  private @Nullable SSLContext context() throws GeneralSecurityException, IOException {
    Certificate[] chain = null;
    PrivateKey key = null;
    ClientKey files = settings.clientCertificate();
    Authentication authentication = settings.authentication();
    if (files != null) {
      chain = certificates(files.certificate());
      key = key(files.key());
      if (key == null) {
        return null;
      }
    } else if (authentication != null && authentication.getAuthMethodName().equals("tls")) {
      AuthenticationDataProvider data = data(authentication);
      if (data == null) {
        return null;
      }
      if (data.hasDataForTls()) {
        chain = data.getTlsCertificates();
        key = data.getTlsPrivateKey();
        if (chain == null || key == null) {
          return null; // in a key store
        }
      }
    }
    KeyManagerFactory shown = null;
    if (key != null && chain != null) {
      KeyStore store = empty();
      store.setKeyEntry("shown", key, new char[0], chain);
      shown = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      shown.init(store, new char[0]);
    }
    TrustManagerFactory trusted = null;
    Path file = settings.trustedCertificates();
    if (file != null) {
      KeyStore store = empty();
      int count = 0;
      for (Certificate each : certificates(file)) {
        store.setCertificateEntry("trusted" + count++, each);
      }
      trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trusted.init(store);
    }
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(
        shown == null ? null : shown.getKeyManagers(),
        trusted == null ? null : trusted.getTrustManagers(),
        null);
    return context;
  }

  @SuppressWarnings("deprecation") // the other one wants a host that such data do not depend on
  private static @Nullable AuthenticationDataProvider data(Authentication authentication) {
    try {
      return authentication.getAuthData();
    } catch (PulsarClientException | RuntimeException e) {
      return null; // the client says so
    }
  }

  private static KeyStore empty() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, new char[0]);
    return store;
  }

  private static Certificate[] certificates(Path file) throws CertificateException, IOException {
    try (InputStream in = Files.newInputStream(file)) {
      return CertificateFactory.getInstance("X.509")
          .generateCertificates(in)
          .toArray(Certificate[]::new);
    }
  }

  private static @Nullable PrivateKey key(Path file) throws IOException, GeneralSecurityException {
    String text = Files.readString(file);
    int begin = text.indexOf("BEGIN PRIVATE KEY" + END_OF_NAME);
    int end = text.indexOf(END_OF_NAME + "END PRIVATE KEY");
    if (begin < 0 || end < begin) {
      return null;
    }
    String body = text.substring(text.indexOf(END_OF_NAME, begin) + END_OF_NAME.length(), end);
    byte[] encoded = Base64.getMimeDecoder().decode(body.getBytes(StandardCharsets.US_ASCII));
    for (String type : KEY_TYPES) {
      try {
        return KeyFactory.getInstance(type).generatePrivate(new PKCS8EncodedKeySpec(encoded));
      } catch (InvalidKeySpecException e) {
        // of another type
      }
    }
    return null;
  }
}
