package io.floatvalve.rabbit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * The socket of one connection, with TLS on top if wanted, that can be cut.
 *
 * <p>It is what the client is given as its socket. TLS is put on a socket of our own, since a TLS
 * socket closes in order, which a peer that reads no more can hold up for ever.
 */
@SuppressWarnings("UnsynchronizedOverridesSynchronized") // `raw` synchronizes what must be
final class Wire extends Socket {
  private final Socket raw = new Socket();
  private final @Nullable SSLContext tls;
  private final boolean verifyHost;
  private volatile Socket top = raw;
  private volatile @Nullable Coalescer out;

  /**
   * Makes a wire that is not connected.
   *
   * @param tls null for plain TCP
   * @param verifyHost whether the certificate must name the host
   */
  Wire(@Nullable SSLContext tls, boolean verifyHost) {
    this.tls = tls;
    this.verifyHost = verifyHost;
  }

  /** Connects, and shakes hands if TLS is wanted; each waits for at most the timeout. */
  @Override
  public void connect(SocketAddress address, int timeoutMillis) throws IOException {
    raw.connect(address, timeoutMillis);
    if (tls != null) {
      InetSocketAddress peer = (InetSocketAddress) address;
      raw.setSoTimeout(timeoutMillis);
      SSLSocket layered =
          (SSLSocket)
              tls.getSocketFactory()
                  .createSocket(raw, peer.getHostString(), peer.getPort(), /* autoClose= */ true);
      if (verifyHost) {
        SSLParameters parameters = layered.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS"); // so called; it fits any protocol
        layered.setSSLParameters(parameters);
      }
      layered.startHandshake();
      top = layered;
    }
    out = new Coalescer(top.getOutputStream());
  }

  /** Ends the connection now, from any thread, also while a write hangs. Unsent bytes are lost. */
  void cut() {
    try {
      raw.setSoLinger(true, 0);
    } catch (SocketException e) {
      // closed already, or about to be
    }
    try {
      raw.close();
    } catch (IOException e) {
      // as closed as it can be
    }
  }

  /** Whether the peer takes what is written; waits for a write under way, for so long. */
  boolean isMoving(Duration patience) {
    Coalescer output = out;
    return output == null || output.isMoving(patience.toNanos());
  }

  /** Returns where the bytes go; once connected. */
  Coalescer output() throws IOException {
    Coalescer output = out;
    if (output == null) {
      throw new SocketException("not connected");
    }
    return output;
  }

  @Override
  public OutputStream getOutputStream() throws IOException {
    return output();
  }

  @Override
  public InputStream getInputStream() throws IOException {
    return top.getInputStream();
  }

  @Override
  public void close() throws IOException {
    try {
      top.close();
    } finally {
      raw.close();
    }
  }

  @Override
  public boolean isClosed() {
    return raw.isClosed();
  }

  @Override
  public boolean isConnected() {
    return raw.isConnected();
  }

  @Override
  public InetAddress getInetAddress() {
    return raw.getInetAddress();
  }

  @Override
  public InetAddress getLocalAddress() {
    return raw.getLocalAddress();
  }

  @Override
  public int getPort() {
    return raw.getPort();
  }

  @Override
  public int getLocalPort() {
    return raw.getLocalPort();
  }

  @Override
  public void setSoTimeout(int millis) throws SocketException {
    raw.setSoTimeout(millis);
  }

  @Override
  public int getSoTimeout() throws SocketException {
    return raw.getSoTimeout();
  }

  @Override
  public void setTcpNoDelay(boolean on) throws SocketException {
    raw.setTcpNoDelay(on);
  }

  @Override
  public void setSoLinger(boolean on, int seconds) throws SocketException {
    raw.setSoLinger(on, seconds);
  }

  @Override
  public String toString() {
    return "Wire[" + raw + "]";
  }
}
