package io.floatvalve.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * A port of 127.0.0.1 that speaks TLS and passes on what it hears, in clear, to another port: one
 * broker with as many certificates as there are doors before it.
 *
 * <p>Thread-safe. Its threads are daemons and end with {@link #close}.
 */
public final class TlsDoor implements AutoCloseable {
  private final SSLServerSocket door;
  private final AtomicInteger entered = new AtomicInteger();
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private volatile @Nullable InetSocketAddress behind;

  private TlsDoor(SSLServerSocket door) {
    this.door = door;
    spawn(this::listen);
  }

  /**
   * Opens a door on a free port. Until {@link #to} it leads nowhere: it shakes hands and closes.
   *
   * @param context says which certificate is shown, and whose is taken
   * @param certificateWanted whether a client without a certificate is refused
   */
  public static TlsDoor open(SSLContext context, boolean certificateWanted) {
    try {
      SSLServerSocket door =
          (SSLServerSocket)
              context
                  .getServerSocketFactory()
                  .createServerSocket(0, 50, InetAddress.getLoopbackAddress());
      door.setNeedClientAuth(certificateWanted);
      return new TlsDoor(door);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Says where it leads from now on. */
  public void to(String host, int port) {
    behind = new InetSocketAddress(host, port);
  }

  /** Returns the port to connect to. */
  public int port() {
    return door.getLocalPort();
  }

  /** Returns how many have come through: shaken hands and said something. */
  public int entered() {
    return entered.get();
  }

  private void listen() throws IOException {
    while (true) {
      SSLSocket guest = (SSLSocket) door.accept();
      spawn(() -> serve(guest));
    }
  }

  private void serve(SSLSocket guest) throws IOException {
    open.add(guest);
    try (guest) {
      byte[] first = new byte[1];
      if (guest.getInputStream().read(first) < 0) {
        return;
      }
      entered.incrementAndGet();
      InetSocketAddress target = behind;
      if (target == null) {
        return;
      }
      try (Socket broker = new Socket()) {
        open.add(broker);
        broker.connect(target);
        broker.getOutputStream().write(first);
        spawn(() -> pump(broker, guest));
        guest.getInputStream().transferTo(broker.getOutputStream());
        open.remove(broker);
      }
    } finally {
      open.remove(guest);
    }
  }

  private static void pump(Socket from, Socket to) throws IOException {
    try (from;
        to) {
      from.getInputStream().transferTo(to.getOutputStream());
    }
  }

  private interface Work {
    void run() throws IOException;
  }

  private static void spawn(Work work) {
    Thread thread =
        new Thread(
            () -> {
              try {
                work.run();
              } catch (IOException e) {
                // somebody closed it, or shook no hands
              }
            },
            "tls-door");
    thread.setDaemon(true);
    thread.start();
  }

  /** Lets nobody in any more, and cuts who is in. */
  @Override
  public void close() {
    try {
      door.close();
      for (Socket each : open) {
        each.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
