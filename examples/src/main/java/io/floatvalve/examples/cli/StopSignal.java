package io.floatvalve.examples.cli;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Lets a command finish in order when the process is asked to end (Ctrl-C, SIGTERM): the thread
 * that made this is interrupted, and goes on to its end, within bounds. Asked a second time, the
 * process ends at once.
 */
public final class StopSignal implements AutoCloseable {
  private static final long LONGEST_WAIT_SECONDS = 60;
  private static final int KILLED = 143;

  /*
   * Not a shutdown hook: all hooks run at the same time, and those of private brokers would end
   * them before the command has drained. The JDK hears signals in no other way than by these
   * classes, which every JDK has and none exports as its API: hence by reflection.
   */
  private static final String SIGNAL = "sun.misc.Signal";
  private static final String HANDLER = "sun.misc.SignalHandler";
  private static final List<String> NAMES = List.of("INT", "TERM");

  private final Thread worker = Thread.currentThread();
  private final CountDownLatch done = new CountDownLatch(1);
  private final Map<String, Object> before = new LinkedHashMap<>();
  private final @Nullable Thread hook;
  private volatile boolean asked;

  /** Begins to listen, on behalf of the current thread. */
  public StopSignal() {
    boolean listens;
    try {
      Class<?> handler = Class.forName(HANDLER);
      Object mine =
          Proxy.newProxyInstance(
              StopSignal.class.getClassLoader(),
              new Class<?>[] {handler},
              (proxy, method, arguments) ->
                  switch (method.getName()) {
                    case "handle" -> {
                      stop();
                      yield null;
                    }
                    case "hashCode" -> System.identityHashCode(proxy);
                    case "equals" -> proxy == arguments[0];
                    default -> "StopSignal";
                  });
      for (String name : NAMES) {
        before.put(name, handle(name, mine));
      }
      listens = true;
    } catch (ReflectiveOperationException | IllegalArgumentException e) {
      listens = false; // the JVM was told to leave signals alone
    }
    hook = listens ? null : new Thread(this::stopAndWait, "floatvalve-stop");
    if (hook != null) {
      Runtime.getRuntime().addShutdownHook(hook);
    }
  }

  /** Sets a handler and returns the one before. */
  private static Object handle(String name, Object handler) throws ReflectiveOperationException {
    Class<?> signal = Class.forName(SIGNAL);
    try {
      return signal
          .getMethod("handle", signal, Class.forName(HANDLER))
          .invoke(null, signal.getConstructor(String.class).newInstance(name), handler);
    } catch (InvocationTargetException e) {
      throw new IllegalArgumentException(e.getCause());
    }
  }

  /** Returns whether the process was asked to end. */
  public boolean asked() {
    return asked;
  }

  private void stop() {
    if (asked) {
      System.exit(KILLED);
    }
    asked = true;
    worker.interrupt();
    Thread limit = new Thread(this::limit, "floatvalve-stop-limit");
    limit.setDaemon(true);
    limit.start();
  }

  private void limit() {
    if (!await()) {
      System.exit(KILLED);
    }
  }

  private void stopAndWait() {
    asked = true;
    worker.interrupt();
    boolean unused = await();
  }

  private boolean await() {
    try {
      boolean ended = done.await(LONGEST_WAIT_SECONDS, TimeUnit.SECONDS);
      if (!ended) {
        System.err.println("floatvalve: not finished after " + LONGEST_WAIT_SECONDS + " s, ending");
      }
      return ended;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return true;
    }
  }

  /** Says that all is in order; the process may end. */
  @Override
  public void close() {
    done.countDown();
    before.forEach(
        (name, handler) -> {
          try {
            Object unused = handle(name, handler);
          } catch (ReflectiveOperationException | IllegalArgumentException e) {
            throw new IllegalStateException("a signal that could be heard cannot be let go", e);
          }
        });
    if (hook != null && !asked) {
      try {
        boolean unused = Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        asked = true; // it is just being asked; the hook finds the latch open
      }
    }
  }
}
