package io.floatvalve.testkit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports of the loopback address that nobody listens on, from below the range that systems hand out
 * to clients: a server that ends and comes back finds its port still free.
 */
final class FreePorts {
  private static final int FIRST = 15_000;
  private static final int END = 32_000;
  private static final int TRIES = 1_000;

  private FreePorts() {}

  /** Finds ports, all different. They are free now; nothing keeps them so. */
  static List<Integer> find(int count) throws IOException {
    List<ServerSocket> held = new ArrayList<>();
    try {
      while (held.size() < count) {
        held.add(listen());
      }
      return held.stream().map(ServerSocket::getLocalPort).toList();
    } finally {
      for (ServerSocket socket : held) {
        socket.close();
      }
    }
  }

  /** Listens on a free port. */
  static ServerSocket listen() throws IOException {
    for (int tries = 0; ; tries++) {
      try {
        return listen(ThreadLocalRandom.current().nextInt(FIRST, END));
      } catch (IOException e) {
        if (tries == TRIES) {
          throw e;
        }
      }
    }
  }

  /** Listens on a port of the loopback address. */
  static ServerSocket listen(int port) throws IOException {
    ServerSocket socket = new ServerSocket();
    try {
      socket.setReuseAddress(true);
      socket.setReceiveBufferSize(FaultProxy.SOCKET_BUFFER_BYTES);
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 50);
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }
}
