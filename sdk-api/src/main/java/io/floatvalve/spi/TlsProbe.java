package io.floatvalve.spi;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * Shakes hands at a port to learn why nobody else could. Sends no byte of an application, and so no
 * secret. Waits, for a bounded time.
 */
public final class TlsProbe {
  private TlsProbe() {}

  /**
   * Shakes hands, and listens a little for a refusal that comes afterwards, as TLS 1.3 has it.
   *
   * @param verifyHost whether the certificate must name the host
   * @param timeout for the connection, for each answer of the handshake, and for the refusal
   * @return why TLS cannot be had there, in words; null if it can, or if that is not known because
   *     there is no connection
   */
  public static @Nullable String refusal(
      SSLContext context, String host, int port, boolean verifyHost, Duration timeout) {
    int millis = (int) Math.max(1, timeout.toMillis());
    try (Socket raw = new Socket()) {
      raw.connect(new InetSocketAddress(host, port), millis);
      raw.setSoTimeout(millis);
      try (SSLSocket tls =
          (SSLSocket) context.getSocketFactory().createSocket(raw, host, port, true)) {
        if (verifyHost) {
          SSLParameters parameters = tls.getSSLParameters();
          parameters.setEndpointIdentificationAlgorithm("HTTPS"); // so called; it fits any protocol
          tls.setSSLParameters(parameters);
        }
        tls.startHandshake();
        int unused = tls.getInputStream().read(); // what it may say is said to nobody
      }
      return null;
    } catch (SSLException e) {
      return e.getCause() instanceof EOFException ? null : TlsFailure.words(e);
    } catch (IOException e) {
      return null;
    }
  }

  /**
   * Returns whether TLS is spoken at a port, whoever speaks it.
   *
   * @param timeout for the connection, and for each answer of the handshake
   */
  public static boolean isSpoken(String host, int port, Duration timeout) {
    int millis = (int) Math.max(1, timeout.toMillis());
    try (Socket raw = new Socket()) {
      raw.connect(new InetSocketAddress(host, port), millis);
      raw.setSoTimeout(millis);
      try (SSLSocket tls =
          (SSLSocket)
              SSLContext.getDefault().getSocketFactory().createSocket(raw, host, port, true)) {
        tls.startHandshake();
        return true;
      }
    } catch (SocketTimeoutException e) {
      return false;
    } catch (SSLException e) { // a certificate that is not trusted, and a refusal, are TLS as well
      boolean other = String.valueOf(e.getMessage()).startsWith("Unsupported or unrecognized");
      return !other && !(e.getCause() instanceof EOFException);
    } catch (IOException | NoSuchAlgorithmException e) {
      return false;
    }
  }
}
