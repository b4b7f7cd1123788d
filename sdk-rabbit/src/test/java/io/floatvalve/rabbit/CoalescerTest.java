package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CoalescerTest {
  /** Notes how large each write is. */
  private static final class Sink extends OutputStream {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    final List<Integer> writes = new ArrayList<>();

    @Override
    public void write(int b) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void write(byte[] b, int offset, int length) {
      bytes.write(b, offset, length);
      writes.add(length);
    }
  }

  private final Sink sink = new Sink();
  private final Coalescer out = new Coalescer(sink);

  private void frame(int length) throws IOException {
    out.write(new byte[length], 0, length);
    out.flush();
  }

  private static void elsewhere(Thread thread) throws InterruptedException {
    thread.start();
    thread.join();
  }

  @Test
  void aRunOfSends_isOneWrite() throws IOException {
    for (int i = 0; i < 10; i++) {
      out.gather();
      frame(100);
      out.release();
    }
    assertThat(sink.writes).isEmpty();

    out.flushAll();

    assertThat(sink.writes).containsExactly(1_000);
  }

  @Test
  void outsideASend_eachFlushCounts() throws IOException {
    frame(10);
    out.gather();
    out.release();
    frame(20);

    assertThat(sink.writes).containsExactly(10, 20);
  }

  @Test
  void aFlushOfAnotherThread_writesEverythingAtOnceAndInOrder() throws Exception {
    out.gather();
    frame(100);

    elsewhere(
        new Thread(
            () -> {
              try {
                frame(8);
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            }));

    assertThat(sink.writes).containsExactly(108);
  }

  @Test
  void aFullBuffer_isWrittenWithoutWaitingForAFlush() throws IOException {
    out.gather();
    frame(60_000);
    frame(6_000);

    assertThat(sink.writes).containsExactly(60_000);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void bytes_leaveAsTheyCame(long seed) throws IOException {
    Random random = new Random(seed);
    ByteArrayOutputStream expected = new ByteArrayOutputStream();
    for (int i = 0; i < 300; i++) {
      byte[] bytes = new byte[random.nextInt(random.nextInt(10) == 0 ? 200_000 : 5_000)];
      random.nextBytes(bytes);
      expected.write(bytes);
      switch (random.nextInt(3)) {
        case 0 -> out.gather();
        case 1 -> out.release();
        default -> out.flush();
      }
      out.write(bytes, 0, bytes.length);
    }
    out.write(77);
    expected.write(77);
    out.flushAll();

    assertThat(sink.bytes.toByteArray()).isEqualTo(expected.toByteArray());
  }

  @Test
  void isMoving_unlessAWriteHangs() throws Exception {
    CountDownLatch hanging = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    Coalescer stuck =
        new Coalescer(
            new OutputStream() {
              @Override
              public void write(int b) {}

              @Override
              public void write(byte[] b, int offset, int length) throws IOException {
                hanging.countDown();
                try {
                  released.await();
                } catch (InterruptedException e) {
                  throw new IOException(e);
                }
              }
            });
    assertThat(stuck.isMoving(0)).isTrue();

    Thread writer =
        new Thread(
            () -> {
              try {
                stuck.write(1);
                stuck.flush();
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
    writer.start();
    hanging.await();

    assertThat(stuck.isMoving(Duration.ofMillis(20).toNanos())).isFalse();
    released.countDown();
    writer.join();
    assertThat(stuck.isMoving(0)).isTrue();
  }
}
